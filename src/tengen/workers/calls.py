"""What a long computation needs of its workers, wherever they are.

A worker is an object; calls of its methods go out, and results come back in the order in which they are ready.
`ThreadWorkers` has workers in threads of this process, `ProcessWorkers` in processes of this machine, `RayWorkers` on
the nodes of a Ray cluster.
"""

import queue
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
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
        """Results since the last time; waits at most so long for one. Raises the error of one that failed."""
        found: list[Any] = []
        while self.unfinished:
            try:
                result = self._results.get(timeout=seconds) if seconds and not found else self._results.get_nowait()
            except queue.Empty:
                break
            if isinstance(result, Exception):
                raise result
            self.unfinished -= 1
            if result is not None:
                found.append(result)
        return found

    def results(self) -> Iterator[Any]:
        """All results, each as soon as it is there."""
        while self.unfinished:
            yield from self.collect(1.0)  # the timeout lets Ctrl-C in, on Windows too

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
    """Worker objects that take calls, wherever they are."""

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


WorkerFactory = Callable[[int, Callable[..., Any], Callable[[int], tuple[Any, ...]], int], Workers]
"""Makes workers: how many (0: one per core), of which class, with which arguments each, how nice to other processes."""


@contextmanager
def open_workers(factory: WorkerFactory, count: int, make: Callable[..., Any], *arguments: Any) -> Iterator[Workers]:
    """Workers that have been started, all with the same arguments; they are closed at the end."""
    with closing(factory(count, make, lambda _: arguments, 0)) as workers:
        workers.start()
        yield workers
