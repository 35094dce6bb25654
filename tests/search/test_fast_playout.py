"""Playouts by the fast policy: what is tracked from move to move is what a fresh look at the board finds."""

import numpy as np
import pytest

from tengen.games.go import BLACK, WHITE
from tengen.games.go.board import (
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    NO_CELL,
    TO_PLAY,
    Board,
    cell_count,
    new_board,
)
from tengen.games.go.coordinates import to_cell
from tengen.games.go.legality import is_breathing, play_move
from tengen.games.go.playout import is_eye
from tengen.games.go.rules import TERRITORY_KEPT
from tengen.games.kernels import next_random
from tengen.search.fast_playout import (
    Tracker,
    copy_tracker,
    draw_move,
    new_draw_room,
    new_tracker,
    play_tracked,
    run_fast_playout,
    track,
    weigh_moves,
)
from tengen.search.fast_policy import WEIGHTS, FastPolicy, last_cells
from tengen.search.fast_shapes import shape_tables

from ..encode.games import guided_game

TABLES = shape_tables()


def some_policy(seed: int = 1, spread: float = 1.0) -> FastPolicy:
    return FastPolicy(np.random.default_rng(seed).normal(scale=spread, size=WEIGHTS).astype(np.float32))


def assert_up_to_date(board: Board, tracker: Tracker, policy: FastPolicy, flags: int, size: int) -> None:
    fresh = new_tracker(size)
    track(board, fresh, TABLES, policy.factors(size), flags)
    assert np.array_equal(tracker.weights, fresh.weights)
    on_board, empty = board.color != BORDER, board.color == EMPTY
    assert np.array_equal(tracker.shapes[:, empty], fresh.shapes[:, empty])
    around = fresh.scene.crowd_cells[on_board]
    assert np.array_equal(tracker.scene.crowd[around], fresh.scene.crowd[around])
    heads = board.head[on_board & ~empty]
    assert np.array_equal(tracker.scene.classes[heads], fresh.scene.classes[heads])


@pytest.mark.parametrize(("size", "games"), [(2, 20), (3, 20), (5, 20), (9, 6), (19, 1), (25, 1)])
@pytest.mark.parametrize("flags", [0, TERRITORY_KEPT])
def test_tracking_agrees_with_a_fresh_look_all_game_long(size: int, games: int, flags: int) -> None:
    policy = some_policy()
    tracker, room, random = new_tracker(size), new_draw_room(size), np.uint64(size)
    captures = 0
    for _ in range(games):
        board = new_board(size)
        track(board, tracker, TABLES, policy.factors(size), flags)
        last = before = NO_CELL
        color, passes = BLACK, 0
        for _ in range(2 * size * size):
            random = next_random(np.uint64(random))
            total = weigh_moves(board, tracker, TABLES, policy.factors(size), last, before, color, room)
            p = draw_move(room, total, np.uint64(random))
            if p == NO_CELL:
                play_move(board, NO_CELL, color)
            else:
                empties = board.info[EMPTY_COUNT]
                play_tracked(board, tracker, TABLES, policy.factors(size), flags, p, color)
                captures += board.info[EMPTY_COUNT] >= empties
                assert_up_to_date(board, tracker, policy, flags, size)
            before, last, color = last, p, 3 - color
            passes = passes + 1 if p == NO_CELL else 0
            if passes == 2:
                break
    assert captures > 0


@pytest.mark.parametrize("size", [3, 5, 9])
def test_weights_are_exponentials_of_scores(size: int) -> None:
    policy, room, tracker = some_policy(spread=0.5), new_draw_room(size), new_tracker(size)
    for seed in range(3):
        for state in guided_game(size, seed)[:-1]:
            track(state.board, tracker, TABLES, policy.factors(size), 0)
            total = weigh_moves(
                state.board, tracker, TABLES, policy.factors(size), *last_cells(state), state.to_play, room
            )
            expected = np.zeros(cell_count(size))
            for move, score in policy.scores(state).items():
                if move >= 0 and not is_eye(state.board, to_cell(move, size), state.to_play, 0):
                    expected[to_cell(move, size)] = np.exp(score)
            np.testing.assert_allclose(room.weights[: cell_count(size)], expected, rtol=1e-4, atol=1e-6)
            assert total == pytest.approx(expected.sum(), rel=1e-4)
            assert room.sums.sum() == pytest.approx(expected.sum(), rel=1e-4)


