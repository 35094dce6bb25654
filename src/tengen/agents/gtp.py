"""A foreign engine that speaks GTP, as an agent: GNU Go, Pachi, KataGo, or another Tengen.

The engine is started when it is first needed and gets only what is new to it: usually the moves
since its own last one. When it dies, hangs or talks nonsense, `choose` raises AgentError with the reason,
and the next `choose` starts it afresh. The protocol is GTP version 2; commands are sent without ids, because
only one is ever under way, and no answer is waited for without end.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, Full, Queue
from typing import IO, Final, Literal

from tengen.agents.agent import AgentError, AgentTimeoutError, Decision, of_game
from tengen.agents.foreign_engine import DEFAULT_TIMEOUT, LONGEST_LINE, EngineProcess, ForeignEngine
from tengen.games import go
from tengen.games.go import BLACK, RESIGN, WHITE, RuleSet, from_gtp, to_gtp
from tengen.games.go.rules import rules_as_json
from tengen.games.state import AnyState

_COLORS: Final = {BLACK: "black", WHITE: "white"}
Moves = list[tuple[int, int]]

_LONGEST_ANSWER: Final = 1 << 20
_CONTROL: Final = bytes(c for c in range(32) if c not in b"\t\n") + b"\x7f"


class GtpRefusal(AgentError):
    """The engine refused a command: an answer that begins with `?`."""


@dataclass(frozen=True)
class _Answer:
    """What came from the engine: `=` and `?` are GTP, `junk` is something else, `end` the end of it all."""

    kind: Literal["=", "?", "junk", "end"]
    text: str = ""


class GtpConnection:
    """A running engine that answers commands. `name` stands for it in error messages."""

    def __init__(self, argv: Sequence[str], name: str) -> None:
        self.name = name
        self._answers: Queue[_Answer] = Queue(maxsize=8)
        self._process = EngineProcess(argv, name, partial(_read_answers, answers=self._answers))

    def ask(self, command: str, timeout: float) -> str:
        """The engine's answer to a command.

        GtpRefusal if it refuses; AgentError if it is silent for `timeout` seconds, dies or sends something invalid.
        """
        with contextlib.suppress(Empty):
            self._judge(self._answers.get_nowait(), asked=False)
        self._process.send(command)
        try:
            answer = self._answers.get(timeout=timeout)
        except Empty:
            raise AgentTimeoutError(f"{self.name} did not answer {command!r} within {timeout:g} s") from None
        text = self._judge(answer)
        if answer.kind == "?":
            raise GtpRefusal(f"{self.name} refused {command!r}: {text or 'without a reason'}")
        return text

    def close(self, patience: float = 1.0) -> None:
        """Ask the engine to leave, wait `patience` seconds, and then end it with all that it started."""
        self._process.close(patience)

    def _judge(self, answer: _Answer, asked: bool = True) -> str:
        """The text of an answer, or the AgentError that it amounts to."""
        if answer.kind == "end":
            raise self._process.death()
        if answer.kind == "junk":
            raise AgentError(f"{self.name} does not speak GTP: it said {answer.text[:60]!r}")
        if not asked:
            raise AgentError(f"{self.name} spoke without being asked: {answer.text[:60]!r}")
        return answer.text


@dataclass(frozen=True)
class _Beginning:
    """All of a game but its moves. Two states of one game have equal beginnings."""

    size: int
    rules: RuleSet
    komi: float
    handicap: int
    black: tuple[int, ...]
    white: tuple[int, ...]


class GtpEngine(ForeignEngine[GtpConnection]):
    """An engine in a subprocess."""

    def __init__(self, command: str, timeout: float = DEFAULT_TIMEOUT) -> None:
        super().__init__(command, "gnugo --mode gtp", timeout)
        self._commands: frozenset[str] = frozenset()
        self._known: tuple[_Beginning, Moves] | None = None
        self._told_seconds: int | None = None

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The engine's move, legal or not; AgentError if it gives none."""
        state = of_game(state, go.State, self.name)
        try:
            self.sync(state)
            self._tell_time(seconds)
            color = state.to_play
            word = self._send(f"genmove {_COLORS[color]}", self.timeout + (seconds or 0.0))
            try:
                move = from_gtp(word, state.size)
            except ValueError:
                raise AgentError(f"{self.name} answered genmove with {word[:60]!r}: no move") from None
        except AgentError:
            self._drop()
            raise
        if move == RESIGN or self._known is None:
            self._known = None
        else:
            self._known[1].append((color, move))
        return Decision(move)

    def check(self, state: AnyState) -> None:
        """Start the engine and send it the position; AgentError if it cannot be, or this is not Go."""
        self.sync(of_game(state, go.State, self.name))

    def sync(self, state: go.State) -> None:
        """Send the engine the position, by its new moves alone if it has the game they continue."""
        black, white = state.setup_stones
        beginning = _Beginning(state.size, state.rules, state.komi, state.handicap, tuple(black), tuple(white))
        moves = [(color, move) for color, move in state.moves if move != RESIGN]
        self._connected()
        if self._known is not None:
            known_beginning, known_moves = self._known
            if known_beginning == beginning and known_moves == moves[: len(known_moves)]:
                self._play(moves[len(known_moves) :], state.size)
                self._known = beginning, moves
                return
        self._known = None
        self._begin(beginning)
        self._play(moves, state.size)
        self._known = beginning, moves

    def ask(self, command: str, timeout: float | None = None) -> str:
        """The answer to any other command, such as `final_score`; AgentError if there is none.

        The engine's game may be another afterwards, so the next `choose` sends all of it again.
        """
        self._connected()
        self._known = None
        try:
            return self._send(command, timeout)
        except GtpRefusal:
            raise
        except AgentError:
            self._drop()
            raise

    # ------------------------------------------------------------------------------------------ private

    def _start(self) -> GtpConnection:
        return GtpConnection(self._argv, self.name)

    def _greet(self, connection: GtpConnection) -> None:
        self._known = self._told_seconds = None
        try:
            self._commands = frozenset(connection.ask("list_commands", self.timeout).split())
        except GtpRefusal:
            self._commands = frozenset()

    def _send(self, command: str, timeout: float | None = None) -> str:
        return self._connected().ask(command, self.timeout if timeout is None else timeout)

    def _begin(self, game: _Beginning) -> None:
        self._send(f"boardsize {game.size}")
        self._send("clear_board")
        self._tell_rules(game.rules)
        self._send(f"komi {game.komi:g}")
        if not self._set_handicap(game):
            self._play([(BLACK, point) for point in game.black], game.size)
            self._play([(WHITE, point) for point in game.white], game.size)

    def _set_handicap(self, game: _Beginning) -> bool:
        """Whether the stones on the board are a handicap, and the engine took them as one."""
        stones = game.black
        is_handicap = 2 <= game.handicap == len(stones) and not game.white
        if not is_handicap or "set_free_handicap" not in self._commands:
            return False
        try:
            self._send("set_free_handicap " + " ".join(to_gtp(point, game.size) for point in stones))
        except GtpRefusal:
            self._send("clear_board")
            return False
        return True

    def _play(self, moves: Sequence[tuple[int, int]], size: int) -> None:
        for color, move in moves:
            self._send(f"play {_COLORS[color]} {to_gtp(move, size)}")

    def _tell_rules(self, rules: RuleSet) -> None:
        """Set the rules where the engine has a command for it; others were started with the rules they play by."""
        if "kata-set-rules" not in self._commands:
            return
        for text in (rules_as_json(rules), rules.name):
            try:
                self._send(f"kata-set-rules {text}")
                return
            except GtpRefusal:
                continue

    def _tell_time(self, seconds: float | None) -> None:
        """Turn a cap for this move into GTP's clock: so many seconds for one stone; 0 1 0 is no clock."""
        whole = None if seconds is None else max(1, int(seconds))
        if whole == self._told_seconds or "time_settings" not in self._commands:
            return
        self._send("time_settings 0 1 0" if whole is None else f"time_settings 0 {whole} 1")
        self._told_seconds = whole


def _read_answers(stream: IO[bytes], answers: "Queue[_Answer]") -> None:
    """Put every answer into the queue, until the output ends, turns to junk, or floods the queue."""
    lines: list[str] = []
    length = 0
    with stream, contextlib.suppress(Full):
        while raw := stream.readline(LONGEST_LINE):
            line = raw.translate(None, _CONTROL).decode("utf-8", "replace").replace("\t", " ").rstrip()
            length += len(raw)
            if line and not lines and line[0] not in "=?":
                answers.put_nowait(_Answer("junk", line))
                return
            if length > _LONGEST_ANSWER:
                answers.put_nowait(_Answer("junk", "an answer without end"))
                return
            if line:
                lines.append(line)
            elif lines:
                answers.put_nowait(_whole(lines))
                lines, length = [], 0
            else:
                length = 0
        answers.put_nowait(_Answer("end"))


def _whole(lines: list[str]) -> _Answer:
    text = "\n".join([lines[0][1:].strip(), *lines[1:]])
    return _Answer("=" if lines[0][0] == "=" else "?", text.strip("\n"))
