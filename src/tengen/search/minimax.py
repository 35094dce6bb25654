"""Minimax (Shannon, "Programming a Computer for Playing Chess", 1950): the whole tree to a fixed depth.

The player who began plays for the highest value, the other for the lowest. With s a position, a its moves, d the depth
left:

    v(s, d) = evaluation(s)                  if the game is over, or d = 0
            = max over a of v(s.a, d - 1)    if the first player is to move
            = min over a of v(s.a, d - 1)    if the second player is

Every v here is as the first player sees it. Alpha-beta finds the same values with far fewer nodes; this is the version
to read first, and the one that alpha-beta is tested against.

What alpha-beta shares with it is here as well: the result, the budget, and a game's own evaluation of its leaves.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tengen._kernel import kernel
from tengen.games.batch import BatchedGame
from tengen.games.kernels import WIN, ending, evaluate, gain
from tengen.games.state import FIRST, RESIGN, AnyState


@dataclass(frozen=True)
class GameTreeResult:
    """The best move and its line. Values are as the player to move sees them, in the unit of the game's `evaluate`."""

    move: int
    value: int | None
    """Of the best move; None when there was no time to look at even one."""
    values: Mapping[int, int] = field(default_factory=dict)
    """Of every move at the root whose exact value is known (alpha-beta refutes most moves without it)."""
    pv: tuple[int, ...] = ()
    """The best line for both, beginning with `move`."""
    depth: int = 0
    """Plies searched in full."""
    nodes: int = 0
    solved: bool = False
    """Whether every line ran to the end of the game: the value is then no estimate."""


Clock = Callable[[], float]


class BudgetSpent(Exception):
    """Raised inside a search to leave it at once; the search catches it and returns the best it knows."""


class Budget:
    """Counts nodes, and raises `BudgetSpent` at the node that would exceed a limit."""

    def __init__(
        self, seconds: float | None = None, nodes: int | None = None, clock: Clock = time.perf_counter
    ) -> None:
        self.nodes = 0
        self._clock = clock
        self._begin = clock()
        self._deadline = None if seconds is None else self._begin + seconds
        self._limit = nodes

    def spend(self) -> None:
        """Count one node."""
        if self._limit is not None and self.nodes >= self._limit:
            raise BudgetSpent
        if self._deadline is not None and self._clock() >= self._deadline:
            raise BudgetSpent
        self.nodes += 1

    @property
    def elapsed(self) -> float:
        """Seconds since the budget was made."""
        return self._clock() - self._begin


def minimax(state: AnyState, depth: int, evaluation: Callable[[AnyState], int], budget: Budget | None = None) -> int:
    """v(s, d): how good a position is for the first player if both play their best for `depth` plies."""
    if budget is not None:
        budget.spend()
    if state.is_over or depth == 0:
        return evaluation(state) if state.to_play == FIRST else -evaluation(state)
    values = [_a_ply_later(minimax(state.play(move), depth - 1, evaluation, budget)) for move in state.legal_moves()]
    return max(values) if state.to_play == FIRST else min(values)


def minimax_search(
    state: AnyState,
    depth: int,
    evaluation: Callable[[AnyState], int],
    budget: Budget | None = None,
    moves: list[int] | None = None,
) -> GameTreeResult:
    """The value of every move at the root (all legal ones, or `moves`), and the best of them, of equals the first.

    When the budget is spent, `BudgetSpent` goes to the caller.
    """
    if depth < 1:
        raise ValueError(f"minimax cannot search {depth} plies: give a depth of at least 1")
    budget = budget or Budget()
    moves = state.legal_moves() if moves is None else moves
    if not moves:
        return GameTreeResult(RESIGN, None)
    sign = 1 if state.to_play == FIRST else -1
    values = {move: sign * _a_ply_later(minimax(state.play(move), depth - 1, evaluation, budget)) for move in moves}
    best = max(moves, key=values.__getitem__)
    return GameTreeResult(best, values[best], values, (best,), depth, budget.nodes)


def _a_ply_later(value: int) -> int:
    """A win is worth the less, the later it comes."""
    return value - 1 if value > WIN // 2 else value + 1 if value < -WIN // 2 else value


# ------------------------------------------------------------------------------------ a game's evaluation


class Evaluation:
    """What a position is worth to the player to move without looking further, in the unit of the game's kernels."""

    def __init__(self, game: BatchedGame) -> None:
        self._game, self._games = game, game.allocate(1)
        self._room = np.zeros(game.actions, np.int16)

    def __call__(self, state: AnyState) -> int:
        """An estimate; of a finished game what it is worth: WIN, 0 or -WIN where no points count."""
        self._game.load(self._games, 0, state)
        return int(value_now(self._games, self._room))

    def best_looking_first(self, state: AnyState, moves: list[int]) -> list[int]:
        """The moves by how promising they look; equals stay in their order."""
        self._game.load(self._games, 0, state)
        gains = np.array([state.action_of(move) for move in moves], np.int64)
        look_at(self._games, gains)
        return [moves[k] for k in np.argsort(-gains, kind="stable")]


@kernel
def value_now(games, room):  # type: ignore[no-untyped-def]
    """The value of the first game; room: int16[A]."""
    over, value = ending(games, 0, room)
    return value if over else evaluate(games, 0)


@kernel
def look_at(games, actions):  # type: ignore[no-untyped-def]
    """Write how promising each action of the first game looks over it; actions: int64[n]."""
    for k in range(actions.shape[0]):
        actions[k] = gain(games, 0, actions[k])
