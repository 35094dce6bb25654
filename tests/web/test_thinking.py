"""Thinking is shared fairly: nobody waits for another's queue, and nobody's queue grows without end."""

import asyncio
import threading
from itertools import pairwise
from types import SimpleNamespace

import pytest

from tengen.web import thinking as thinking_module
from tengen.web.thinking import ROUND, AgentPool, Busy, Thinking


def test_owners_take_turns() -> None:
    order: list[str] = []

    async def play() -> None:
        thinking, gate = Thinking(1), threading.Event()
        first = asyncio.create_task(thinking.run("first", gate.wait))
        await asyncio.sleep(0)
        jobs = [thinking.run("greedy", lambda n=n: order.append(f"greedy {n}")) for n in range(4)]
        jobs += [thinking.run("modest", lambda: order.append("modest"))]
        tasks = [asyncio.create_task(job) for job in jobs]
        await asyncio.sleep(0)
        assert thinking.waiting == 5
        gate.set()
        await asyncio.gather(first, *tasks)
        thinking.close()

    asyncio.run(play())
    assert order.index("modest") == 1
    assert [name for name in order if name != "modest"] == [f"greedy {n}" for n in range(4)]


def test_a_queue_has_an_end_and_errors_come_back() -> None:
    def fail() -> None:
        raise ValueError("no")

    async def play() -> None:
        thinking, gate = Thinking(1), threading.Event()
        tasks = [asyncio.create_task(thinking.run("a", gate.wait)) for _ in range(9)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await thinking.run("a", gate.wait)
        failing = asyncio.create_task(thinking.run("b", fail))
        gate.set()
        with pytest.raises(ValueError, match="no"):
            await failing
        await asyncio.gather(*tasks)
        assert thinking.waiting == 0
        thinking.close()

    asyncio.run(play())


def test_the_more_wait_the_less_time_each_has() -> None:
    async def play() -> None:
        thinking, gate = Thinking(2), threading.Event()
        assert thinking.share() == ROUND
        tasks = [asyncio.create_task(thinking.run(owner, gate.wait)) for owner in range(20)]
        await asyncio.sleep(0)
        assert thinking.share() == pytest.approx(ROUND * 2 / 20)
        gate.set()
        await asyncio.gather(*tasks)
        thinking.close()

    asyncio.run(play())


def test_agents_are_used_again_and_closed_when_there_are_too_many() -> None:
    pool = AgentPool(most=2)
    with pool.borrow("random", "a") as first, pool.borrow("random", "b") as second:
        assert first is not second
    with pool.borrow("random", "a") as again:
        assert again is first
    for seed in range(5):
        with pool.borrow(f"random:seed={seed}", "c"):
            pass
    with pool.borrow("random", "a") as fresh:
        assert fresh is not first
    with pytest.raises(ValueError), pool.borrow("nobody", "a"):
        pass


def test_who_has_used_little_comes_before_those_who_have_used_much() -> None:
    """However many these are: ten with long jobs, and somebody with a short one now and then."""
    order: list[str] = []

    async def play() -> None:
        thinking, clock = Thinking(1), [0.0]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thinking_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))

            def job(name: str, seconds: float) -> None:
                order.append(name)
                clock[0] += seconds

            async def greedy(name: str, jobs: int) -> None:
                for _ in range(jobs):
                    await thinking.run(name, lambda: job(name, 1.0))

            async def modest() -> None:
                for _ in range(10):
                    await thinking.run("modest", lambda: job("modest", 0.05))
                    await asyncio.gather(*(thinking.run(("other", k), lambda: job("other", 0.1)) for k in range(2)))

            names = [f"greedy {number}" for number in range(10)]
            await asyncio.gather(*(greedy(name, 3) for name in names))
            await asyncio.gather(*(greedy(name, 4) for name in names), modest())
        thinking.close()

    asyncio.run(play())
    turns = [place for place, name in enumerate(order) if name == "modest"]
    assert len(turns) == 10
    assert max(later - earlier for earlier, later in pairwise(turns)) <= 5


def test_coming_back_as_somebody_else_starves_nobody() -> None:
    """A page that leaves and comes again for each job is new each time."""
    order: list[str] = []

    async def play() -> None:
        thinking, clock = Thinking(1), [0.0]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thinking_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))

            def job(name: str) -> None:
                order.append(name)
                clock[0] += 1.0

            async def stay() -> None:
                for _ in range(5):
                    await thinking.run("stays", lambda: job("stays"))

            async def come_again() -> None:
                for number in range(60):
                    tasks = [asyncio.create_task(thinking.run((number, k), lambda: job("new"))) for k in range(2)]
                    await asyncio.gather(*tasks)

            await asyncio.gather(stay(), come_again())
        assert len(thinking._queues) < 80  # who has left is forgotten: 121 have been here
        thinking.close()

    asyncio.run(play())
    assert order[:60].count("stays") >= 3


def test_a_job_that_takes_very_long_keeps_nobody_from_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """But at most so many of them at once."""
    monkeypatch.setattr(thinking_module, "_LONG", 0.0)
    monkeypatch.setattr(thinking_module, "_MOST_LONG", 2)

    async def play() -> None:
        thinking, gate = Thinking(1), threading.Event()
        compiling = [asyncio.create_task(thinking.run(owner, gate.wait)) for owner in range(2)]
        assert await thinking.run("somebody", lambda: "a move") == "a move"
        compiling += [asyncio.create_task(thinking.run(owner, gate.wait)) for owner in range(2, 5)]
        while thinking.waiting > 2:
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)
        assert thinking.waiting == 2 and thinking._long == 2 and thinking._running == 1
        gate.set()
        await asyncio.gather(*compiling)
        assert thinking._long == 0 and thinking._running == 0
        thinking.close()

    asyncio.run(play())
