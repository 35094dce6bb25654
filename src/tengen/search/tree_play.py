"""Many games in lock-step whose moves are found by Monte-Carlo tree search with values at the leaves, or are random.

Offers what `ValuePlay` offers, for one player: the "stronger" way to make games of the Simple-Go lecture.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import BatchedGame
from tengen.search.leaves import LeafEvaluation
from tengen.search.puct import Puct, PuctParameters
from tengen.search.searcher import Searcher
from tengen.search.value_play import consider, draw_alike


class TreePlay:
    """Chooses moves in up to `trees` games by so many simulations each; trees are kept from move to move."""

    def __init__(
        self,
        game: BatchedGame,
        evaluation: LeafEvaluation,
        simulations: int,
        trees: int,
        seed: int,
        exploration: float = 1.0,
    ) -> None:
        """`game`: with all that the evaluation's encoder looks at; `exploration`: c of PUCT."""
        self._simulations = simulations
        self._searcher = Searcher(
            game,
            evaluation,
            Puct(PuctParameters(exploration, fpu_reduction=0.0)),
            trees=trees,
            nodes=2 * (simulations + 2) * game.branching,
            seed=seed,
        )
        self._legal = np.zeros((trees, game.actions), np.bool_)

    @property
    def children(self) -> int:
        """Positions whose value was wanted so far."""
        return self._searcher.counts.simulations

    @property
    def evaluations(self) -> int:
        """Positions that networks were asked about so far."""
        return self._searcher.counts.evaluations

    def choose(
        self, boards: Any, movers: NDArray[np.int64], at_random: NDArray[np.bool_], uniform: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """int64[B]: an action for each of the first games, as `ValuePlay.choose`; it is the next one of the game."""
        actions = np.full(len(movers), -1, np.int64)
        legal = self._legal[: len(movers)]
        choices = np.empty(len(movers), np.int64)
        consider(boards, movers, legal, choices)
        drawn = (choices > 0) & (at_random | (choices == 1))
        draw_alike(legal, drawn, choices, uniform, actions)
        index = np.flatnonzero((choices > 0) & ~drawn)
        if len(index):
            actions[index] = self._searcher.search(boards, index, self._simulations).chosen
        self._searcher.advance(actions)
        return actions
