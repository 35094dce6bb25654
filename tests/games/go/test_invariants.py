"""What must hold after every move: the arrays of a board against a slow rebuild, symmetry, immutability,
and that thousands of games in lock-step are the same games.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, RULES, WHITE, get_rules
from tengen.games.go.board import (
    BORDER,
    EMPTY_COUNT,
    MOVES,
    PASSES,
    SIZE,
    TO_PLAY,
    Board,
    atari_cell,
    board_at,
    is_only_liberty,
    new_boards,
    weight,
)
from tengen.games.go.coordinates import from_policy, to_policy
from tengen.games.go.legality import legal_policies, play_policies
from tengen.games.go.score import areas

from .diagrams import beside, cell_of, liberties_of, point_of, stones_of, strings_of
from .positions import choices, every_rule_set, pick, random_game, states_of_game


def check_board(board: Board) -> None:
    """Every array of the board says what flood fill finds on the stones alone."""
    size = int(board.info[SIZE])
    stones = stones_of(board)
    for string in strings_of(stones, size):
        check_string(board, size, string, liberties_of(stones, string, size))
    empties = set(board.empties[: board.info[EMPTY_COUNT]].tolist())
    assert empties == set(np.flatnonzero(board.color == EMPTY).tolist())
    assert all(board.empties[board.slot[cell]] == cell for cell in empties)
    assert np.sum(board.color != BORDER) == size * size


def check_string(board: Board, size: int, string: frozenset[tuple[int, int]], liberties: set[tuple[int, int]]) -> None:
    cells = {cell_of(board, point) for point in string}
    heads = {int(board.head[cell]) for cell in cells}
    assert len(heads) == 1 and heads <= cells
    head = heads.pop()
    walked = [head]
    while (following := int(board.next[walked[-1]])) != head:
        walked.append(following)
        assert len(walked) <= len(cells)
    assert set(walked) == cells
    packed = int(board.liberties[head])
    touching = [q for p in string for q in beside(p, size) if q in liberties]
    assert packed == sum(weight(cell_of(board, q)) for q in touching)
    only = cell_of(board, next(iter(liberties))) if len(liberties) == 1 else 0
    assert atari_cell(packed) == only
    for liberty in liberties:
        assert is_only_liberty(packed, cell_of(board, liberty)) == (len(liberties) == 1)


def check_prisoners(states: list[go.State]) -> None:
    """Every stone played stands on the board or is somebody's prisoner."""
    for state in states:
        for color in (BLACK, WHITE):
            played = sum(mover == color and move != PASS for mover, move in state.moves)
            captured = state.captures[WHITE - color]  # black stones are White's prisoners
            assert played == int(np.sum(state.stones == color)) + captured


@given(st.integers(2, 6), every_rule_set, choices)
def test_strings_liberties_and_empties_are_kept_right(size: int, rules: str, numbers: list[int]) -> None:
    states = states_of_game(size, rules, numbers)
    for state in states:
        check_board(state.board)
    check_prisoners(states[-1:])


