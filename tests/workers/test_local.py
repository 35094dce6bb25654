"""Workers in processes: calls go to whoever is free, errors come back, and nobody outlives who started them."""

import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tengen.workers.calls import Calls, WorkerError, open_workers
from tengen.workers.local import ProcessWorkers, ThreadWorkers, this_machine


class Adder:
    """A worker of no use."""

    def __init__(self, number: int) -> None:
        self.number = number

    def add(self, one: int, other: int) -> tuple[int, int]:
        return one + other, os.getpid()

    def fail(self) -> None:
        raise ValueError(f"worker {self.number} cannot do this")

    def die(self) -> None:
        os._exit(3)


@pytest.fixture
def workers() -> Iterator[ProcessWorkers]:
    workers = ProcessWorkers(2, Adder, lambda number: (number,))
    workers.start()
    yield workers
    workers.close()


def everything(calls: Calls) -> list[Any]:
    results = []
    while calls.unfinished:
        results += calls.collect(1.0)
    return results


def test_calls_come_back_from_other_processes(workers: ProcessWorkers) -> None:
    assert workers.count == 2
    results = everything(workers.map("add", [(i, 10 * i) for i in range(20)]))
    assert sorted(total for total, _ in results) == [11 * i for i in range(20)]
    assert os.getpid() not in {pid for _, pid in results}
    assert everything(workers.map("add", [])) == []


def test_an_error_comes_back_as_one(workers: ProcessWorkers) -> None:
    with pytest.raises(WorkerError, match=r"ValueError: worker [01] cannot do this"):
        everything(workers.map("fail", [()]))
    assert len(everything(workers.map("add", [(1, 2)] * 4))) == 4  # they are still there


def test_a_worker_that_died_is_missed(workers: ProcessWorkers) -> None:
    with pytest.raises(WorkerError, match="died"):
        everything(workers.map("die", [()]))


def test_calls_that_were_cancelled_are_not_begun() -> None:
    workers = ProcessWorkers(1, Adder, lambda number: (number,))
    calls = workers.map("add", [(1, 1)] * 5)  # they wait for a worker
    calls.cancel()
    workers.start()
    assert everything(calls) == []
    workers.close()


ORPHANS = """
import sys, time
sys.path.insert(0, {here!r})
from adder import Adder
from tengen.workers.local import ProcessWorkers

if __name__ == "__main__":
    workers = ProcessWorkers(2, Adder, lambda number: (number,))
    workers.start()
    calls = workers.map("add", [(0, 0)] * 8)
    pids = set()
    while calls.unfinished:
        pids |= {{pid for _, pid in calls.collect(1.0)}}
    print(*pids, flush=True)
    time.sleep(1000)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of Unix")
def test_workers_leave_when_their_master_is_killed(tmp_path: Path) -> None:
    (tmp_path / "adder.py").write_text(f"import os\n\n{inspect.getsource(Adder)}")
    (tmp_path / "master.py").write_text(ORPHANS.format(here=str(tmp_path)))
    command = [sys.executable, str(tmp_path / "master.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as master:
        assert master.stdout is not None
        pids = [int(word) for word in master.stdout.readline().split()]
        assert pids
        master.send_signal(signal.SIGKILL)
        master.stdout.read()  # ends when nobody holds the other end any more: the workers are gone, too


class Waiter:
    """A worker that ends its call when it is asked to."""

    in_threads = True

    def __init__(self) -> None:
        self._stop = threading.Event()

    def wait(self) -> None:
        self._stop.wait()
        raise InterruptedError

    def stop(self) -> None:
        self._stop.set()


def test_threads_raise_what_a_worker_raises_and_ask_it_to_stop() -> None:
    with open_workers(ThreadWorkers, 2, Adder, 7) as workers:
        assert sorted(workers.map("add", [(i, i) for i in range(5)]).results()) == [
            (2 * i, os.getpid()) for i in range(5)
        ]
        with pytest.raises(ValueError, match=r"^worker 7 cannot do this$"):
            list(workers.map("fail", [()]).results())
    with open_workers(this_machine, 2, Waiter) as workers:
        calls = workers.map("wait", [()] * 3)
    assert calls.unfinished == 3  # nobody waits for ever


def test_threads_are_taken_where_they_are_enough() -> None:
    assert type(this_machine(2, Waiter, lambda _: ())) is ThreadWorkers
    assert type(this_machine(1, Adder, lambda number: (number,))) is ThreadWorkers
    assert type(this_machine(2, Adder, lambda number: (number,))) is ProcessWorkers
