"""What all agents that are programs of others have in common, whatever their protocol: starting, failing and ending."""

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from tengen.agents.agent import AgentError
from tengen.agents.engine_process import find_program

DEFAULT_TIMEOUT: Final = 60.0


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
