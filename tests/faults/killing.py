"""Commands that are killed at random moments: started, watched by what they write, and ended with all their workers."""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_POLL = 0.004  # seconds between two looks at the folder
_LONGEST = 600.0  # seconds after which a command counts as hanging


class Fault(AssertionError):
    """A command that did not survive: it failed, hung, lost something or counted it twice."""


@dataclass(frozen=True)
class Moment:
    """When to kill: so many seconds after the folder was seen to change for the n-th time."""

    changes: int
    seconds: float

    @classmethod
    def draw(cls, rng: random.Random, undisturbed: "Attempt") -> Self:
        """A moment of the time in which an undisturbed run works, more often an early one, for what is left of a run
        that was killed before is shorter; half of them right after something was written."""
        apart = undisturbed.seconds / max(1, undisturbed.changes)
        return cls(int(undisturbed.changes * rng.random() ** 2), rng.choice((0.0, rng.uniform(0, 2 * apart))))


@dataclass(frozen=True)
class Attempt:
    """How a run of a command went."""

    code: int
    """How it ended: 0 at its end, below 0 by a signal."""
    changes: int
    """How often its folder was seen to change."""
    seconds: float
    said: str
    """All that it printed."""


class Host:
    """A process that runs commands, one at a time (`host.py`)."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.host"],
            cwd=Path(__file__).parents[2],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, arguments: Sequence[str], folder: Path, moment: Moment | None = None) -> Attempt:
        """Run a command that works in a folder, to its end or until the moment comes. Fault if it fails or hangs."""
        attempt = self._attempt(arguments, folder, moment)
        if attempt.code not in (0, -signal.SIGKILL) or "Traceback" in attempt.said:
            raise Fault(f"exit code {attempt.code}: {attempt.said[-2000:]}")
        return attempt

    def refusal(self, arguments: Sequence[str], folder: Path) -> str:
        """Run a command that has to give up with one line on what is wrong; that line. Fault if it does not."""
        attempt = self._attempt(arguments, folder, None)
        lines = [line for line in attempt.said.splitlines() if line.startswith("tengen: ")]
        if attempt.code != 2 or len(lines) != 1 or "Traceback" in attempt.said:
            raise Fault(f"exit code {attempt.code}: {attempt.said[-2000:]}")
        return lines[0]

    def _attempt(self, arguments: Sequence[str], folder: Path, moment: Moment | None) -> Attempt:
        folder.mkdir(parents=True, exist_ok=True)
        log = folder.with_suffix(".log")
        log.write_text("")  # in case that it is killed before it can open it
        self._send({"arguments": list(arguments), "folder": str(folder), "log": str(log)})
        child = int(self._answer(_LONGEST) or 0)
        began, changes, seen = time.monotonic(), 0, _snapshot(folder)
        while time.monotonic() - began < _LONGEST:
            if moment is not None and changes >= moment.changes:
                code = self._answer(moment.seconds)
                if code is None:
                    _kill(child)
                    code = self._answer(_LONGEST)
            else:
                code = self._answer(_POLL)
            now = _snapshot(folder)
            changes, seen = changes + (now != seen), now
            if code is not None:
                return Attempt(int(code), changes, time.monotonic() - began, log.read_text(errors="replace"))
        _kill(child)
        self._answer(_LONGEST)
        raise Fault(f"tengen {' '.join(arguments)} did not end within {_LONGEST:.0f} seconds; see {log}")

    def _send(self, request: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def _answer(self, seconds: float) -> str | None:
        """The next line of the host, if it comes within so many seconds."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds)[0]:
            return None
        line = self._process.stdout.readline()
        if not line:
            raise Fault("the host of the commands has ended")
        return line


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):  # it has ended meanwhile
        os.killpg(group, signal.SIGKILL)


def _snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """All files of a folder with their sizes and times of change."""
    found: dict[str, tuple[int, int]] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            try:
                status = os.stat(path)
            except FileNotFoundError:
                continue
            found[path] = status.st_size, status.st_mtime_ns
    return found
