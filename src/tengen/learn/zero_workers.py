"""Who plays: worker objects, and the processes of this machine that host them.

The loop uses its workers only by `start`, `map` and `close`: calls of methods of a worker object go out, results
come back in the order in which they are ready. Another runtime that offers the same three can take the place
of `LocalWorkers`. A call carries all that it needs (which model, how many positions), so any worker can take it.
"""

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from tengen.encode.game_spec import GameSpec
from tengen.learn.duel import DuelResult, duel
from tengen.learn.replay import Packed, pack
from tengen.learn.replay_chunks import PlayedGames
from tengen.learn.selfplay import SelfPlayStatistics, SelfPlayWorker
from tengen.learn.selfplay_settings import SelfPlaySettings
from tengen.nets.evaluator import Evaluator, load_evaluator

_EVALUATORS: Final = 4  # that a worker keeps


class Played(NamedTuple):
    """What a call of `ZeroWorker.play` brings back."""

    positions: Packed
    games: PlayedGames
    work: SelfPlayStatistics
    """Of this call."""
    generation: int


class ZeroWorker:
    """Plays games of a model against itself, and duels of two models."""

    def __init__(self, spec: GameSpec, settings: SelfPlaySettings, seed: int) -> None:
        self._spec, self._settings = spec, settings
        self._worker = SelfPlayWorker(spec, settings, seed)
        self._model: tuple[str, str] | None = None
        self._evaluators: dict[tuple[str, str], Evaluator] = {}  # the last few, for to prepare one takes a while

    def play(self, model: str, generation: int, backend: str, positions: int, simulations: int) -> Played:
        """Play on with this model until so many positions of finished games are there."""
        if self._model != (model, backend):
            self._worker.use(self._evaluator(model, backend))
            self._model = (model, backend)
        before = self._worker.statistics
        data = self._worker.play(positions, simulations)
        return Played(pack(data), PlayedGames.of(data), _difference(self._worker.statistics, before), generation)

    def duel(
        self, pairing: "Pairing", games: int, simulations: int, seed: tuple[int, ...]
    ) -> tuple["Pairing", DuelResult]:
        """Play so many games of the first model of a pairing against the second."""
        first, second = map(self._evaluator, pairing.models, pairing.backends)
        result = duel(
            self._spec,
            first,
            second,
            games=games,
            simulations=simulations,
            rule=self._settings.rule,
            opening_plies=max(2, self._settings.random_plies),
            seed=int(np.random.SeedSequence(seed).generate_state(1)[0]),
        )
        return pairing, result

    def _evaluator(self, model: str, backend: str) -> Evaluator:
        """A model ready to run; those that have not been asked for lately are let go."""
        key = model, backend
        found = self._evaluators.pop(key) if key in self._evaluators else load_evaluator(model, backend)[0]
        self._evaluators[key] = found  # behind all others
        while len(self._evaluators) > _EVALUATORS:
            del self._evaluators[next(iter(self._evaluators))]
        return found


class Pairing(NamedTuple):
    """Two generations that meet."""

    first: int
    second: int
    models: tuple[str, str]
    """Their files."""
    backends: tuple[str, str]
    """What runs them."""


def _difference(after: SelfPlayStatistics, before: SelfPlayStatistics) -> SelfPlayStatistics:
    names = SelfPlayStatistics.__dataclass_fields__
    return SelfPlayStatistics(**{name: getattr(after, name) - getattr(before, name) for name in names})


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
class _Task:
    method: str
    arguments: tuple[Any, ...]
    calls: Calls


class Workers(Protocol):
    """Those who play, wherever they are."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def start(self) -> None:
        """Get them ready."""
        ...

    def map(self, method: str, arguments: Iterable[tuple[Any, ...]]) -> Calls:
        """Call a method once for each of these arguments, on whichever worker is free."""
        ...

    def close(self) -> None:
        """Let them go; what they have under way is lost."""
        ...


class LocalWorkers:
    """Worker objects in processes of this machine, one each. They sleep while they have nothing to do."""

    def __init__(
        self, count: int, make: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]], niceness: int = 0
    ) -> None:
        """`count` workers, the i-th being make(*arguments(i)); `make` is a class or a function of a module.

        With `niceness` they step back from a core that the process which started them wants.
        """
        self._count, self._make, self._arguments, self._niceness = count, make, arguments, niceness
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._processes: list[Any] = []
        self._threads: list[threading.Thread] = []
        self._closing = False

    @property
    def count(self) -> int:
        """How many there are."""
        return self._count

    def start(self) -> None:
        """Start the processes."""
        context = multiprocessing.get_context("spawn")  # a fork would share locks of threads that it does not have
        for i in range(self._count):
            here, there = context.Pipe()
            process = context.Process(
                target=_host, args=(there, self._make, self._arguments(i), self._niceness), daemon=True
            )
            with _interrupts_held():
                process.start()
            there.close()
            thread = threading.Thread(target=self._serve, args=(process, here), daemon=True)
            thread.start()
            self._processes.append(process)
            self._threads.append(thread)

    def map(self, method: str, arguments: Iterable[tuple[Any, ...]]) -> Calls:
        """Call a method once for each of these arguments, on whichever worker is free."""
        given = list(arguments)
        calls = Calls(len(given))
        for each in given:
            self._tasks.put(_Task(method, each, calls))
        return calls

    def close(self) -> None:
        """End the processes; what they have under way is lost."""
        self._closing = True
        for process in self._processes:
            process.terminate()
        for _ in self._threads:
            self._tasks.put(None)
        for process, thread in zip(self._processes, self._threads):
            process.join()
            thread.join()

    def _serve(self, process: Any, connection: Connection) -> None:
        """Pass tasks to one process, in a thread of its own, so that no result waits to be fetched."""
        while (task := self._tasks.get()) is not None and not self._closing:
            if task.calls.cancelled:
                task.calls.deliver(None)
                continue
            try:
                connection.send((task.method, task.arguments))
                fine, result = connection.recv()
            except (EOFError, OSError):
                process.join(5)
                task.calls.deliver(WorkerError(_died(process.exitcode)))
                break
            task.calls.deliver(result if fine else WorkerError(result))
        connection.close()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back; a process started within never hears of it, not even while it is still importing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _died(code: int | None) -> str:
    remedy = "the same command goes on, with fewer --workers if memory ran out"
    return f"a worker process has died (exit code {code}): {remedy}"


def _host(connection: Connection, make: Callable[..., Any], arguments: tuple[Any, ...], niceness: int) -> None:
    """The life of a worker process: one call after the other, until there is nobody to call."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the business of whoever started us
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    worker = None
    while True:
        try:
            method, given = connection.recv()
        except (EOFError, OSError):
            return
        try:
            if worker is None:
                worker = make(*arguments)
            answer = True, getattr(worker, method)(*given)
        except Exception as error:
            answer = False, f"{type(error).__name__}: {error}"
        try:
            connection.send(answer)
        except OSError:
            return


def _leave_with_parent() -> None:
    """End this process when the one that started it is gone, even by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
