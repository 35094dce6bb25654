"""GTP's commands for analysis, as Leela Zero (`lz-analyze`) and KataGo (`kata-analyze`) have them.

An analysis is answered by a line again and again, until the controller sends its next line, be it empty. Numbers are
those of the player whose move is analysed. In each line a move's part ends with its `pv`, as Sabaki needs it; what
holds for the position, `rootInfo` and `ownership`, comes last. `move_fields` and `root_fields` are also those of the
JSON analysis. Tengen searches by the chance to win alone, so that utility is that chance from -1 to 1; the spread of
the score is that of points owned independently.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import numpy as np

from tengen.agents.analysis import Analysis, Analyst, MoveAnalysis, NetworkAnalyst, Ownership, Watcher
from tengen.games import go
from tengen.games.go import PASS, WHITE, to_gtp
from tengen.serve.gtp_protocol import GtpError, argument, as_color, as_integer, as_number, as_vertex

Arguments = tuple[str, ...]
_USUAL_INTERVAL: Final = 1.0  # seconds, where the controller names none
_FLAGS: Final = {
    "ownership": "ownership",
    "movesownership": "moves_ownership",
    "pvvisits": "pv_visits",
    "rootinfo": "root_info",
}
_IGNORED: Final = ("ownershipstdev", "movesownershipstdev", "pvedgevisits", "norawinfo", "noresultvalue")

Fields = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What a controller wants to see."""

    color: int | None = None
    interval: float = _USUAL_INTERVAL
    """Seconds between two lines."""
    min_moves: int = 0
    max_moves: int = 1_000_000
    ownership: bool = False
    moves_ownership: bool = False
    pv_visits: bool = False
    root_info: bool = False
    avoid: dict[int, frozenset[int]] = field(default_factory=dict)
    """Moves of each colour that are not to be searched."""


class Board(Protocol):
    """What these commands need of the server."""

    @property
    def analyst(self) -> Analyst: ...

    def to_analyse(self, color: int | None) -> go.State:
        """The position on the board, this colour to move, or whose turn it is."""
        ...

    def generate(self, color: int, watcher: Callable[[go.State], Watcher] | None = None, *, plays: bool = True) -> str:
        """A move by the clock, checked, and played if that is wanted; `watcher` is who is shown the search."""
        ...

    def until_next_line(self, on_line: Callable[[], None]) -> AbstractContextManager[None]:
        """While inside, this is called once the controller sends another line."""
        ...


class Stream(Protocol):
    """An answer of many lines that goes out line by line."""

    def begin(self) -> None:
        """Say that the command is obeyed."""
        ...

    def line(self, text: str) -> None: ...


@dataclass
class Parameters:
    """What `kata-set-param` can change."""

    max_visits: int | None = None
    """At which an analysis ends, and waits."""
    max_time: float = math.inf
    pondering: bool = False


PARAMETERS: Final = ("maxVisits", "maxTime", "ponderingEnabled")


def get_param(parameters: Parameters, arguments: Arguments) -> str:
    """The value of a parameter, as KataGo writes it."""
    name = argument(arguments, 0)
    if name not in PARAMETERS:
        raise GtpError("Invalid parameter")
    values = {
        "maxVisits": str(parameters.max_visits or 1 << 50),
        "maxTime": "1e+20" if parameters.max_time == math.inf else f"{parameters.max_time:g}",
        "ponderingEnabled": str(parameters.pondering).lower(),
    }
    return values[name]


def set_param(parameters: Parameters, arguments: Arguments) -> str:
    """Change a parameter."""
    name, value = argument(arguments, 0), argument(arguments, 1)
    if name == "maxVisits" and as_integer(value) >= 1:
        parameters.max_visits = as_integer(value)
    elif name == "maxTime" and as_number(value) > 0:
        parameters.max_time = as_number(value)
    elif name == "ponderingEnabled" and value.lower() in ("true", "false"):
        parameters.pondering = value.lower() == "true"
    else:
        raise GtpError("Invalid parameter" if name not in PARAMETERS else f"Invalid value for {name}")
    return ""


def parse_request(arguments: Arguments, size: int) -> Request:
    """`[colour] [interval] [name value]...`; GtpError if it is something else."""
    words, request = list(arguments), Request()
    if words and words[0].lower() in ("b", "w", "black", "white"):
        request = replace(request, color=as_color(words.pop(0)))
    if words and words[0][0] in "0123456789.+-":
        request = replace(request, interval=_interval(words.pop(0)))
    while words:
        name = words.pop(0).lower()
        if name in ("avoid", "allow"):
            color, points, _ = (argument(tuple(words), i) for i in range(3))
            del words[:3]
            moves = frozenset(as_vertex(word, size) for word in points.split(",") if word)
            if name == "allow":
                moves = frozenset({PASS, *range(size * size)}) - moves
            before = request.avoid.get(as_color(color), frozenset())
            request = replace(request, avoid={**request.avoid, as_color(color): before | moves})
            continue
        value = argument(tuple(words), 0)
        del words[:1]
        if name == "interval":
            request = replace(request, interval=_interval(value))
        elif name in ("minmoves", "maxmoves"):
            count = as_integer(value)
            if count < 0:
                raise GtpError("syntax error")
            change = {"min_moves": count} if name == "minmoves" else {"max_moves": count}
            request = replace(request, **change)  # type: ignore[arg-type]
        elif name in _FLAGS:
            request = replace(request, **{_FLAGS[name]: _flag(value)})  # type: ignore[arg-type]
        elif name not in _IGNORED:
            raise GtpError("syntax error")
    return request


