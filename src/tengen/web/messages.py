"""What pages and the server send each other: every question with its answer, and every topic of news.

The page's types in `web/src/messages.ts` are made from this file, by `make format`. A test compares the two, and the
messages that the server really sends with what is written here.

    {"n": 7, "do": "play.move", ...fields of `Move`}    a question of the page
    {"re": 7, "ok": {...}}                              its answer
    {"on": "game", "set": {...fields of `GameView`}}    news
"""

from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

Pair = tuple[str, str]
Side = Literal["a", "b"]
BoardName = Literal["prior", "value", "q", "rollouts", "visits"]
Setting = str | float | bool

# ------------------------------------------------------------------------------------------------- positions


class View(TypedDict):
    """A position as the page draws it."""

    game: str
    players: Pair
    toPlay: int
    number: int
    last: str
    mover: int
    """Who made the last move; 0 at the start."""
    over: bool
    winner: int | None
    result: str
    reason: str
    board: Literal["go", "chess", "squares", "text"]
    rows: int
    cols: int
    cells: str
    """One character for each point or square, row by row from the top."""
    moves: NotRequired[list[str]]
    banned: NotRequired[list[str]]
    """In Go, where nearly all moves are legal: the empty points that are not."""
    canPass: NotRequired[bool]
    open: NotRequired[bool]
    """Whether a pass would be early."""
    captures: NotRequired[tuple[int, int]]
    komi: NotRequired[float]
    handicap: NotRequired[int]
    rules: NotRequired[str]
    check: NotRequired[bool]
    san: NotRequired[str]
    symbols: NotRequired[str]
    text: NotRequired[str]


class Thought(TypedDict):
    """What the player who moved last thought."""

    note: str
    chance: float | None
    """Of the first player to win."""


class Hint(TypedDict):
    move: str
    chance: NotRequired[float | None]


class Marks(TypedDict):
    """What somebody asked about a position."""

    hints: NotRequired[list[Hint]]
    owners: NotRequired[str]
    margin: NotRequired[float]


class Count(TypedDict):
    """The count of a game that is over."""

    dead: list[str]
    owners: str
    margin: float
    text: str
    correctable: bool


class TimeControl(TypedDict):
    """In seconds; see clocks.py."""

    main: float
    periods: int
    period: float
    increment: float


class ClockView(TimeControl):
    left: tuple[tuple[float, int], tuple[float, int]]
    """Main time and periods of each player at the beginning of the turn."""
    player: int
    used: float
    running: bool
    lost: int


class GameView(View, Thought):
    """A game that is being played."""

    id: str
    title: str
    about: str
    territory: bool
    sides: Pair
    specs: Pair
    moveList: list[str]
    thinking: bool
    problem: str
    marks: Marks
    count: Count | None
    clock: ClockView | None


class StudyTree(TypedDict):
    id: str
    title: str
    about: str
    names: Pair
    result: str
    games: list[str]
    """The games of the file, where it has several."""
    chosen: int
    """Which of them this is."""
    parents: list[int]
    moves: list[str]
    movers: list[int]
    analysts: list[str]


class StudyPosition(View):
    node: int
    comment: str


class MoveInfo(TypedDict):
    move: str
    visits: int
    chance: float
    prior: float
    score: float | None
    pv: list[str]


class AnalysisView(TypedDict):
    """The analysis of a position: chances and scores of the player to move, ownership of the first player."""

    node: int
    spec: str
    problem: str
    visits: int
    moves: list[MoveInfo]
    chance: float | None
    score: float | None
    owners: list[float] | None
    toPlay: int
    final: bool


class Progress(TypedDict):
    done: int
    total: int
    problem: NotRequired[str]


class GraphView(TypedDict):
    values: dict[str, tuple[float, float | None, int, str]]
    """By node: chance and score of the first player, visits, best move."""
    progress: Progress


class Numbers(TypedDict):
    """A node of a search, in the symbols of AlphaGo Zero."""

    node: int
    move: str
    N: int
    W: float
    Q: float | None
    P: float
    u: float
    v: float | None
    stage: str
    children: int


class Step(Numbers):
    """A node that the last simulation went through, and what it was before."""

    oldN: int
    oldW: float


class LineMove(TypedDict):
    node: int
    move: str


class SearchView(TypedDict):
    spec: str
    simulations: int
    path: list[Step]
    node: int
    line: list[LineMove]
    position: View
    numbers: Numbers
    urgency: float
    children: list[Numbers]
    boards: dict[BoardName, dict[str, float]]


