"""Thinking off the event loop: a few threads that all who play here share, and the agents that think in them.

Everybody has a queue of their own, and the next job is that of whoever has used the least time of the threads
lately: one who asks for a lot waits for their own jobs alone. Waiting counts too, so that nobody waits for ever. A job
that takes very long, say because it compiles what an agent needs, does not keep others from beginning. The more people
wait, the less each move may take (`share`). The server has two sets of threads, so that moves of games do
not wait for analyses and long records.

Loaded agents are borrowed. A few serve many games: most of a game is waiting. A borrower gets the agent that served it
last if that is free (it still has its tree), or another of the same spec, or a new one.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from tengen._machine import cores
from tengen.agents.agent import Agent, Stoppable
from tengen.agents.registry import load_agent

Result = TypeVar("Result")

ROUND: Final = 10.0
"""Seconds in which everybody who waits should have had a turn."""
_LEAST: Final = 0.05
_MOST_WAITING: Final = 8  # jobs of one owner
_EXPECTED: Final = 1.0  # seconds that a job is taken for until it has ended
_LONG: Final = 4.0  # seconds after which a job has another thread begin beside it
_MOST_LONG: Final = 6  # such jobs
_HALF_LIFE: Final = 10.0  # seconds
_PER_SECOND: Final = 0.02  # seconds of use that a second of waiting makes good
_NOTHING: Final = 0.01  # seconds

MOST_AGENTS: Final = 12
"""Loaded agents; of more, the oldest that nobody uses are closed."""


class Busy(ValueError):
    """Somebody has asked for more than fits in their queue."""


@dataclass
class _Queue:
    """What one owner has asked for."""

    used: float = 0.0
    """Seconds of the threads, of which half are forgotten after `_HALF_LIFE`."""
    at: float = 0.0
    """When that was so."""
    jobs: deque[tuple[Callable[[], Any], "asyncio.Future[Any]", float]] = field(default_factory=deque)
    """With the time at which each was asked for."""
    running: int = 0

    def use(self, seconds: float, now: float) -> None:
        """Count seconds, or none to forget what is long ago."""
        self.used = self.used * 0.5 ** ((now - self.at) / _HALF_LIFE) + seconds
        self.at = now

    def urgency(self, now: float) -> float:
        """The queue with the least of this is next."""
        self.use(0.0, now)
        return self.used - _PER_SECOND * (now - self.jobs[0][2])


class Thinking:
    """Threads, and who is next. All methods but the jobs themselves run on the event loop."""

    def __init__(self, threads: int | None = None, name: str = "thinking") -> None:
        """`threads`: as many as this process may use cores, if not given."""
        self._threads = threads or cores()
        self._pool = ThreadPoolExecutor(self._threads + _MOST_LONG, name)
        self._long = 0  # jobs that run besides
        self._queues: dict[Hashable, _Queue] = {}
        self._running = 0

    @property
    def waiting(self) -> int:
        """How many jobs have not begun."""
        return sum(len(queue.jobs) for queue in self._queues.values())

    def share(self) -> float:
        """How many seconds a move may take now, so that all who wait get their turn within a round."""
        people = sum(queue.running + bool(queue.jobs) for queue in self._queues.values())
        return max(_LEAST, ROUND * min(1.0, self._threads / max(1, people)))

    async def run(self, owner: Hashable, job: Callable[[], Result]) -> Result:
        """Do a job in a thread, once it is its owner's turn; Busy if the owner has too many waiting."""
        queue = self._queues.setdefault(owner, _Queue())
        if len(queue.jobs) >= _MOST_WAITING:
            raise Busy("wait: you have asked for too much at once")
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        queue.jobs.append((job, future, time.monotonic()))
        self._start_next()
        return await future

    def close(self) -> None:
        """Start nothing more."""
        self._queues.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start_next(self) -> None:
        while self._running < self._threads:
            now, wanted = time.monotonic(), [queue for queue in self._queues.values() if queue.jobs]
            if not wanted:
                return
            queue = min(wanted, key=lambda queue: queue.urgency(now))
            job, future, _ = queue.jobs.popleft()
            if future.cancelled():
                continue
            queue.use(_EXPECTED, now)
            queue.running += 1
            self._running += 1
            asyncio.get_running_loop().create_task(self._do(job, future, queue))

    async def _do(self, job: Callable[[], Any], future: "asyncio.Future[Any]", queue: _Queue) -> None:
        loop, began, is_long = asyncio.get_running_loop(), time.monotonic(), False

        def let_others_begin() -> None:
            nonlocal is_long
            if self._long < _MOST_LONG:
                is_long = True
                self._long += 1
                self._running -= 1
                self._start_next()

        limit = loop.call_later(_LONG, let_others_begin)
        try:
            result = await loop.run_in_executor(self._pool, job)
        except Exception as error:
            if not future.cancelled():
                future.set_exception(error)
        else:
            if not future.cancelled():
                future.set_result(result)
        finally:
            limit.cancel()
            if is_long:
                self._long -= 1
            else:
                self._running -= 1
            now = time.monotonic()
            queue.use(now - began - _EXPECTED, now)
            queue.running -= 1
            self._forget_idle(now)
            self._start_next()

    def _forget_idle(self, now: float) -> None:
        """Forget who asks for nothing and has used next to nothing lately."""
        for owner, queue in list(self._queues.items()):
            if not queue.jobs and not queue.running:
                queue.use(0.0, now)
                if queue.used < _NOTHING:
                    del self._queues[owner]


