"""Plays the move that alpha-beta finds best, to a depth or for a time; in Go and in Microchess."""

import threading
import time
from dataclasses import dataclass
from typing import Final

import numpy as np

from tengen.agents.agent import Decision, of_game
from tengen.agents.centipawns import chance_behind
from tengen.agents.game_tree import decision, moves_to_consider
from tengen.games import go, microchess
from tengen.games.state import AnyState
from tengen.search.alphabeta import MAX_DEPTH, AlphaBetaSearch
from tengen.search.budget import Budget, Clock
from tengen.search.evaluation import get_evaluation
from tengen.search.microchess_alphabeta import new_workspace, search_microchess

_DEFAULT_DEPTH: Final = 3
_DEFAULT_MICROCHESS_DEPTH: Final = 6


@dataclass(frozen=True)
class AlphaBeta:
    """Looks ahead with alpha-beta pruning, to a depth or for a time (else 3 plies in Go, 6 in Microchess)."""

    depth: int | None = None
    """Plies to look ahead at most."""
    seconds: float | None = None
    """Time to think about a move."""
    evaluation: str = "area"
    """How leaves are judged in Go: area or influence. In Microchess it is material."""
    seed: int | None = None
    """Decides among moves of the same value."""

    def __post_init__(self) -> None:
        if self.depth is not None and not 1 <= self.depth <= MAX_DEPTH:
            raise ValueError(f"alphabeta cannot look {self.depth} plies ahead: give a depth of 1 to {MAX_DEPTH}")
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise ValueError(f"alphabeta cannot think for {self.seconds} seconds: give a time above 0")
        get_evaluation(self.evaluation)

    def plies(self, default: int) -> int:
        """How deep to look at most; `default` where neither a depth nor a time is given."""
        return self.depth or (default if self.seconds is None else MAX_DEPTH)


class AlphaBetaAgent:
    """Alpha-beta with iterative deepening; a running clock can only shorten its thinking."""

    name = "alphabeta"

    def __init__(self, settings: AlphaBeta, clock: Clock = time.perf_counter) -> None:
        self._settings = settings
        self._evaluation = get_evaluation(settings.evaluation)
        self._rng = np.random.default_rng(settings.seed)
        self._clock = clock
        self._work = new_workspace()

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The best move of the deepest search that the limits allow."""
        limits = [limit for limit in (seconds, self._settings.seconds) if limit is not None]
        limit = min(limits, default=None)
        if isinstance(state, microchess.GameState):
            return self._choose_in_microchess(state, limit)
        state = of_game(state, go.GameState, self.name)
        budget = Budget(limit, clock=self._clock)
        moves = moves_to_consider(state, self._rng)
        result = AlphaBetaSearch(self._evaluation, budget).run(state, self._settings.plies(_DEFAULT_DEPTH), moves)
        return decision(state, result, budget)

    def stop(self) -> None:
        """Let a `choose` in another thread return with the best it knows; in Microchess only."""
        self._work.stop[0] = 1

    def close(self) -> None:
        """Nothing to free."""

    def _choose_in_microchess(self, state: microchess.GameState, seconds: float | None) -> Decision:
        moves = state.legal_moves()
        if not moves:
            return Decision(microchess.RESIGN, note="the game is over")
        self._rng.shuffle(moves)
        began = self._clock()
        self._work.stop[0] = 0
        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self.stop) if seconds is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            result = search_microchess(state, self._settings.plies(_DEFAULT_MICROCHESS_DEPTH), moves, self._work)
        finally:
            if timer is not None:
                timer.cancel()
        speed = result.nodes / max(self._clock() - began, 1e-9)
        note = f"depth {result.depth}, {result.nodes} nodes, {speed:.0f} nodes/s"
        if result.value is None:
            return Decision(result.move, note=note, nodes=result.nodes)
        note += f", {result.value / 100:+.2f} pawns"
        return Decision(result.move, chance_behind(result.value), pv=result.pv, note=note, nodes=result.nodes)
