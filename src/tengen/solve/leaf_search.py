"""The searches of leaves of a `proof_tree`: by threads that share one table, or by workers in other processes."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._machine import cores
from tengen.games.go.rules import RuleSet
from tengen.solve import dfpn
from tengen.solve.dfpn import COUNT, DELTA, KEY, PHI, RANK, TURN
from tengen.solve.go_solver import Claim, Node, Solver
from tengen.solve.transposition_table import store
from tengen.workers.calls import Calls, WorkerFactory, Workers, open_workers
from tengen.workers.local import this_machine

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


# ------------------------------------------------------------------------------------------ workers
# Threads of this process search in the table of the tree. A worker elsewhere has its own table: with a leaf it gets
# the positions that the tree has solved lately, and it returns, beside the numbers, the proofs that it has found. The
# tree's table keeps them, so that the certificate can be made without searching them again: that would be the work of
# many machines for one.

_QUICK: Final = 3  # a position of this rank or less is searched again in a moment, when the certificate is made
_NODES_A_ROW: Final = 10  # of a search, so that its proofs stay small beside it
_MOST_SENT: Final = 1_000_000  # keys that a worker remembers for each claim

Rows = NDArray[np.int64]
"""int64[n, 5]: key, phi, delta, work, rank of solved positions."""


class LeafThread:
    """Searches leaves in this process, with the tables of the solver."""

    def __init__(self, solver: Solver) -> None:
        self._solver, self._work = solver, dfpn.new_workspace()

    def search(self, claim: Claim, leaf: Node, nodes: int, solved: tuple[int, Rows]) -> tuple[int, Found, Rows]:
        """As `LeafWorker.search`; the proofs are in the table already."""
        found = search_leaf(self._work, self._solver.table(claim), self._solver.question(claim), leaf, nodes)
        return leaf[KEY], found, np.zeros((0, 5), np.int64)


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
    """The calls that one tree makes of leaf workers."""

    def __init__(self, workers: Workers, claim: Claim, table: NDArray[np.int64], solved: Solved) -> None:
        """`table` gets the proofs; `solved` is what the tree reports to the workers."""
        self._workers, self._claim, self._table, self._solved = workers, claim, table, solved
        self._calls = Calls(0)

    @property
    def count(self) -> int:
        """As many as there are workers, which changes on a cluster."""
        return self._workers.count

    def begin(self, leaf: Node, nodes: int) -> None:
        """Have a leaf searched for at most so many nodes, by whichever worker is free."""
        self._workers.map("search", [(self._claim, leaf, nodes, self._solved.packed())], self._calls)

    def collect(self) -> list[tuple[int, Found]]:
        """Searches that are done, with the keys of their leaves; waits at most a second for one."""
        done = []
        for key, found, proofs in self._calls.collect(WAIT):
            put(self._table, proofs)
            done.append((key, found))
        return done

    def close(self) -> None:
        """Begin no more of them: what comes back now is lost."""
        self._calls.cancel()


@contextmanager
def leaf_workers(factory: WorkerFactory, count: int, solver: Solver) -> Iterator[int | Workers]:
    """At most so many workers for `ProofTree.search`, 0: one per core. On this machine, their number: threads suffice.

    Elsewhere they have tables as large as the solver's.
    """
    if factory is this_machine:
        yield count or cores()
        return
    with open_workers(factory, count, LeafWorker, solver.size, solver.rules, solver.memory) as workers:
        yield workers


def put(table: NDArray[np.int64], rows: Rows) -> None:
    """Store solved positions in a table."""
    for key, phi, delta, work, rank in rows.tolist():
        store(table, key, phi, delta, work, rank)


def _is_proven(row: list[int]) -> bool:
    """Whether the claim is proven for a child."""
    return row[PHI if row[TURN] == 0 else DELTA] == 0
