// Trees of moves, and what analysis says of them.
import { describe, expect, it } from "vitest";
import { brief, heatOf, marksOf, mistakesOf, signed } from "../src/estimates";
import { type AnalysisView, type MoveInfo, type StudyPosition, type StudyTree } from "../src/messages";
import { childrenOf, layout, lineThrough } from "../src/tree";

/** 0 - 1 - 2 - 3, with a variation 4 - 5 after 1. */
const tree: StudyTree = {
  id: "",
  title: "Go",
  about: "",
  names: ["", ""],
  result: "",
  games: [],
  chosen: 0,
  parents: [-1, 0, 1, 2, 1, 4],
  moves: ["", "C3", "B3", "D3", "B2", "C2"],
  movers: [0, 1, 2, 1, 2, 1],
  analysts: [],
};
const position = { board: "go", rows: 5, cols: 5, toPlay: 1 } as StudyPosition;
const move = (name: string, visits: number, chance: number, prior = 0.1): MoveInfo => ({
  move: name, visits, chance, prior, score: null, pv: [name, "B3"],
}); // prettier-ignore

describe("a tree", () => {
  it("goes on along first children", () => {
    expect(childrenOf(tree)[1]).toEqual([2, 4]);
    expect(lineThrough(tree, 1)).toEqual([0, 1, 2, 3]);
    expect(lineThrough(tree, 4)).toEqual([0, 1, 4, 5]);
  });
  it("has a lane for each variation, and no two moves in one place", () => {
    const { place, lanes, depth } = layout(tree);
    expect(place[3]).toEqual([3, 0]);
    expect(place[5]).toEqual([3, 1]);
    expect([lanes, depth]).toEqual([2, 3]);
    expect(new Set(place.map(String)).size).toBe(place.length);
  });
  it("of many variations of one move has no two moves in one place", () => {
    const parents = [-1, ...Array.from({ length: 60 }, (_, i) => Math.floor(i / 3))];
    const { place } = layout({ ...tree, parents });
    expect(new Set(place.map(String)).size).toBe(parents.length);
  });
});

describe("mistakes", () => {
  const graph = (chances: number[]) => ({
    values: Object.fromEntries(
      chances.map((chance, i) => [i, [chance, null, 9, "E5"] as [number, null, number, string]]),
    ),
    progress: { done: 0, total: 0 },
  });
  it("cost the player who made the move", () => {
    const found = mistakesOf(tree, [0, 1, 2, 3], graph([0.5, 0.3, 0.6, 0.58]));
    expect(found.map(({ node, better }) => [node, better])).toEqual([[2, "E5"], [1, "E5"]]); // prettier-ignore
    expect(found[0].loss).toBeCloseTo(0.3);
  });
  it("are no gains, and nothing without an analysis of both positions", () => {
    expect(mistakesOf(tree, [0, 1], graph([0.3, 0.9]))).toEqual([]);
    expect(mistakesOf(tree, [0, 1, 2, 3], graph([0.9]))).toEqual([]);
  });
});

describe("marks", () => {
  const moves = [move("C3", 100, 0.6), move("D3", 50, 0.5), move("A1", 1, 0.2)];
  it("show candidates with more than a few visits, the best one first", () => {
    const marks = marksOf(position, moves, "candidates", undefined);
    expect(marks.map((mark) => [mark.at, mark.text, mark.tone])).toEqual([[12, "60", "best"], [13, "50", "good"]]); // prettier-ignore
    expect(marksOf(position, moves, "prior", undefined)).toEqual([]);
  });
  it("show the line of a move as stones in turn", () => {
    expect(marksOf(position, moves, "nothing", moves[0]).map((mark) => mark.stone)).toEqual([1, 2]);
  });
  it("of one square keep the strongest colour", () => {
    const known = { moves } as AnalysisView;
    expect(heatOf(position, known, "visits")?.get(12)).toBe(1);
    expect(heatOf(position, known, "value")?.get(13)).toBe(0.5);
    expect(heatOf(position, known, "ownership")).toBeUndefined();
  });
});

it("numbers are short", () => {
  expect([999, 1500, 25_000].map(brief)).toEqual(["999", "1.5k", "25k"]);
  expect([2, -0.25].map(signed)).toEqual(["+2.0", "−0.3"]);
});
