"""The searches of leaves of a `proof_tree`: by threads that share one table, or by workers (`leaf_workers`)."""

from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tengen.solve import dfpn
from tengen.solve.dfpn import COUNT, DELTA, KEY, PHI, RANK
from tengen.solve.go_solver import Node

WAIT: Final = 1.0  # seconds after which whoever waits for a leaf may look up, for Ctrl-C
_LATELY: Final = 2048  # solved positions, of which tables elsewhere hear


class Found(NamedTuple):
    """What the search of a leaf has found."""

    nodes: int
    phi: int
    delta: int
    rank: int
    children: list[list[int]]
    """Rows of `dfpn.expand`, with the numbers that the search has left in its table; none if the leaf is solved."""


class LeafSearchers(Protocol):
    """Those who search leaves side by side."""

    @property
    def count(self) -> int:
        """How many leaves they search at a time."""
        ...

    def begin(self, leaf: Node, nodes: int) -> None:
        """Have a leaf searched for at most so many nodes."""
        ...

    def collect(self) -> list[tuple[int, Found]]:
        """Searches that are done, with the keys of their leaves; waits at most a second for one."""
        ...

    def close(self) -> None:
        """No more is wanted of them."""
        ...


class LeafThreads:
    """Threads of this process, with one table."""

    def __init__(self, count: int, table: NDArray[np.int64], question: dfpn.Question) -> None:
        self.count = count
        self._table, self._question = table, question
        self._pool = ThreadPoolExecutor(count)
        self._idle = [dfpn.new_workspace() for _ in range(count)]
        self._under_way: dict[Future[Found], tuple[int, dfpn.Workspace]] = {}

    def begin(self, leaf: Node, nodes: int) -> None:
        """Give a leaf to a thread that has nothing to do."""
        work = self._idle.pop()
        future = self._pool.submit(search_leaf, work, self._table, self._question, leaf, nodes)
        self._under_way[future] = leaf[KEY], work

    def collect(self) -> list[tuple[int, Found]]:
        """What threads have finished."""
        done, _ = wait(self._under_way, WAIT, FIRST_COMPLETED)
        found = []
        for future in done:
            key, work = self._under_way.pop(future)
            self._idle.append(work)
            found.append((key, future.result()))
        return found

    def close(self) -> None:
        """Wait for those under way; of what they find the table keeps the most part."""
        self._pool.shutdown()


def search_leaf(
    work: dfpn.Workspace, table: NDArray[np.int64], question: dfpn.Question, leaf: Node, nodes: int
) -> Found:
    """Search a leaf for at most so many nodes."""
    work.nodes[0, : KEY + 1] = leaf
    work.counts[:] = 0
    dfpn.search(work, table, question, nodes)
    phi, delta, rank = (int(number) for number in work.nodes[0, [PHI, DELTA, RANK]])
    spent = int(work.counts[dfpn.NODES])
    return Found(spent, phi, delta, rank, children_of(work, table, question, leaf) if phi and delta else [])


def children_of(work: dfpn.Workspace, table: NDArray[np.int64], question: dfpn.Question, node: Node) -> list[list[int]]:
    """The rows of `dfpn` for the children of a node."""
    work.nodes[0, : KEY + 1] = node
    dfpn.expand(work, table, question, 0)
    rows: list[list[int]] = work.children[0, : work.nodes[0, COUNT]].tolist()
    return rows


class Solved:
    """Positions that a tree has solved lately, as rows (key, phi, delta, work, rank) for `table.store`."""

    def __init__(self) -> None:
        self._count = 0
        self._rows: deque[tuple[int, int, int, int, int]] = deque(maxlen=_LATELY)

    def add(self, key: int, phi: int, delta: int, work: int, rank: int) -> None:
        """Another one."""
        self._count += 1
        self._rows.append((key, phi, delta, work, rank))

    def packed(self) -> tuple[int, NDArray[np.int64]]:
        """How many there were in all, and the last of them: int64[n, 5]."""
        return self._count, np.array(self._rows, np.int64).reshape(-1, 5)
