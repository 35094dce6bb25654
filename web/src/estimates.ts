// What analysis says of a position and of a game, as marks and colours on the board and as short texts.
import { type Mark } from "./board";
import { squaresOf } from "./coordinates";
import { type AnalysisView, type GraphView, type MoveInfo, type StudyPosition, type StudyTree } from "./messages";

export const LAYERS = ["candidates", "prior", "visits", "value", "ownership", "nothing"] as const;
export type Layer = (typeof LAYERS)[number];
const SERIOUS = 0.06; // how much of the chance a mistake costs

/** The moves of a line that cost their player most, at most five. */
export function mistakesOf(
  tree: StudyTree,
  line: number[],
  graph: GraphView,
): { node: number; loss: number; better: string }[] {
  return line
    .slice(1)
    .flatMap((node, i) => {
      const [before, after] = [graph.values[String(line[i])], graph.values[String(node)]];
      if (!before || !after) return [];
      const loss = (before[0] - after[0]) * (tree.movers[node] === 1 ? 1 : -1);
      return loss >= SERIOUS ? [{ node, loss, better: before[3] !== tree.moves[node] ? before[3] : "" }] : [];
    })
    .sort((a, b) => b.loss - a.loss)
    .slice(0, 5);
}

export function marksOf(position: StudyPosition, best: MoveInfo[], layer: Layer, shown: MoveInfo | undefined): Mark[] {
  if (shown && position.board === "go") {
    return shown.pv.slice(0, 12).flatMap((move, i): Mark[] =>
      squaresOf(position, move).map((at) => ({
        at,
        text: String(i + 1),
        stone: ((position.toPlay - 1 + i) % 2) + 1,
      })),
    );
  }
  if (!shown && layer !== "candidates") return [];
  const most = Math.max(1, ...best.map((move) => move.visits));
  return (shown ? [shown] : best.filter((move) => move.visits >= most * 0.02)).flatMap((move): Mark[] => {
    const squares = squaresOf(position, move.move);
    const tone = move === best[0] ? "best" : shown || move.visits > most * 0.2 ? "good" : "plain";
    const from = position.board === "chess" ? squares[0] : undefined;
    return squares.length === 0
      ? []
      : [{ at: squares.at(-1)!, text: (move.chance * 100).toFixed(0), sub: brief(move.visits), tone, from }];
  });
}

export function heatOf(
  position: StudyPosition,
  known: AnalysisView | null,
  layer: Layer,
): Map<number, number> | undefined {
  if (!known || layer === "candidates" || layer === "ownership" || layer === "nothing") return undefined;
  const heat = new Map<number, number>();
  const seen = known.moves.filter((move) => layer === "prior" || move.visits > 0);
  const most = Math.max(
    1e-9,
    ...seen.map((move) => (layer === "prior" ? move.prior : layer === "visits" ? move.visits : 1)),
  );
  seen.forEach((move) => {
    const spot = squaresOf(position, move.move).at(-1);
    if (spot === undefined) return;
    const share = layer === "value" ? move.chance : Math.sqrt((layer === "prior" ? move.prior : move.visits) / most);
    if (share > 0.03) heat.set(spot, Math.max(heat.get(spot) ?? 0, share));
  });
  return heat;
}

export function signed(value: number): string {
  return `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(1)}`;
}

export function brief(count: number): string {
  return count >= 10_000
    ? `${(count / 1000).toFixed(0)}k`
    : count >= 1000
      ? `${(count / 1000).toFixed(1)}k`
      : String(count);
}
