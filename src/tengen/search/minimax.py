"""Minimax (Shannon, "Programming a Computer for Playing Chess", 1950): the whole tree to a fixed depth.

The player who began plays for the highest value, the other for the lowest. With s a position, a its moves, d the depth
left:

    v(s, d) = evaluation(s)                  if the game is over, or d = 0
            = max over a of v(s.a, d - 1)    if the first player is to move
            = min over a of v(s.a, d - 1)    if the second player is

Every v here is as the first player sees it. Alpha-beta finds the same values with far fewer nodes; this is the version
to read first, and the one that alpha-beta is tested against.
"""

from collections.abc import Callable

from tengen.games.kernels import WIN
from tengen.games.state import FIRST, RESIGN, AnyState
from tengen.search.budget import Budget
from tengen.search.result import GameTreeResult


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
