"""Minimax (Shannon, "Programming a Computer for Playing Chess", 1950): the whole tree to a fixed depth.

Black plays for the highest score, White for the lowest. With s a position, a its moves, d the depth left:

    v(s, d) = points(s)                      if the game is over
            = evaluation(s)                  if d = 0
            = max over a of v(s.a, d - 1)    if Black is to play
            = min over a of v(s.a, d - 1)    if White is to play

Every v here is Black's points minus White's. Alpha-beta finds the same values with far fewer nodes; this is
the version to read first, and the one that alpha-beta is tested against.
"""

from tengen.games.go import BLACK, PASS, GameState
from tengen.search.budget import Budget
from tengen.search.evaluation import Evaluation, final_points
from tengen.search.ordering import static_scores
from tengen.search.result import SearchResult


def minimax(state: GameState, depth: int, evaluation: Evaluation, budget: Budget | None = None) -> float:
    """v(s, d): Black's points minus White's if both play their best for `depth` plies."""
    if budget is not None:
        budget.spend()
    if state.is_over:
        return _for_black(state, final_points(state))
    if depth == 0:
        return _for_black(state, evaluation(state))
    values = (minimax(state.play(move), depth - 1, evaluation, budget) for move in state.legal_moves())
    return max(values) if state.to_play == BLACK else min(values)


def minimax_search(
    state: GameState,
    depth: int,
    evaluation: Evaluation,
    budget: Budget | None = None,
    moves: list[int] | None = None,
) -> SearchResult:
    """The value of every move at the root (all legal ones, or `moves`), and the best of them.

    Of equally good moves it takes the one that looks best at once, and of those the first.
    When the budget is spent, `BudgetSpent` goes to the caller.
    """
    if depth < 1:
        raise ValueError(f"minimax cannot search {depth} plies: give a depth of at least 1")
    budget = budget or Budget()
    moves = state.legal_moves() if moves is None else moves
    if not moves:
        return SearchResult(PASS, None)
    sign = 1.0 if state.to_play == BLACK else -1.0
    values = {move: sign * minimax(state.play(move), depth - 1, evaluation, budget) for move in moves}
    looks = dict(zip(moves, static_scores(state, moves).tolist()))
    best = max(moves, key=lambda move: (values[move], looks[move]))
    return SearchResult(best, values[best], values, (best,), depth, budget.nodes)


def _for_black(state: GameState, points: float) -> float:
    """Points of the player to move as Black's points minus White's."""
    return points if state.to_play == BLACK else -points
