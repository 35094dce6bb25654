// Names and places of points and squares.
import { type View } from "./messages";

const GO = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
const PLAIN = "abcdefghijklmnopqrstuvwxyz";

/** What names depend on. */
export type Sized = { board: View["board"]; rows: number; cols: number };

export function columnName(view: Sized, col: number): string {
  return view.board === "go" ? GO[col] : PLAIN[col];
}

/** The name of a point or square, counted row by row from the top. */
export function pointName(view: Sized, index: number): string {
  return columnName(view, index % view.cols) + String(view.rows - Math.floor(index / view.cols));
}

/** The index of a point or square, or -1. */
export function pointIndex(view: Sized, name: string): number {
  const col = (view.board === "go" ? GO : PLAIN).indexOf(name[0] ?? "?");
  const row = view.rows - Number(name.slice(1));
  return col < 0 || col >= view.cols || !(row >= 0 && row < view.rows) ? -1 : row * view.cols + col;
}

/** The squares that a move touches: where it goes is last. */
export function squaresOf(view: Sized, move: string): number[] {
  if (view.board === "chess") {
    const squares = [move.slice(0, 2), move.slice(2, 4)].map((name) => pointIndex(view, name));
    return squares.includes(-1) ? [] : squares;
  }
  const index = pointIndex(view, move);
  return index < 0 ? [] : [index];
}
