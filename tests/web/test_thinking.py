"""Thinking is shared fairly: nobody waits for another's queue, and nobody's queue grows without end."""

import asyncio
import threading

import pytest

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
