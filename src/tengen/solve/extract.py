"""From a claim to its certificate: the strategy behind it, by the solution of the whole board, or by the table of a
search, where parts that the table has forgotten are searched again."""

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.solve import dfpn
from tengen.solve.avoid_repetition import avoid_repetition
from tengen.solve.bitboard import WIDTH, board_points, is_kept, position_key
from tengen.solve.certificate import Certificate, Statement, stones_code
from tengen.solve.dfpn import COUNT, DELTA, KEY, MOVE, PHI, RANK, TURN
from tengen.solve.go_solver import Claim, Node, Solver, bit_of, node_of, point_of
from tengen.solve.retrograde import Choice, Position, Solution

_SHORT_SEARCH: Final = 30_000  # nodes


class NotProvenError(ValueError):
    """A position of a proof that could not be proven again."""


class Strategy(Protocol):
    """How a player keeps a claim."""

    claim: Claim

    def choose(self, node: Node) -> tuple[int, Node | None]:
        """The player's move at a node, and the node after it unless the claim is kept there already."""
        ...

    def replies(self, node: Node) -> list[tuple[int, Node | None]]:
        """The same for all moves of the opponent, the one it holds out longest with last."""
        ...

    def is_kept(self, node: Node) -> bool:
        """Whether the claim is kept where the opponent is to move, as far as a short search tells."""
        ...


def extract(strategy: Strategy, state: go.State, report: Callable[[str], None] = lambda text: None) -> Certificate:
    """The certificate of a strategy that begins with this state, with moves that superko does not forbid if there are
    such (`solve.avoid_repetition`); `report` gets a line about what is being done."""
    claim, size = strategy.claim, state.size
    statement = Statement.about(state, claim.color, claim.margin)

    def widen(number: int, is_known: Callable[[int], bool]) -> dict[int, int]:
        node = _node_of_number(number, claim, size)
        try:
            return _entries_below(strategy, node, size, is_known) if strategy.is_kept(node) else {}
        except NotProvenError:  # it would repeat a position
            return {}

    found = _entries_below(strategy, node_of(state, claim), size, report=report)
    report(f"looking for repetitions in {len(found):,} positions")
    keys = np.array(sorted(found), np.int64)
    moves = np.array([found[int(key)] for key in keys], np.int8)
    return avoid_repetition(Certificate(statement, keys, moves), widen, report)


def _entries_below(
    strategy: Strategy,
    start: Node,
    size: int,
    is_known: Callable[[int], bool] = lambda key: False,
    report: Callable[[str], None] = lambda text: None,
) -> dict[int, int]:
    """The moves, by keys, of all positions that a strategy comes to from a node, but for those below known ones."""
    todo = [start]
    seen, found = {start[KEY]}, dict[int, int]()
    while todo:
        node = todo.pop()
        if node[TURN] == 0:
            key, points = stones_code(*_board(node, strategy.claim, size), size)
            if is_known(key):
                continue
            move, after = strategy.choose(node)
            found[key] = -1 if move == go.PASS else int(np.argmax(points == move))
            successors = [after]
        else:
            successors = [after for _, after in strategy.replies(node)]
        for successor in successors:
            if successor is not None and successor[KEY] not in seen:
                seen.add(successor[KEY])
                todo.append(successor)
        if len(found) % 10_000 == 0:
            report(f"writing the proof: {len(found):,} positions")
    return found


def main_line(strategy: Strategy, state: go.State, longest: int = 60) -> list[int]:
    """The line of a strategy in which the opponent holds out longest, up to where enough points are safe."""
    node: Node | None = node_of(state, strategy.claim)
    moves: list[int] = []
    while node is not None and len(moves) < longest:
        move, node = strategy.choose(node) if node[TURN] == 0 else strategy.replies(node)[-1]
        moves.append(move)
    return moves


def _board(node: Node, claim: Claim, size: int) -> tuple[NDArray[np.int8], int, bool]:
    """The stones of a node as int8[N * N], its mark or -1, and whether a pass came last."""
    a, b, mark, _, passes, _ = node
    other = go.BLACK + go.WHITE - claim.color
    bits = [1 << WIDTH * row + col for row in range(size) for col in range(size)]
    stones = [claim.color if a & bit else other if b & bit else go.EMPTY for bit in bits]
    return np.array(stones, np.int8), point_of(mark, size) if mark else -1, bool(passes)


