"""Minimax: small positions whose best move is plain to see."""

import pytest

from tengen.games import go, microchess
from tengen.games.game import game_of
from tengen.games.go import BLACK, PASS, WHITE, from_gtp
from tengen.games.kernels import WIN
from tengen.games.state import AnyState
from tengen.search.minimax import Budget, BudgetSpent, Evaluation, minimax, minimax_search


def evaluation_for(state: AnyState) -> Evaluation:
    game = game_of(state)
    return Evaluation(game.batch(game.options_of(state)))


def area(state: AnyState) -> int:
    return evaluation_for(state)(state)


def points(text: str, size: int) -> list[int]:
    return [from_gtp(name, size) for name in text.split()]


def test_black_maximises_and_white_minimises() -> None:
    for to_play in (BLACK, WHITE):
        state = go.State.setup(4, "tromp-taylor", 0, points("B1 B2", 4), points("A1 D3 C3", 4), to_play)
        values = [minimax(state.play(move), 0, area) for move in state.legal_moves()]
        assert minimax(state, 1, area) == (max(values) if to_play == BLACK else min(values))


def test_it_captures_what_decides_the_game() -> None:
    state = go.State.setup(3, "tromp-taylor", 0, points("A2 B2 C2", 3), points("A1 B1 A3", 3), BLACK)
    found = minimax_search(state, 3, area)
    assert found.move in points("C1 B3", 3)
    assert found.value == 900


def test_one_ply_falls_into_a_snapback_and_two_plies_do_not() -> None:
    """Black can take C1 by playing D1, whereupon White takes five stones back at C1."""
    black, white = points("B1 B2 C2 D2 C5", 5), points("A1 A2 A3 B3 C3 D3 E2 E1 C1", 5)
    state = go.State.setup(5, "chinese", 0, black, white, BLACK)
    snapback = from_gtp("D1", 5)
    assert minimax_search(state, 1, area).move == snapback
    assert minimax_search(state, 2, area).move != snapback


def test_every_legal_move_has_a_value_and_the_best_is_chosen() -> None:
    state = go.State.new(3, "chinese", komi=0)
    found = minimax_search(state, 2, area)
    assert sorted(found.values) == sorted(state.legal_moves())
    assert found.value == max(found.values.values())


def test_of_equals_a_pass_comes_after_stones_and_before_filling_an_eye() -> None:
    """Black owns the board: every move is worth nine points, eyes A1 and C3 are not to be filled."""
    state = go.State.setup(3, "tromp-taylor", 0, points("A2 B1 B2 B3 C2 A3", 3), (), BLACK)
    moves = evaluation_for(state).best_looking_first(state, [*points("A1 C3", 3), PASS])
    assert minimax_search(state, 1, area, moves=moves).move == PASS


def test_a_win_is_worth_more_the_sooner_it_comes() -> None:
    state = microchess.State.from_fen("k3/2Q1/1K2/4/4 w - - 0 1")
    found = minimax_search(state, 1, area)
    assert found.value == WIN - 1
    assert state.play(found.move).end_reason == "checkmate"


def test_the_budget_ends_it() -> None:
    with pytest.raises(BudgetSpent):
        minimax_search(go.State.new(5), 3, area, Budget(nodes=100))


def test_nodes_are_counted() -> None:
    state = go.State.new(2, "tromp-taylor")
    assert minimax_search(state, 1, area).nodes == 5


def test_depth_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        minimax_search(go.State.new(5), 0, area)
