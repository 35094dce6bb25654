"""A player of one's own: a Python file with `choose(state)`, in a process of its own.

The file runs as the programs of others do (`foreign_engine.py`), so that an error, an endless loop, an illegal move or
too much memory costs one game, and is reported with the file's own line. `python_host.py` is that process. What the
code prints goes to stderr, with the file's name before it.
"""

import contextlib
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, Full, Queue
from typing import IO, Any, Final

from tengen._plugins import plugin_files
from tengen._text import one_line, printable
from tengen.agents.agent import AgentError, AgentTimeoutError, Decision
from tengen.agents.analysis import Analysis, MoveAnalysis, Watcher, over
from tengen.agents.foreign_engine import LONGEST_LINE, EngineProcess, ForeignEngine
from tengen.agents.own import plain
from tengen.agents.python_host import END_OF_GAME
from tengen.games.game import Record, game_of
from tengen.games.state import RESIGN, AnyState

_START_LIMIT: Final = 300.0  # the rules may have to be compiled
_LOAD_LIMIT: Final = 60.0
_GRACE: Final = 1.0  # beyond the seconds that a match asks for
_MOST_LINES: Final = 100
_MOST_IDLE: Final = 8
_FRAME: Final = re.compile(r'File "(?P<file>.{1,2000})", line (?P<line>\d{1,9}) in (?P<function>.{1,200})')


@dataclass(frozen=True)
class PythonSettings:
    """A Python file of your own, with choose(state), or FILE.py:NAME: a function or class in it. Runs that code."""

    file: str
    """The file, and after a colon the function or class; a file with one player needs no name."""
    limit: float = 30.0
    """Seconds after which a move loses the game, where a match gives no time."""
    memory: int = 1000
    """Megabytes that the code may use."""
    seed: int | None = None
    """For the modules random and numpy.random."""

    def __post_init__(self) -> None:
        if not 0 < self.limit <= 86_400:
            raise ValueError(f"limit={self.limit:g} is not possible: give seconds, more than 0")
        if not 1 <= self.memory <= 1_000_000:
            raise ValueError(f"memory={self.memory} is not possible: give megabytes, 1 to 1000000")


