"""A proof-number search on top of `dfpn`: a tree in Python whose leaves are searches of some ten thousand nodes.

`dfpn` alone runs on one core, and knows of a position only what its kernels count. The upper part of the tree decides
where the work goes, and there are few of its positions, so that each can be looked at closely: a *guide*, such as a
value network, estimates how likely each move wins. The leaves are searched in parallel, in threads that share one
table, or by workers elsewhere.

With phi and delta as in `dfpn`, and children c of n,

    phi(n) = min over c of delta(c)             delta(n) = sum over c of phi(c)

A new position with s stones gets the numbers `w(s) / sqrt(odds)` to prove and `w(s) * sqrt(odds)` to refute. The odds
that the claim is true come from the guide and from the numbers that searches have left in the table; w(s) is about how
much more there is to search with fewer stones. A leaf that is searched without success is expanded.

Positions are nodes once, whichever way they are reached, up to symmetry. They are proven only by successors that were
proven before them, so a proof never goes round in circles.

A run keeps its trees in a folder, two files for each claim (1: Black; 4: by so many points or more):

    tree-1-4.jsonl   a line for each search that is done
    table-1-4.npy    the table
"""

import json
import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._machine import cores
from tengen.games import go
from tengen.games.go.rules import RuleSet
from tengen.runs.files import append_line
from tengen.runs.folder import parsed_lines
from tengen.solve import dfpn
from tengen.solve.dfpn import COUNT, DELTA, KEY, MOVE, PHI, RANK, TURN
from tengen.solve.go_solver import Claim, Node, Solver, node_of, point_of
from tengen.solve.transposition_table import HIGHEST_RANK, INFINITY, load_table, save_table, store
from tengen.workers.calls import Calls, WorkerError, WorkerFactory, Workers, open_workers
from tengen.workers.local import ThreadWorkers, this_machine

Guide = Callable[[go.State], Mapping[int, float]]
"""The chance that the player to move wins with each move; those missing are taken for worse than the rest."""

_GROWTH: Final = 2.3  # how much more work a position with one stone less is, measured on 5x5
_SURE: Final = 0.99  # no guide is trusted more than this
_LEAST, _MOST = 1e-3, 1e12  # numbers of positions that are not solved
WAIT: Final = 1.0  # seconds to wait for a leaf before checking for Ctrl-C
_LATELY: Final = 2048  # solved positions that are sent to tables elsewhere
_QUICK: Final = 3  # a position of this rank or less is searched again in a moment, when the certificate is made
_NODES_A_ROW: Final = 10  # of a search, so that its proofs stay small beside it
_MOST_SENT: Final = 1_000_000  # keys that a worker remembers for each claim
_FIRST_BUDGET: Final = 1_000_000  # nodes
_SECONDS_BETWEEN_SAVES: Final = 1800

Rows = NDArray[np.int64]
"""int64[n, 5]: key, phi, delta, work, rank of solved positions."""


# ------------------------------------------------------------------------------------------- the leaves


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

    def packed(self) -> tuple[int, Rows]:
        """How many there were in all, and the last of them: int64[n, 5]."""
        return self._count, np.array(self._rows, np.int64).reshape(-1, 5)


# Threads of this process search in the table of the tree. A worker elsewhere has its own table: with a leaf it gets
# the positions that the tree has solved lately, and it returns, beside the numbers, the proofs that it has found. The
# tree's table keeps them, so that the certificate can be made without searching them again: that would be the work of
# many machines for one.


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


# --------------------------------------------------------------------------------------------- the tree


@dataclass
class TreeNode:
    """A position of the upper part of the tree."""

    node: Node
    phi: float
    delta: float
    rank: int = 0
    work: int = 0
    """Nodes of searches that began here; once it is solved, also below."""
    busy: int = 0
    """Searches under way here or below."""
    children: list[int] | None = None
    """Keys; None at a leaf."""
    parents: set[int] = field(default_factory=set)

    @property
    def is_solved(self) -> bool:
        """Whether the claim is proven or refuted here."""
        return self.phi == 0 or self.delta == 0


class Search(NamedTuple):
    """The search of a leaf, done: what a run writes down, and all that is needed to build the tree again."""

    key: int
    nodes: int
    phi: int
    delta: int
    rank: int
    children: list[tuple[float, float, int]]
    """(phi, delta, rank) of the children, in the order of `dfpn.expand`; none if the leaf is solved."""


