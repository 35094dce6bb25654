// What is said, in English and Korean.
import { afterEach, describe, expect, it } from "vitest";
import { type Line } from "../src/chart";
import { charts } from "../src/learn";
import { points, sideNames } from "../src/match";
import { fill, fromServer, head, of, setLanguage, t } from "../src/words";

afterEach(() => setLanguage("en"));

describe("words", () => {
  it("are those of the language", () => {
    expect([t("pass"), head("points"), of("level", "club"), of("level", "Own")]).toEqual(["Pass", "Points", "Club player", "Own"]); // prettier-ignore
    setLanguage("ko");
    expect([t("pass"), of("level", "club"), of("level", "Own")]).toEqual(["한수쉼", "고급", "Own"]);
  });
  it("are filled in", () => expect(fill("aheadBy", "Black", 2.5)).toBe("Black is ahead by about 2.5 points"));
});

describe("sentences of the server", () => {
  it("stay as they are in English", () => expect(fromServer("it is not your turn")).toBe("it is not your turn"));
  it("are translated with their parts", () => {
    setLanguage("ko");
    expect(fromServer("9x9, chinese rules, komi 7.5")).toBe("9×9, 중국식 규칙, 덤 7.5");
    expect(fromServer("19x19, japanese rules, komi 0.5, 2 handicap stones")).toContain("접바둑 2");
    expect(fromServer("C3 is not legal: there is a stone already")).toBe("C3: 둘 수 없습니다. 이미 돌이 있습니다");
    expect(fromServer("nobody has translated this")).toBe("nobody has translated this");
    expect(fill("moveCount", 12)).toBe("12수");
  });
});

describe("matches", () => {
  const score = (wins: number, draws: number) => ({
    wins, draws, losses: 0, score: null, score_interval: [0, 1] as [number, number],
  }); // prettier-ignore
  it("count half points", () => {
    expect([score(0, 0), score(0, 1), score(2, 3)].map(points)).toEqual(["0", "½", "3½"]);
  });
  it("tell two of the same name apart", () => {
    expect(sideNames(["club", "club"])).toEqual(["A · Club player", "B · Club player"]);
    expect(sideNames(["club", "spec:random"])).toEqual(["Club player", "random"]);
  });
});

it("series of about the same size share a chart, three at most", () => {
  const series = Object.fromEntries(
    [["loss_a", 2], ["loss_b", 1.9], ["loss_c", 1.8], ["loss_d", 1.7], ["loss_e", 0.01], ["elo", 900]].map(
      ([name, y]) => [name, [[0, y]] as [number, number][]],
    ),
  ); // prettier-ignore
  const names = (groups: Line[][]) => groups.map((group) => group.map((line) => line.name));
  expect(names(charts(series, /loss/))).toEqual([["loss a", "loss b", "loss c"], ["loss d"], ["loss e"]]);
});