class PythonFileAgent(ForeignEngine["_HostProcess"]):
    """A player in a Python file. It also analyses: what its code thinks of each move, without a search."""

    def __init__(self, settings: PythonSettings) -> None:
        path, name = split_name(settings.file)
        file = find_file(path)
        super().__init__(sys.executable, "", settings.limit)
        self.name = path.name + (f":{name}" if name else "")
        self._argv = [sys.executable, "-m", "tengen.agents.python_host", *plugin_files()]
        self._player = {"file": str(file), "name": name, "seed": settings.seed, "memory": settings.memory}
        self._loaded = False

    def choose(self, state: AnyState, seconds: float | None = None, watcher: Watcher | None = None) -> Decision:
        """The code's move; AgentError, with its line, where it gives none."""
        decision = self._asked("choose", state, seconds)
        if watcher is not None:
            watcher.show(_analysis_of(decision, state))
        return decision

    def analyse(
        self,
        state: AnyState,
        *,
        visits: int | None = None,
        seconds: float | None = None,
        interval: float = 0.1,
        avoid: Collection[int] = (),
    ) -> Iterator[Analysis]:
        """What the code thinks of the moves, once."""
        if state.is_over:
            yield over(state)
            return
        found = _analysis_of(self._asked("think", state, None), state)
        kept = tuple(move for move in found.moves if move.move not in avoid)
        yield Analysis(0, found.chance, kept, final=True)

    def stop(self) -> None:
        """Nothing can be stopped: the time limit ends a move."""

    def check(self, state: AnyState) -> None:
        """Start the process and run the file; AgentError, with its line, where that fails."""
        self._load(state)

    def close(self) -> None:
        """End the game's process."""
        self._release()
        super().close()

    # ------------------------------------------------------------------------------------------ private

    def _release(self) -> None:
        """End the game's process; its host may serve another game."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            _HOSTS.give_back(connection)

    def _start(self) -> "_HostProcess":
        return _HOSTS.take(self._argv, Path(str(self._player["file"])).name)

    def _greet(self, connection: "_HostProcess") -> None:
        self._loaded = False

    def _load(self, state: AnyState) -> None:
        connection = self._connected()
        if not self._loaded:
            about = {"player": self._player, "folder": os.getcwd(), "limit": _LOAD_LIMIT}
            named = self._ask({"do": "load", **about, **_position(state)}, _START_LIMIT + _LOAD_LIMIT)
            connection.name = self.name = one_line(str(named.get("name", "")) or self.name, 60)
            self._loaded = True

    def _asked(self, what: str, state: AnyState, seconds: float | None) -> Decision:
        self._load(state)
        limit = self.timeout if seconds is None else seconds + _GRACE
        request = {"do": what, "seconds": seconds, "limit": limit, **_position(state)}
        try:
            return plain(Decision(**self._ask(request, limit + 10.0)))
        except (TypeError, ValueError):
            self._drop()
            raise AgentError(f"{self.name} gave an answer that is no decision") from None

    def _ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        try:
            answer = self._connected().ask(json.dumps(request), timeout)
        except AgentError:
            self._drop()
            raise
        if "error" in answer:
            self._release()
            raise AgentError(one_line(str(answer["error"]), 300))
        return answer


class _HostProcess:
    """A running `python_host`, and the file that it plays by at the moment."""

    def __init__(self, argv: list[str]) -> None:
        self.argv, self.name, self.file = argv, "", ""
        self._lines: Queue[str | None] = Queue(maxsize=1000)
        self._prints = _Prints()
        self._process = EngineProcess(argv, "the player", partial(_read_lines, lines=self._lines), self._prints.show)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_running

    def begin(self, file: str) -> None:
        """Get ready for a game of another file."""
        self.name = self.file = file
        self._prints.begin(file)

    def ask(self, request: str, timeout: float) -> dict[str, Any]:
        """The answer to a request."""
        self._process.send(request)
        try:
            line = self._lines.get(timeout=timeout)
        except Empty:
            raise AgentTimeoutError(f"{self.name} did not answer within {timeout:g} s") from None
        answer = _read_json(line)
        if answer is None or "ended" in answer:
            raise self._death(line)
        return answer

    def end_game(self) -> bool:
        """End the process of the game; whether the host is ready for another game."""
        try:
            self._process.send("end")
            while (line := self._lines.get(timeout=1.0)) is not None:
                if "ended" in (_read_json(line) or {}):
                    return self._prints.ended.wait(1.0)
        except (AgentError, Empty):
            pass
        return False

    def close(self, patience: float = 1.0) -> None:
        """End the host."""
        self._process.close(min(patience, 0.2))

    def _death(self, line: str | None) -> AgentError:
        """The error of a game's process that has ended: what happened, and the file's line at that moment."""
        lines: list[str] = []
        with contextlib.suppress(Empty):
            while line is not None and "ended" not in (_read_json(line) or {}):
                lines.append(line)
                line = self._lines.get(timeout=1.0)
        if not lines:
            code = (_read_json(line) or {}).get("ended")
            return self._process.death() if code is None else AgentError(f"{self.file} ended with exit code {code}")
        what = one_line(lines[0].removeprefix("Fatal Python error: "), 100)
        if timeout := re.fullmatch(r"Timeout \((\d+):(\d\d):(\d\d(?:\.\d+)?)\)!", lines[0].strip()):
            hours, minutes, seconds = map(float, timeout.groups())
            what = f"no move within {3600 * hours + 60 * minutes + seconds:g} s"
        for frame in filter(None, map(_FRAME.search, lines)):
            if frame["file"].endswith(self.file.encode("ascii", "backslashreplace").decode()):
                inside = "" if frame["function"] == "<module>" else f", in {printable(frame['function'])}"
                return AgentError(f"{self.file}, line {frame['line']}{inside}: {what}")
        return AgentError(f"{self.file}: {what}")


class _Hosts:
    """Hosts that wait for another game, a few of them."""

    def __init__(self) -> None:
        self._idle: list[_HostProcess] = []
        self._lock = threading.Lock()

    def take(self, argv: list[str], file: str) -> _HostProcess:
        """A host for a game of this file."""
        with self._lock:
            ended = [host for host in self._idle if not host.is_running]  # Ctrl-C ends all that were started
            self._idle = [host for host in self._idle if host not in ended]
            fitting = [host for host in self._idle if host.argv == argv]
            if fitting:
                self._idle.remove(fitting[-1])
        for host in ended:
            host.close(patience=0.0)
        host = fitting[-1] if fitting else _HostProcess(argv)
        host.begin(file)
        return host

    def give_back(self, host: _HostProcess) -> None:
        """Keep a host for another game, if it is healthy and there is need."""
        if host.end_game():
            with self._lock:
                if len(self._idle) < _MOST_IDLE:
                    self._idle.append(host)
                    return
        host.close()


_HOSTS: Final = _Hosts()


class _Prints:
    """Shows what a file's code prints, as far as a person may want to read it."""

    def __init__(self) -> None:
        self._file, self._left = "", 0
        self.ended = threading.Event()

    def begin(self, file: str) -> None:
        """A game of this file begins."""
        self._file, self._left = file, _MOST_LINES
        self.ended.clear()

    def show(self, line: str) -> None:
        """One line that was printed."""
        if line == END_OF_GAME:
            self.ended.set()
        if line == END_OF_GAME or self._left < 0:
            return
        self._left -= 1
        text = one_line(line) if self._left >= 0 else f"(it prints more than {_MOST_LINES} lines, which are not shown)"
        with contextlib.suppress(OSError, ValueError):  # stderr may be closed
            print(f"{self._file}: {text}", file=sys.stderr, flush=True)


