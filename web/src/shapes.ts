// What the server sends: see positions.py, play_sessions.py, match_sessions.py and study_sessions.py.
export interface View {
  game: string;
  players: [string, string];
  toPlay: number;
  number: number;
  last: string;
  /** Who made the last move; 0 at the start. */
  mover: number;
  over: boolean;
  winner: number | null;
  result: string;
  reason: string;
  board: "go" | "chess" | "squares" | "text";
  rows: number;
  cols: number;
  cells: string;
  moves?: string[];
  banned?: string[];
  canPass?: boolean;
  /** Whether a pass would be early. */
  open?: boolean;
  captures?: [number, number];
  komi?: number;
  handicap?: number;
  rules?: string;
  check?: boolean;
  san?: string;
  symbols?: string;
  text?: string;
}

export interface Count {
  dead: string[];
  owners: string;
  margin: number;
  text: string;
  correctable: boolean;
}

/** In seconds; see clocks.py. */
export interface TimeControl {
  main: number;
  periods: number;
  period: number;
  increment: number;
}

export interface ClockView extends TimeControl {
  /** Main time and periods of each player at the beginning of the turn. */
  left: [[number, number], [number, number]];
  player: number;
  used: number;
  running: boolean;
  lost: number;
}

export interface GameView extends View {
  id: string;
  title: string;
  about: string;
  territory: boolean;
  sides: [string, string];
  specs: [string, string];
  moveList: string[];
  thinking: boolean;
  problem: string;
  note: string;
  chance: number | null;
  marks: { hints?: { move: string; chance: number | null }[]; owners?: string; margin?: number };
  count: Count | null;
  clock: ClockView | null;
}

export interface OptionInfo {
  name: string;
  kind: "bool" | "int" | "float" | "str";
  choices: string[];
  default: string | number | boolean | null;
}

export interface GameInfo {
  name: string;
  title: string;
  players: [string, string];
  territory: boolean;
  suffix: string;
  options: OptionInfo[];
  rules?: { name: string; komi: number; size: number }[];
  handicaps?: Record<string, number>;
}

export interface Catalogue {
  version: string;
  kinds: string[];
  games: GameInfo[];
}

export interface OpponentInfo {
  key: string;
  spec: string;
  measured: string;
  /** Elo on this board; that of `first-game` is 0. */
  rating: number | null;
}

// ---------------------------------------------------------------------------------------------------- matches

export interface MatchScore {
  wins: number;
  losses: number;
  draws: number;
  score: number | null;
  score_interval: [number, number];
}

export interface MatchInfo {
  id: string;
  about: string;
  sides: [string, string];
  games: number;
  summary: { games: number; a: MatchScore; b: MatchScore };
}

type Side = "a" | "b";

export interface MatchView extends MatchInfo {
  players: [string, string];
  specs: [string, string];
  warnings: string[];
  underWay: boolean;
  waiting: boolean;
  pace: number;
  problem: string;
  /** First player, winner, result, ending, what the loser of a forfeit did wrong, length. */
  results: [Side, Side | null, string, string, string, number][];
}

export interface MatchBoard extends View {
  id: string;
  round: number;
  first: Side;
  chance: number | null;
  note: string;
}

// ------------------------------------------------------------------------------------------------ coordinates

const GO = "ABCDEFGHJKLMNOPQRSTUVWXYZ";
const PLAIN = "abcdefghijklmnopqrstuvwxyz";

type Sized = { board: View["board"]; rows: number; cols: number };

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

// -------------------------------------------------------------------------------------------------- analysis

export interface StudyTree {
  id: string;
  title: string;
  about: string;
  names: [string, string];
  result: string;
  /** The games of the file where it has several, and which one this is. */
  games: string[];
  chosen: number;
  parents: number[];
  moves: string[];
  movers: number[];
  analysts: string[];
}

export interface StudyPosition extends View {
  node: number;
  comment: string;
}

export interface MoveInfo {
  move: string;
  visits: number;
  chance: number;
  prior: number;
  score: number | null;
  pv: string[];
}

export interface AnalysisView {
  node: number;
  spec: string;
  problem: string;
  visits: number;
  moves: MoveInfo[];
  chance: number | null;
  score: number | null;
  owners: number[] | null;
  toPlay: number;
  final: boolean;
}

/** By node: chance and score of the first player, visits, best move. */
export interface GraphView {
  values: Record<string, [number, number | null, number, string]>;
  progress: { done: number; total: number; problem?: string };
}
