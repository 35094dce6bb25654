"""The process that a player's own Python file runs in; `python_file.py` starts it and asks it for moves.

A host loads the rules once. For each game it forks a process, which runs the file and ends with the game, so that
nothing is left over for the next one and starting costs little. Requests come as lines of JSON, and answers go back by
a channel that the file's code does not see: what it prints goes to stderr. A move that takes too long ends that
process, with the line that it was in on that channel; memory has a limit, and the code may neither start processes nor
change its own file. This protects a match from mistakes. It is no prison: the code can do what its user can do.
"""

import contextlib
import faulthandler
import io
import json
import os
import random
import sys
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Final

from tengen._plugins import load_plugins
from tengen._text import one_line
from tengen.agents.own import OwnAgent
from tengen.games.game import get_game
from tengen.games.state import AnyState

END_OF_GAME: Final = "tengen: end of game"
"""What a host writes to stderr after all that the file has printed in a game."""
MODULE: Final = "tengen_own_agent"
"""What the file is called as a module."""
_PROCESSES: Final = frozenset(
    {
        "os.fork",
        "os.forkpty",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "subprocess.Popen",
        "os.kill",
        "os.killpg",
    }
)
_CHANGES: Final = frozenset({"os.remove", "os.rename", "os.truncate"})
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_TRUNC


class _OwnError(Exception):
    """What went wrong in the file, in one line with its place."""


class Host:
    """The file's player, once it has been loaded."""

    def __init__(self, player: dict[str, Any], answers: IO[str]) -> None:
        self._file, self._name = Path(player["file"]), str(player["name"])
        self._seed, self._megabytes = player["seed"], int(player["memory"])
        self._answers = answers
        self._agent: OwnAgent | None = None
        self._running = False
        sys.addaudithook(self._watch)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What is sent back to a request."""
        state = _state_of(request)
        try:
            if self._agent is None:
                self._agent = self._load(float(request["limit"]))
                return {"name": self._agent.name}
            with self._guarded(float(request["limit"])):
                if request["do"] == "think":
                    return asdict(self._agent.think(state))
                return asdict(self._agent.choose(state, request["seconds"]))
        except _OwnError as error:
            return {"error": str(error)}

    def _load(self, limit: float) -> OwnAgent:
        """Run the file, and find its player."""
        _limit_memory(self._megabytes)
        random.seed(self._seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(None if self._seed is None else self._seed % 2**32)
        module = ModuleType(MODULE)
        module.__file__ = str(self._file)
        sys.modules[MODULE] = module
        sys.path.append(str(self._file.parent))
        try:
            source = self._file.read_bytes()
        except OSError as error:
            raise _OwnError(f"{self._file.name}: {error.strerror}") from None
        with self._guarded(limit):
            exec(compile(source, str(self._file), "exec"), module.__dict__)
            player = find_player(module, self._name)
            made = player() if isinstance(player, type) else player
            label = self._file.name + (f":{self._name}" if self._name else "")
            return OwnAgent(made, str(getattr(made, "name", "")) or label)

    @contextlib.contextmanager
    def _guarded(self, seconds: float) -> Iterator[None]:
        """The file's code within: after so many seconds the process ends, and any error becomes one line."""
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._answers)
        self._running = True
        try:
            yield
        except BaseException as error:
            self._running = False
            _limit_memory(None)
            raise _OwnError(self._explained(error)) from None
        finally:
            self._running = False
            faulthandler.cancel_dump_traceback_later()
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()

    def _explained(self, error: BaseException) -> str:
        """`strategy.py, line 12, in choose: ZeroDivisionError: division by zero`."""
        text = one_line(str(error), 160)
        what = f"{type(error).__name__}: {text}" if text else type(error).__name__
        if isinstance(error, SyntaxError) and error.filename == str(self._file):
            return f"{self._file.name}, line {error.lineno}: SyntaxError: {one_line(error.msg)}"
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(self._file)]
        if frames:
            inside = "" if frames[-1].name == "<module>" else f", in {frames[-1].name}"
            return f"{self._file.name}, line {frames[-1].lineno}{inside}: {what}"
        code = getattr(self._chooses(), "__code__", None)
        if code is not None and code.co_filename == str(self._file):  # an answer that is no move
            text = text.removeprefix(self._agent.name if self._agent else "").strip()
            return f"{self._file.name}, line {code.co_firstlineno}, in {code.co_name}: {text}"
        return f"{self._file.name}: {text or what}"

    def _chooses(self) -> object:
        """The function that chooses, if one has been found."""
        player = getattr(self._agent, "_player", None)
        return getattr(player, "choose", player)

    def _watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse what a player does not need, while its code runs."""
        if not self._running:
            return
        if event in _PROCESSES:
            raise PermissionError(f"a player may not start or end processes ({event})")
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES
        if (opens or event in _CHANGES) and self._is_own(arguments[0]):
            raise PermissionError("a player may not change its own file while it plays")

    def _is_own(self, path: object) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and os.path.realpath(os.fsdecode(path)) == str(self._file)


def find_player(module: ModuleType, name: str) -> Any:
    """The player of a file: what is called `name`, else its function `choose`, else its one class with a `choose`."""
    if name:
        found = getattr(module, name, None)
        if found is None or not (callable(found) or hasattr(found, "choose")):
            raise ValueError(f"has no function or class called {name}")
        return found
    if callable(getattr(module, "choose", None)):
        return module.choose
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and callable(getattr(value, "choose", None)) and value.__module__ == module.__name__
    ]
    if len(classes) == 1:
        return classes[0]
    if classes:
        named = " or ".join(f"{Path(str(module.__file__)).name}:{one.__name__}" for one in classes[:3])
        raise ValueError(f"has {len(classes)} classes with choose: say which one, {named}")
    raise ValueError("has no player: write a function choose(state) that returns a move, or a class with this method")


def _state_of(request: dict[str, Any]) -> AnyState:
    """The position that is asked about."""
    game = get_game(str(request["game"]))
    state: AnyState = game.read(str(request["record"]).encode())[0]
    return state


def _warm_up(state: AnyState) -> None:
    """Load or compile the rules before the code's time counts."""
    str(state)
    moves = state.legal_moves()
    if moves:
        after = state.play(moves[0])
        after.legal_moves(), after.winner(), after.result(), after.move_name(moves[0])


