"""Programs that this process has started, so that they can be ended together with it, however it ends."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from types import FrameType

_started: set["subprocess.Popen[bytes]"] = set()
_lock = threading.Lock()

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_IN_BACKGROUND = re.compile(r"(?<![&>])&(?![&>])")  # a command for which the shell does not wait
_PR_SET_PDEATHSIG = 1


def remember(process: "subprocess.Popen[bytes]") -> None:
    """A program that was started, in a process group of its own."""
    with _lock:
        _started.add(process)


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a program and whatever it started (it leads a process group of its own), and reap it."""
    with _lock:
        _started.discard(process)
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5.0)


def end_all() -> None:
    """End all of them at once. Who waits for an answer of one finds that it has gone."""
    for process in tuple(_started):  # without the lock: a signal may have come while it was held
        _kill(process)


def exit_on_termination() -> None:
    """Let SIGTERM end this process as Ctrl-C does, with all that it has started."""
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, _terminate)


def end_with_shell() -> None:
    """If this process is what a shell was started for (`sh -c COMMAND`), let it end when the shell is ended.

    KaTrain starts engines so, ends the shell, and waits for the engine. Linux alone can tell.
    """
    shell = os.getppid()
    try:
        words = Path(f"/proc/{shell}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return
    if Path(words[0]).name not in _SHELLS or words[1:2] != ["-c"] or _IN_BACKGROUND.search(words[2]):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != shell:  # it was ended just before
        raise SystemExit(128 + signal.SIGTERM)


def _terminate(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # who cannot wait sends it again
    end_all()
    raise SystemExit(128 + number)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
