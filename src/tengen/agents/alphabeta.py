"""Plays the move that alpha-beta finds best, to a depth or for a time, in every game."""

import time
from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Agent, Decision
from tengen.agents.game_tree import batch_for, check_evaluation, decision, search_with_care
from tengen.games.batch import BatchedGame
from tengen.games.game import game_of
from tengen.games.options import Options
from tengen.games.state import AnyState
from tengen.search.alphabeta import MAX_DEPTH, AlphaBetaSearch
from tengen.search.budget import Clock
from tengen.search.result import GameTreeResult

_NETWORK_DEPTH = 3  # plies that alpha-beta with networks looks ahead where neither a depth nor a time is given


@dataclass(frozen=True)
class AlphaBeta:
    """Looks ahead with alpha-beta pruning, to a depth or for a time (else 3 plies in Go, 6 in Microchess)."""

    model: str = ""
    """A run of `tengen learn generations`, or a file of one: its networks evaluate positions at the depth."""
    generation: int = 0
    """Which generation of a run; 0: the newest."""
    top: int = 0
    """With a model that has a policy: consider only so many moves of a position, those it likes best; 0: all."""
    depth: int | None = None
    """Plies to look ahead at most."""
    seconds: float | None = None
    """Seconds per move."""
    evaluation: str | None = None
    """How positions at the depth are evaluated: in Go by area (as usual) or influence, in Microchess by material."""
    seed: int | None = None
    """Decides among moves of the same value."""

    def __post_init__(self) -> None:
        if self.depth is not None and not 1 <= self.depth <= MAX_DEPTH:
            raise ValueError(f"alphabeta cannot look {self.depth} plies ahead: give a depth of 1 to {MAX_DEPTH}")
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise ValueError(f"alphabeta cannot think for {self.seconds} seconds: give a time above 0")
        check_evaluation(self.evaluation)
        if self.model and self.evaluation:
            raise ValueError("alphabeta is given a model and an evaluation: leave one of them out")
        if self.top and not self.model:
            raise ValueError(f"alphabeta:top={self.top} goes by a model's policy: give the model of a run that has one")

    def plies(self, default: int) -> int:
        """How deep to look at most; `default` where neither a depth nor a time is given."""
        return self.depth or (default if self.seconds is None else MAX_DEPTH)


class AlphaBetaAgent:
    """Alpha-beta with iterative deepening; a running clock can only shorten its thinking."""

    name = "alphabeta"

    def __init__(self, settings: AlphaBeta, clock: Clock = time.perf_counter) -> None:
        self._settings, self._clock = settings, clock
        self._rng = np.random.default_rng(settings.seed)
        self._ready: tuple[Options, BatchedGame, AlphaBetaSearch] | None = None

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The best move of the deepest search that the limits allow."""
        limit = min((limit for limit in (seconds, self._settings.seconds) if limit is not None), default=None)
        batch, search = self._search_for(state)
        plies, began = self._settings.plies(game_of(state).depth), self._clock()

        def run(moves: list[int], dead: frozenset[int]) -> GameTreeResult:
            left = None if limit is None else max(limit - (self._clock() - began), 0)
            return search.run(state, plies if len(moves) > 1 else 1, moves, left, dead=dead)

        return decision(state, search_with_care(state, self._rng, limit, run), batch, self._clock() - began)

    def check(self, state: AnyState) -> None:
        """AgentError if the game has no such evaluation."""
        self._search_for(state)

    def stop(self) -> None:
        """Let a `choose` in another thread return with the best move so far."""
        if self._ready is not None:
            self._ready[2].stop()

    def close(self) -> None:
        """Nothing to free."""

    def _search_for(self, state: AnyState) -> tuple[BatchedGame, AlphaBetaSearch]:
        options = game_of(state).options_of(state)
        if self._ready is None or self._ready[0] != options:
            batch = batch_for(state, self._settings.evaluation)
            self._ready = options, batch, AlphaBetaSearch(batch)
        return self._ready[1:]


def alphabeta_agent(settings: AlphaBeta) -> Agent:
    """In kernels with the game's own evaluation, or with a generation of value networks."""
    if not settings.model:
        return AlphaBetaAgent(settings)
    from tengen.agents.value import ValueAgent, ValueSettings

    values = ValueSettings(settings.model, settings.generation, top=settings.top, seed=settings.seed)
    return ValueAgent(values, settings.plies(_NETWORK_DEPTH), settings.seconds)
