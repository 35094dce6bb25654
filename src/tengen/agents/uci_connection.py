"""A conversation with a foreign UCI engine: commands that may be answered by many lines, never waiting for ever.

UCI has no frame around an answer: a command is over when a certain word comes (`uciok`, `readyok`, `bestmove`),
and an engine may say other things at any time. So the newest lines are kept as they come, and a command begins
by forgetting those that nobody waited for.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import IO, Final

from tengen.agents.agent import AgentTimeoutError
from tengen.agents.engine_process import LONGEST_LINE, EngineProcess

_LINES_KEPT: Final = 4096
_OPTION = re.compile(r"option name (.+?) type (\w+)(.*)")


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
            line = " ".join(raw.decode("utf-8", "replace").split())
            if line:
                lines.add("".join(letter if letter.isprintable() else "?" for letter in line))
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