def _node_of_number(number: int, claim: Claim, size: int) -> Node:
    """A position of `solve.check_positions` in which the opponent is to move, as kernels of the solver know it."""
    stones = [(number >> 6) // 3**point % 3 for point in range(size * size)]
    other = go.BLACK + go.WHITE - claim.color
    a, b = (sum(bit_of(p, size) for p, stone in enumerate(stones) if stone == one) for one in (claim.color, other))
    mark, passes = (number >> 1) % 32, number & 1
    bit = bit_of(mark - 1, size) if mark else 0
    return a, b, bit, 1, passes, int(position_key(a, b, bit, 1, passes, size))


class SolutionStrategy:
    """Moves that keep a guarantee and lower its rank; answers may raise the guarantee. So no position comes twice."""

    def __init__(self, solution: Solution, claim: Claim) -> None:
        self.claim, self._solution = claim, solution
        self._size, self._all = solution.size, board_points(solution.size)

    def choose(self, node: Node) -> tuple[int, Node | None]:
        """The shortest way to the best guarantee."""
        best = max(self._choices(node), key=lambda choice: (choice.guarantee, -choice.rank))
        if best.guarantee < self.claim.margin:
            raise ValueError(f"{self.claim} is not guaranteed here")
        return self._step(node, best)

    def replies(self, node: Node) -> list[tuple[int, Node | None]]:
        """All moves of the opponent."""
        choices = sorted(self._choices(node), key=lambda choice: (-choice.guarantee, choice.rank))
        return [self._step(node, choice) for choice in choices]

    def is_kept(self, node: Node) -> bool:
        """By the guarantee."""
        a, b, mark, _, passes, _ = node
        return self._solution.guarantee(Position(b, a, mark, passes), False)[0] >= self.claim.margin

    def _choices(self, node: Node) -> list[Choice]:
        a, b, mark, turn, passes, _ = node
        own, opp = (a, b) if turn == 0 else (b, a)
        return self._solution.choices(Position(own, opp, mark, passes), turn == 0)

    def _step(self, node: Node, choice: Choice) -> tuple[int, Node | None]:
        move = point_of(choice.bit, self._size)
        if choice.after is None:
            return move, None
        own, opp, mark, passes = choice.after
        turn = 1 - node[TURN]
        a, b = (own, opp) if turn == 0 else (opp, own)
        if is_kept(a, b, turn, passes, self._all, self.claim.margin):
            return move, None
        return move, (a, b, mark, turn, passes, int(position_key(a, b, mark, turn, passes, self._size)))


class TableStrategy:
    """What the table of a search that has proven a claim knows of the proof."""

    def __init__(self, solver: Solver, claim: Claim) -> None:
        self.claim, self._size = claim, solver.size
        self._table, self._question = solver.table(claim), solver.question(claim)
        self._work = dfpn.new_workspace()

    def choose(self, node: Node) -> tuple[int, Node | None]:
        """Of several moves that win, the one whose proof is shortest: so that it seldom goes round in circles."""
        won = [child for child in self._children(node) if child[DELTA] == 0]
        if not won:
            self._search(node)
            won = [child for child in self._children(node) if child[DELTA] == 0]
        return self._step(min(won, key=lambda child: int(child[RANK])))

    def replies(self, node: Node) -> list[tuple[int, Node | None]]:
        """All moves of the opponent."""
        children = self._children(node)
        for child in children:
            if child[PHI] != 0:
                self._search(tuple(child[: KEY + 1].tolist()))
        return [self._step(child) for child in sorted(children, key=lambda child: int(child[RANK]))]

    def is_kept(self, node: Node) -> bool:
        """By the table, or by a search of some ten thousand nodes."""
        self._work.nodes[0, : KEY + 1] = node
        _, delta = dfpn.search(self._work, self._table, self._question, _SHORT_SEARCH)
        return bool(delta == 0)

    def _step(self, child: NDArray[np.int64]) -> tuple[int, Node | None]:
        move = point_of(int(child[MOVE]), self._size)
        proven = child[PHI] == 0 or child[DELTA] == 0
        return move, None if proven and child[RANK] == 0 else tuple(child[: KEY + 1].tolist())

    def _children(self, node: Node) -> list[NDArray[np.int64]]:
        self._work.nodes[0, : KEY + 1] = node
        dfpn.expand(self._work, self._table, self._question, 0)
        return list(self._work.children[0, : self._work.nodes[0, COUNT]].copy())

    def _search(self, node: Node) -> None:
        """Prove a node again that the table has forgotten."""
        self._work.nodes[0, : KEY + 1] = node
        phi, _ = dfpn.search(self._work, self._table, self._question, 1 << 60)
        if (phi == 0) != (node[TURN] == 0):
            raise NotProvenError("a position of the proof could not be proven again: the claim rests on a repetition")
