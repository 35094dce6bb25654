"""Plays the move that alpha-beta finds best, to a depth or for a time."""

import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from tengen.agents.agent import Decision
from tengen.agents.game_tree import decision, moves_to_consider
from tengen.games.go import GameState
from tengen.search.alphabeta import MAX_DEPTH, AlphaBetaSearch
from tengen.search.budget import Budget, Clock
from tengen.search.evaluation import get_evaluation

_DEFAULT_DEPTH: Final = 3


@dataclass(frozen=True)
class AlphaBeta:
    """Looks ahead with alpha-beta pruning, to a depth or for a time (3 plies when neither is given)."""

    depth: int | None = None
    """Plies to look ahead at most."""
    seconds: float | None = None
    """Time to think about a move."""
    evaluation: str = "area"
    """How leaves are judged: area or influence."""
    seed: int | None = None
    """Decides among moves of the same value."""

    def __post_init__(self) -> None:
        if self.depth is not None and not 1 <= self.depth <= MAX_DEPTH:
            raise ValueError(f"alphabeta cannot look {self.depth} plies ahead: give a depth of 1 to {MAX_DEPTH}")
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise ValueError(f"alphabeta cannot think for {self.seconds} seconds: give a time above 0")
        get_evaluation(self.evaluation)


class AlphaBetaAgent:
    """Alpha-beta with iterative deepening; a running clock can only shorten its thinking."""

    name = "alphabeta"

    def __init__(self, settings: AlphaBeta, clock: Clock = time.perf_counter) -> None:
        self._settings = settings
        self._evaluation = get_evaluation(settings.evaluation)
        self._rng = np.random.default_rng(settings.seed)
        self._clock = clock

    def choose(self, state: GameState, seconds: float | None = None) -> Decision:
        """The best move of the deepest search that the limits allow."""
        settings = self._settings
        limits = [limit for limit in (seconds, settings.seconds) if limit is not None]
        budget = Budget(min(limits, default=None), clock=self._clock)
        depth = settings.depth
        if depth is None:
            depth = _DEFAULT_DEPTH if settings.seconds is None else MAX_DEPTH
        moves = moves_to_consider(state, self._rng)
        result = AlphaBetaSearch(self._evaluation, budget).run(state, depth, moves)
        return decision(state, result, budget)

    def close(self) -> None:
        """Nothing to free."""
