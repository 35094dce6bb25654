"""Alpha-beta with a network at the leaves: values of positions after each move, all children of a node as one batch.

At depth 1 this is the greedy player of the Simple-Go lecture. The values of a node's children also order them, so that
the best one is searched first. Values are those of the networks, -1 to 1; a finished game is worth its result. As in
`value_play`, only sensible moves are considered. The kernels of `alphabeta` are not used here, for nearly all the time
goes to the network: it is asked about some fifteen positions at a time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import BatchedGame
from tengen.games.state import AnyState
from tengen.search.budget import Budget, BudgetSpent
from tengen.search.leaves import LeafEvaluation, Leaves, new_leaves
from tengen.search.value_play import consider, make_children


@dataclass(frozen=True)
class ValueTreeResult:
    """What a search found, by actions."""

    values: dict[int, float]
    """The value of every considered action to the player to move, -1 to 1; of actions that were cut off, a bound."""
    line: tuple[int, ...] = ()
    """The line of best play."""
    depth: int = 0


@dataclass
class _Level:
    """Room for the children of one node."""

    boards: Any
    leaves: Leaves
    parent: NDArray[np.int64]
    action: NDArray[np.int64]


class ValueTreeSearch:
    """Alpha-beta over the positions of one game."""

    def __init__(self, game: BatchedGame, evaluation: LeafEvaluation, top: int = 0) -> None:
        """`top`: consider so many moves of a position at most, those that the evaluation's policy, which it must then
        have, likes best; 0: all."""
        self._game, self._evaluation, self._top = game, evaluation, top
        self._root, self._root_leaf = game.allocate(1), new_leaves(1, game.actions if top else 0)
        self._levels: list[_Level] = []
        self._budget = Budget()

    def run(self, state: AnyState, depth: int = 1, budget: Budget | None = None) -> ValueTreeResult:
        """Search deeper and deeper, to `depth` plies or the end of the budget, of which a node is a batch of children.

        The first ply is always searched. The game may not be over.
        """
        if depth < 1:
            raise ValueError(f"alpha-beta cannot search {depth} plies: give a depth of at least 1")
        self._game.load(self._root, 0, state)
        if self._top:
            self._evaluation.evaluate(self._root, 1, self._root_leaf)
        self._budget = Budget()
        result = self._search_root(1)
        self._budget = budget or self._budget
        for plies in range(2, depth + 1):
            try:
                result = self._search_root(plies)
            except BudgetSpent:
                break
        return result

    def _search_root(self, depth: int) -> ValueTreeResult:
        values: dict[int, float] = {}
        _, line = self._search(self._root, 0, 0, depth, -np.inf, np.inf, self._root_leaf.logits[0], values)
        return ValueTreeResult(values, tuple(line), depth)

    def _search(
        self,
        boards: Any,
        slot: int,
        ply: int,
        depth: int,
        alpha: float,
        beta: float,
        logits: NDArray[np.float32],
        values: dict[int, float] | None = None,
    ) -> tuple[float, list[int]]:
        """The value of a position, which is not over, to the player to move, and the best line; `logits`: what the
        policy says of its actions, float32[A]; `values`: those of its actions are written there."""
        self._budget.spend()
        level = self._level(ply)
        count = self._children(level, boards, slot, logits)
        over, leaves = level.leaves.over, level.leaves
        found = -np.where(over[:count], leaves.results[:count], leaves.values[:count]).astype(np.float64)
        best, line = -np.inf, list[int]()
        for k in np.argsort(-found, kind="stable").tolist():
            value, rest = float(found[k]), list[int]()
            if depth > 1 and not over[k]:
                window = -beta, -max(alpha, best)
                lower, rest = self._search(level.boards, k, ply + 1, depth - 1, *window, leaves.logits[k])
                value = -lower
            action = int(level.action[k])
            if values is not None:
                values[action] = value
            if value > best:
                best, line = value, [action, *rest]
            if best >= beta:
                break
        return best, line

    def _children(self, level: _Level, boards: Any, slot: int, logits: NDArray[np.float32]) -> int:
        """Set up and evaluate the children of a position that are considered; returns how many they are."""
        movers = np.full(slot + 1, -1, np.int64)
        movers[slot] = 0
        legal = np.zeros((slot + 1, self._game.actions), np.bool_)
        consider(boards, movers, legal, np.empty(slot + 1, np.int64))
        if self._top:
            actions = np.flatnonzero(legal[slot])
            legal[slot, actions[np.argsort(-logits[actions], kind="stable")[self._top :]]] = False
        leaves = level.leaves
        _, count = make_children(
            boards, np.array([slot]), 0, legal, level.boards, level.parent, level.action, leaves.over, leaves.results
        )
        leaves.over[count:] = True
        self._evaluation.evaluate(level.boards, count, leaves)
        return int(count)

    def _level(self, ply: int) -> _Level:
        while len(self._levels) <= ply:
            room = self._game.actions
            leaves = new_leaves(room, room if self._top else 0)
            boards = self._game.allocate(room)
            self._levels.append(_Level(boards, leaves, np.zeros(room, np.int64), np.zeros(room, np.int64)))
        return self._levels[ply]
