// Points, squares and what may be played on them.
import { describe, expect, it } from "vitest";
import { legalSpots, stars } from "../src/board";
import { columnName, pointIndex, pointName, squaresOf } from "../src/coordinates";
import { type View } from "../src/messages";

const go = (size: number): View => ({
  game: "go",
  players: ["Black", "White"],
  toPlay: 1,
  number: 0,
  last: "",
  mover: 0,
  over: false,
  winner: null,
  result: "",
  reason: "",
  board: "go",
  rows: size,
  cols: size,
  cells: "0".repeat(size * size),
  banned: [],
});
const chess: View = {
  ...go(5),
  board: "chess",
  cols: 4,
  cells: "k...".padEnd(20, "."),
  moves: ["a5a4", "a5b5", "a2a1q"],
};

describe("names of points", () => {
  it("leave out I on a Go board, and count rows from below", () => {
    expect(columnName(go(19), 8)).toBe("J");
    expect(pointName(go(9), 0)).toBe("A9");
    expect(pointName(go(9), 80)).toBe("J1");
  });
  it("lead back to every point of every board", () => {
    for (const view of [go(5), go(19), go(25), chess])
      for (let index = 0; index < view.rows * view.cols; index++)
        expect(pointIndex(view, pointName(view, index))).toBe(index);
  });
  it("are no points where they are not on the board", () => {
    for (const name of ["", "pass", "I5", "A0", "A10", "K1"]) expect(pointIndex(go(9), name)).toBe(-1);
  });
});

describe("squares of a move", () => {
  it("are one point of Go, none of a pass", () => {
    expect(squaresOf(go(9), "E5")).toEqual([40]);
    expect(squaresOf(go(9), "pass")).toEqual([]);
  });
  it("are two of Microchess, the target last", () => expect(squaresOf(chess, "a2a1q")).toEqual([12, 16]));
});

describe("legal spots", () => {
  it("are the empty points that are not banned", () => {
    const view = { ...go(3), cells: "120000000", banned: ["C3"] };
    expect([...legalSpots(view)]).toEqual([3, 4, 5, 6, 7, 8]);
    expect(legalSpots({ ...view, over: true }).size).toBe(0);
  });
  it("are where a piece can move from", () => expect([...legalSpots(chess)]).toEqual([0, 12]));
});

it("boards have their star points", () => {
  expect([4, 5, 9, 13, 19].map((size) => stars(size).length)).toEqual([0, 1, 5, 9, 9]);
  expect(stars(19)).toContainEqual([3, 15]);
});
