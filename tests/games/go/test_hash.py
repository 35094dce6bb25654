"""The hash kept up move by move is the hash of the stones; the hash before a move is the hash after it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, RULES, WHITE
from tengen.games.go.board import WHITE_TO_PLAY, ZOBRIST, cell_count
from tengen.games.go.coordinates import to_cell
from tengen.games.go.legality import hash_after, position_key
from tengen.games.go.rules import POSITIONAL, SITUATIONAL

from .positions import choices, every_rule_set, play_all, random_game, state_from, states_of_game


def from_scratch(state: go.State) -> int:
    """The XOR of the keys of all stones."""
    key = 0
    for point, color in enumerate(state.stones.ravel().tolist()):
        key ^= int(ZOBRIST[color, to_cell(point, state.size)])
    return key


def check_hashes(states: list[go.State]) -> None:
    for state in states:
        assert state.hash == from_scratch(state)
    for state, following in itertools.pairwise(states):
        move = following.last_move
        assert move is not None
        if move != PASS:
            assert hash_after(state.board, to_cell(move, state.size), state.to_play) == following.hash


@given(st.integers(2, 7), every_rule_set, choices)
def test_hashes_agree_in_any_game(size: int, rules: str, numbers: list[int]) -> None:
    check_hashes(states_of_game(size, rules, numbers))


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("size", [2, 3, 5, 9, 19, 25])
def test_hashes_agree_in_long_games_full_of_captures(size: int, rules: str) -> None:
    rng = np.random.default_rng(size)
    check_hashes(random_game(size, rules, rng, 300))


@pytest.mark.parametrize("rules", ["tromp-taylor", "chinese"])
def test_every_hash_after_a_legal_move_is_right(rules: str) -> None:
    """Also for the moves that are not chosen, suicides and captures of several strings among them."""
    suicides = multiple = 0
    for seed in range(6):
        for state in random_game(5, rules, np.random.default_rng(seed), 60):
            for move in state.legal_moves():
                if move == PASS:
                    continue
                after = state.play(move)
                assert hash_after(state.board, to_cell(move, 5), state.to_play) == after.hash
                suicides += after.color_at(move) == EMPTY
                multiple += int(np.abs(np.subtract(after.captures, state.captures)).sum()) > 1
    assert multiple > 20
    assert suicides > 20 or rules == "chinese"


def test_one_move_may_capture_a_string_that_it_touches_four_times() -> None:
    """A white ring around its last liberty comes off once, not four times."""
    state = state_from(
        """
        . X X X .
        X O O O X
        X O . O X
        X O O O X
        . X X X .
        """
    )
    after = play_all(state, "C3")
    assert after.captures == (8, 0)
    assert after.hash == from_scratch(after) == hash_after(state.board, to_cell(12, 5), BLACK)


def test_the_history_key_tells_players_apart_unless_repetition_is_by_position() -> None:
    assert position_key(5, BLACK, POSITIONAL) == position_key(5, WHITE, POSITIONAL) == 5
    for flags in (0, SITUATIONAL):
        assert position_key(5, BLACK, flags) == 5
        assert position_key(5, WHITE, flags) == 5 ^ WHITE_TO_PLAY


def test_keys_differ_and_the_empty_board_is_zero() -> None:
    cells = cell_count(25)
    assert len({*ZOBRIST[1:, :cells].ravel().tolist(), WHITE_TO_PLAY, 0}) == 2 * cells + 2
    assert not ZOBRIST[EMPTY].any()
    assert go.State.new(19).hash == 0


def test_hashes_mean_the_same_in_every_process() -> None:
    """They may be stored. If this fails, stored hashes (opening books, caches) have lost their meaning."""
    assert play_all(go.State.new(9), "E5 C3").hash == 8_057_412_138_432_071_591
