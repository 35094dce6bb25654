"""Ctrl-C between two steps, never within one: so that what is saved then is whole."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C (or SIGTERM) is only noted: the function given returns whether it came. A second one kills.

    Signals belong to the main thread; in any other nothing is changed, and the function always returns False.
    """
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (signal.SIG_IGN, None):  # ignored on purpose, as under nohup
                before[number] = signal.signal(number, note)
    try:
        yield lambda: came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
