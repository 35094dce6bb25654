"""GTP version 2 below its commands: lines into commands, words into values, and what they ask of a game of Go beyond
its rules.

**Letters.** Whatever arrives, be it binary junk, numbers of a hundred thousand digits or a line without end, becomes a
command or a GtpError with one of the protocol's messages. Commands are read by a thread of their own, so that the next
line can end an analysis.

**Game.** Strings, a handicap of our choice, play after the end, dead stones captured by play.

**Clocks.** Three systems of time, with the names that KGS gives them: absolute (main time only), Canadian overtime (so
many stones in each period, which is GTP's own), and Japanese byo-yomi (a move in each period, periods are lost
one by one). The controller's `time_left` is believed; between such reports the clock counts for itself.
"""

import math
import queue
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

import numpy as np

from tengen.games import go
from tengen.games.go import BLACK, PASS, RESIGN, WHITE, IllegalMove, RuleSet, from_gtp
from tengen.games.go.coordinates import fixed_handicap, from_cell, max_fixed_handicap, to_cell
from tengen.games.go.state import opponent
from tengen.games.go.strings import liberty_cells, liberty_count
from tengen.search.life_and_death import dead_stones, is_settled, search_ownership

LONGEST_LINE: Final = 1 << 20
_DROPPED: Final = bytes(c for c in range(32) if c not in b"\t\n") + b"\x7f"
_COMMAND = re.compile(r" *(?:([0-9]+)(?: +|$))?([^ ]*)(.*)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COLORS: Final = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}

_MOST_WAITING: Final = 10_000  # commands that are read ahead


class GtpError(Exception):
    """A command that fails; the message is what the controller reads after the `?`."""


@dataclass(frozen=True)
class Command:
    """One line of the controller's. `number` is its id, digit for digit, or empty."""

    number: str
    name: str
    arguments: tuple[str, ...]


def read_commands(stream: BinaryIO, on_line: Callable[[], None] | None = None) -> Iterator[Command]:
    """Every command until the stream ends; empty lines and comments are none. Memory stays bounded.

    `on_line` is called for every line, an empty one too.
    """
    while line := stream.readline(LONGEST_LINE):
        if on_line is not None:
            on_line()
        command = parse_line(line)
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            _skip_line(stream)
            if command is not None and b"#" not in line:  # cut in the middle: nothing to be obeyed
                command = Command(command.number, "", ())
        if command is not None:
            yield command


def _skip_line(stream: BinaryIO) -> None:
    while rest := stream.readline(LONGEST_LINE):
        if rest.endswith(b"\n"):
            return


def parse_line(line: bytes) -> Command | None:
    """The command of a line: control characters dropped, tabs are blanks, `#` begins a comment."""
    line = line.translate(None, _DROPPED + b"\n").replace(b"\t", b" ").partition(b"#")[0]
    match = _COMMAND.fullmatch(line.decode("utf-8", "surrogateescape"))
    if match is None or not line.strip():
        return None
    return Command(match[1] or "", match[2], tuple(word for word in match[3].split(" ") if word))


def answer(number: str, text: str, failed: bool = False) -> bytes:
    """The answer as GTP wants it: no empty line inside, exactly one behind."""
    lines = [line.rstrip() for line in text.replace("\r", "\n").split("\n")]
    head, *rest = lines if lines else [""]
    body = "\n".join([f"{'?' if failed else '='}{number} {head}".rstrip(), *filter(None, rest)])
    return body.encode("utf-8", "backslashreplace") + b"\n\n"


class AnswerStream:
    """The answer to one command: in one piece, or begun and sent line by line."""

    def __init__(self, number: str, write: Callable[[bytes], None]) -> None:
        self._number, self._write = number, write
        self._is_begun = False

    def begin(self) -> None:
        """Report success; more lines will follow."""
        self._write(f"={self._number}\n".encode())
        self._is_begun = True

    def line(self, text: str) -> None:
        """Send a line of an answer that has begun."""
        self._write(text.encode() + b"\n")

    def end(self, text: str) -> None:
        """Send what is left of the answer, or all of it."""
        if self._is_begun:
            self._write((text + "\n\n" if text else "\n").encode())
        else:
            self._write(answer(self._number, text))

    def fail(self, text: str) -> None:
        """Report a failure; an answer that has begun just ends."""
        if self._is_begun:
            self._write(b"\n")
        else:
            self._write(answer(self._number, text, failed=True))


def argument(arguments: tuple[str, ...], index: int) -> str:
    """The argument at this place; a syntax error if it is missing."""
    if index >= len(arguments):
        raise GtpError("syntax error")
    return arguments[index]


def as_integer(word: str) -> int:
    """A whole number of at most 18 digits."""
    if _INTEGER.fullmatch(word) is None:
        raise GtpError("syntax error")
    return int(word)


def as_number(word: str) -> float:
    """A finite number, with or without a fraction."""
    if len(word) > 400 or _NUMBER.fullmatch(word) is None or not math.isfinite(float(word)):
        raise GtpError("syntax error")
    return float(word)


def as_color(word: str) -> int:
    """BLACK or WHITE."""
    color = _COLORS.get(word.lower())
    if color is None:
        raise GtpError("invalid color or coordinate")
    return color


def as_vertex(word: str, size: int) -> int:
    """A point of the board or PASS."""
    try:
        move = from_gtp(word, size)
    except ValueError:
        raise GtpError("invalid color or coordinate") from None
    if move == RESIGN:
        raise GtpError("invalid color or coordinate")
    return move


class CommandReader:
    """Iterates over the commands of a stream, up to its end or `quit`."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: queue.Queue[Command | None] = queue.Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._on_line: Callable[[], None] | None = None
        self._has_ended = False
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def __iter__(self) -> Iterator[Command]:
        while (command := self._waiting.get()) is not None:
            yield command

    @contextmanager
    def interrupting(self, on_line: Callable[[], None]) -> Iterator[None]:
        """While inside, call this as soon as there is another line, or none can come any more."""
        with self._lock:
            self._on_line = on_line
            if self._has_ended or not self._waiting.empty():
                on_line()
        try:
            yield
        finally:
            with self._lock:
                self._on_line = None

    @property
    def is_idle(self) -> bool:
        """Whether no command waits, and one may still come."""
        return self._waiting.empty() and not self._has_ended

    def _read(self) -> None:
        try:
            for command in read_commands(self._stream, self._interrupt):
                self._waiting.put(command)
                self._interrupt()  # again, for whoever began to listen between the two
                if command.name == "quit":
                    break
        except (OSError, ValueError):  # the stream is gone
            pass
        finally:
            with self._lock:
                self._has_ended = True
            self._interrupt()
            self._waiting.put(None)

    def _interrupt(self) -> None:
        with self._lock:
            if self._on_line is not None:
                self._on_line()


_LARGEST_RECORD: Final = 16 << 20

_PLAYOUTS = 4000
_MANY = 99

Arguments = tuple[str, ...]

_FEWEST_MOVES: Final = 12
_LAG: Final = 0.5
_SHORTEST: Final = 0.01


def strings_of(state: go.State) -> list[list[int]]:
    """The points of every string (connected stones of one colour), in the order of the board."""
    flat, size = state.stones.ravel(), state.size
    seen: set[int] = set()
    strings = []
    for start in np.flatnonzero(flat).tolist():
        if start in seen:
            continue
        string, frontier = {start}, [start]
        while frontier:
            row, col = divmod(frontier.pop(), size)
            for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
                point = r * size + c
                inside = 0 <= r < size and 0 <= c < size
                if inside and flat[point] == flat[start] and point not in string:
                    string.add(point)
                    frontier.append(point)
        seen |= string
        strings.append(sorted(string))
    return strings


def handicap_places(size: int, stones: int) -> list[int]:
    """Where we put handicap stones of our own choice: the fixed places, as many as there are of them.

    GTP lets an engine place fewer than it was offered. Boards too small to have fixed places take up to a
    quarter of their points, near the middle and never side by side.
    """
    most = max_fixed_handicap(size)
    if most:
        return fixed_handicap(size, min(stones, most))
    middle = (size - 1) / 2
    points = [p for p in range(size * size) if (p // size + p % size) % 2 == 0]
    points.sort(key=lambda p: (p // size - middle) ** 2 + (p % size - middle) ** 2)
    return points[: min(stones, max(2, size * size // 4))]


def resumed(state: go.State) -> go.State:
    """The position with the game going on: without its last pass if two ended it, begun anew if void."""
    if not state.is_over:
        return state
    if state.previous is not None and state.last_move in (PASS, RESIGN):
        return state.previous.with_komi(state.komi)
    flat = state.stones.ravel()
    black, white = (np.flatnonzero(flat == color).tolist() for color in (BLACK, WHITE))
    return go.State.setup(state.size, state.rules, state.komi, black, white, state.to_play, state.handicap)


def under_rules(game: list[go.State], rules: RuleSet) -> list[go.State]:
    """The same game by other rules; ValueError if they forbid one of its moves."""
    first, last = game[0], game[-1]
    try:
        komi = rules.check_komi(last.komi)
    except ValueError:
        komi = rules.komi
    black, white = first.setup_stones
    state = go.State.setup(first.size, rules, komi, black, white, first.to_play, first.handicap)
    replayed = [state]
    for number, position in enumerate(game[1:], 1):
        assert position.last_move is not None
        try:
            state = resumed(state).play(position.last_move, position.last_color)
        except IllegalMove as error:
            raise ValueError(f"the game so far breaks {rules.name} rules at move {number}: {error}") from None
        replayed.append(state)
    return replayed


def read_game(path: str, rules: RuleSet) -> list[go.State]:
    """Every position of a game record's main line, oldest first."""
    from tengen.games.go.sgf import read_sgf

    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LARGEST_RECORD:  # no devices, no pipes
            raise GtpError("cannot load file: it is not there, or not a game record")
        state: go.State | None = read_sgf(file.read_bytes(), rules=rules).state
    except (OSError, ValueError) as error:
        raise GtpError(f"cannot load file: {' '.join(str(error).split())}") from None
    positions = []
    while state is not None:
        positions.append(state)
        state = state.previous
    return positions[::-1]


# ---------------------------------------------------------------------------------------------- clean-up


def cleanup_move(state: go.State, choose: Callable[[], int]) -> int:
    """The answer to `kgs-genmove_cleanup`: the agent's move (`choose`), or a capture of the opponent's dead stones.

    KGS asks for it when the players disagree about them, and takes a pass for "every stone on the board is alive". So
    a pass is played only when no stone of the opponent is dead any more, or no move brings the capture of one nearer.
    Where every point is settled there is nothing else to play for, and the agent is not asked.
    """
    if not state.rules.removes_dead:
        return choose()
    ownership = search_ownership(state, _PLAYOUTS)
    dead = state.dead_by_ownership(ownership, _PLAYOUTS)
    if not any(state.color_at(point) == opponent(state.to_play) for point in dead):
        return choose()
    move = PASS if is_settled(state, ownership, _PLAYOUTS) else choose()
    if move != PASS:
        return move
    captures = capturing_move(state, dead)
    return choose() if captures is None else captures


def capturing_move(state: go.State, dead: frozenset[int]) -> int | None:
    """A move on a liberty of a dead string of the opponent that puts no living stones at risk; None if there is none.

    First come captures, then moves beside the strings with the fewest liberties.
    """
    own = {point for point in range(state.size**2) if state.color_at(point) == state.to_play} - dead
    for move in _approaches(state, dead, own):
        if not own & dead_stones(state.play(move), _PLAYOUTS):
            return move
    return None


def _approaches(state: go.State, dead: frozenset[int], own: set[int]) -> Iterator[int]:
    """Legal liberties of dead strings of the opponent, the most urgent first; none puts living stones in atari."""
    size, found = state.size, np.empty(len(state.board.color), np.int64)
    urgency: dict[int, int] = {}
    for point in dead:
        if state.color_at(point) == opponent(state.to_play):
            count = liberty_cells(state.board, to_cell(point, size), found)
            for cell in found[:count]:
                liberty = from_cell(int(cell), size)
                urgency[liberty] = min(count, urgency.get(liberty, count))
    ranked = []
    for move, liberties in urgency.items():
        if not state.is_legal(move):
            continue
        after = state.play(move)
        left = int(liberty_count(after.board, to_cell(move, size), _MANY))
        joined = any(after.board.head[to_cell(point, size)] == after.board.head[to_cell(move, size)] for point in own)
        if liberties == 1 or left > 1 or not joined:
            ranked.append((liberties, left < 2, -left, move))
    return (move for *_, move in sorted(ranked))


# ------------------------------------------------------------------------------------------------ clocks


@dataclass(frozen=True)
class TimeSettings:
    """What both players begin with: main time, then `stones` in each period of `overtime` seconds, or, for
    byo-yomi, so many periods."""

    system: Literal["none", "canadian", "byoyomi"] = "none"
    main: float = 0.0
    overtime: float = 0.0
    stones: int = 0

    @property
    def seconds_per_move(self) -> float:
        """What overtime grants each move for ever."""
        if self.overtime <= 0 or self.stones <= 0:
            return 0.0
        return self.overtime if self.system == "byoyomi" else self.overtime / self.stones


class EngineClock:
    """One colour's clock as the engine keeps it, to know how long its next move may take."""

    def __init__(self, settings: TimeSettings) -> None:
        self.settings = settings
        self.seconds = settings.main
        self.stones = 0
        """Stones to play in this period, or periods left; 0 is main time."""
        if settings.main <= 0:
            self._enter_overtime(0.0)

    def report(self, seconds: float, stones: int) -> None:
        """Believe the controller: so many seconds, for so many stones (0: of main time)."""
        self.seconds, self.stones = seconds, stones

    def spend(self, seconds: float) -> None:
        """A move has been played that took so long."""
        if self.settings.system == "none":
            return
        self.seconds -= seconds
        if self.stones == 0:
            if self.seconds < 0:
                self._enter_overtime(-self.seconds)
        elif self.settings.system == "byoyomi":
            self.stones = max(1, self.stones - (self.seconds < 0))
            self.seconds = self.settings.overtime
        else:
            self.stones -= 1
            if self.stones == 0:
                self._enter_overtime(0.0)

    def budget(self, empty_points: int) -> float | None:
        """Seconds for the next move on a board with so many empty points; None without a clock."""
        settings = self.settings
        if settings.system == "none":
            return None
        if self.stones == 0:
            moves_to_go = max(_FEWEST_MOVES, 0.4 * empty_points)
            share = max(self.seconds / moves_to_go, settings.seconds_per_move)
        elif settings.system == "byoyomi":
            share = self.seconds
        else:
            share = self.seconds / self.stones
        return max(_SHORTEST, share - min(_LAG, 0.1 * share))

    def _enter_overtime(self, already_used: float) -> None:
        if self.settings.seconds_per_move > 0:
            self.seconds = self.settings.overtime - already_used
            self.stones = self.settings.stones
        else:
            self.seconds = 0.0


class GtpClocks:
    """The clocks of both colours. Each command answers with nothing."""

    def __init__(self) -> None:
        self._settings = TimeSettings()
        self.reset()

    def of(self, color: int) -> EngineClock:
        """The clock of a colour."""
        return self._clocks[color]

    def reset(self) -> None:
        """Wind both up, for a new game."""
        self._clocks = {BLACK: EngineClock(self._settings), WHITE: EngineClock(self._settings)}

    def time_settings(self, arguments: Arguments) -> str:
        main, overtime = (as_number(argument(arguments, i)) for i in (0, 1))
        self._set("canadian", main, overtime, as_integer(argument(arguments, 2)))
        return ""

    def kgs_time_settings(self, arguments: Arguments) -> str:
        system = argument(arguments, 0).lower()
        if system == "none":
            self._set("none")
        elif system == "absolute":
            self._set("canadian", as_number(argument(arguments, 1)))
        elif system in ("canadian", "byoyomi"):
            main, overtime = (as_number(argument(arguments, i)) for i in (1, 2))
            self._set(system, main, overtime, as_integer(argument(arguments, 3)))
        else:
            raise GtpError("syntax error")
        return ""

    def time_left(self, arguments: Arguments) -> str:
        color = as_color(argument(arguments, 0))
        seconds, stones = as_number(argument(arguments, 1)), as_integer(argument(arguments, 2))
        if stones < 0:
            raise GtpError("syntax error")
        self._clocks[color].report(seconds, stones)
        return ""

    def _set(self, system: str, main: float = 0.0, overtime: float = 0.0, stones: int = 0) -> None:
        if min(main, overtime, stones) < 0:
            raise GtpError("syntax error")
        # GTP: a period for no stones is no clock. No time at all is what some programs say for the same.
        endless = stones == 0 if overtime > 0 else main == 0
        kind: Literal["none", "canadian", "byoyomi"] = (
            "none" if endless else "byoyomi" if system == "byoyomi" else "canadian"
        )
        self._settings = TimeSettings(kind, main, overtime, stones)
        self.reset()
