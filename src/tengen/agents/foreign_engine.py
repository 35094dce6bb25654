"""What all agents that are programs of others have in common, whatever their protocol: starting, failing and ending.

A program is a subprocess that is spoken to in lines. Two threads belong to it: one hands the engine's output to the
reader, so that waiting for an answer can end at a deadline, and one drains its stderr, so that a talkative engine never
blocks. An engine is ended together with all that it started, at the latest when nobody holds it any more.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final, Generic, Protocol, TypeVar

from tengen._processes import end_group, remember
from tengen.agents.agent import AgentError

DEFAULT_TIMEOUT: Final = 60.0

LONGEST_LINE: Final = 1 << 16
_GAME_FOLDERS: Final = ("/usr/games", "/usr/local/games")


class Connection(Protocol):
    """A running engine."""

    def close(self, patience: float = 1.0) -> None:
        """End it, by force if it does not go within so many seconds."""
        ...


C = TypeVar("C", bound=Connection)


class ForeignEngine(ABC, Generic[C]):
    """A program that is started when it is first needed, and afresh after it failed.

    `command`: the program, on PATH, among the games or with its path, and its arguments; `example`: one that would do.
    `timeout`: how many seconds an answer may take, beyond the thinking time.
    """

    def __init__(self, command: str, example: str, timeout: float) -> None:
        self._argv = find_program(command, example)
        self.timeout = timeout
        self.name = Path(self._argv[0]).stem
        self._connection: C | None = None
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """End the engine. It does not start again."""
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @abstractmethod
    def _start(self) -> C:
        """A new process of the engine, to which nothing has been sent."""

    @abstractmethod
    def _greet(self, connection: C) -> None:
        """Ask an engine that has just started for its abilities, and forget what another one was sent."""

    def _connected(self) -> C:
        """The running engine, started if need be."""
        with self._lock:
            if self._closed:
                raise AgentError(f"{self.name} has been closed")
            if self._connection is not None:
                return self._connection
            connection = self._connection = self._start()
        try:
            self._greet(connection)
        except AgentError:
            self._drop()
            raise
        return connection

    def _drop(self) -> None:
        """Let go of an engine that failed; the next command starts another."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(patience=0.0)


class EngineProcess:
    """A running engine. `name` stands for it in error messages; `read` is given its output, in a thread.

    `hear` is given each line of its stderr, in another. Neither may hold this object: an engine that nobody holds is
    ended.
    """

    def __init__(
        self,
        argv: Sequence[str],
        name: str,
        read: Callable[[IO[bytes]], None],
        hear: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.name = name
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise AgentError(f"{name} did not start: {error.strerror or error}") from None
        remember(self._process)
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin = self._process.stdin
        self._last_words: deque[str] = deque(maxlen=5)
        self._closing = threading.Lock()
        self._kill = weakref.finalize(self, end_group, self._process)
        self._reader = _start(read, self._process.stdout)
        self._drainer = _start(_drain, self._process.stderr, self._last_words, hear)

    def send(self, line: str) -> None:
        """Say one line; AgentError if the engine has gone."""
        try:
            self._stdin.write(line.encode() + b"\n")
            self._stdin.flush()
        except (OSError, ValueError):
            raise self.death() from None

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def death(self) -> AgentError:
        """The error for an engine whose output has ended, with how it ended."""
        try:
            code: int | None = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            code = None
        self._kill()
        self._drainer.join(1.0)
        how = "closed its output" if code is None else f"ended with exit code {code}"
        words = f"; its last words: {self._last_words[-1]}" if self._last_words else ""
        return AgentError(f"{self.name} {how}{words}")

    def close(self, patience: float = 1.0) -> None:
        """Ask the engine to leave, wait `patience` seconds, and then end it with all that it started."""
        with self._closing:
            with contextlib.suppress(OSError, ValueError):
                if patience > 0:
                    self._stdin.write(b"quit\n")
                self._stdin.close()
            if self._kill.alive:
                self._reader.join(patience)
                self._kill()
            self._reader.join(1.0)
            self._drainer.join(1.0)


def find_program(command: str, example: str) -> list[str]:
    """The command line as a list, its program found on PATH or where Debian keeps games."""
    try:
        argv = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise AgentError(f"the engine's command line {command!r} cannot be read: {error}") from None
    if not argv:
        raise AgentError(f"an engine needs a command line, such as: {example}")
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *_GAME_FOLDERS])
    program = shutil.which(argv[0], path=path)
    if program is None:
        remedy = "check the path" if os.path.dirname(argv[0]) else f"apt install {argv[0]}, or give its path"
        raise AgentError(f"{argv[0]} isn't installed, or isn't a program: {remedy}")
    return [program, *argv[1:]]


def _start(read: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=read, args=arguments, daemon=True)
    thread.start()
    return thread


def _drain(stream: IO[bytes], last_words: "deque[str]", hear: Callable[[str], None]) -> None:
    with stream:
        while raw := stream.readline(LONGEST_LINE):
            line = " ".join(raw.decode("utf-8", "replace").split())
            if line:
                last_words.append(line[:200])
                hear(line)
