"""Workers on a real Ray cluster: as many as it has cores, nothing lost when some die, files without a shared disk."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import tengen
from tengen.workers.calls import WorkerError
from tengen.workers.ray_workers import RayActor, RayWorkers, check_address
from tengen.workers.sent_files import SentFile

from ..two_nodes import TwoNodes, everything, two_nodes, wait_until


class Adder:
    """A worker of no use."""

    def __init__(self, number: int) -> None:
        if number < 0:
            raise ValueError("there is no such worker")
        self.number = number

    def add(self, one: int, other: int) -> tuple[int, int]:
        return one + other, os.getpid()

    def once(self, value: int, marks: str) -> tuple[int, int]:
        """Die at the first call for a value, of which a mark is left."""
        mark = Path(marks, str(value))
        if not mark.exists():
            mark.write_text(str(self.number))
            os._exit(3)
        return value, self.number

    def fail(self) -> None:
        raise ValueError("this cannot be done")

    def die(self) -> None:
        os._exit(3)

    def read(self, paths: tuple[str, str]) -> tuple[tuple[str, str], bytes]:
        return paths, b"".join(Path(path).read_bytes() for path in paths)


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with two_nodes(__name__) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def workers(cluster: TwoNodes) -> Iterator[RayWorkers]:
    workers = RayWorkers(cluster.address, "CPU", 0, Adder, lambda number: (number,))
    workers.start()
    yield workers
    workers.close()


def test_calls_come_back_from_all_cores(workers: RayWorkers) -> None:
    wait_until(lambda: len({pid for _, pid in everything(workers.map("add", [(1, 1)] * 20))}) == 2)
    results = everything(workers.map("add", [(i, 10 * i) for i in range(20)]))
    assert sorted(total for total, _ in results) == [11 * i for i in range(20)]
    assert workers.count == 2
    assert everything(workers.map("add", [])) == []


def test_an_error_comes_back_as_one(workers: RayWorkers) -> None:
    with pytest.raises(WorkerError, match="ValueError: this cannot be done"):
        everything(workers.map("fail", [()]))
    assert len(everything(workers.map("add", [(1, 2)] * 4))) == 4  # they are still there


def test_calls_that_were_cancelled_are_not_begun(workers: RayWorkers) -> None:
    calls = workers.map("add", [(1, 1)] * 500)
    calls.cancel()
    assert len(everything(calls)) < 500


def test_calls_of_workers_that_died_are_given_out_again_to_others(workers: RayWorkers, tmp_path: Path) -> None:
    results = everything(workers.map("once", [(value, str(tmp_path)) for value in range(3)]))
    assert sorted(value for value, _ in results) == [0, 1, 2]
    for value, number in results:
        assert number != int((tmp_path / str(value)).read_text())  # nobody gets the number of a worker that died


def test_a_call_that_kills_every_worker_is_given_up(workers: RayWorkers) -> None:
    with pytest.raises(WorkerError, match="lost 4 times"):
        everything(workers.map("die", [()]))
    assert len(everything(workers.map("add", [(1, 2)] * 4))) == 4


def test_files_go_along_by_what_they_hold(workers: RayWorkers, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"ab")
    other.write_bytes(b"cd")
    call = ((SentFile(one), SentFile(other)),)
    [(paths, found)] = everything(workers.map("read", [call]))
    assert found == b"abcd"
    assert not any(path.startswith(str(tmp_path)) for path in paths)  # no worker reads the disk of the driver
    one.write_bytes(b"xyz")
    [(others, found)] = everything(workers.map("read", [call]))
    assert (found, others[0] != paths[0], others[1]) == (b"xyzcd", True, paths[1])


def test_a_node_may_leave_and_come_back(workers: RayWorkers, cluster: TwoNodes) -> None:
    calls = workers.map("add", [(i, 0) for i in range(400)])
    found = calls.collect(5.0)
    cluster.kill()
    found += everything(calls)
    assert sorted(total for total, _ in found) == list(range(400))
    wait_until(lambda: workers.count == 1)
    assert len(everything(workers.map("add", [(1, 1)] * 4))) == 4
    cluster.add()
    wait_until(lambda: len({pid for _, pid in everything(workers.map("add", [(1, 1)] * 20))}) == 2)
    assert workers.count == 2


def test_an_actor_says_why_it_cannot_work() -> None:
    assert RayActor(tengen.__version__, Adder, (-1,), 0, {}).ready() == (False, "ValueError: there is no such worker")
    fine, text = RayActor("0.0.0", Adder, (1,), 0, {}).ready()
    assert not fine
    assert "install the same version" in text


def test_an_address_must_be_one() -> None:
    for address in ("local", "auto", "head:6379", "10.0.0.1:6379", "[::1]:6379"):
        check_address(address)
    for address in ("", "somewhere", "ray://head:10001", "head:port", "a b:1"):
        with pytest.raises(ValueError, match="no address of a cluster"):
            check_address(address)
