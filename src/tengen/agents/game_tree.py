"""Agents that search the game tree to a depth, in every game: minimax, alpha-beta with iterative deepening, and a
generation of value networks, which evaluate positions after a move, greedily or with alpha-beta.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.agents.passing import Count, Pass, count_now, wins_by_passing
from tengen.agents.rehearsal import rehearse
from tengen.agents.training_conditions import refuse_other_games, warning
from tengen.games import go
from tengen.games.batch import BatchedGame
from tengen.games.game import game_names, game_of, get_game, open_batch
from tengen.games.go import PASS
from tengen.games.kernels import WIN
from tengen.games.state import RESIGN, AnyState, Options
from tengen.search.alphabeta import MAX_DEPTH, AlphaBetaSearch
from tengen.search.minimax import Budget, BudgetSpent, Clock, Evaluation, GameTreeResult, minimax_search

if TYPE_CHECKING:
    from tengen.search.generations import ValueTreeSearch

Search = Callable[[list[int], frozenset[int]], GameTreeResult]
"""A search of these root moves, with these stones dead when the game is counted."""

_TRIAL_SECONDS = 0.02
_NETWORK_DEPTH = 3  # plies that alpha-beta with networks looks ahead where neither a depth nor a time is given


@dataclass(frozen=True)
class MinimaxSettings:
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

    def __init__(self, settings: MinimaxSettings, clock: Clock = time.perf_counter) -> None:
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
        """Get ready to move at once; AgentError if the game has no such evaluation."""
        batch_for(state, self._settings.evaluation)
        trial = MinimaxAgent(self._settings)
        rehearse(trial, state, lambda here: trial.choose(here, _TRIAL_SECONDS))

    def close(self) -> None:
        """Nothing to free."""


@dataclass(frozen=True)
class AlphaBetaSettings:
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

    def __init__(self, settings: AlphaBetaSettings, clock: Clock = time.perf_counter) -> None:
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
        """Get ready to move at once; AgentError if the game has no such evaluation."""
        self._search_for(state)
        trial = AlphaBetaAgent(self._settings)
        rehearse(trial, state, lambda here: trial.choose(here, _TRIAL_SECONDS))

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


def alphabeta_agent(settings: AlphaBetaSettings) -> Agent:
    """In kernels with the game's own evaluation, or with a generation of value networks."""
    if not settings.model:
        return AlphaBetaAgent(settings)
    values = ValueSettings(settings.model, settings.generation, top=settings.top, seed=settings.seed)
    return ValueAgent(values, settings.plies(_NETWORK_DEPTH), settings.seconds)


# ------------------------------------------------------------------------------------ what both share


def check_evaluation(name: str | None) -> None:
    """ValueError if no game has an evaluation of this name; None stands for a game's usual one."""
    known = [known for game in game_names() for known in get_game(game).evaluations if known]
    if name is not None and name not in known:
        raise ValueError(f"no evaluation is called {name[:40]!r}: choose from {', '.join(known)}")


def batch_for(state: AnyState, evaluation: str | None) -> BatchedGame:
    """The kernels for games like this one, with an evaluation; AgentError if the game has none of this name."""
    game = game_of(state)
    batch = game.batch(game.options_of(state))
    if evaluation is not None:
        if evaluation not in game.evaluations:
            raise AgentError(f"{game.title} has no evaluation {evaluation}: choose {' or '.join(game.evaluations)}")
        batch.use_evaluation(game.evaluations.index(evaluation))
    return batch


def search_with_care(
    state: AnyState, rng: np.random.Generator, seconds: float | None, search: Search
) -> GameTreeResult:
    """Search the legal moves, shuffled; in Go with care about the pass, which `passing` decides."""
    moves = state.legal_moves()
    rng.shuffle(moves)
    if not isinstance(state, go.State):
        return search(moves, frozenset())
    if len(moves) < 2 or PASS not in moves:
        return search(moves, frozenset()) if moves else GameTreeResult(PASS, None)
    if state.last_move == PASS:
        count = count_now(state, seconds)
        return search([PASS] if count.verdict is Pass.WINS else _allowed(state, moves, count), count.dead)
    result = search(moves, frozenset())
    if result.move == PASS:
        count = count_now(state, seconds)
        if len(_allowed(state, moves, count)) < len(moves):
            return search(_allowed(state, moves, count), count.dead)
    return result


def decision(state: AnyState, result: GameTreeResult, batch: BatchedGame, seconds: float) -> Decision:
    """The result of a search that took so many seconds as an agent's decision: evaluations become rough chances."""
    note = f"depth {result.depth}, {result.nodes} nodes, {result.nodes / max(seconds, 1e-9):.0f} nodes/s"
    if result.value is None:
        return Decision(result.move, note=note, nodes=result.nodes)
    left = WIN - abs(result.value)
    if left < WIN // 2:
        note += f", {'win' if result.value > 0 else 'loss'} in {left} plies"
    else:
        note += f", {result.value / 100:+g} {game_of(state).unit}" + (", solved" if result.solved else "")
    return Decision(
        result.move,
        value=chance(result.value, batch.spread),
        values={move: chance(value, batch.spread) for move, value in result.values.items()},
        pv=result.pv,
        note=note,
        nodes=result.nodes,
    )


def chance(value: float, spread: float) -> float:
    """A rough chance, 0 to 1, of winning with this evaluation: a logistic curve."""
    return 0.5 * (1.0 + math.tanh(value / (2 * spread)))


def _allowed(state: go.State, moves: list[int], count: Count) -> list[int]:
    """The moves without the pass, if that loses and there is a move that fills no eye."""
    if count.verdict is not Pass.LOSES or game_of(state).sensible_moves(state) == [PASS]:
        return moves
    return [move for move in moves if move != PASS]


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
        from tengen.search.generations import GenerationValues, find_generation  # not wanted by other searches

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

    def _search_for(self, state: AnyState) -> "ValueTreeSearch":
        from tengen.search.generations import ValueTreeSearch

        options = game_of(state).options_of(state)
        if self._ready is None or self._ready[0] != options:
            game = open_batch(options, self._values.encoder.past, self._values.encoder.ages)
            top = self._settings.top
            self._ready = options, ValueTreeSearch(game, self._values.evaluation(game, policy=top > 0), top)
        return self._ready[1]
