"""From a proven claim to a certificate: the strategy is read from the solver's table, and searched again where the
table has forgotten it."""

from collections.abc import Callable

import numpy as np

from tengen.games import go
from tengen.solve import dfpn
from tengen.solve.bitboard import WIDTH
from tengen.solve.certificate import Certificate, Promise, stones_code
from tengen.solve.dfpn import COUNT, DELTA, KEY, MOVE, PHI, RANK, TURN
from tengen.solve.go_solver import Claim, Solver, point_of

Node = tuple[int, ...]
"""The columns A to KEY of a position."""


def extract(
    solver: Solver, state: go.State, claim: Claim, report: Callable[[int], None] = lambda positions: None
) -> Certificate:
    """The strategy behind a claim that `solver` has proven for this state."""
    promise = Promise.about(state, claim.color, claim.margin)
    strategy = _Strategy(solver, claim)
    todo = [strategy.root(state)]
    seen, found = {todo[0][KEY]}, dict[int, int]()
    while todo:
        node = todo.pop()
        if node[TURN] == 0:
            move, after = strategy.choose(node)
            key, points = stones_code(*strategy.board(node), solver.size)
            found[key] = -1 if move == go.PASS else int(np.argmax(points == move))
            successors = [] if after is None else [after]
        else:
            successors = strategy.replies(node)
        for successor in successors:
            if successor[KEY] not in seen:
                seen.add(successor[KEY])
                todo.append(successor)
        if len(found) % 10_000 == 0:
            report(len(found))
    keys = np.array(sorted(found), np.int64)
    return Certificate(promise, keys, np.array([found[int(key)] for key in keys], np.int8))


def main_line(solver: Solver, state: go.State, claim: Claim, longest: int = 60) -> list[int]:
    """The line of a proven claim in which the opponent holds out longest, up to where enough points are safe."""
    strategy = _Strategy(solver, claim)
    node: Node | None = strategy.root(state)
    moves: list[int] = []
    while node is not None and len(moves) < longest:
        move, node = strategy.choose(node) if node[TURN] == 0 else strategy.resist(node)
        moves.append(move)
    return moves


class _Strategy:
    """What a solver's table knows of a proof."""

    def __init__(self, solver: Solver, claim: Claim) -> None:
        self.solver, self.claim = solver, claim
        self.table, self.question = solver.table(claim), solver.question(claim)
        self.work = dfpn.new_workspace()

    def root(self, state: go.State) -> Node:
        """The node of a state."""
        return tuple(self.solver.workspace(state, self.claim).nodes[0, : KEY + 1].tolist())

    def choose(self, node: Node) -> tuple[int, Node | None]:
        """The move at a node of the player's, and the node after it unless the promise is kept there already.

        Of several moves that win, the one whose proof is shortest: so that the strategy does not go round in circles.
        """
        self._expand(node)
        won = [child for child in self._children() if child[DELTA] == 0]
        if not won:
            self._search(node)
            won = [child for child in self._children() if child[DELTA] == 0]
        best = min(won, key=lambda child: int(child[RANK]))
        after = tuple(best[: KEY + 1].tolist())
        return point_of(int(best[MOVE]), self.solver.size), after if best[RANK] else None

    def replies(self, node: Node) -> list[Node]:
        """The nodes after all moves of the opponent, but for those where the promise is kept already."""
        self._expand(node)
        children = self._children()
        for child in children:
            if child[PHI] != 0:
                self._search(tuple(child[: KEY + 1].tolist()))
        return [tuple(child[: KEY + 1].tolist()) for child in children if child[PHI] != 0 or child[RANK]]

    def resist(self, node: Node) -> tuple[int, Node | None]:
        """The opponent's move after which the proof is longest, and the node after it unless the promise is kept."""
        self._expand(node)
        best = max(self._children(), key=lambda child: int(child[RANK]))
        after = tuple(best[: KEY + 1].tolist())
        return point_of(int(best[MOVE]), self.solver.size), after if best[RANK] else None

    def board(self, node: Node) -> tuple["np.ndarray[tuple[int], np.dtype[np.int8]]", int, bool]:
        """The stones of a node as int8[N * N], the ko point or -1, and whether a pass came last."""
        a, b, ko, _, passes, _ = node
        other = go.BLACK + go.WHITE - self.claim.color
        size = self.solver.size
        bits = [1 << WIDTH * row + col for row in range(size) for col in range(size)]
        stones = [self.claim.color if a & bit else other if b & bit else go.EMPTY for bit in bits]
        return np.array(stones, np.int8), point_of(ko, size) if ko else -1, bool(passes)

    def _expand(self, node: Node) -> None:
        self.work.nodes[0, : KEY + 1] = node
        dfpn.expand(self.work, self.table, self.question, 0)

    def _search(self, node: Node) -> None:
        """Prove a node again that the table has forgotten."""
        self.work.nodes[0, : KEY + 1] = node
        phi, _ = dfpn.search(self.work, self.table, self.question, 1 << 60)
        if (phi == 0) != (node[TURN] == 0):
            raise RuntimeError("a position of the proof could not be proven again: the claim rests on a repetition")

    def _children(self) -> "list[np.ndarray[tuple[int], np.dtype[np.int64]]]":
        return list(self.work.children[0, : self.work.nodes[0, COUNT]].copy())
