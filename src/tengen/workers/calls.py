"""What a long computation needs of its workers, wherever they are.

A worker is an object; calls of its methods go out, and results come back in the order in which they are ready.
`LocalWorkers` has workers in processes of this machine, `RayWorkers` on the nodes of a Ray cluster.
"""

import queue
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol


class WorkerError(ValueError):
    """A worker that failed or is gone."""


class Calls:
    """Calls under way: their results as they come."""

    def __init__(self, count: int) -> None:
        self.unfinished = count
        self.cancelled = False
        self._results: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def cancel(self) -> None:
        """Begin no more of the calls; those that are being worked on are finished."""
        self.cancelled = True

    def collect(self, seconds: float = 0.0) -> list[Any]:
        """Results that have come since the last time; waits at most so long for one. WorkerError if one failed."""
        found: list[Any] = []
        while self.unfinished:
            try:
                result = self._results.get(timeout=seconds) if seconds and not found else self._results.get_nowait()
            except queue.Empty:
                break
            if isinstance(result, WorkerError):
                raise result
            self.unfinished -= 1
            if result is not None:
                found.append(result)
        return found

    def deliver(self, result: Any) -> None:
        """Hand in a result, the error that came in its place, or None for a call that was never begun."""
        self._results.put(result)


@dataclass(frozen=True)
class Task:
    """A call that waits for a worker."""

    method: str
    arguments: tuple[Any, ...]
    calls: Calls


class Workers(Protocol):
    """Those who work, wherever they are."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def start(self) -> None:
        """Get them ready."""
        ...

    def map(self, method: str, arguments: Iterable[tuple[Any, ...]], calls: Calls | None = None) -> Calls:
        """Call a method once for each of these arguments, on whichever worker is free.

        Results come by `calls` if given, as those of earlier calls do.
        """
        ...

    def close(self) -> None:
        """Let them go; what they have under way is lost."""
        ...


Hosts = Callable[[int, Callable[..., Any], Callable[[int], tuple[Any, ...]], int], Workers]
"""Makes workers: how many (0: one a core), of which class, with which arguments each, how nice to other processes."""
