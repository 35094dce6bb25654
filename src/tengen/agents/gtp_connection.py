"""A conversation with a foreign GTP engine: one command, one answer, never waiting for ever.

The protocol is GTP version 2; commands are sent without ids, because only one is ever under way.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from queue import Empty, Full, Queue
from typing import IO, Final, Literal

from tengen.agents.agent import AgentError, AgentTimeoutError
from tengen.agents.engine_process import LONGEST_LINE, EngineProcess

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
