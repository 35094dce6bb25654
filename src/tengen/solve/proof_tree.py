"""A proof-number search on top of `dfpn`: a tree in Python whose leaves are searches of some ten thousand nodes.

`dfpn` alone runs on one core, and knows of a position only what its kernels count. The upper part of the tree decides
where the work goes, and there are few of its positions, so that each can be looked at closely: a *guide*, such as a
value network, tells how likely each move wins. The leaves are searched side by side, in threads that share one table,
or by workers elsewhere (`leaf_search`).

With phi and delta as in `dfpn`, and children c of n,

    phi(n) = min over c of delta(c)             delta(n) = sum over c of phi(c)

A new position with s stones gets the numbers `w(s) / sqrt(odds)` to prove and `w(s) * sqrt(odds)` to refute. The odds
that the claim is true come from the guide and from the numbers that searches have left in the table; w(s) is about how
much more there is to search with fewer stones. A leaf that is searched without success is expanded.

Positions are nodes once, whichever way they are reached, up to symmetry. They are proven only by successors that were
proven before them, so a proof never goes round in circles.
"""

import math
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from tengen.games import go
from tengen.solve import dfpn
from tengen.solve.dfpn import DELTA, KEY, MOVE, PHI, RANK, TURN
from tengen.solve.go_solver import Claim, Node, Solver, node_of, point_of
from tengen.solve.leaf_search import Found, LeafCalls, LeafThread, Solved, children_of
from tengen.solve.transposition_table import HIGHEST_RANK, INFINITY, store
from tengen.workers.calls import Workers, open_workers
from tengen.workers.local import ThreadWorkers

_GROWTH: Final = 2.3  # how much more work a position with one stone less is, measured on 5x5
_SURE: Final = 0.99  # no guide is trusted more than this
_LEAST, _MOST = 1e-3, 1e12  # numbers of positions that are not solved

Guide = Callable[[go.State], Mapping[int, float]]
"""The chance that the player to move wins with each move; those missing are taken for worse than the rest."""


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
        """Whether the claim is true; None if that is open. False only says that this way cannot prove it."""
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
        """A position is solved: for the player to move if `won`. The table is told, so that no leaf searches it."""
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
