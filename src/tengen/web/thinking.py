"""Thinking off the event loop: a few threads that all who play here share.

Everybody has a queue of their own, and the queues take turns, so one who asks for a lot waits for their own jobs alone.
Time is bounded: the more people wait, the less each move may take (`share`).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from tengen._machine import cores

Result = TypeVar("Result")

ROUND: Final = 10.0
"""Seconds in which everybody who waits should have had a turn."""
_LEAST: Final = 0.05
_MOST_WAITING: Final = 8  # jobs of one owner


class Busy(ValueError):
    """Somebody has asked for more than fits in their queue."""


class Thinking:
    """Threads, and who is next. All methods but the jobs themselves run on the event loop."""

    def __init__(self, threads: int | None = None) -> None:
        """`threads`: as many as this process may use cores, if not given."""
        self._threads = threads or cores()
        self._pool = ThreadPoolExecutor(self._threads, "thinking")
        self._queues: dict[Hashable, deque[tuple[Callable[[], Any], asyncio.Future[Any]]]] = {}
        self._running = 0

    @property
    def waiting(self) -> int:
        """How many jobs have not begun."""
        return sum(map(len, self._queues.values()))

    def share(self) -> float:
        """How many seconds a move may take now, so that all who wait get their turn within a round."""
        people = len(self._queues) + self._running
        return max(_LEAST, ROUND * min(1.0, self._threads / max(1, people)))

    async def run(self, owner: Hashable, job: Callable[[], Result]) -> Result:
        """Do a job in a thread, once it is its owner's turn; Busy if the owner has too many waiting."""
        queue = self._queues.setdefault(owner, deque())
        if len(queue) >= _MOST_WAITING:
            raise Busy("wait: you have asked for too much at once")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        queue.append((job, future))
        self._start_next()
        return await future

    def close(self) -> None:
        """Start nothing more."""
        self._queues.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start_next(self) -> None:
        while self._running < self._threads and self._queues:
            owner = next(iter(self._queues))
            queue = self._queues.pop(owner)
            if not queue:
                continue
            job, future = queue.popleft()
            if queue:
                self._queues[owner] = queue  # behind all others
            if future.cancelled():
                continue
            self._running += 1
            asyncio.get_running_loop().create_task(self._do(job, future))

    async def _do(self, job: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
        try:
            result = await asyncio.get_running_loop().run_in_executor(self._pool, job)
        except Exception as error:
            if not future.cancelled():
                future.set_exception(error)
        else:
            if not future.cancelled():
                future.set_result(result)
        finally:
            self._running -= 1
            self._start_next()
