"""Threads that play games side by side."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from tengen._processes import end_all
from tengen.arena.game import GameStopped

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


class GameWorkers(Generic[Task, Outcome]):
    """Threads that play the games of tasks in order; iterating yields (task, outcome) as games end, in this thread.

    Threads are enough, since engines are other processes and kernels release Python's lock while they think.
    """

    def __init__(self, tasks: Sequence[Task], workers: int, play: Callable[[Task, threading.Event], Outcome]) -> None:
        """`play` plays the game of a task, and raises GameStopped soon after the event is set."""
        self._play, self._count = play, len(tasks)
        self._waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
        for task in tasks:
            self._waiting.put(task)
        self._finished: queue.SimpleQueue[tuple[Task, Outcome | Exception]] = queue.SimpleQueue()
        self._stop = threading.Event()
        # Daemons, so that a second Ctrl-C need not wait for a long thought.
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(min(workers, len(tasks)))]

    def __enter__(self) -> "GameWorkers[Task, Outcome]":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        if error[0] is not None:
            end_all()  # an engine that hangs would keep us waiting
        for thread in self._threads:
            thread.join()

    def __iter__(self) -> "GameWorkers[Task, Outcome]":
        return self

    def __next__(self) -> tuple[Task, Outcome]:
        if self._count == 0:
            raise StopIteration
        self._count -= 1
        while True:
            try:
                task, outcome = self._finished.get(timeout=1.0)  # the timeout lets Ctrl-C in, on Windows too
                break
            except queue.Empty:
                continue
        if isinstance(outcome, Exception):
            raise outcome
        return task, outcome

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                task = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._finished.put((task, self._play(task, self._stop)))
            except GameStopped:
                return
            except Exception as error:  # raised again in the thread that runs the games
                self._finished.put((task, error))
                return