@dataclass
class _Loaded:
    spec: str
    agent: Agent
    borrower: str
    in_use: bool = True


class AgentPool:
    """Loaded agents, for any thread."""

    def __init__(self, most: int = MOST_AGENTS) -> None:
        self._most = most
        self._agents: list[_Loaded] = []  # who was used last is last
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, spec: str, borrower: str) -> Iterator[Agent]:
        """An agent of this spec for as long as the block runs; ValueError if there is none."""
        loaded = self._take(spec, borrower)
        if loaded is None:
            loaded = _Loaded(spec, load_agent(spec), borrower)
            with self._lock:
                self._agents.append(loaded)
        try:
            yield loaded.agent
        finally:
            self._give_back(loaded)

    def close(self) -> None:
        """Close every agent that nobody uses, and interrupt the others."""
        with self._lock:
            agents, self._agents = self._agents, []
        for one in agents:
            if not one.in_use:
                one.agent.close()
            elif isinstance(one.agent, Stoppable):
                one.agent.stop()

    def _take(self, spec: str, borrower: str) -> _Loaded | None:
        with self._lock:
            idle = [one for one in self._agents if one.spec == spec and not one.in_use]
            if not idle:
                return None
            found = next((one for one in idle if one.borrower == borrower), idle[0])
            found.borrower, found.in_use = borrower, True
            return found

    def _give_back(self, loaded: _Loaded) -> None:
        surplus = list[_Loaded]()
        with self._lock:
            loaded.in_use = False
            if loaded in self._agents:
                self._agents.remove(loaded)
                self._agents.append(loaded)
            while len(self._agents) > self._most:
                idle = next((one for one in self._agents if not one.in_use), None)
                if idle is None:
                    break
                self._agents.remove(idle)
                surplus.append(idle)
        for one in surplus:
            one.agent.close()


class AgentSlot:
    """Where agents think about one game, one at a time."""

    def __init__(self, thinking: Thinking, agents: AgentPool, name: str, owner: Hashable = None) -> None:
        """`name`: whom the agents are lent to. `owner`: whose turn the thinking takes; None: the slot's own."""
        self._thinking, self._agents, self._name = thinking, agents, name
        self.owner: Hashable = self if owner is None else owner
        self._agent: Agent | None = None

    async def think(self, spec: str, do: Callable[[Agent, float], Result]) -> Result:
        """Lend an agent to `do`, in a thread, with the seconds that it may take."""
        return await self.work(lambda: self._lend(spec, do))

    async def work(self, do: Callable[[], Result]) -> Result:
        """The same without an agent."""
        return await self._thinking.run(self.owner, do)

    def stop(self) -> None:
        """Interrupt who thinks."""
        agent = self._agent
        if isinstance(agent, Stoppable):
            agent.stop()

    def _lend(self, spec: str, do: Callable[[Agent, float], Result]) -> Result:
        with self._agents.borrow(spec, self._name) as agent:
            self._agent = agent
            try:
                return do(agent, self._thinking.share())
            finally:
                self._agent = None