class MatchScore(TypedDict):
    wins: int
    losses: int
    draws: int
    score: float | None
    score_interval: tuple[float, float]


class MatchSummary(TypedDict):
    games: int
    a: MatchScore
    b: MatchScore


class MatchInfo(TypedDict):
    id: str
    about: str
    sides: Pair
    games: int
    summary: MatchSummary


class MatchView(MatchInfo):
    players: Pair
    specs: Pair
    warnings: list[str]
    underWay: bool
    waiting: bool
    pace: float
    problem: str
    results: list[tuple[Side, Side | None, str, str, str, int]]
    """First player, winner, result, ending, what the loser of a forfeit did wrong, length."""


class MatchBoard(View, Thought):
    id: str
    round: int
    first: Side


class TournamentAgent(TypedDict):
    name: str
    spec: str
    elo: float | None
    elo_error: float | None
    score: float | None
    wins: float | None
    losses: float | None
    draws: float | None


class Tournament(TypedDict):
    agents: list[TournamentAgent]
    pairs: list[tuple[str, str, float, str]]
    games: float | None


class TableSettings(TypedDict):
    komi: NotRequired[Setting]
    games: NotRequired[Setting]
    random_moves: NotRequired[Setting]


class GenerationTable(TypedDict):
    name: str
    players: Pair
    about: TableSettings
    pairs: list[tuple[int, int, int, int, int]]
    """First and second player's generation, games won, drawn and lost."""


class RoundOfDuels(TypedDict):
    generation: float
    duels: list[tuple[float, float, float, float]]
    """Opponent, games won, drawn and lost."""
    elo: float | None
    gate_promoted: bool | None


class PlayedGeneration(TypedDict):
    """A game of self-play."""

    generation: int
    winner: int
    length: int


class RunView(TypedDict):
    name: str
    touched: float
    settings: dict[str, Setting]
    lines: int
    series: dict[str, list[tuple[float, float]]]
    duels: list[RoundOfDuels]
    games: list[PlayedGeneration]
    models: list[str]
    tournament: Tournament | None
    tables: list[GenerationTable]


TOPICS: dict[str, type] = {
    "game": GameView,
    "study": StudyTree,
    "position": StudyPosition,
    "analysis": AnalysisView,
    "graph": GraphView,
    "search": SearchView,
    "match": MatchView,
    "matchBoard": MatchBoard,
    "run": RunView,
}
"""News by topic."""

# --------------------------------------------------------------------------------------------------- answers


class Nothing(TypedDict):
    """That it was done, or that there is nothing to say."""


class Named(TypedDict):
    """A game, study or match by its name."""

    id: str


class OptionInfo(TypedDict):
    name: str
    kind: Literal["bool", "int", "float", "str"]
    choices: list[str]
    default: str | float | bool | None


class RulesInfo(TypedDict):
    name: str
    komi: float
    size: int


class GoInfo(TypedDict):
    """What is usual on the boards of Go."""

    sizes: list[int]
    """That are offered by a button."""
    size: int
    """That a form begins with."""
    smallest: int
    largest: int
    komi: dict[str, float]
    """By size, where it is not that of the rules."""
    handicapKomi: float
    handicaps: dict[str, int]
    """The most stones, by size."""


class GameInfo(TypedDict):
    name: str
    title: str
    players: Pair
    territory: bool
    suffix: str
    options: list[OptionInfo]
    rules: NotRequired[list[RulesInfo]]
    go: NotRequired[GoInfo]


class Catalogue(TypedDict):
    version: str
    kinds: list[str]
    games: list[GameInfo]


class OpponentInfo(TypedDict):
    key: str
    spec: str
    measured: str
    rating: int | None
    """Elo on this board; that of `first-game` is 0."""


class ListedGame(TypedDict):
    id: str
    game: str
    about: str
    players: Pair
    specs: Pair
    moves: int
    result: str
    touched: float


class ListedStudy(TypedDict):
    id: str
    title: str
    about: str
    names: Pair
    result: str
    positions: int
    touched: float


class TextFile(TypedDict):
    name: str
    text: str


class BinaryFile(TypedDict):
    name: str
    data: str
    """In Base64."""


class Hints(TypedDict):
    hints: list[Hint]


class Margin(TypedDict):
    margin: float


class AtNode(TypedDict):
    node: int