def _read_json(line: str | None) -> dict[str, Any] | None:
    """What a line says, if it is an object of JSON."""
    with contextlib.suppress(ValueError, TypeError):
        found = json.loads(line or "")
        if isinstance(found, dict):
            return found
    return None


def split_name(text: str) -> tuple[Path, str]:
    """`class/strategy.py:Careful` as the file and the name in it."""
    path, colon, name = text.rpartition(":")
    if not colon or not path.endswith(".py"):
        path, name = text, ""
    return Path(path).expanduser(), name.strip()


def find_file(path: Path) -> Path:
    """The whole path of a Python file; AgentError if there is none."""
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise AgentError(
            f"there is no file {one_line(str(path))}: `tengen agents new {path.name}` writes one"
        ) from None


def digest(path: Path) -> str:
    """The hash of a file, so that a changed one can be told from what it was."""
    return hashlib.blake2b(find_file(path).read_bytes(), digest_size=8).hexdigest()


def _position(state: AnyState) -> dict[str, Any]:
    game = game_of(state)
    return {"game": game.name, "record": game.write(state, Record()).decode()}


def _analysis_of(decision: Decision, state: AnyState) -> Analysis:
    """What the code thinks of each legal move; moves that it says nothing about come last."""
    legal = state.legal_moves()
    chance = 0.5 if decision.value is None else decision.value
    ranked = sorted(legal, key=lambda m: (m != decision.move, -decision.values.get(m, -1.0)))
    moves = tuple(
        MoveAnalysis(
            move,
            decision.visits.get(move, 0),
            decision.values.get(move, chance),
            decision.priors.get(move, 1 / len(legal)),
            place,
            decision.pv if move == decision.move and decision.pv else (move,),
            (0,) * (len(decision.pv) if move == decision.move and decision.pv else 1),
        )
        for place, move in enumerate(ranked)
    )
    return Analysis(sum(decision.visits.values()), chance, () if decision.move == RESIGN else moves, final=True)


def _read_lines(stream: IO[bytes], lines: "Queue[str | None]") -> None:
    """Put every line of the host into the queue, and None at its end."""
    with stream, contextlib.suppress(Full):
        while raw := stream.readline(LONGEST_LINE):
            lines.put_nowait(raw.decode("ascii", "replace").rstrip("\n"))
        lines.put_nowait(None)