def _interval(word: str) -> float:
    """Seconds of a number of centiseconds; 0 is as often as there is news."""
    centiseconds = as_number(word)
    if centiseconds < 0:
        raise GtpError("syntax error")
    return max(0.01, centiseconds / 100)


def _flag(word: str) -> bool:
    if word.lower() not in ("true", "false", "1", "0"):
        raise GtpError("syntax error")
    return word.lower() in ("true", "1")


# --------------------------------------------------------------------------------------------- commands

Format = Callable[[Analysis, go.State, Request], str]


def analyze(board: Board, parameters: Parameters, arguments: Arguments, stream: Stream, style: Format) -> str:
    """Analyse until the next line comes."""
    request = parse_request(arguments, board.to_analyse(None).size)
    state, heard = board.to_analyse(request.color), threading.Event()
    avoid = request.avoid.get(state.to_play, frozenset())
    try:
        snapshots = board.analyst.analyse(
            state, visits=parameters.max_visits, seconds=parameters.max_time, interval=request.interval, avoid=avoid
        )
    except ValueError as error:
        raise GtpError(str(error)) from None

    def end() -> None:
        heard.set()
        board.analyst.stop()

    stream.begin()
    shown = False
    with board.until_next_line(end):
        for analysis in snapshots:
            if analysis.moves and not (shown and heard.is_set()):
                stream.line(style(analysis, state, request))
                shown = True
        heard.wait()
    return ""


def genmove_analyze(board: Board, arguments: Arguments, stream: Stream, style: Format, *, plays: bool = True) -> str:
    """As `genmove`, with lines about the search; the move comes last, as `play D4`."""
    request = parse_request(arguments, board.to_analyse(None).size)
    color = request.color or board.to_analyse(None).to_play

    def watcher(state: go.State) -> Watcher:
        def show(analysis: Analysis) -> None:
            if analysis.moves:
                stream.line(style(analysis, state, request))

        return Watcher(show, request.interval)

    stream.begin()
    return f"play {board.generate(color, watcher, plays=plays)}"


def search(board: Board, arguments: Arguments) -> str:
    """As `genmove`, but the move is not played."""
    color = as_color(arguments[0]) if arguments else board.to_analyse(None).to_play
    return board.generate(color, plays=False)


def raw_nn(board: Board, arguments: Arguments) -> str:
    """What the network alone says, in KataGo's form: as White sees it, the board row by row from the top."""
    word = arguments[0].lower() if arguments else "0"
    if word not in ("0", "all"):
        raise GtpError("the network is asked in one orientation only: give symmetry 0")
    if not isinstance(board.analyst, NetworkAnalyst):
        raise GtpError(f"{board.analyst.name} has no network to ask")
    state = board.to_analyse(None)
    analysis = board.analyst.look(state)
    sign = 1 if state.to_play == WHITE else -1
    root, size = root_fields(analysis, sign), state.size
    priors = {move.move: f"{move.prior:.6f}" for move in analysis.moves}
    policy = [priors.get(point, "NAN") for point in range(size * size)]
    lines = [
        "symmetry 0",
        f"whiteWin {root['winrate']:.6f}",
        f"whiteLoss {1 - root['winrate']:.6f}",
        "noResult 0.000000",
        f"whiteLead {root['scoreLead']:.3f}",
        f"whiteScoreSelfplay {root['scoreLead']:.3f}",
        f"whiteScoreSelfplaySq {root['scoreLead'] ** 2 + root['scoreStdev'] ** 2:.3f}",
        "policy",
        *_rows(policy, size),
        f"policyPass {priors.get(PASS, 'NAN')}",
    ]
    if analysis.ownership is not None:
        lines += ["whiteOwnership", *_rows([f"{sign * owner:.6f}" for owner in analysis.ownership], size)]
    return "\n".join(lines)


def _rows(words: list[str], size: int) -> Iterator[str]:
    return (" ".join(words[start : start + size]) for start in range(0, size * size, size))


# ----------------------------------------------------------------------------------------------- lines


