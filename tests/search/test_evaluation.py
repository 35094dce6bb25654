"""Evaluations: antisymmetric, blind to turning the board, and exact where they claim to be."""

import numpy as np
import pytest

from tengen.games.go import BLACK, PASS, WHITE, GameState, from_gtp
from tengen.search.evaluation import EVALUATIONS, area, chance, final_points, get_evaluation, influence


def random_stones(size: int, seed: int) -> tuple[list[int], list[int]]:
    """Stones of a random game."""
    rng = np.random.default_rng(seed)
    state = GameState.new(size, "japanese")
    for _ in range(int(rng.integers(1, size * size))):
        state = state.play(int(rng.choice(state.legal_moves()[:-1] or [PASS])))
        if state.is_over:
            break
    flat = state.stones.ravel()
    return np.flatnonzero(flat == BLACK).tolist(), np.flatnonzero(flat == WHITE).tolist()


@pytest.mark.parametrize("name", EVALUATIONS)
@pytest.mark.parametrize("size", [3, 5, 9, 13])
def test_colours_are_treated_alike(name: str, size: int) -> None:
    for seed in range(10):
        black, white = random_stones(size, seed)
        as_black = GameState.setup(size, "chinese", 0, black, white, BLACK)
        as_white = GameState.setup(size, "chinese", 0, white, black, WHITE)
        assert EVALUATIONS[name](as_black) == EVALUATIONS[name](as_white)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_turning_the_board_changes_nothing(name: str) -> None:
    size = 7

    def turned(stones: list[int]) -> list[int]:
        return [(point % size) * size + size - 1 - point // size for point in stones]

    for seed in range(10):
        black, white = random_stones(size, seed)
        here = GameState.setup(size, "chinese", 0, black, white, BLACK)
        there = GameState.setup(size, "chinese", 0, turned(black), turned(white), BLACK)
        assert EVALUATIONS[name](here) == EVALUATIONS[name](there)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_komi_and_handicap_count_against_black(name: str) -> None:
    evaluation = EVALUATIONS[name]
    assert evaluation(GameState.new(9, "chinese", komi=7.5)) == -7.5
    handicap = GameState.new(9, "chinese", komi=0.5, handicap=4)
    assert handicap.to_play == WHITE
    assert evaluation(handicap) == evaluation(handicap.with_komi(1.5)) - 1


def test_area_is_the_score_of_a_board_without_dead_stones() -> None:
    for seed in range(20):
        state = GameState.setup(6, "chinese", 0.5, *random_stones(6, seed), BLACK)
        assert area(state) == state.score(dead=())


def test_a_lone_stone_radiates_to_nothing_but_itself() -> None:
    centre = [from_gtp("K10", 19)]
    assert influence(GameState.setup(19, "chinese", 0, centre, (), BLACK)) == 1


def test_influence_sees_a_corner_that_area_does_not() -> None:
    black = [from_gtp(name, 9) for name in ("C3", "C4", "D3", "E3", "C5")]
    white = [from_gtp("G7", 9)]
    state = GameState.setup(9, "chinese", 0, black, white, BLACK)
    assert area(state) == len(black) - len(white)
    assert influence(state) > area(state) + 3


def test_influence_counts_out_what_can_be_captured_at_once() -> None:
    black, white = [from_gtp(name, 5) for name in ("B1", "A2", "B3")], [from_gtp("B2", 5)]
    in_reach = influence(GameState.setup(5, "chinese", 0, black, white, BLACK))
    to_escape = -influence(GameState.setup(5, "chinese", 0, black, white, WHITE))
    assert in_reach > to_escape


def test_final_points_are_seen_by_the_player_to_move() -> None:
    state = GameState.setup(3, "tromp-taylor", 0.5, [4], (), BLACK).play(PASS).play(PASS)
    assert final_points(state) == 8.5
    state = GameState.setup(3, "tromp-taylor", 0.5, [4], (), WHITE).play(PASS).play(PASS)
    assert final_points(state) == -8.5


def test_chances_are_chances() -> None:
    assert chance(0, 9) == 0.5
    assert 0 < chance(-20, 9) < chance(-1, 9) < 0.5 < chance(1, 9) < chance(20, 9) < 1
    assert chance(5, 5) > chance(5, 19)
    assert chance(3, 9) + chance(-3, 9) == pytest.approx(1)


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="choose from area, influence"):
        get_evaluation("magic")
