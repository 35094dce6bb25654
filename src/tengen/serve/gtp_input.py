"""A controller's commands, read by a thread of their own, so that the next line can end an analysis."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from tengen.serve.gtp_protocol import Command, read_commands

_MOST_WAITING: Final = 10_000  # commands that are read ahead


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