def _limit_memory(megabytes: int | None) -> None:
    """Allow so many megabytes beyond what the process has now, where the system can limit it; None: any number."""
    try:
        import resource

        used = 0
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData"):
                used = 1024 * int(line.split()[1])
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (most if megabytes is None else used + megabytes * 2**20, most))
    except (ImportError, OSError, ValueError):  # not on Linux
        pass


def _no_exit(code: int = 0) -> None:
    raise SystemExit(f"os._exit({code})")


def main() -> None:
    """Serve one game after the other, until the other side has gone."""
    load_plugins(sys.argv[1:])
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
    faulthandler.enable(file=answers)
    leave = os._exit
    while (line := requests.readline()).strip() not in (b"", b"quit"):
        if line.strip() == b"end":  # of a game whose process has ended before
            continue
        request = json.loads(line)
        _warm_up(_state_of(request))
        if not hasattr(os, "fork"):
            return _play_game(request, requests, answers)
        process = os.fork()
        if not process:
            try:
                _play_game(request, requests, answers)
            finally:
                leave(0)
        _, status = os.waitpid(process, 0)
        os.write(2, f"\n{END_OF_GAME}\n".encode())
        answers.write(json.dumps({"ended": os.waitstatus_to_exitcode(status)}) + "\n")
        answers.flush()


def _play_game(first: dict[str, Any], requests: IO[bytes], answers: IO[str]) -> None:
    """Answer the requests of one game."""
    os.chdir(first["folder"])
    os._exit = _no_exit  # type: ignore[assignment]
    dumps, loads, host, request = json.dumps, json.loads, Host(first["player"], answers), first
    while True:
        answers.write(dumps(host.answer(request)) + "\n")
        answers.flush()
        line = requests.readline()
        if line.strip() in (b"", b"end", b"quit"):
            return
        request = loads(line)


if __name__ == "__main__":
    main()
