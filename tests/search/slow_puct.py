"""PUCT once more, slow and obvious: a tree of Python objects, walked as the papers write it."""

from dataclasses import dataclass, field
from math import inf, sqrt

from tengen.search.puct import PuctParameters

from .scripted import Script


@dataclass
class SlowNode:
    """A position with its statistics; W counts for the player whose move leads here."""

    number: int
    prior: float = 1.0
    n: int = 0
    w: float = 0.0
    lost: int = 0  # visits under way, counted as lost
    pending: bool = False
    closed: float | None = None  # what was said of it, where there was no room for its children
    exact: float | None = None  # its value for the player to move, where the game is over or the node is solved
    children: dict[int, "SlowNode"] = field(default_factory=dict)


class SlowPuct:
    """One tree with room for so many nodes, and a search in it that evaluates up to `leaves` positions at once."""

    def __init__(self, script: Script, parameters: PuctParameters, leaves: int = 1, room: int = 10**9) -> None:
        self.script, self.parameters, self.leaves, self.room = script, parameters, leaves, room
        self.root = SlowNode(0)
        self.used = 1
        self._evaluate([[self.root]])

    def search(self, simulations: int) -> None:
        """Do so many more simulations."""
        while simulations > 0:
            under_way: list[list[SlowNode]] = []
            while simulations > 0 and len(under_way) < self.leaves:
                path = self._path()
                if path[-1].pending:
                    break
                simulations -= 1
                known = path[-1].exact if path[-1].exact is not None else path[-1].closed
                if known is not None:
                    self._count(path, known)
                else:
                    for node in path:
                        node.n, node.w, node.lost = node.n + 1, node.w - 1, node.lost + 1
                    path[-1].pending = True
                    under_way.append(path)
            for path in under_way:
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

    def _evaluate(self, paths: list[list[SlowNode]]) -> None:
        for path in paths:
            leaf = path[-1]
            leaf.pending = False
            said = self.script(leaf.number)
            legal = [action for action, prior in enumerate(said.priors) if prior > 0]
            if said.over:
                leaf.exact = said.value
                self._solve(path[1:-1])
            elif self.used + len(legal) <= self.room:
                for action in legal:
                    leaf.children[action] = SlowNode((5 * leaf.number + action + 1) % 100_003, said.priors[action])
                self.used += len(legal)
            else:
                leaf.closed = said.value
            self._count(path, said.value)

    @staticmethod
    def _solve(above: list[SlowNode]) -> None:
        """Look at the nodes above a solved one, the nearest first: solved are those with a win, or all solved below."""
        for node in reversed(above):
            known = [-child.exact for child in node.children.values() if child.exact is not None]
            if max(known) < 1 and len(known) < len(node.children):
                return
            node.exact = max(known)

    @staticmethod
    def _count(path: list[SlowNode], value: float) -> None:
        """A visit to all nodes of a path, and the value of its end as each of them sees it."""
        for node in reversed(path):
            value = -value
            node.n, node.w = node.n + 1, node.w + value
