"""Programs that this process has started, so that they can be ended together with it, however it ends."""

import contextlib
import os
import signal
import subprocess
import threading
from types import FrameType

_started: set["subprocess.Popen[bytes]"] = set()
_lock = threading.Lock()


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
