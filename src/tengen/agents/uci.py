"""A foreign engine that speaks UCI, as an agent that plays Microchess: Fairy-Stockfish, or another Tengen.

The engine learns the game from the variants file that lies beside our rules, unless it knows it already. It is
started when it is first needed and given the whole game with every move. When it dies, hangs or talks nonsense,
`choose` raises AgentError with the reason, and the next `choose` starts it afresh.

UCI has no frame around an answer: a command is over when a certain word comes (`uciok`, `readyok`, `bestmove`),
and an engine may say other things at any time. So the newest lines are kept as they come, and a command begins
by forgetting those that nobody waited for.
"""

import math
import re
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import IO, Final

from tengen._text import one_line
from tengen.agents.agent import AgentError, AgentTimeoutError, Decision, of_game
from tengen.agents.foreign_engine import DEFAULT_TIMEOUT, LONGEST_LINE, EngineProcess, ForeignEngine
from tengen.games import microchess
from tengen.games.microchess import variant_name, variants_path
from tengen.games.state import AnyState

DEFAULT_MOVETIME: Final = 100
_MATE: Final = 100_000  # centipawns that it is worth

_LINES_KEPT: Final = 4096
_OPTION = re.compile(r"option name (.+?) type (\w+)(.*)")

_MOST: Final = 9_999


@dataclass(frozen=True)
class UciOption:
    """An option that the engine offers."""

    name: str
    kind: str
    """`check`, `spin`, `combo`, `button` or `string`."""
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()


class UciConnection:
    """A running engine. `name` stands for it in error messages."""

    def __init__(self, argv: Sequence[str], name: str) -> None:
        self.name = name
        self._lines = _Lines()
        self._process = EngineProcess(argv, name, partial(_read_lines, lines=self._lines))

    def send(self, command: str) -> None:
        """Send a command that has no answer."""
        self._process.send(command)

    def ask(self, command: str, last_word: str, timeout: float) -> list[str]:
        """The lines up to the one that begins with `last_word`, that one included.

        AgentError if it does not come within `timeout` seconds, or the engine dies.
        """
        self._lines.forget()
        self._process.send(command)
        deadline = time.monotonic() + timeout
        answer: deque[str] = deque(maxlen=_LINES_KEPT)
        while True:
            try:
                line = self._lines.next(deadline)
            except TimeoutError:
                said = f"; it said {answer[-1][:60]!r}" if answer else ""
                raise AgentTimeoutError(f"{self.name} did not answer {command!r} within {timeout:g} s{said}") from None
            if line is None:
                raise self._process.death()
            answer.append(line)
            if line.split(" ", 1)[0] == last_word:
                return list(answer)

    def options(self, timeout: float) -> dict[str, UciOption]:
        """The engine's options by lower-case name: its answer to `uci`."""
        found = (_option(line) for line in self.ask("uci", "uciok", timeout))
        return {option.name.lower(): option for option in found if option is not None}

    def close(self, patience: float = 1.0) -> None:
        """Ask the engine to leave, wait `patience` seconds, and then end it with all that it started."""
        self._process.close(patience)


@dataclass(frozen=True)
class UciSettings:
    """A foreign engine that speaks UCI and plays Microchess; give its program, e.g. uci:fairy-stockfish,skill=5."""

    program: str
    """On PATH, in /usr/games, or with its path; arguments may follow after blanks."""
    skill: int | None = None
    """-20 to 20, the engine's full strength."""
    movetime: int | None = None
    """Milliseconds for a move; 100 when no other limit is given."""
    nodes: int | None = None
    depth: int | None = None
    threads: int = 1
    hash: int | None = None
    """Megabytes that the engine may remember positions in."""
    variant: str | None = None
    """What the engine calls the game: microchess, or microchessds with the double step, when none is given."""

    def __post_init__(self) -> None:
        if self.skill is not None and not -20 <= self.skill <= 20:
            raise ValueError(f"uci:skill={self.skill} is not possible: give -20 to 20")
        for name in ("movetime", "nodes", "depth", "threads", "hash"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"uci:{name}={value} is not possible: give at least 1")

    def limits(self, seconds: float | None) -> dict[str, int]:
        """The arguments of `go`: the limits of the settings, and a clock's `seconds` if they are fewer."""
        limits = {"movetime": self.movetime, "nodes": self.nodes, "depth": self.depth}
        given = {name: value for name, value in limits.items() if value is not None}
        given = given or {"movetime": DEFAULT_MOVETIME}
        if seconds is not None:
            given["movetime"] = max(1, min(given.get("movetime", 10**9), int(seconds * 1000)))
        return given