class TreeProgress(NamedTuple):
    """How far a tree has come."""

    nodes: int
    """Of all searches."""
    leaves: int
    """Searches done."""
    proven: int
    """Positions of the tree for which the claim is proven; refuted ones follow."""
    refuted: int
    to_prove: float
    to_refute: float
    fill: float
    """The share of the table that is in use."""


class ProofTree:
    """The search for one claim about one position."""

    def __init__(self, solver: Solver, state: go.State, claim: Claim, guide: Guide | None = None) -> None:
        """Begin at `state`, with the solver's table for the claim."""
        self.claim = claim
        self._solver, self._guide, self._komi = solver, guide, state.komi
        self._table, self._question = solver.table(claim), solver.question(claim)
        root = node_of(state, claim)
        self.root = root[KEY]
        self.nodes: dict[int, TreeNode] = {self.root: TreeNode(root, 1.0, 1.0)}
        self._searched = self._leaves = 0
        self._solved = Solved()

    def replies(self) -> dict[int, bool | None]:
        """The moves at the root, up to symmetry, and the verdict after each; nothing before the root is expanded."""
        children = self.nodes[self.root].children or []
        moves = [point_of(row[MOVE], self._solver.size) for row in self._children(self.nodes[self.root].node)]
        return {move: _verdict(self.nodes[key]) for move, key in zip(moves, children)}

    @property
    def verdict(self) -> bool | None:
        """Whether the claim is true; None if that is open. False only means that this way cannot prove it."""
        return _verdict(self.nodes[self.root])

    def progress(self) -> TreeProgress:
        """Where the search stands."""
        verdicts = [_verdict(node) for node in self.nodes.values()]
        root = self.nodes[self.root]
        numbers = (root.phi, root.delta) if root.node[TURN] == 0 else (root.delta, root.phi)
        sample = self._table[: 1 << 16, 0]
        fill = float(np.count_nonzero(sample)) / len(sample)
        return TreeProgress(self._searched, self._leaves, verdicts.count(True), verdicts.count(False), *numbers, fill)

    def search(
        self,
        workers: int | Workers = 1,
        leaf_nodes: int = 50_000,
        nodes: int | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Generator[Search, None, None]:
        """Search leaves until the claim is decided; yields each when it is done, while others are under way.

        `workers`: how many threads of this process search, or `LeafWorker`s in other ones. `nodes` limits all searches
        together. `stop` is asked again and again whether to leave it at that. Those under way are then lost to the
        tree, as when the iterator is closed; threads are waited for.
        """
        started, under_way = self._searched, dict[int, list[int]]()
        for node in self.nodes.values():
            node.busy = 0  # an iterator may have been closed before
        with ExitStack() as stack:
            if isinstance(workers, int):
                workers = stack.enter_context(open_workers(ThreadWorkers, workers, LeafThread, self._solver))
            searchers = LeafCalls(workers, self.claim, self._table, self._solved)
            stack.callback(searchers.close)
            while self.verdict is None and not stop():
                room = nodes is None or self._searched - started + leaf_nodes * len(under_way) < nodes
                path = self._select() if len(under_way) < searchers.count and room else None
                if path is not None:
                    limit = leaf_nodes if nodes is None else min(leaf_nodes, nodes - self._searched + started)
                    self._mark(path, 1)
                    searchers.begin(self.nodes[path[-1]].node, limit)
                    under_way[path[-1]] = path
                    continue
                if not under_way:
                    if room:  # all that is open rests on repetitions, which count against the claim
                        self._settle(self.nodes[self.root], self.nodes[self.root].node[TURN] == 1, 0)
                    return
                for key, found in searchers.collect():
                    self._mark(under_way.pop(key), -1)
                    yield self._conclude(key, found)

    def take(self, search: Search) -> None:
        """Enter the search of a leaf, of this tree or of an earlier one with the same beginning."""
        leaf = self.nodes.get(search.key)
        if leaf is None or leaf.children is not None:
            raise ValueError(f"position {search.key} is not a leaf of this tree: the file is of another search")
        self._searched += search.nodes
        self._leaves += 1
        leaf.work += search.nodes
        if search.phi == 0 or search.delta == 0:
            self._settle(leaf, search.phi == 0, search.rank)
        else:
            children = self._children(leaf.node)
            if len(children) != len(search.children):
                raise ValueError(f"position {search.key} has {len(children)} successors: the file is of another search")
            leaf.children = []
            for child, numbers in zip(children, search.children):
                self._add(leaf, child, *numbers)
        self._update(search.key)

    def _conclude(self, key: int, found: Found) -> Search:
        """Enter what the search of a leaf has found."""
        self._solver.nodes += found.nodes
        children = self._numbers(self.nodes[key].node, found.children) if found.children else []
        search = Search(key, found.nodes, found.phi, found.delta, found.rank, children)
        self.take(search)
        return search

    def _children(self, node: Node) -> list[list[int]]:
        """The rows of `dfpn` for the children of a node."""
        return children_of(dfpn.new_workspace(), self._table, self._question, node)

    def _numbers(self, node: Node, children: list[list[int]]) -> list[tuple[float, float, int]]:
        """(phi, delta, rank) of the children of a node that is expanded now, by the guide and what searches found."""
        guess = self._guess(node)
        unseen = min(guess.values(), default=1.0) / 2  # a guide that searches has looked at better moves first
        numbers = []
        for child in children:
            phi, delta = child[PHI], child[DELTA]
            if phi and delta:
                chance = min(_SURE, max(1 - _SURE, guess.get(point_of(child[MOVE], self._solver.size), unseen)))
                # The odds that the player who has just moved gets its way; delta is what is left to do for that.
                odds = chance / (1 - chance) * phi / delta
                stones = (child[dfpn.A] | child[dfpn.B]).bit_count()
                work = _GROWTH ** (self._solver.size**2 - stones)
                numbers.append((_within(work * math.sqrt(odds)), _within(work / math.sqrt(odds)), 0))
            else:
                numbers.append((float(phi), float(delta), child[RANK]))
        return numbers

    def _guess(self, node: Node) -> Mapping[int, float]:
        if self._guide is None:
            return {}
        ours, theirs = self.claim.color, go.BLACK + go.WHITE - self.claim.color
        points = {ours: _points(node[dfpn.A], self._solver.size), theirs: _points(node[dfpn.B], self._solver.size)}
        to_play = ours if node[TURN] == 0 else theirs
        size, rules = self._solver.size, self._solver.rules
        state = go.State.setup(size, rules, self._komi, points[go.BLACK], points[go.WHITE], to_play)
        return {} if state.is_over else self._guide(state)

    def _add(self, parent: TreeNode, row: list[int], phi: float, delta: float, rank: int) -> None:
        """Make a child, unless the position is in the tree already."""
        assert parent.children is not None
        node = tuple(row[: KEY + 1])
        known = self.nodes.get(node[KEY]) if node[KEY] >= 0 else None
        if known is None:
            key = node[KEY] if node[KEY] >= 0 else -len(self.nodes)  # a finished game
            known = self.nodes[key] = TreeNode((*node[:KEY], key), 1.0, 1.0)
            if phi == 0 or delta == 0:
                self._settle(known, phi == 0, rank)
            else:
                known.phi, known.delta = phi, delta
        known.parents.add(parent.node[KEY])
        parent.children.append(known.node[KEY])

    def _settle(self, node: TreeNode, won: bool, rank: int) -> None:
        """A position is solved: for the player to move if `won`. The table gets it, so that no leaf searches it."""
        node.phi, node.delta, node.rank = (0.0, math.inf, rank) if won else (math.inf, 0.0, rank)
        phi, delta = (0, INFINITY) if won else (INFINITY, 0)
        if node.node[KEY] >= 0 and rank > 0:
            row = node.node[KEY], phi, delta, max(1, node.work), rank
            store(self._table, *row)
            self._solved.add(*row)

    def _update(self, key: int) -> None:
        """Sum up what leads to a position, each once, or again where a successor is solved by that."""
        todo, seen = deque([key]), {key}
        while todo:
            node = self.nodes[todo.popleft()]
            before = node.phi, node.delta
            if node.children is not None and not node.is_solved:
                self._sum_up(node, [self.nodes[key] for key in node.children])
            if node.is_solved or (node.phi, node.delta) != before:
                parents = [key for key in node.parents if not self.nodes[key].is_solved]
                todo += parents if node.is_solved else [key for key in parents if key not in seen]
                seen.update(parents)

    def _sum_up(self, node: TreeNode, children: list[TreeNode]) -> None:
        won = [child for child in children if child.delta == 0]
        if won or all(child.phi == 0 for child in children):
            node.work += sum(child.work for child in children)
        if won:
            self._settle(node, True, min(HIGHEST_RANK, 1 + min(child.rank for child in won)))
        elif all(child.phi == 0 for child in children):
            self._settle(node, False, min(HIGHEST_RANK, 1 + max(child.rank for child in children)))
        else:
            node.phi = _within(min(child.delta for child in children))
            node.delta = _within(sum(child.phi for child in children))

    def _select(self) -> list[int] | None:
        """The way to the leaf that is searched next; None if all that could be are under way."""
        path = [self.root]
        return path if self._descend(path) else None

    def _descend(self, path: list[int]) -> bool:
        """Go on to the best leaf below the end of a path. Children with searches under way count for less."""
        node = self.nodes[path[-1]]
        if node.children is None:
            return node.busy == 0
        choices = [key for key in node.children if not self.nodes[key].is_solved and key not in path]
        for key in sorted(choices, key=lambda key: self.nodes[key].delta * 2 ** self.nodes[key].busy):
            path.append(key)
            if self._descend(path):
                return True
            path.pop()
        return False

    def _mark(self, path: list[int], count: int) -> None:
        for key in path:
            self.nodes[key].busy += count


def _verdict(node: TreeNode) -> bool | None:
    return (node.phi == 0) == (node.node[TURN] == 0) if node.is_solved else None


def _within(number: float) -> float:
    return min(_MOST, max(_LEAST, number))


def _points(bits: int, size: int) -> list[int]:
    return [point_of(1 << p, size) for p in range(bits.bit_length()) if bits >> p & 1]


# ------------------------------------------------------------------------------------ trees in a folder


class Effort(NamedTuple):
    """How much may be searched."""

    workers: int | Workers
    """How many threads search, or `LeafWorker`s elsewhere."""
    leaf_nodes: int
    """Of each search."""
    nodes: int | None
    """Of all together; None: until a claim is proven."""


def search_trees(
    solver: Solver,
    trees: list[ProofTree],
    folder: Path,
    effort: Effort,
    on_search: Callable[[ProofTree], None] = lambda tree: None,
    stop: Callable[[], bool] = lambda: False,
) -> Claim | None:
    """Look for a proof of each claim in turn, for longer and longer; the claim that is proven, if one is."""
    budget, before = _FIRST_BUDGET, solver.nodes
    while undecided := [tree for tree in trees if tree.verdict is None]:
        for tree in undecided:
            limits = [] if len(undecided) == 1 else [budget]
            if effort.nodes is not None:
                limits.append(effort.nodes - solver.nodes + before)
                if limits[-1] <= 0:
                    return None
            try:
                _search(tree, folder, effort._replace(nodes=min(limits, default=None)), on_search, stop)
            except WorkerError:  # the workers' proofs are in no table but ours
                save_table(solver.table(tree.claim), _table_file(folder, tree.claim))
                raise
            save_table(solver.table(tree.claim), _table_file(folder, tree.claim))
            if tree.verdict:
                return tree.claim
            if stop():
                return None
        budget *= 2
    return next((tree.claim for tree in trees if tree.verdict), None)


def _search(
    tree: ProofTree, folder: Path, effort: Effort, on_search: Callable[[ProofTree], None], stop: Callable[[], bool]
) -> None:
    """Search and write down each result, until it is time to save the table."""
    began = monotonic()
    found = tree.search(effort.workers, effort.leaf_nodes, effort.nodes, stop)
    with open(_tree_file(folder, tree.claim), "ab", buffering=0) as file, closing(found) as searches:
        for search in searches:
            append_line(file, json.dumps(search).encode("ascii"))
            on_search(tree)
            if monotonic() - began > _SECONDS_BETWEEN_SAVES:
                return


def open_tree(
    solver: Solver,
    state: go.State,
    claim: Claim,
    guide: Guide | None,
    folder: Path,
    report: Callable[[str], None] = lambda text: None,
) -> ProofTree:
    """The tree for a claim, as an earlier run has left it; `report` gets a line about what that was."""
    table = _table_file(folder, claim)
    if table.exists():
        report(f"{load_table(solver.table(claim), table):,} positions of an earlier run")
    tree, path = ProofTree(solver, state, claim, guide), _tree_file(folder, claim)

    def take(line: bytes) -> None:
        try:
            tree.take(Search(*json.loads(line)))
        except (TypeError, KeyError) as error:
            raise ValueError(str(error)) from None

    if path.exists():
        lines = [line for line, _ in parsed_lines(path, take, "delete the line and all after it")]
        os.truncate(path, sum(map(len, lines)))  # what is more is a torn last line
        report(f"{len(lines):,} searches of an earlier run")
    return tree


def _table_file(folder: Path, claim: Claim) -> Path:
    return folder / f"table-{claim.color}-{claim.margin}.npy"


def _tree_file(folder: Path, claim: Claim) -> Path:
    return folder / f"tree-{claim.color}-{claim.margin}.jsonl"
