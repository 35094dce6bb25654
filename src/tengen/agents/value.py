"""Plays by a generation of value networks, which evaluate positions after a move: greedily, or with alpha-beta."""

import time
from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import AgentError, Decision
from tengen.agents.passing import wins_by_passing
from tengen.agents.training_conditions import refuse_other_games, warning
from tengen.games import go
from tengen.games.game import game_of, open_batch
from tengen.games.go import PASS
from tengen.games.state import RESIGN, AnyState, Options
from tengen.search.generations import GenerationValues, ValueTreeSearch, find_generation
from tengen.search.minimax import Budget, Clock


@dataclass(frozen=True)
class ValueSettings:
    """Plays the move with the best value one ply ahead, by a run of `tengen learn generations` or a file of one."""

    model: str
    generation: int = 0
    """Which generation of a run; 0: the newest."""
    epsilon: float = 0.0
    """How often a random move is played instead (epsilon-greedy)."""
    top: int = 0
    """Consider only so many moves, those that the networks' policy likes best; 0: all."""
    backend: str = "fastest"
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"value:epsilon={self.epsilon} is not possible: give a share from 0 to 1")
        if self.top < 0:
            raise ValueError(f"value:top={self.top} is not possible: give a number of moves, or 0 (all)")


class ValueAgent:
    """Alpha-beta over the values of positions after a move; to one ply, the greedy player."""

    def __init__(
        self,
        settings: ValueSettings,
        depth: int = 1,
        seconds: float | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        """`depth`: plies to look ahead; `seconds`: for a move at most."""
        self._values = GenerationValues(find_generation(settings.model, settings.generation), settings.backend)
        if settings.top and not self._values.has_policy:
            raise AgentError(
                f"{settings.model} has no policy, which top={settings.top} asks for: leave it out, or learn one by"
                " `tengen learn generations --policy-head`"
            )
        self._settings, self._depth, self._seconds, self._clock = settings, depth, seconds, clock
        self._rng = np.random.default_rng(settings.seed)
        self._ready: tuple[Options, ValueTreeSearch] | None = None
        which = f",generation={settings.generation}" if settings.generation else ""
        which += f",top={settings.top}" if settings.top else ""
        kind = "value" if depth == 1 else "alphabeta"
        self.name = f"{kind}:{settings.model}{which}" + (f",depth={depth}" if depth > 1 else "")

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """The move of the highest value, or with the chance epsilon a random one."""
        self._refuse(state)
        if state.is_over:
            return Decision(PASS if game_of(state).territory else RESIGN, note="the game is over")
        if isinstance(state, go.State) and wins_by_passing(state, seconds):
            return Decision(PASS, 1.0, pv=(PASS,), note="passing ends the game, won")
        limits = [limit for limit in (seconds, self._seconds) if limit is not None]
        budget = Budget(min(limits, default=None), clock=self._clock)
        result = self._search_for(state).run(state, self._depth, budget)
        moves = [state.move_of(action) for action in result.line]
        values = {state.move_of(action): (value + 1) / 2 for action, value in result.values.items()}
        note = f"depth {result.depth}, {len(values)} moves"
        if self._rng.random() < self._settings.epsilon:
            move = list(values)[int(self._rng.integers(len(values)))]
            return Decision(move, values[move], values=values, pv=(move,), note=f"a random move of {len(values)}")
        return Decision(moves[0], values[moves[0]], values=values, pv=tuple(moves), note=note)

    def check(self, state: AnyState) -> None:
        """Get ready to move at once; AgentError if this is not a game that the networks have learned."""
        self._refuse(state)
        if not state.is_over:
            self._search_for(state).run(state)

    def warning(self, state: AnyState) -> str | None:
        """One line if this game is outside of what the networks were trained on."""
        return warning(self.name, self._values.card, state)

    def close(self) -> None:
        """Nothing to free."""

    def _refuse(self, state: AnyState) -> None:
        refuse_other_games(self.name, self._values.card, state)

    def _search_for(self, state: AnyState) -> ValueTreeSearch:
        options = game_of(state).options_of(state)
        if self._ready is None or self._ready[0] != options:
            game = open_batch(options, self._values.encoder.past, self._values.encoder.ages)
            top = self._settings.top
            self._ready = options, ValueTreeSearch(game, self._values.evaluation(game, policy=top > 0), top)
        return self._ready[1]