class UciEngine(ForeignEngine[UciConnection]):
    """An engine in a subprocess."""

    def __init__(self, settings: UciSettings, timeout: float = DEFAULT_TIMEOUT) -> None:
        super().__init__(settings.program, "fairy-stockfish", timeout)
        self._settings = settings
        self._options: dict[str, UciOption] = {}
        self._variant: str | None = None
        self._rules: str | None = None
        self._known: list[str] | None = None

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The engine's move; AgentError if it gives none that is legal."""
        state = of_game(state, microchess.State, self.name)
        try:
            self._tell_position(state)
            limits = self._settings.limits(seconds)
            command = "go " + " ".join(f"{name} {value}" for name, value in limits.items())
            answer = self._send(command, "bestmove", self.timeout + limits.get("movetime", 0) / 1000)
            return self._decision(state, answer)
        except AgentError:
            self._drop()
            raise

    def check(self, state: AnyState) -> None:
        """Start the engine and teach it the game; AgentError if that is not possible."""
        state = of_game(state, microchess.State, self.name)
        try:
            self._tell_position(state)
        except AgentError:
            self._drop()
            raise

    # ---------------------------------------------------------------------------------- starting, ending

    def _start(self) -> UciConnection:
        return UciConnection(self._argv, self.name)

    def _greet(self, connection: UciConnection) -> None:
        self._variant = self._rules = self._known = None
        self._options = connection.options(self.timeout)
        self._set(connection, "Threads", self._settings.threads, needed=self._settings.threads != 1)
        if self._settings.hash is not None:
            self._set(connection, "Hash", self._settings.hash)
        if self._settings.skill is not None:
            self._set(connection, "Skill Level", self._settings.skill)
        connection.ask("isready", "readyok", self.timeout)

    def _send(self, command: str, last_word: str, timeout: float | None = None) -> list[str]:
        return self._connected().ask(command, last_word, self.timeout if timeout is None else timeout)

    def _set(self, connection: UciConnection, name: str, value: int, needed: bool = True) -> None:
        """Set a numeric option; AgentError if the engine needs it and does not have it, or not so far."""
        option = self._options.get(name.lower())
        if option is None:
            if needed:
                raise AgentError(f"{self.name} has no option {name!r}: leave that setting out")
            return
        least, most = option.least, option.most
        if (least is not None and value < least) or (most is not None and value > most):
            raise AgentError(f"{self.name} cannot set {name} to {value}: it takes {least} to {most}")
        connection.send(f"setoption name {option.name} value {value}")

    # ------------------------------------------------------------------------------- the game, the answer

    def _choose_variant(self, wanted: str) -> None:
        """Let the engine play the variant of this name; it reads our file first if it does not know it."""
        connection = self._connected()
        if self._variant == wanted:
            return
        if "uci_variant" not in self._options:
            raise AgentError(f"{self.name} plays no variants of chess: use one that does, such as fairy-stockfish")
        if wanted not in self._options["uci_variant"].choices and "variantpath" in self._options:
            connection.send(f"setoption name VariantPath value {variants_path()}")
            self._options = connection.options(self.timeout)
        if wanted not in self._options["uci_variant"].choices:
            raise AgentError(f"{self.name} does not know the variant {wanted!r}")
        connection.send(f"setoption name UCI_Variant value {wanted}")
        self._variant, self._known = wanted, None

    def _choose_rules(self, wanted: str) -> None:
        """Tell an engine that asks, as another Tengen does, how games end; others play by the standard rules."""
        option = self._options.get("rules")
        if option is not None and wanted in option.choices and wanted != self._rules:
            self._connected().send(f"setoption name {option.name} value {wanted}")
            self._rules, self._known = wanted, None

    def _tell_position(self, state: microchess.State) -> None:
        moves = [state.move_name(move) for _, move in state.moves]
        self._choose_variant(self._settings.variant or variant_name(state.double_step))
        self._choose_rules(state.rules)
        words = ["position", "fen", *state.setup.fen().split(), *(["moves"] if moves else []), *moves]
        if self._known is None or self._known != words[: len(self._known)]:
            self._connected().send("ucinewgame")
        self._connected().send(" ".join(words))
        self._send("isready", "readyok")
        self._known = words

    def _decision(self, state: microchess.State, answer: Sequence[str]) -> Decision:
        """The move of a `bestmove` line, explained by the last line about what the search found."""
        word = answer[-1].split()[1] if " " in answer[-1] else ""
        try:
            move = state.parse_move(word)
        except ValueError as error:
            raise AgentError(f"{self.name} answered go with {word[:60]!r}: {error}") from None
        wrong = state.why_illegal(move)
        if wrong is not None:
            raise AgentError(f"{self.name} played {word[:60]}, which is not legal: {wrong}")
        lines = [line.split() for line in answer if line.startswith("info ") and " pv " in line and " score " in line]
        if not lines:
            return Decision(move)
        info = lines[-1]
        line = _line_of_play(state, info[info.index("pv") + 1 :])
        depth, nodes = _number(info, "depth"), _number(info, "nodes")
        note = ", ".join([f"depth {depth}"] * (depth is not None) + [f"{nodes} nodes"] * (nodes is not None))
        return Decision(move, _chance(info), pv=line if line[:1] == (move,) else (move,), note=note, nodes=nodes)


