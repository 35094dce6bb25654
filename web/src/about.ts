// A game in one line, in the language of the page.
import { type View } from "./shapes";
import { of, t } from "./words";

/** Board and rules of a position; empty where only the server knows how to say it. */
export function aboutOf(view: View): string {
  if (view.board !== "go" || view.rules === undefined) return "";
  const handicap = view.handicap ? `${t("handicap")} ${view.handicap}` : "";
  return [`${view.cols}×${view.rows}`, `${of("rules", view.rules)}`, `${t("komi")} ${view.komi}`, handicap].filter(Boolean).join(" · ");
}
