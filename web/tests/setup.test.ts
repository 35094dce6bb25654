// What a form asks for: the komi that it shows, a player that can play here, a clock.
import { describe, expect, it } from "vitest";
import { minutes, NO_CLOCK, timeControl, timeLeft } from "../src/clock";
import { type Catalogue, type GameInfo } from "../src/messages";
import { asOptions, playerKey, possible, usualChoice } from "../src/setup";

const rules = (name: string, komi: number, size = 9) => ({ name, komi, size });
const game: GameInfo = {
  name: "go",
  title: "Go",
  players: ["Black", "White"],
  territory: true,
  suffix: ".sgf",
  options: [{ name: "rules", kind: "str", choices: ["chinese", "japanese"], default: "chinese" }],
  rules: [rules("japanese", 6.5), rules("chinese", 7.5)],
  go: {
    sizes: [5, 9],
    size: 9,
    smallest: 2,
    largest: 25,
    komi: { "5": 3.5 },
    handicapKomi: 0.5,
    handicaps: { "9": 9 },
  },
};
const chess: GameInfo = { ...game, name: "microchess", rules: undefined, go: undefined };
const catalogue: Catalogue = { version: "", kinds: [], games: [game, chess] };

describe("options", () => {
  it("have the komi of the server's lists", () => {
    expect(asOptions(game, { size: 9 })).toEqual({ size: 9, komi: 7.5 });
    expect(asOptions(game, { size: 9, rules: "japanese" }).komi).toBe(6.5);
    expect(asOptions(game, { size: 5 }).komi).toBe(3.5);
    expect(asOptions(game, { size: 5, handicap: 2 }).komi).toBe(0.5);
    expect(asOptions(game, { size: 5, komi: 0 }).komi).toBe(0);
  });
  it("of other games are as they were chosen", () => {
    expect(asOptions(chess, { rules: "ncsoft" })).toEqual({ rules: "ncsoft" });
    expect(usualChoice(catalogue, "go")).toEqual({ size: 9 });
    expect(usualChoice(catalogue, "microchess")).toEqual({});
  });
});

it("a player that is not in the list gives way to one that is", () => {
  const levels = [{ key: "casual", spec: "uct", measured: "", rating: null }];
  expect(possible({ level: "club", spec: "uct" }, levels).level).toBe("casual");
  for (const level of ["human", "spec", "casual"]) expect(possible({ level, spec: "" }, levels).level).toBe(level);
  expect(playerKey({ level: "spec", spec: "random" })).toBe("spec:random");
});

describe("clocks", () => {
  it("are asked for in seconds", () => {
    expect(timeControl(NO_CLOCK)).toBeNull();
    const form = { ...NO_CLOCK, minutes: 2, periods: 3, period: 30, increment: 5 };
    expect(timeControl({ ...form, system: "byoyomi" })).toEqual({ main: 120, periods: 3, period: 30, increment: 0 });
    expect(timeControl({ ...form, system: "fischer" })).toEqual({ main: 120, periods: 0, period: 0, increment: 5 });
  });
  it("use up the main time and then the periods", () => {
    const clock = {
      main: 10, periods: 2, period: 5, increment: 0, left: [[10, 2], [10, 2]] as [[number, number], [number, number]],
      player: 1, used: 0, running: true, lost: 0,
    }; // prettier-ignore
    expect(timeLeft(clock, 1, 4)).toEqual({ seconds: 6, periods: 2 });
    expect(timeLeft(clock, 1, 12)).toEqual({ seconds: 3, periods: 2 });
    expect(timeLeft(clock, 1, 16)).toEqual({ seconds: 4, periods: 1 });
    expect(timeLeft(clock, 1, 99)).toEqual({ seconds: 0, periods: 0 });
  });
  it("are read as minutes and hours", () =>
    expect([0.2, 59.1, 3600].map(minutes)).toEqual(["0:01", "1:00", "1:00:00"]));
});
