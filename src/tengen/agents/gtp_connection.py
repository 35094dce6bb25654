"""A conversation with a foreign GTP engine: a subprocess, one command, one answer, never waiting for ever.

Two threads belong to a connection: one reads the engine's answers into a queue, so that waiting for one can
end at a deadline, and one drains its stderr, so that a talkative engine never blocks. The protocol is GTP
version 2; commands are sent without ids, because only one is ever under way.
"""

import contextlib
import os
import signal
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import IO, Final, Literal

from tengen.agents.agent import AgentError

_LONGEST_ANSWER: Final = 1 << 20
_LONGEST_LINE: Final = 1 << 16
_CONTROL: Final = bytes(c for c in range(32) if c not in b"\t\n") + b"\x7f"


class GtpRefusal(AgentError):
    """The engine understood and said no: an answer that begins with `?`."""


@dataclass(frozen=True)
class _Answer:
    """What came from the engine: `=` and `?` are GTP, `junk` is something else, `end` the end of it all."""

    kind: Literal["=", "?", "junk", "end"]
    text: str = ""


class GtpConnection:
    """A running engine that answers commands. `name` stands for it in error messages."""

    def __init__(self, argv: Sequence[str], name: str) -> None:
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
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin = self._process.stdin
        self._answers: Queue[_Answer] = Queue(maxsize=8)
        self._last_words: deque[str] = deque(maxlen=5)
        self._closing = threading.Lock()
        self._kill = weakref.finalize(self, _kill_group, self._process)
        self._reader = _start(_read_answers, self._process.stdout, self._answers)
        self._drainer = _start(_drain, self._process.stderr, self._last_words)

    def ask(self, command: str, timeout: float) -> str:
        """The engine's answer to a command.

        GtpRefusal if it says no; AgentError if it is silent for `timeout` seconds, dies or talks nonsense.
        """
        with contextlib.suppress(Empty):
            self._judge(self._answers.get_nowait(), asked=False)
        try:
            self._stdin.write(command.encode() + b"\n")
            self._stdin.flush()
        except (OSError, ValueError):
            raise self._death() from None
        try:
            answer = self._answers.get(timeout=timeout)
        except Empty:
            raise AgentError(f"{self.name} did not answer {command!r} within {timeout:g} s") from None
        text = self._judge(answer)
        if answer.kind == "?":
            raise GtpRefusal(f"{self.name} refused {command!r}: {text or 'without a reason'}")
        return text

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

    def _judge(self, answer: _Answer, asked: bool = True) -> str:
        """The text of an answer, or the AgentError that it amounts to."""
        if answer.kind == "end":
            raise self._death()
        if answer.kind == "junk":
            raise AgentError(f"{self.name} does not speak GTP: it said {answer.text[:60]!r}")
        if not asked:
            raise AgentError(f"{self.name} spoke without being asked: {answer.text[:60]!r}")
        return answer.text

    def _death(self) -> AgentError:
        try:
            code: int | None = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            code = None
        self._kill()
        self._drainer.join(1.0)
        how = "closed its output" if code is None else f"ended with exit code {code}"
        words = f"; its last words: {self._last_words[-1]}" if self._last_words else ""
        return AgentError(f"{self.name} {how}{words}")


def _start(read: Callable[..., None], stream: IO[bytes], sink: object) -> threading.Thread:
    thread = threading.Thread(target=read, args=(stream, sink), daemon=True)
    thread.start()
    return thread


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """End the engine and whatever it started (it leads a process group of its own), and reap it."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5.0)


def _read_answers(stream: IO[bytes], answers: "Queue[_Answer]") -> None:
    """Put every answer into the queue, until the output ends, turns to junk, or floods the queue."""
    lines: list[str] = []
    length = 0
    with stream, contextlib.suppress(Full):
        while raw := stream.readline(_LONGEST_LINE):
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


def _drain(stream: IO[bytes], last_words: "deque[str]") -> None:
    with stream:
        while raw := stream.readline(_LONGEST_LINE):
            line = " ".join(raw.decode("utf-8", "replace").split())
            if line:
                last_words.append(line[:200])
