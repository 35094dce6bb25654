"""Plays the move that minimax finds best at a fixed depth."""

import time
from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Decision
from tengen.agents.game_tree import batch_for, check_evaluation, decision, search_with_care
from tengen.games.state import RESIGN, AnyState
from tengen.search.budget import Budget, BudgetSpent, Clock
from tengen.search.evaluation import Evaluation
from tengen.search.minimax import minimax_search
from tengen.search.result import GameTreeResult


@dataclass(frozen=True)
class Minimax:
    """Looks at every line of play to a fixed depth."""

    depth: int = 2
    """Plies to look ahead."""
    evaluation: str | None = None
    """How positions at the depth are evaluated: in Go by area (as usual) or influence, in Microchess by material."""
    seed: int | None = None
    """Decides among moves of the same value."""

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ValueError(f"minimax cannot look {self.depth} plies ahead: give a depth of at least 1")
        check_evaluation(self.evaluation)


class MinimaxAgent:
    """Minimax to the depth of its settings; with a clock running, as deep as the time allows."""

    name = "minimax"

    def __init__(self, settings: Minimax, clock: Clock = time.perf_counter) -> None:
        self._settings = settings
        self._rng = np.random.default_rng(settings.seed)
        self._clock = clock

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The move with the best minimax value."""
        batch, budget = batch_for(state, self._settings.evaluation), Budget(seconds, clock=self._clock)
        evaluation = Evaluation(batch)
        first = self._settings.depth if seconds is None else 1

        def run(moves: list[int], dead: frozenset[int]) -> GameTreeResult:
            moves = evaluation.best_looking_first(state, moves)
            result = GameTreeResult(moves[0] if moves else RESIGN, None)
            for depth in range(first, self._settings.depth + 1):
                try:
                    result = minimax_search(state, depth, evaluation, budget, moves)
                except BudgetSpent:
                    break
            return result

        return decision(state, search_with_care(state, self._rng, seconds, run), batch, budget.elapsed)

    def check(self, state: AnyState) -> None:
        """AgentError if the game has no such evaluation."""
        batch_for(state, self._settings.evaluation)

    def close(self) -> None:
        """Nothing to free."""
