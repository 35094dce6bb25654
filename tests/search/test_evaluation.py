"""Evaluations of Go: antisymmetric, blind to turning the board, and exact where they claim to be."""

import numpy as np
import pytest

from tengen.games import go
from tengen.games.game import get_game
from tengen.games.go import BLACK, PASS, WHITE, from_gtp
from tengen.search.minimax import Evaluation

GO = get_game("go")


def evaluate(name: str, state: go.State) -> float:
    """Points, as the player to move sees them."""
    batch = GO.batch(GO.options_of(state))
    batch.use_evaluation(GO.evaluations.index(name))
    return Evaluation(batch)(state) / 100


def area(state: go.State) -> float:
    return evaluate("area", state)


def influence(state: go.State) -> float:
    return evaluate("influence", state)


def random_stones(size: int, seed: int) -> tuple[list[int], list[int]]:
    """Stones of a random game."""
    rng = np.random.default_rng(seed)
    state = go.State.new(size, "japanese")
    for _ in range(int(rng.integers(1, size * size))):
        state = state.play(int(rng.choice(state.legal_moves()[:-1] or [PASS])))
        if state.is_over:
            break
    flat = state.stones.ravel()
    return np.flatnonzero(flat == BLACK).tolist(), np.flatnonzero(flat == WHITE).tolist()


@pytest.mark.parametrize("name", GO.evaluations)
@pytest.mark.parametrize("size", [3, 5, 9, 13])
def test_colours_are_treated_alike(name: str, size: int) -> None:
    for seed in range(10):
        black, white = random_stones(size, seed)
        as_black = go.State.setup(size, "chinese", 0, black, white, BLACK)
        as_white = go.State.setup(size, "chinese", 0, white, black, WHITE)
        assert evaluate(name, as_black) == evaluate(name, as_white)


@pytest.mark.parametrize("name", GO.evaluations)
def test_turning_the_board_changes_nothing(name: str) -> None:
    size = 7

    def turned(stones: list[int]) -> list[int]:
        return [(point % size) * size + size - 1 - point // size for point in stones]

    for seed in range(10):
        black, white = random_stones(size, seed)
        here = go.State.setup(size, "chinese", 0, black, white, BLACK)
        there = go.State.setup(size, "chinese", 0, turned(black), turned(white), BLACK)
        assert evaluate(name, here) == evaluate(name, there)


@pytest.mark.parametrize("name", GO.evaluations)
def test_komi_and_handicap_count_against_black(name: str) -> None:
    assert evaluate(name, go.State.new(9, "chinese", komi=7.5)) == -7.5
    handicap = go.State.new(9, "chinese", komi=0.5, handicap=4)
    assert handicap.to_play == WHITE
    assert evaluate(name, handicap) == evaluate(name, handicap.with_komi(1.5)) - 1


def test_area_is_the_score_of_a_board_without_dead_stones() -> None:
    for seed in range(20):
        state = go.State.setup(6, "chinese", 0.5, *random_stones(6, seed), BLACK)
        assert area(state) == state.score(dead=())


def test_a_lone_stone_radiates_to_nothing_but_itself() -> None:
    centre = [from_gtp("K10", 19)]
    assert influence(go.State.setup(19, "chinese", 0, centre, (), BLACK)) == 1


def test_influence_sees_a_corner_that_area_does_not() -> None:
    black = [from_gtp(name, 9) for name in ("C3", "C4", "D3", "E3", "C5")]
    white = [from_gtp("G7", 9)]
    state = go.State.setup(9, "chinese", 0, black, white, BLACK)
    assert area(state) == len(black) - len(white)
    assert influence(state) > area(state) + 3


def test_influence_counts_out_what_can_be_captured_at_once() -> None:
    black, white = [from_gtp(name, 5) for name in ("B1", "A2", "B3")], [from_gtp("B2", 5)]
    in_reach = influence(go.State.setup(5, "chinese", 0, black, white, BLACK))
    to_escape = -influence(go.State.setup(5, "chinese", 0, black, white, WHITE))
    assert in_reach > to_escape


@pytest.mark.parametrize("rules", ["tromp-taylor", "japanese"])
def test_a_finished_game_is_worth_its_points_to_the_player_to_move(rules: str) -> None:
    for seed in range(10):
        black, white = random_stones(6, seed)
        for to_play in (BLACK, WHITE):
            state = go.State.setup(6, rules, 0.5, black, white, to_play).play(PASS).play(PASS)
            assert area(state) == state.score(dead=()) * (1 if to_play == BLACK else -1)


def test_dead_stones_in_unconditional_territory_come_off_a_finished_game() -> None:
    """White is alive by two one-point eyes and territory around; Black's stone within it is gone."""
    white = [from_gtp(name, 5) for name in "A2 B2 C2 C1 D2 D1 D3 A3 B3 C3 E3 E2".split()]
    state = go.State.setup(5, "chinese", 0.5, [from_gtp("A1", 5)], white, BLACK).play(PASS).play(PASS)
    assert area(state) == -25.5


def test_a_japanese_game_without_result_is_worth_nothing() -> None:
    state = go.State.new(2, "japanese", 0.5)
    rng = np.random.default_rng(3)
    while not (state.is_over and state.end_reason == "repetition"):
        state = go.State.new(2, "japanese", 0.5) if state.is_over else state
        state = state.play(int(rng.choice(state.legal_moves())))
    assert area(state) == 0
