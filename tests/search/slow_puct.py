"""PUCT once more, slow and obvious: a tree of Python objects, walked as the papers write it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, sqrt

import pytest

from tengen.search.puct import PuctParameters
from tengen.search.tree import TERMINAL

from .scripted import Node, Script


@dataclass
class SlowNode:
    """A position with its statistics; W counts for the player whose move leads here."""

    number: int
    prior: float = 1.0
    n: int = 0
    w: float = 0.0
    r: float = 0.0  # of the rollouts alone
    lost: int = 0  # visits under way, counted as lost
    pending: bool = False
    closed: float | None = None  # what was said of it, where there was no room for its children
    exact: float | None = None  # its value for the player to move, where the game is over or the node is solved
    children: dict[int, "SlowNode"] = field(default_factory=dict)


class SlowPuct:
    """One tree with room for so many nodes, and a search in it that evaluates up to `leaves` positions at once.

    `rollout` gives the result of a position's rollout, if there are rollouts; `weight` is their share, lambda.
    """

    def __init__(
        self,
        script: Script,
        parameters: PuctParameters,
        leaves: int = 1,
        room: int = 10**9,
        rollout: Callable[[int], float] | None = None,
        weight: float = 0.0,
    ) -> None:
        self.script, self.parameters, self.leaves, self.room = script, parameters, leaves, room
        self.rollout, self.weight = rollout, weight
        self.root = SlowNode(0)
        self.used = 1
        self._evaluate([([self.root], True)])

    def search(self, simulations: int) -> None:
        """Do so many more simulations."""
        while simulations > 0:
            under_way: list[tuple[list[SlowNode], bool]] = []  # with whether the leaf expands
            while simulations > 0 and len(under_way) < self.leaves:
                path = self._path()
                if path[-1].pending:
                    break
                simulations -= 1
                known = path[-1].exact if path[-1].exact is not None else path[-1].closed
                if known is not None:
                    self._count(path, known, known)
                else:
                    for node in path:
                        node.n, node.w, node.lost = node.n + 1, node.w - 1, node.lost + 1
                    enough = path[-1].n >= self.parameters.threshold
                    path[-1].pending = enough and (len(path) <= self.parameters.depth or not self.parameters.depth)
                    under_way.append((path, path[-1].pending))
            for path, _ in under_way:
                for node in path:
                    node.n, node.w, node.lost = node.n - 1, node.w + 1, node.lost - 1
            self._evaluate(under_way)

    def _path(self) -> list[SlowNode]:
        path = [self.root]
        while path[-1].children and path[-1].exact is None:
            path.append(self._best(path[-1]))
        return path

    def _best(self, node: SlowNode) -> SlowNode:
        c, reduction, zero, *_ = self.parameters
        seen = sum(child.prior for child in node.children.values() if child.n)
        unseen = 0.0 if zero else -(node.w + node.lost) / (node.n - node.lost) - reduction * sqrt(seen)
        best, best_score = node, -inf
        for child in node.children.values():
            q = -child.exact if child.exact is not None else child.w / child.n if child.n else unseen
            score = q + c * child.prior * sqrt(node.n) / (1 + child.n)
            if score > best_score:
                best, best_score = child, score
        return best

    def _evaluate(self, paths: list[tuple[list[SlowNode], bool]]) -> None:
        for path, expands in paths:
            leaf = path[-1]
            leaf.pending = False
            said = self.script(leaf.number)
            value, result = said.value, said.value
            legal = [action for action, prior in enumerate(said.priors) if prior > 0]
            if said.over:
                leaf.exact = said.value
                self._solve(path[1:-1])
            else:
                result = self.rollout(leaf.number) if self.rollout else 0.0
                value = (1 - self.weight) * said.value + self.weight * result
            if said.over or not expands:
                pass
            elif self.used + len(legal) <= self.room:
                for action in legal:
                    leaf.children[action] = SlowNode((5 * leaf.number + action + 1) % 100_003, said.priors[action])
                self.used += len(legal)
            elif self.rollout is None:
                leaf.closed = said.value
            self._count(path, value, result)

    @staticmethod
    def _solve(above: list[SlowNode]) -> None:
        """Look at the nodes above a solved one, the nearest first: solved are those with a win, or all solved below."""
        for node in reversed(above):
            known = [-child.exact for child in node.children.values() if child.exact is not None]
            if max(known) < 1 and len(known) < len(node.children):
                return
            node.exact = max(known)

    @staticmethod
    def _count(path: list[SlowNode], value: float, rollout: float) -> None:
        """A visit to all nodes of a path, and the value and the rollout of its end as each of them sees it."""
        for node in reversed(path):
            value, rollout = -value, -rollout
            node.n, node.w, node.r = node.n + 1, node.w + value, node.r + rollout


def same(fast: Node, slow: SlowNode) -> None:
    """Every node of two trees has the same visits, values and children."""
    assert fast.visits == slow.n
    assert fast.value_sum == pytest.approx(slow.w, abs=1e-3)
    assert (fast.stage == TERMINAL) == (slow.exact is not None)
    if slow.exact is not None:
        assert fast.value == slow.exact
    assert set(fast.children) == set(slow.children)
    for action, child in slow.children.items():
        assert fast.priors[action] == pytest.approx(child.prior, rel=1e-4)
        same(fast.children[action], child)