@pytest.mark.parametrize("size", [2, 3, 5, 9, 13, 19, 25])
def test_strings_liberties_and_empties_are_kept_right_in_long_games(size: int) -> None:
    for rules in ("tromp-taylor", "simple-go", "japanese"):
        states = random_game(size, rules, np.random.default_rng(size), 1000)
        for state in states[:: max(1, len(states) // 25)]:
            check_board(state.board)
        check_prisoners(states[-1:])


def test_the_packed_liberties_hold_the_longest_string_of_25x25() -> None:
    """A comb that covers the board: hundreds of stones, no bit of one sum runs into the next."""
    size = 25
    comb = [r * size + c for r in range(size) for c in range(size) if r == 0 or (c % 2 == 0 and r < size)]
    state = go.State.setup(size, "chinese", None, comb, ())
    check_board(state.board)
    ladder = [r * size + c for r in range(size) for c in range(size) if c == 0 or r % 3 != 2]
    state = go.State.setup(size, "chinese", None, ladder, ())
    check_board(state.board)


# ----------------------------------------------------------------------------------- symmetry, freezing


def symmetries(size: int) -> list[list[int]]:
    """For each of the eight symmetries, where every point goes."""
    grid = np.arange(size * size).reshape(size, size)
    turns = [np.rot90(grid, k) for k in range(4)]
    return [view.ravel().tolist() for turn in turns for view in (turn, turn.T)]


@given(st.integers(2, 6), every_rule_set, choices, st.integers(1, 7))
def test_a_turned_game_has_the_turned_legal_moves(size: int, rules: str, numbers: list[int], symmetry: int) -> None:
    goes_to = symmetries(size)[symmetry]
    state = turned = go.State.new(size, rules)
    for number in numbers:
        if state.is_over:
            break
        move = pick(state, number)
        state = state.play(move)
        turned = turned.play(move if move == PASS else goes_to[move])
        expected = sorted(PASS if m == PASS else goes_to[m] for m in state.legal_moves())
        assert sorted(turned.legal_moves()) == expected
        assert turned.captures == state.captures
        assert turned.score(dead=()) == state.score(dead=())


@given(st.integers(2, 5), choices)
def test_swapping_colours_swaps_everything(size: int, numbers: list[int]) -> None:
    state = go.State.setup(size, "tromp-taylor", 0, to_play=BLACK)
    swapped = go.State.setup(size, "tromp-taylor", 0, to_play=WHITE)
    for number in numbers:
        if state.is_over:
            break
        move = pick(state, number)
        state, swapped = state.play(move), swapped.play(move)
        assert swapped.legal_moves() == state.legal_moves()
        assert swapped.captures == state.captures[::-1]
        assert swapped.score() == -state.score()


def frozen(state: go.State) -> tuple[bytes, ...]:
    """All bytes of a state."""
    return (*(array.tobytes() for array in state.board), state.history.tobytes())


@given(st.integers(2, 5), every_rule_set, choices)
def test_playing_changes_nothing_in_earlier_states(size: int, rules: str, numbers: list[int]) -> None:
    states, snapshots = [go.State.new(size, rules)], []
    for number in numbers:
        state = states[-1]
        snapshots.append(frozen(state))
        if state.is_over:
            break
        for move in state.legal_moves():
            state.play(move)
        state.score(dead=())
        states.append(state.play(pick(state, number)))
        assert states[-1].previous is state
    for state, snapshot in zip(states, snapshots):
        assert frozen(state) == snapshot


@given(st.integers(2, 5), every_rule_set, choices)
def test_legal_moves_are_the_moves_that_can_be_played(size: int, rules: str, numbers: list[int]) -> None:
    for state in states_of_game(size, rules, numbers)[-2:]:
        legal = state.legal_moves()
        for move in [*range(size * size), PASS]:
            assert state.is_legal(move) == (move in legal)
            if not state.is_over:
                assert state.is_legal(move, 3 - state.to_play) == (state.with_to_play(3 - state.to_play).is_legal(move))


# ------------------------------------------------------------------------------------ games in lock-step


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(("size", "games", "moves"), [(3, 100, 30), (5, 200, 40), (9, 20, 120)])
def test_games_in_lock_step_are_the_same_games(rules: str, size: int, games: int, moves: int) -> None:
    rng, flags = np.random.default_rng(games), get_rules(rules).flags
    boards = new_boards(size, games)
    histories, lengths = np.zeros((games, moves + 1), np.int64), np.ones(games, np.int64)
    legal, area = np.empty((games, size * size + 1), np.bool_), np.empty(games, np.int64)
    states = [go.State.new(size, rules, komi=1.5) for _ in range(games)]
    for _ in range(moves):
        legal_policies(boards, flags, histories, lengths, legal)
        areas(boards, area)
        played = np.full(games, -1, np.int64)
        for i, state in enumerate(states):
            assert area[i] == np.sum(state.ownership(dead=()) == BLACK) - np.sum(state.ownership(dead=()) == WHITE)
            if state.is_over:
                continue
            assert [from_policy(int(k), size) for k in np.flatnonzero(legal[i])] == state.legal_moves()
            move = pick(state, int(rng.integers(10**6)))
            states[i], played[i] = state.play(move), to_policy(move, size)
        play_policies(boards, played, flags, histories, lengths)
    for i, state in enumerate(states):
        board = board_at(boards, i)
        assert np.array_equal(board.color, state.board.color)
        assert board.info.tolist() == state.board.info.tolist()
        assert np.array_equal(histories[i, : lengths[i]], state.history)


def test_a_game_left_alone_in_lock_step_stays_as_it_is() -> None:
    boards, lengths = new_boards(5, 2), np.ones(2, np.int64)
    play_policies(boards, np.array([-1, 25]), 0, np.zeros((2, 4), np.int64), lengths)
    assert lengths.tolist() == [1, 2]
    assert boards.info[:, MOVES].tolist() == [0, 1]
    assert boards.info[:, PASSES].tolist() == [0, 1]
    assert boards.info[:, TO_PLAY].tolist() == [BLACK, WHITE]


def test_points_of_the_two_boards_correspond() -> None:
    board = go.State.new(7).board
    for point in itertools.product(range(7), range(7)):
        assert point_of(board, cell_of(board, point)) == point
