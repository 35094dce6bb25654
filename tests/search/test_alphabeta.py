"""Alpha-beta against minimax, with and without its table, against solved boards, and within its limits."""

import itertools

import numpy as np
import pytest

from tengen.games.go import BLACK, PASS, GameState, from_gtp
from tengen.search.alphabeta import AlphaBetaSearch
from tengen.search.budget import Budget
from tengen.search.evaluation import EVALUATIONS, area
from tengen.search.minimax import minimax


def random_position(size: int, rules: str, seed: int) -> GameState:
    """A position some random moves into a game that is not over yet."""
    rng = np.random.default_rng(seed)
    state = GameState.new(size, rules, komi=0.5)
    for _ in range(int(rng.integers(0, 2 * size * size))):
        following = state.play(int(rng.choice(state.legal_moves())))
        if following.is_over:
            break
        state = following
    return state


def minimax_value(state: GameState, depth: int, evaluation: str = "area") -> float:
    """The minimax value as the player to move sees it."""
    return (1 if state.to_play == BLACK else -1) * minimax(state, depth, EVALUATIONS[evaluation])


@pytest.mark.parametrize("table", [True, False], ids=["table", "no table"])
@pytest.mark.parametrize("rules", ["japanese", "tromp-taylor", "aga", "simple-go"])
@pytest.mark.parametrize(("size", "depth", "positions"), [(3, 3, 12), (4, 3, 4), (5, 2, 4), (5, 1, 6)])
def test_the_value_is_minimaxs(size: int, depth: int, positions: int, rules: str, table: bool) -> None:
    for seed in range(positions):
        state = random_position(size, rules, seed)
        found = AlphaBetaSearch(area, table=table).run(state, depth)
        assert found.value == minimax_value(state, depth), f"seed {seed}\n{state}"


def test_the_value_is_minimaxs_by_influence_too() -> None:
    for seed in range(4):
        state = random_position(4, "chinese", seed)
        found = AlphaBetaSearch(EVALUATIONS["influence"]).run(state, 3)
        assert found.value == minimax_value(state, 3, "influence")


@pytest.mark.parametrize("rules", ["japanese", "chinese", "new-zealand"])
def test_the_table_changes_nothing_but_the_work(rules: str) -> None:
    saved = 0
    for seed in range(6):
        state = random_position(4, rules, seed)
        with_table = AlphaBetaSearch(area).run(state, 5)
        without = AlphaBetaSearch(area, table=False).run(state, 5)
        assert with_table.value == without.value, f"seed {seed}\n{state}"
        saved += without.nodes - with_table.nodes
    assert saved > 0


def test_pruning_is_worth_it() -> None:
    state, budget = GameState.new(4, "chinese"), Budget()
    minimax(state, 3, area, budget)
    assert AlphaBetaSearch(area).run(state, 3).nodes < budget.nodes / 3


def test_every_value_at_the_root_is_exact() -> None:
    state = random_position(4, "chinese", 3)
    for move, value in AlphaBetaSearch(area).run(state, 3).values.items():
        assert value == -minimax_value(state.play(move), 2)


def test_the_line_leads_to_the_value() -> None:
    """Without a table the line is whole: at its end stands the value that was promised."""
    for seed in range(10):
        start = state = random_position(4, "japanese", seed)
        found = AlphaBetaSearch(area, table=False).run(start, 4)
        assert found.move == found.pv[0]
        for move in found.pv:
            state = state.play(move)
        end = area(state) if not state.is_over else minimax_value(state, 0)
        assert found.value == (end if state.to_play == start.to_play else -end)


def test_2x2_is_solved_black_wins_by_one_point() -> None:
    found = AlphaBetaSearch(area).run(GameState.new(2, "tromp-taylor", komi=0))
    assert found.solved
    assert found.value == 1


@pytest.mark.long
def test_2x2_is_solved_beyond_doubt_without_a_table() -> None:
    found = AlphaBetaSearch(area, table=False).run(GameState.new(2, "tromp-taylor", komi=0))
    assert found.solved
    assert found.value == 1


def test_3x3_belongs_to_black_whole_after_the_centre() -> None:
    state = GameState.new(3, "tromp-taylor", komi=0).play(from_gtp("B2", 3))
    for depth in (12, 13, 14):
        assert AlphaBetaSearch(area).run(state, depth).value == -9


@pytest.mark.parametrize("reply", ["A3", "B3"])
def test_3x3_no_reply_lives_against_the_centre(reply: str) -> None:
    state = GameState.new(3, "tromp-taylor", komi=0).play(from_gtp("B2", 3)).play(from_gtp(reply, 3))
    found = AlphaBetaSearch(area, table=False).run(state, 12)
    assert found.value == 9


@pytest.mark.parametrize("komi", [8.5, 9.5])
def test_3x3_komi_moves_the_result(komi: float) -> None:
    state = GameState.new(3, "tromp-taylor", komi=komi).play(from_gtp("B2", 3))
    assert AlphaBetaSearch(area).run(state, 12).value == komi - 9


class Ticks:
    """A clock that moves on by one at each look."""

    def __init__(self) -> None:
        self.now = itertools.count()

    def __call__(self) -> float:
        return float(next(self.now))


@pytest.mark.parametrize("seconds", [1, 7, 100, 1000])
def test_a_deadline_stops_the_search_at_the_next_node(seconds: int) -> None:
    budget = Budget(seconds, clock=Ticks())
    found = AlphaBetaSearch(area, budget).run(GameState.new(9, "chinese"))
    assert budget.nodes == found.nodes == seconds - 1
    assert GameState.new(9, "chinese").is_legal(found.move)


def test_a_node_limit_is_never_exceeded() -> None:
    for limit in (0, 1, 50, 777):
        budget = Budget(nodes=limit)
        found = AlphaBetaSearch(area, budget).run(GameState.new(5, "simple-go"))
        assert found.nodes == limit
        assert found.move != PASS


def test_without_time_for_a_single_node_there_is_still_a_sensible_move() -> None:
    found = AlphaBetaSearch(area, Budget(0.0)).run(GameState.new(9, "chinese"))
    assert (found.move, found.value, found.depth) == (from_gtp("E5", 9), None, 0)


def test_an_unfinished_depth_never_worsens_the_move() -> None:
    """The best move of the last depth comes first, so what is cut short can only improve on it."""
    state = random_position(5, "chinese", 11)
    full = AlphaBetaSearch(area).run(state, 2)
    cut = AlphaBetaSearch(area, Budget(nodes=full.nodes + 1)).run(state, 3)
    assert (cut.move, cut.value, cut.depth) == (full.move, full.value, 2)


def test_a_finished_game_has_no_move_to_find() -> None:
    state = GameState.new(5, "chinese").play(PASS).play(PASS)
    assert AlphaBetaSearch(area).run(state, 3).move == PASS


def test_depth_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        AlphaBetaSearch(area).run(GameState.new(5), 0)