def kata_line(analysis: Analysis, state: go.State, request: Request) -> str:
    """A line of `kata-analyze`."""
    parts = []
    for move in _wanted(analysis, request):
        part = f"info move {to_gtp(move.move, state.size)} {_pairs(move_fields(analysis, move))}"
        if request.pv_visits:
            part += f" pvVisits {' '.join(map(str, move.pv_visits))}"
        if request.moves_ownership and move.ownership is not None:
            part += f" movesOwnership {_numbers(move.ownership.tolist())}"
        parts.append(f"{part} pv {_line(move, state)}")
    if request.root_info:
        parts.append(f"rootInfo {_pairs(root_fields(analysis))}")
    if request.ownership and analysis.ownership is not None:
        parts.append(f"ownership {_numbers(analysis.ownership.tolist())}")
    return " ".join(parts)


def lz_line(analysis: Analysis, state: go.State, request: Request) -> str:
    """A line of `lz-analyze`: shares are whole numbers, 10000 for all."""
    return " ".join(
        f"info move {to_gtp(move.move, state.size)} visits {move.visits} winrate {round(10_000 * move.chance)}"
        f" prior {round(10_000 * move.prior)} lcb {round(10_000 * move.bound)} order {move.order}"
        f" pv {_line(move, state)}"
        for move in _wanted(analysis, request)
    )


def _wanted(analysis: Analysis, request: Request) -> tuple[MoveAnalysis, ...]:
    """Moves that the search has visited, and more or fewer of them where the controller says so; always one."""
    visited = sum(move.visits > 0 for move in analysis.moves)
    return analysis.moves[: max(1, min(max(visited, request.min_moves), request.max_moves))]


def _pairs(fields: Fields) -> str:
    return " ".join(f"{name} {f'{value:.6f}' if isinstance(value, float) else value}" for name, value in fields.items())


def _numbers(values: list[float]) -> str:
    return " ".join(f"{value:.4f}" for value in values)


def _line(move: MoveAnalysis, state: go.State) -> str:
    return " ".join(to_gtp(each, state.size) for each in move.pv)


Execute = Callable[[Board, Parameters, Arguments, Stream], str]

ANALYSIS_COMMANDS: Final[dict[str, Execute]] = {
    "kata-analyze": lambda board, known, words, stream: analyze(board, known, words, stream, kata_line),
    "lz-analyze": lambda board, known, words, stream: analyze(board, known, words, stream, lz_line),
    "kata-genmove_analyze": lambda board, _, words, stream: genmove_analyze(board, words, stream, kata_line),
    "lz-genmove_analyze": lambda board, _, words, stream: genmove_analyze(board, words, stream, lz_line),
    "kata-search_analyze": lambda board, _, words, stream: genmove_analyze(
        board, words, stream, kata_line, plays=False
    ),
    "kata-search": lambda board, _, words, stream: search(board, words),
    "kata-raw-nn": lambda board, _, words, stream: raw_nn(board, words),
    "kata-get-param": lambda board, known, words, stream: get_param(known, words),
    "kata-set-param": lambda board, known, words, stream: set_param(known, words),
    "kata-list-params": lambda board, _, words, stream: " ".join(PARAMETERS),
    "stop": lambda board, _, words, stream: "",  # every line ends what is under way
}
"""What an agent that searches a tree can do beyond the rest. There is no plain `analyze`: Sabaki would prefer it."""


# ---------------------------------------------------------------------------------------------- fields


def move_fields(analysis: Analysis, move: MoveAnalysis, sign: int = 1) -> Fields:
    """The numbers of a move, in KataGo's order, for the player to move, or for the opponent with `sign` -1. Where a
    move's score is unknown, the position's is given."""
    score = analysis.score if move.score is None else move.score
    ownership = analysis.ownership if move.ownership is None else move.ownership
    return {
        "visits": move.visits,
        "utility": sign * (2 * move.chance - 1),
        "winrate": turned(move.chance, sign),
        **_score_fields(score, ownership, sign),
        "prior": move.prior,
        "lcb": turned(move.bound, sign),
        "utilityLcb": sign * (2 * move.bound - 1),
        "weight": float(move.visits),
        "order": move.order,
    }


def root_fields(analysis: Analysis, sign: int = 1) -> Fields:
    """The numbers of the position."""
    return {
        "visits": analysis.visits,
        "utility": sign * (2 * analysis.chance - 1),
        "winrate": turned(analysis.chance, sign),
        **_score_fields(analysis.score, analysis.ownership, sign),
        "weight": float(analysis.visits),
    }


def turned(chance: float, sign: int) -> float:
    """A chance to win as the player to move sees it, or his opponent."""
    return chance if sign > 0 else 1 - chance


def _score_fields(score: float | None, ownership: Ownership | None, sign: int) -> Fields:
    lead = 0.0 if score is None else sign * score
    spread = 0.0 if ownership is None else float(np.sqrt(np.maximum(0.0, 1 - ownership.astype(np.float64) ** 2).sum()))
    return {"scoreMean": lead, "scoreStdev": spread, "scoreLead": lead, "scoreSelfplay": lead}
