// Every word on the page, in English and Korean. A word that is missing in Korean is shown in English.
import { type View } from "./messages";
import { inKorean } from "./server_words";

// prettier-ignore
const table = {
  play: ["Play", "대국"],
  analyse: ["Analyse", "분석"],
  explain: ["Explain", "해설"],
  learn: ["Learn", "학습"],
  match: ["Match", "매치"],
  newGame: ["New game", "새 대국"],
  recentGames: ["Your games", "내 대국"],
  noGames: ["No games yet.", "아직 대국이 없습니다."],
  game: ["Game", "종목"],
  size: ["Board", "판 크기"],
  rules: ["Rules", "규칙"],
  komi: ["Komi", "덤"],
  handicap: ["Handicap", "접바둑"],
  none: ["none", "없음"],
  yourSide: ["You play", "내 돌"],
  watch: ["Watch", "관전"],
  bothSides: ["both", "둘 다"],
  opponent: ["Opponent", "상대"],
  bySpec: ["by spec…", "직접 지정…"],
  spec: ["Spec", "지정"],
  start: ["Start", "시작"],
  load: ["Open a record", "기보 열기"],
  loadHint: ["SGF, PGN or JSON, from a file or pasted", "SGF, PGN, JSON: 파일 또는 붙여넣기"],
  tooLarge: ["The file is too large: a record has at most 700 kB.", "파일이 너무 큽니다. 기보는 700 kB까지입니다."],
  goOn: ["Continue", "이어두기"],
  remove: ["Remove", "삭제"],
  you: ["You", "나"],
  pass: ["Pass", "한수쉼"],
  undo: ["Undo", "무르기"],
  resign: ["Resign", "기권"],
  hint: ["Hint", "힌트"],
  score: ["Score", "형세"],
  save: ["Save", "저장"],
  again: ["Try again", "다시 시도"],
  reallyResign: ["Resign this game?", "기권할까요?"],
  yes: ["Yes", "예"],
  no: ["No", "아니오"],
  thinking: ["thinking", "생각 중"],
  captured: ["captured", "따낸 돌"],
  moves: ["Moves", "수순"],
  moveCount: ["{0} moves", "{0}수"],
  yourTurn: ["Your move", "내 차례입니다"],
  toPlay: ["to play", "차례"],
  passed: ["passed", "한수쉼"],
  check: ["check", "체크"],
  wins: ["wins", "승"],
  draw: ["Draw", "무승부"],
  noResult: ["No result", "무효"],
  aheadBy: ["{0} is ahead by about {1} points", "{0}이 약 {1}집 우세"],
  even: ["The game is about even", "비슷한 형세"],
  resigned: ["resigned", "기권"],
  reallyPass: ["Most of the board is still open. Pass?", "아직 둘 곳이 많습니다. 한 수 쉴까요?"],
  points: ["points", "집"],
  deadStones: ["Click stones to mark them dead or alive.", "돌을 눌러 사석을 바꿀 수 있습니다."],
  resume: ["Play on", "계속 두기"],
  chance: ["chance", "승률"],
  lastNote: ["search", "탐색"],
  connectionLost: ["Connecting again…", "다시 연결 중…"],
  promotion: ["Promote to", "승진"],
  theme: ["Light or dark", "밝게/어둡게"],
  language: ["한국어", "English"],
  sound: ["Sound", "소리"],
  coordinates: ["Coordinates", "좌표"],
  boardLabel: ["Board. Arrow keys move the cursor, Enter plays, Escape leaves.", "판. 화살표로 이동, Enter로 착수, Escape로 나가기."],
  measured: ["measured", "측정"],
  double_step: ["Double step", "두 칸 전진"],
  keys: ["Keys: arrows and Enter on the board · P pass · U undo · H hint · S score", "단축키: 화살표+Enter · P 한수쉼 · U 무르기 · H 힌트 · S 형세"],
  analysis: ["Analysis", "실시간 분석"],
  emptyPosition: ["empty board", "빈 판"],
  emptyBoard: ["Or an empty board", "또는 빈 판"],
  gameOver: ["The game is over.", "끝난 대국입니다."],
  show: ["Show", "보기"],
  move: ["Move", "착점"],
  visits: ["visits", "방문"],
  better: ["better:", "더 좋은 수:"],
  wholeGame: ["Whole game", "전체 분석"],
  stop: ["Stop", "멈춤"],
  yourStudies: ["Your studies", "내 분석"],
  noStudies: ["No studies yet.", "아직 분석이 없습니다."],
  positions: ["positions", "국면"],
  studyGone: ["This study is not here any more: open its record again.", "이 분석은 더 이상 없습니다. 기보를 다시 여세요."],
  gameOfFile: ["Game of the file", "파일의 대국"],
  otherRecord: ["Another record", "다른 기보"],
  analyseThis: ["Analyse", "분석"],
  walkKeys: ["Keys: ← → walk · ↑ ↓ variations · Home End · A analysis; the wheel walks too", "단축키: ← → 이동 · ↑ ↓ 변화도 · Home End · A 분석"],
  walkStart: ["To the start", "처음으로"],
  walkBack: ["Back", "뒤로"],
  walkForward: ["Forward", "앞으로"],
  walkEnd: ["To the end", "끝으로"],
  "layer.candidates": ["Moves", "후보"],
  "layer.prior": ["Prior", "정책"],
  "layer.visits": ["Visits", "방문"],
  "layer.value": ["Value", "가치"],
  "layer.ownership": ["Ownership", "영역"],
  "layer.nothing": ["Nothing", "없음"],
  explainStart: ["Choose a position to explain: open a record or an empty board.", "해설할 국면을 고르세요: 기보나 빈 판을 여세요."],
  simulations: ["simulations", "시뮬레이션"],
  stepOne: ["One simulation", "시뮬레이션 1회"],
  fromStart: ["From the start", "처음부터"],
  lastSimulation: ["The last simulation", "마지막 시뮬레이션"],
  lastSimulationHint: ["It went down the tree by the largest Q + u, evaluated one new position, and carried its value back up.", "Q + u가 가장 큰 수를 따라 내려가 새 국면 하나를 평가하고, 그 값을 위로 전달했습니다."],
  mostVisited: ["most visited", "최다 방문"],
  nextSimulation: ["next simulation", "다음 시뮬레이션"],
  signs: [
    "N visits; W sum of the values seen below, each from −1 (lost) to +1 (won) for the player who makes the move; Q = W / N; P prior; u bonus for moves with few visits; v the network's value of the position after the move, for the player to move there: its sign is the opposite of W's.",
    "N 방문 수; W 아래에서 얻은 값의 합. 값은 그 수를 두는 쪽에서 본 −1(패)부터 +1(승); Q = W / N; P 정책; u 방문이 적은 수에 주는 가산점; v 그 수 다음 국면을 신경망이 평가한 값. 다음에 둘 쪽에서 본 값이라 W와 부호가 반대입니다.",
  ],
  theTree: ["The tree", "탐색 트리"],
  toAnalysis: ["Back to the analysis", "분석으로"],
  rootNode: ["root", "루트"],
  unvisitedQ: ["Q of moves without a visit", "방문 없는 수의 Q"],
  "board.prior": ["Prior: the policy network", "정책망 (prior)"],
  "board.value": ["Value network after each move", "착수 후 가치망"],
  "board.q": ["Q: mean value of the search", "Q: 탐색 평균"],
  "board.rollouts": ["Q of the rollouts alone", "롤아웃 평균"],
  "board.visits": ["Visits of the search", "탐색 방문 수"],
  runs: ["Runs", "학습 실행"],
  noRuns: ["No runs or tournaments in", "학습 실행이 없습니다:"],
  steps: ["lines of metrics", "줄의 기록"],
  noNumbers: ["No numbers yet: the first round is under way.", "아직 수치가 없습니다. 첫 라운드가 진행 중입니다."],
  settings: ["Settings", "설정"],
  losses: ["Losses", "손실"],
  strength: ["Strength (Elo)", "기력 (Elo)"],
  accuracy: ["Accuracy and points", "정확도와 승점"],
  speed: ["Per second", "초당"],
  otherNumbers: ["Other numbers", "기타"],
  duels: ["Duels and gate", "세대 대결"],
  promoted: ["promoted", "승격"],
  notPromoted: ["not promoted", "탈락"],
  generation: ["Generation", "세대"],
  selfPlay: ["Newest games of self-play", "최근 자가 대국"],
  against: ["against", "대"],
  playIt: ["Let them play", "대국 보기"],
  crossTable: ["Cross table: the score of the row against the column", "대전표: 가로줄의 점수"],
  crossTableHint: ["In percent. Click a cell to see its games.", "퍼센트 단위. 칸을 누르면 그 대국들이 나옵니다."],
  generationTable: ["Cross table of generations", "세대 대전표"],
  generationTableHint: ["The row's score in percent; 0 moves at random. Click a cell to let the two play.", "가로줄의 점수(퍼센트). 0은 무작위입니다. 칸을 누르면 두 세대가 둡니다."],
  movedFirst: ["First", "선"],
  winner: ["Winner", "승자"],
  rating: ["Rating", "레이팅"],
  ratingHere: ["rating on this board (First game: 0)", "이 판에서의 레이팅(첫 대국: 0)"],
  clock: ["Clock", "시계"],
  byoyomi: ["Byo-yomi", "초읽기"],
  fischer: ["Fischer", "피셔"],
  mainMinutes: ["Main time, minutes", "기본 시간(분)"],
  periods: ["Periods", "횟수"],
  periodSeconds: ["Seconds each", "1회(초)"],
  increment: ["Seconds added a move", "수당 추가(초)"],
  newMatch: ["New match", "새 매치"],
  matches: ["Matches", "매치 목록"],
  noMatches: ["No matches yet.", "아직 매치가 없습니다."],
  agent: ["Agent", "에이전트"],
  agentA: ["Agent A", "에이전트 A"],
  agentB: ["Agent B", "에이전트 B"],
  games: ["Games", "대국 수"],
  moveNumber: ["Move", "수"],
  gameNumber: ["Game", "대국"],
  matchHint: ["Two games each begin with the same random opening, with colours reversed.", "두 판씩 같은 무작위 초반으로, 흑백을 바꾸어 둡니다."],
  matchMemory: ["A match goes on while its page is open; save the games that you want to keep.", "매치는 이 페이지가 열려 있는 동안 진행됩니다. 남길 대국은 저장하세요."],
  pace: ["Pace", "속도"],
  paceFast: ["as fast as they can", "최대한 빠르게"],
  paceTwo: ["2 moves a second", "초당 2수"],
  paceOne: ["1 move a second", "초당 1수"],
  paceSlow: ["a move in 3 seconds", "3초에 1수"],
  finished: ["finished", "종료"],
  stopped: ["stopped", "멈춤"],
  waiting: ["waiting for other matches", "다른 매치를 기다리는 중"],
  won: ["Won", "승"],
  drawn: ["Drawn", "무"],
  lost: ["Lost", "패"],
  share: ["Share", "승률"],
  interval: ["95% range", "95% 구간"],
  result: ["Result", "결과"],
  replay: ["Replay", "다시 보기"],
  "level.human": ["Another person here", "같은 화면의 사람"],
  "level.first-game": ["First game", "첫 대국"],
  "level.beginner": ["Beginner", "입문"],
  "level.casual": ["Casual", "초급"],
  "level.improving": ["Improving", "중급"],
  "level.club": ["Club player", "고급"],
  "level.strong": ["Strong", "강함"],
  "level.strongest": ["Strongest on this machine", "이 컴퓨터에서 가장 강함"],
  "player.Black": ["Black", "흑"],
  "player.White": ["White", "백"],
  "game.go": ["Go", "바둑"],
  "game.microchess": ["Microchess", "마이크로체스"],
  "game.tictactoe": ["Tic-tac-toe", "틱택토"],
  "rules.chinese": ["Chinese", "중국식"],
  "rules.japanese": ["Japanese", "일본식"],
  "rules.aga": ["AGA", "AGA"],
  "rules.new-zealand": ["New Zealand", "뉴질랜드"],
  "rules.tromp-taylor": ["Tromp-Taylor", "트롬프-테일러"],
  "rules.simple-go": ["Simple-Go", "심플 바둑"],
  "rules.standard": ["Standard", "표준"],
  "rules.ncsoft": ["NCSoft", "NC소프트"],
  "reason.resignation": ["resignation", "불계"],
  "reason.score": ["score", "계가"],
  "reason.checkmate": ["checkmate", "체크메이트"],
  "reason.stalemate": ["stalemate", "스테일메이트"],
  "reason.time": ["time", "시간"],
  "reason.forfeit": ["forfeit", "몰수"],
  "reason.move limit": ["move limit", "수 제한"],
} satisfies Record<string, [string, string]>;