class ListedRun(TypedDict):
    name: str
    touched: float


class RunList(TypedDict):
    folder: str
    runs: list[ListedRun]


class PairGame(TypedDict):
    """A game of two agents of a tournament."""

    number: int
    first: str
    winner: str
    result: str
    moves: float


# ------------------------------------------------------------------------------------------------- questions


class ChosenGame(TypedDict):
    game: str
    options: NotRequired[dict[str, Setting]]


class NewGame(ChosenGame):
    players: list[str]
    """Two: each `human`, an opponent's key, or `spec:` and a spec."""
    clock: NotRequired[TimeControl | None]


class GivenRecord(TypedDict):
    """Text that was pasted, or the bytes of a file in Base64: the server knows more encodings than a browser."""

    record: NotRequired[str]
    data: NotRequired[str]


class LoadedGame(GivenRecord):
    players: list[str]
    clock: NotRequired[TimeControl | None]


class Move(Named):
    move: str
    number: int
    """Of the moves played before: nothing is played twice."""


class Point(Named):
    point: str


class AskedGame(TypedDict):
    game: str


class ChosenOfFile(Named):
    game: int


class GoTo(Named):
    node: int


class Variation(Named):
    node: int
    move: str


class Analyst(Named):
    spec: str
    """Empty: nobody."""


class WholeGame(Named):
    visits: int
    """0: stop."""
    spec: NotRequired[str]


class Simulations(Named):
    count: int


class NewMatch(ChosenGame):
    players: list[str]
    games: int


class Pace(Named):
    seconds: float


class MatchGame(Named):
    number: int


class Run(TypedDict):
    name: str


class SelfPlayGame(Run):
    index: int


class RunPair(Run):
    first: str
    second: str


class Duel(RunPair):
    komi: float | None
    """None: that of the run."""


class RunPairGame(RunPair):
    number: int


class Action(NamedTuple):
    """Something that a page may ask for."""

    asks: Any
    gets: Any


ACTIONS: dict[str, Action] = {
    "hello": Action(Nothing, Catalogue),
    "play.list": Action(Nothing, list[ListedGame]),
    "play.opponents": Action(ChosenGame, list[OpponentInfo]),
    "play.new": Action(NewGame, Named),
    "play.load": Action(LoadedGame, Named),
    "play.open": Action(Named, Named),
    "play.leave": Action(Nothing, Nothing),
    "play.move": Action(Move, Nothing),
    "play.resign": Action(Named, Nothing),
    "play.undo": Action(Named, Nothing),
    "play.again": Action(Named, Nothing),
    "play.dead": Action(Point, Nothing),
    "play.hint": Action(Named, Hints),
    "play.estimate": Action(Named, Margin),
    "play.save": Action(Named, TextFile),
    "play.remove": Action(Named, Nothing),
    "study.list": Action(Nothing, list[ListedStudy]),
    "study.remove": Action(Named, Nothing),
    "study.choose": Action(ChosenOfFile, Named),
    "study.new": Action(ChosenGame, Named),
    "study.load": Action(GivenRecord, Named),
    "study.game": Action(AskedGame, Named),
    "study.open": Action(Named, Named),
    "study.go": Action(GoTo, Nothing),
    "study.play": Action(Variation, AtNode),
    "study.analyse": Action(Analyst, Nothing),
    "study.whole": Action(WholeGame, Nothing),
    "study.export": Action(Named, BinaryFile),
    "explain.start": Action(Analyst, Nothing),
    "explain.step": Action(Simulations, Nothing),
    "explain.node": Action(GoTo, Nothing),
    "runs.list": Action(Nothing, RunList),
    "runs.open": Action(Run, Nothing),
    "runs.leave": Action(Nothing, Nothing),
    "runs.replay": Action(SelfPlayGame, Named),
    "runs.duel": Action(Duel, Named),
    "runs.pair": Action(RunPair, list[PairGame]),
    "runs.game": Action(RunPairGame, Named),
    "match.list": Action(Nothing, list[MatchInfo]),
    "match.new": Action(NewMatch, Named),
    "match.open": Action(Named, Named),
    "match.pause": Action(Named, Nothing),
    "match.resume": Action(Named, Nothing),
    "match.pace": Action(Pace, Nothing),
    "match.replay": Action(MatchGame, Named),
    "match.save": Action(MatchGame, TextFile),
}
"""Questions by name, each with what it asks and what is answered."""