def _line_of_play(state: microchess.State, words: Sequence[str]) -> tuple[int, ...]:
    """The moves that these words name, as far as they are legal."""
    line: list[int] = []
    for word in words:
        try:
            move = state.parse_move(word)
            state = state.play(move)
        except ValueError:
            break
        line.append(move)
    return tuple(line)


def _number(info: Sequence[str], key: str) -> int | None:
    """What an `info` line says of a key; None if it does not."""
    value = info[info.index(key) + 1] if key in info[:-1] else ""
    return int(value) if value.isdecimal() and len(value) < 18 else None


def _chance(info: Sequence[str]) -> float | None:
    """The chance to win behind a score: `cp 35` or `mate -3`, as the player to move sees it."""
    kind, text = ([*info[info.index("score") + 1 :], "", ""])[:2]
    try:
        number = int(text)
    except ValueError:
        return None
    if kind == "mate":
        number = _MATE if number > 0 else -_MATE
    elif kind != "cp":
        return None
    return chance_behind(number)


class _Lines:
    """The newest lines of an engine's, from the thread that reads to the one that waits; None is the end."""

    def __init__(self) -> None:
        self._lines: deque[str | None] = deque(maxlen=_LINES_KEPT)
        self._arrived = threading.Condition()

    def add(self, line: str | None) -> None:
        with self._arrived:
            self._lines.append(line)
            self._arrived.notify()

    def next(self, deadline: float) -> str | None:
        """The oldest line; TimeoutError if there is none by the deadline."""
        with self._arrived:
            left = deadline - time.monotonic()
            if left <= 0 or not self._arrived.wait_for(lambda: self._lines, left):
                raise TimeoutError
            return self._lines.popleft() if self._lines[0] is not None else None

    def forget(self) -> None:
        """Drop what has come, but not the news of the end."""
        with self._arrived:
            over = bool(self._lines) and self._lines[-1] is None
            self._lines.clear()
            if over:
                self._lines.append(None)


def _read_lines(stream: IO[bytes], lines: _Lines) -> None:
    with stream:
        while raw := stream.readline(LONGEST_LINE):
            if line := one_line(raw.decode("utf-8", "replace"), None):
                lines.add(line)
    lines.add(None)


def _option(line: str) -> UciOption | None:
    """The option that a line offers, if it does."""
    match = _OPTION.fullmatch(line)
    if match is None:
        return None
    words = match[3].split()
    choices = tuple(value for word, value in pairwise(words) if word == "var")
    return UciOption(match[1], match[2], _whole(words, "min"), _whole(words, "max"), choices)


def _whole(words: Sequence[str], key: str) -> int | None:
    """The number behind a key word, if there is one."""
    for word, value in pairwise(words):
        if word == key and re.fullmatch(r"-?[0-9]{1,18}", value):
            return int(value)
    return None


def chance_behind(centipawns: float) -> float:
    """The chance to win behind an advantage, 0 to 1."""
    return float(1 / (1 + 10 ** (-max(-_MOST, min(_MOST, centipawns)) / 400)))


def centipawns(chance: float) -> int:
    """The advantage behind a chance to win, -9999 to 9999."""
    if not 0 < chance < 1:
        return _MOST if chance >= 1 else -_MOST
    return max(-_MOST, min(_MOST, round(400 * math.log10(chance / (1 - chance)))))