export type Word = keyof typeof table;
export type Language = "en" | "ko";

let language: Language = "en";

/** Take the language that was chosen here before, or that of the browser. */
export function pickLanguage(): void {
  const kept = localStorage.getItem("language");
  language = kept === "en" || kept === "ko" ? kept : navigator.language.startsWith("ko") ? "ko" : "en";
}

export function currentLanguage(): Language {
  return language;
}

export function setLanguage(chosen: Language): void {
  language = chosen;
}

/** The word in the language of the page. */
export function t(word: Word): string {
  const [english, korean] = table[word];
  return language === "ko" ? korean || english : english;
}

/** The same at the head of a column. */
export function head(word: Word): string {
  const text = t(word);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A sentence with something filled in: `{0}`, `{1}`. */
export function fill(word: Word, ...values: (string | number)[]): string {
  return t(word).replace(/\{(\d)\}/g, (_, place) => String(values[Number(place)]));
}

/** A sentence that the server has made, in the language of the page; unknown ones are shown as they are. */
export function fromServer(text: string): string {
  return language === "ko" ? inKorean(text) : text;
}

/** The same for words that come from the server: `of("level", "beginner")`; unknown ones are shown as they are. */
export function of(group: string, word: string): string {
  const key = `${group}.${word}`;
  return key in table ? t(key as Word) : word;
}

/** Board and rules of a position; empty where only the server knows how to say it. */
export function aboutOf(view: View): string {
  if (view.board !== "go" || view.rules === undefined) return "";
  const handicap = view.handicap ? `${t("handicap")} ${view.handicap}` : "";
  return [`${view.cols}×${view.rows}`, of("rules", view.rules), `${t("komi")} ${view.komi}`, handicap]
    .filter(Boolean)
    .join(" · ");
}
