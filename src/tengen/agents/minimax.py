"""Plays the move that minimax finds best at a fixed depth."""

import time
from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Decision, of_game
from tengen.agents.game_tree import decision, moves_to_consider
from tengen.games.go import PASS, GameState
from tengen.games.state import AnyState
from tengen.search.budget import Budget, BudgetSpent, Clock
from tengen.search.evaluation import get_evaluation
from tengen.search.minimax import minimax_search
from tengen.search.ordering import best_looking_first
from tengen.search.result import SearchResult


@dataclass(frozen=True)
class Minimax:
    """Looks at every line of play to a fixed depth."""

    depth: int = 2
    """Plies to look ahead."""
    evaluation: str = "area"
    """How leaves are judged: area or influence."""
    seed: int | None = None
    """Decides among moves of the same value."""

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"minimax cannot look {self.depth} plies ahead: give a depth of at least 1")
        get_evaluation(self.evaluation)


class MinimaxAgent:
    """Minimax to the depth of its settings; with a clock running, as deep as the time allows."""

    name = "minimax"

    def __init__(self, settings: Minimax, clock: Clock = time.perf_counter) -> None:
        self._settings = settings
        self._evaluation = get_evaluation(settings.evaluation)
        self._rng = np.random.default_rng(settings.seed)
        self._clock = clock

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The move with the best minimax value."""
        state = of_game(state, GameState, self.name)
        budget = Budget(seconds, clock=self._clock)
        moves = moves_to_consider(state, self._rng)
        result = SearchResult(best_looking_first(state, moves)[0] if moves else PASS, None)
        first = self._settings.depth if seconds is None else 1
        for depth in range(first, self._settings.depth + 1):
            try:
                result = minimax_search(state, depth, self._evaluation, budget, moves)
            except BudgetSpent:
                break
        return decision(state, result, budget)

    def check(self, state: AnyState) -> None:
        """AgentError if this is not a game of Go."""
        of_game(state, GameState, self.name)

    def close(self) -> None:
        """Nothing to free."""
