// Made by web/make_messages.py from src/tengen/web/messages.py, which says what these are: do not edit.

/** A position as the page draws it. */
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
  /** One character for each point or square, row by row from the top. */
  cells: string;
  moves?: string[];
  /** In Go, where nearly all moves are legal: the empty points that are not. */
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

/** What the player who moved last thought. */
export interface Thought {
  note: string;
  /** Of the first player to win. */
  chance: number | null;
}

export interface Hint {
  move: string;
  chance?: number | null;
}

/** What somebody asked about a position. */
export interface Marks {
  hints?: Hint[];
  owners?: string;
  margin?: number;
}

/** The count of a game that is over. */
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

/** A game that is being played. */
export interface GameView extends View, Thought {
  id: string;
  title: string;
  about: string;
  territory: boolean;
  sides: [string, string];
  specs: [string, string];
  moveList: string[];
  thinking: boolean;
  problem: string;
  marks: Marks;
  count: Count | null;
  clock: ClockView | null;
}

export interface StudyTree {
  id: string;
  title: string;
  about: string;
  names: [string, string];
  result: string;
  /** The games of the file, where it has several. */
  games: string[];
  /** Which of them this is. */
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

/** The analysis of a position: chances and scores of the player to move, ownership of the first player. */
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

export interface Progress {
  done: number;
  total: number;
  problem?: string;
}

export interface GraphView {
  /** By node: chance and score of the first player, visits, best move. */
  values: Record<string, [number, number | null, number, string]>;
  progress: Progress;
}

/** A node of a search, in the symbols of AlphaGo Zero. */
export interface Numbers {
  node: number;
  move: string;
  N: number;
  W: number;
  Q: number | null;
  P: number;
  u: number;
  v: number | null;
  stage: string;
  children: number;
}

/** A node that the last simulation went through, and what it was before. */
export interface Step extends Numbers {
  oldN: number;
  oldW: number;
}

export interface LineMove {
  node: number;
  move: string;
}

export interface SearchView {
  spec: string;
  simulations: number;
  path: Step[];
  node: number;
  line: LineMove[];
  position: View;
  numbers: Numbers;
  urgency: number;
  children: Numbers[];
  boards: Partial<Record<"prior" | "value" | "q" | "rollouts" | "visits", Record<string, number>>>;
}

export interface MatchScore {
  wins: number;
  losses: number;
  draws: number;
  score: number | null;
  score_interval: [number, number];
}

export interface MatchSummary {
  games: number;
  a: MatchScore;
  b: MatchScore;
}

export interface MatchInfo {
  id: string;
  about: string;
  sides: [string, string];
  games: number;
  summary: MatchSummary;
}

export interface MatchView extends MatchInfo {
  players: [string, string];
  specs: [string, string];
  warnings: string[];
  underWay: boolean;
  waiting: boolean;
  pace: number;
  problem: string;
  /** First player, winner, result, ending, what the loser of a forfeit did wrong, length. */
  results: ["a" | "b", "a" | "b" | null, string, string, string, number][];
}

export interface MatchBoard extends View, Thought {
  id: string;
  round: number;
  first: "a" | "b";
}

export interface TournamentAgent {
  name: string;
  spec: string;
  elo: number | null;
  elo_error: number | null;
  score: number | null;
  wins: number | null;
  losses: number | null;
  draws: number | null;
}

export interface Tournament {
  agents: TournamentAgent[];
  pairs: [string, string, number, string][];
  games: number | null;
}

export interface TableSettings {
  komi?: string | number | boolean;
  games?: string | number | boolean;
  random_moves?: string | number | boolean;
}

export interface GenerationTable {
  name: string;
  players: [string, string];
  about: TableSettings;
  /** First and second player's generation, games won, drawn and lost. */
  pairs: [number, number, number, number, number][];
}

export interface RoundOfDuels {
  generation: number;
  /** Opponent, games won, drawn and lost. */
  duels: [number, number, number, number][];
  elo: number | null;
  gate_promoted: boolean | null;
}

/** A game of self-play. */
export interface PlayedGeneration {
  generation: number;
  winner: number;
  length: number;
}

export interface RunView {
  name: string;
  touched: number;
  settings: Record<string, string | number | boolean>;
  lines: number;
  series: Record<string, [number, number][]>;
  duels: RoundOfDuels[];
  games: PlayedGeneration[];
  models: string[];
  tournament: Tournament | null;
  tables: GenerationTable[];
}

/** That it was done, or that there is nothing to say. */
export type Nothing = Record<string, never>;

/** A game, study or match by its name. */
export interface Named {
  id: string;
}

export interface OptionInfo {
  name: string;
  kind: "bool" | "int" | "float" | "str";
  choices: string[];
  default: string | number | boolean | null;
}

export interface RulesInfo {
  name: string;
  komi: number;
  size: number;
}

/** What is usual on the boards of Go. */
export interface GoInfo {
  /** That are offered by a button. */
  sizes: number[];
  /** That a form begins with. */
  size: number;
  smallest: number;
  largest: number;
  /** By size, where it is not that of the rules. */
  komi: Record<string, number>;
  handicapKomi: number;
  /** The most stones, by size. */
  handicaps: Record<string, number>;
}

export interface GameInfo {
  name: string;
  title: string;
  players: [string, string];
  territory: boolean;
  suffix: string;
  options: OptionInfo[];
  rules?: RulesInfo[];
  go?: GoInfo;
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

export interface ListedGame {
  id: string;
  game: string;
  about: string;
  players: [string, string];
  specs: [string, string];
  moves: number;
  result: string;
  touched: number;
}

export interface ListedStudy {
  id: string;
  title: string;
  about: string;
  names: [string, string];
  result: string;
  positions: number;
  touched: number;
}

export interface TextFile {
  name: string;
  text: string;
}

export interface BinaryFile {
  name: string;
  /** In Base64. */
  data: string;
}

export interface Hints {
  hints: Hint[];
}

export interface Margin {
  margin: number;
}

export interface AtNode {
  node: number;
}

export interface ListedRun {
  name: string;
  touched: number;
}

export interface RunList {
  folder: string;
  runs: ListedRun[];
}

/** A game of two agents of a tournament. */
export interface PairGame {
  number: number;
  first: string;
  winner: string;
  result: string;
  moves: number;
}

export interface ChosenGame {
  game: string;
  options?: Record<string, string | number | boolean>;
}

export interface NewGame extends ChosenGame {
  /** Two: each `human`, an opponent's key, or `spec:` and a spec. */
  players: string[];
  clock?: TimeControl | null;
}

/** Text that was pasted, or the bytes of a file in Base64: the server knows more encodings than a browser. */
export interface GivenRecord {
  record?: string;
  data?: string;
}

export interface LoadedGame extends GivenRecord {
  players: string[];
  clock?: TimeControl | null;
}

export interface Move extends Named {
  move: string;
  /** Of the moves played before: nothing is played twice. */
  number: number;
}

export interface Point extends Named {
  point: string;
}

export interface AskedGame {
  game: string;
}

export interface ChosenOfFile extends Named {
  game: number;
}

export interface GoTo extends Named {
  node: number;
}

export interface Variation extends Named {
  node: number;
  move: string;
}

export interface Analyst extends Named {
  /** Empty: nobody. */
  spec: string;
}

export interface WholeGame extends Named {
  /** 0: stop. */
  visits: number;
  spec?: string;
}

export interface Simulations extends Named {
  count: number;
}

export interface NewMatch extends ChosenGame {
  players: string[];
  games: number;
}

export interface Pace extends Named {
  seconds: number;
}

export interface MatchGame extends Named {
  number: number;
}

export interface Run {
  name: string;
}

export interface SelfPlayGame extends Run {
  index: number;
}

export interface RunPair extends Run {
  first: string;
  second: string;
}

export interface Duel extends RunPair {
  /** None: that of the run. */
  komi: number | null;
}

export interface RunPairGame extends RunPair {
  number: number;
}

/** News by topic. */
export interface Topics {
  game: GameView;
  study: StudyTree;
  position: StudyPosition;
  analysis: AnalysisView;
  graph: GraphView;
  search: SearchView;
  match: MatchView;
  matchBoard: MatchBoard;
  run: RunView;
}

/** Questions, and what is answered. */
export interface Actions {
  hello: { asks: Nothing; gets: Catalogue };
  "play.list": { asks: Nothing; gets: ListedGame[] };
  "play.opponents": { asks: ChosenGame; gets: OpponentInfo[] };
  "play.new": { asks: NewGame; gets: Named };
  "play.load": { asks: LoadedGame; gets: Named };
  "play.open": { asks: Named; gets: Named };
  "play.leave": { asks: Nothing; gets: Nothing };
  "play.move": { asks: Move; gets: Nothing };
  "play.resign": { asks: Named; gets: Nothing };
  "play.undo": { asks: Named; gets: Nothing };
  "play.again": { asks: Named; gets: Nothing };
  "play.dead": { asks: Point; gets: Nothing };
  "play.hint": { asks: Named; gets: Hints };
  "play.estimate": { asks: Named; gets: Margin };
  "play.save": { asks: Named; gets: TextFile };
  "play.remove": { asks: Named; gets: Nothing };
  "study.list": { asks: Nothing; gets: ListedStudy[] };
  "study.remove": { asks: Named; gets: Nothing };
  "study.choose": { asks: ChosenOfFile; gets: Named };
  "study.new": { asks: ChosenGame; gets: Named };
  "study.load": { asks: GivenRecord; gets: Named };
  "study.game": { asks: AskedGame; gets: Named };
  "study.open": { asks: Named; gets: Named };
  "study.go": { asks: GoTo; gets: Nothing };
  "study.play": { asks: Variation; gets: AtNode };
  "study.analyse": { asks: Analyst; gets: Nothing };
  "study.whole": { asks: WholeGame; gets: Nothing };
  "study.export": { asks: Named; gets: BinaryFile };
  "explain.start": { asks: Analyst; gets: Nothing };
  "explain.step": { asks: Simulations; gets: Nothing };
  "explain.node": { asks: GoTo; gets: Nothing };
  "runs.list": { asks: Nothing; gets: RunList };
  "runs.open": { asks: Run; gets: Nothing };
  "runs.leave": { asks: Nothing; gets: Nothing };
  "runs.replay": { asks: SelfPlayGame; gets: Named };
  "runs.duel": { asks: Duel; gets: Named };
  "runs.pair": { asks: RunPair; gets: PairGame[] };
  "runs.game": { asks: RunPairGame; gets: Named };
  "match.list": { asks: Nothing; gets: MatchInfo[] };
  "match.new": { asks: NewMatch; gets: Named };
  "match.open": { asks: Named; gets: Named };
  "match.pause": { asks: Named; gets: Nothing };
  "match.resume": { asks: Named; gets: Nothing };
  "match.pace": { asks: Pace; gets: Nothing };
  "match.replay": { asks: MatchGame; gets: Named };
  "match.save": { asks: MatchGame; gets: TextFile };
}
