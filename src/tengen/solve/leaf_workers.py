"""The searches of leaves of a `proof_tree` by workers in other processes, on a cluster maybe.

Each worker has a table of its own. With a leaf it gets the positions that the tree has solved lately, and it returns,
beside the numbers, the proofs that it has found. The tree's table keeps them, so that the certificate can be made
without searching them again: that would be the work of many machines for one.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen.games.go.rules import RuleSet
from tengen.solve import dfpn
from tengen.solve.dfpn import DELTA, KEY, PHI, RANK, TURN
from tengen.solve.go_solver import Claim, Node, Solver
from tengen.solve.leaf_search import WAIT, Found, Solved, children_of, search_leaf
from tengen.solve.table import store
from tengen.workers.calls import Calls, Hosts, Workers

_QUICK: Final = 3  # a position of this rank or less is searched again in a moment, when the certificate is made
_NODES_A_ROW: Final = 10  # of a search, so that its proofs stay small beside it
_MOST_SENT: Final = 1_000_000  # keys that a worker remembers for each claim

Rows = NDArray[np.int64]
"""int64[n, 5]: key, phi, delta, work, rank of solved positions."""


class LeafWorker:
    """Searches leaves, wherever it is."""

    def __init__(self, size: int, rules: RuleSet, memory: float) -> None:
        """`memory`: in GB, for the tables of two claims."""
        self._solver, self._work = Solver(size, rules, memory), dfpn.new_workspace()
        self._heard: dict[Claim, int] = {}
        self._sent: dict[Claim, set[int]] = {}

    def search(self, claim: Claim, leaf: Node, nodes: int, solved: tuple[int, Rows]) -> tuple[int, Found, Rows]:
        """The leaf's key, what a search of so many nodes finds, and the proofs behind it.

        `solved`: as in `Solved.packed`.
        """
        table, question = self._solver.table(claim), self._solver.question(claim)
        count, rows = solved
        put(table, rows[max(0, len(rows) - count + self._heard.get(claim, 0)) :])
        self._heard[claim] = count
        found = search_leaf(self._work, table, question, leaf, nodes)
        if found.children:
            starts = [tuple(row[: KEY + 1]) for row in found.children if _is_proven(row) and row[RANK] > _QUICK]
        else:
            starts = [leaf] if (found.phi == 0) == (leaf[TURN] == 0) else []
        return leaf[KEY], found, self._proofs(claim, starts, nodes // _NODES_A_ROW)

    def _proofs(self, claim: Claim, starts: list[Node], most: int) -> Rows:
        """What the table knows of the proofs below some positions, without what was sent before; `most` rows or so."""
        table, question = self._solver.table(claim), self._solver.question(claim)
        sent = self._sent.setdefault(claim, set())
        if len(sent) > _MOST_SENT:
            sent.clear()
        todo, rows = deque(starts), list[tuple[int, ...]]()
        while todo and len(rows) < most:
            node = todo.popleft()
            proven = [row for row in children_of(self._work, table, question, node) if _is_proven(row)]
            if node[TURN] == 0:  # one move is enough
                proven = sorted(proven, key=lambda row: row[RANK])[:1]
            for row in proven:
                if row[RANK] > _QUICK and row[KEY] not in sent:
                    sent.add(row[KEY])
                    todo.append(tuple(row[: KEY + 1]))
                    rows.append((row[KEY], row[PHI], row[DELTA], row[RANK] ** 2, row[RANK]))  # the work is a guess
        return np.array(rows, np.int64).reshape(-1, 5)


class LeafCalls:
    """Calls of leaf workers: the searchers of one tree."""

    def __init__(self, workers: Workers, claim: Claim, table: NDArray[np.int64], solved: Solved) -> None:
        """`table` gets the proofs; `solved` is what the tree tells the workers."""
        self._workers, self._claim, self._table, self._solved = workers, claim, table, solved
        self._calls = Calls(0)

    @property
    def count(self) -> int:
        """As many as there are workers, which changes on a cluster."""
        return self._workers.count

    def begin(self, leaf: Node, nodes: int) -> None:
        """Give a leaf to whichever worker is free."""
        self._workers.map("search", [(self._claim, leaf, nodes, self._solved.packed())], self._calls)

    def collect(self) -> list[tuple[int, Found]]:
        """What has come back."""
        done = []
        for key, found, proofs in self._calls.collect(WAIT):
            put(self._table, proofs)
            done.append((key, found))
        return done

    def close(self) -> None:
        """Wait for nobody: what comes back now is lost."""
        self._calls.cancel()


@contextmanager
def leaf_workers(hosts: Hosts | None, count: int, solver: Solver) -> Iterator[Workers | None]:
    """Leaf workers with tables as large as the solver's: at most so many, 0: one a core; none without hosts."""
    if hosts is None:
        yield None
        return
    with closing(hosts(count, LeafWorker, lambda _: (solver.size, solver.rules, solver.memory), 0)) as workers:
        workers.start()
        yield workers


def put(table: NDArray[np.int64], rows: Rows) -> None:
    """Store solved positions in a table."""
    for key, phi, delta, work, rank in rows.tolist():
        store(table, key, phi, delta, work, rank)


def _is_proven(row: list[int]) -> bool:
    """Whether the claim is proven for a child."""
    return row[PHI if row[TURN] == 0 else DELTA] == 0
