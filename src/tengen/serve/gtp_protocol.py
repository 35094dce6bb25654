"""The letters of GTP version 2: lines into commands, answers into bytes, words into values.

Nothing here is about Go beyond colours and vertices. Whatever arrives, be it binary junk, numbers of a hundred
thousand digits or a line without end, becomes a command or a GtpError with one of the protocol's messages. Commands are
read by a thread of their own, so that the next line can end an analysis.
"""

import math
import queue
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Final

from tengen.games.go import BLACK, RESIGN, WHITE, from_gtp

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