def test_moves_are_drawn_as_often_as_they_weigh() -> None:
    size, policy = 3, some_policy(spread=0.7)
    room, tracker, board = new_draw_room(size), new_tracker(size), new_board(size)
    track(board, tracker, TABLES, policy.factors(size), 0)
    total = weigh_moves(board, tracker, TABLES, policy.factors(size), NO_CELL, NO_CELL, BLACK, room)
    draws = np.zeros(cell_count(size))
    for random in np.random.default_rng(4).integers(0, 2**64, 20_000, np.uint64):
        draws[draw_move(room, total, random)] += 1
    np.testing.assert_allclose(draws / 20_000, room.weights[: cell_count(size)] / total, atol=0.02)


def test_the_last_random_number_still_finds_a_move() -> None:
    size, policy = 9, some_policy(spread=2.0)
    room, tracker, board = new_draw_room(size), new_tracker(size), new_board(size)
    track(board, tracker, TABLES, policy.factors(size), 0)
    total = weigh_moves(board, tracker, TABLES, policy.factors(size), NO_CELL, NO_CELL, WHITE, room)
    for random in (0, 2**64 - 1):
        p = draw_move(room, total, np.uint64(random))
        assert board.color[p] == EMPTY and p != NO_CELL
    assert draw_move(room, total * 1.01, np.uint64(2**64 - 1)) != NO_CELL
    room.weights[:], room.sums[:] = 0, 0
    assert draw_move(room, np.float32(0), np.uint64(5)) == NO_CELL


@pytest.mark.parametrize("size", [3, 5, 9])
def test_playouts_end_with_nothing_left_to_play(size: int) -> None:
    policy, tracker, room = some_policy(), new_tracker(size), new_draw_room(size)
    board = new_board(size)
    track(board, tracker, TABLES, policy.factors(size), 0)
    random, moves = run_fast_playout(
        board, tracker, TABLES, policy.factors(size), NO_CELL, NO_CELL, 0, 3 * size * size, room, np.uint64(9)
    )
    assert moves < 3 * size * size
    for p in np.flatnonzero(board.color == EMPTY).tolist():
        for color in (BLACK, WHITE):
            assert is_eye(board, p, color, 0) or not is_breathing(board, p, color)
    assert random != 9


def test_a_playout_ends_at_its_limit() -> None:
    size, policy = 9, some_policy()
    tracker, room, board = new_tracker(size), new_draw_room(size), new_board(size)
    track(board, tracker, TABLES, policy.factors(size), 0)
    _, moves = run_fast_playout(
        board, tracker, TABLES, policy.factors(size), NO_CELL, NO_CELL, 0, 7, room, np.uint64(9)
    )
    assert moves == 7 and board.info[TO_PLAY] == WHITE
    assert board.info[EMPTY_COUNT] == size * size - 7


def test_a_copied_tracker_goes_its_own_way() -> None:
    size, policy = 5, some_policy()
    state = guided_game(size, 1)[10]
    board, tracker, other = state.board, new_tracker(size), new_tracker(size)
    track(board, tracker, TABLES, policy.factors(size), 0)
    copy_tracker(tracker, other)
    kept = tracker.weights.copy()
    move = next(m for m in state.legal_moves() if m >= 0)
    after = state.play(move).board
    scratch = Board(*(field.copy() for field in board))
    play_tracked(scratch, other, TABLES, policy.factors(size), 0, to_cell(move, size), int(board.info[TO_PLAY]))
    assert np.array_equal(scratch.color, after.color)
    assert_up_to_date(scratch, other, policy, 0, size)
    assert np.array_equal(tracker.weights, kept)
