"""Playouts, light and guided: every move legal, tactics as a slow board sees them, ends counted exactly."""

import itertools

import numpy as np
import pytest

from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    KO,
    NO_CELL,
    SIZE,
    TO_PLAY,
    WHITE,
    Board,
    allocate,
    atari_cell,
    copy_board,
    new_board,
    place,
)
from tengen.games.go.legality import LEGAL, local_verdict
from tengen.games.go.playout import (
    CANDIDATES,
    PATTERN_3X3,
    add_quick_owners,
    fits_pattern,
    guided_move,
    is_eye,
    is_playable,
    is_self_atari,
    playouts,
    run_guided_playout,
    run_playout,
    surroundings,
)
from tengen.games.go.score import area

from .diagrams import at, board_from, cell_of, liberties_of, point_of, random_boards, stones_of, strings_of


def empty_cells(board: Board) -> list[int]:
    return [int(cell) for cell in board.empties[: board.info[EMPTY_COUNT]]]


def played(board: Board, cell: int, color: int) -> Board:
    after = allocate(int(board.info[SIZE]))
    copy_board(board, after)
    place(after, cell, color)
    return after


@pytest.mark.parametrize("size", [5, 9, 19])
def test_light_playouts_end_with_one_point_regions_and_count_them_exactly(size: int) -> None:
    board, state = new_board(size), np.uint64(7)
    for _ in range(20):
        scratch = allocate(size)
        copy_board(board, scratch)
        state, moves = run_playout(scratch, 0, np.zeros_like(board.color), np.uint64(state))
        assert size * size // 2 < moves <= 3 * size * size
        if moves < 3 * size * size:
            ownership = np.zeros(len(board.color), np.int64)
            assert area(scratch) == add_quick_owners(scratch, ownership) == ownership.sum()


def test_playouts_are_fair_and_seeded() -> None:
    board = new_board(9)

    def total(seed: int) -> int:
        rng = np.array([seed], np.uint64)
        ownership = np.zeros(len(board.color), np.int64)
        score, _ = playouts(board, allocate(9), 0, np.empty_like(board.color), ownership, 2000, rng)
        assert score == ownership.sum()
        return int(score)

    assert total(5) == total(5) != total(6)
    assert 0 < total(5) / 2000 < 5, "the first move is worth two points or so in random play"


def test_first_player_is_who_really_played_first() -> None:
    board, first_player = new_board(5), np.zeros(43, np.uint8)
    run_playout(board, 0, first_player, np.uint64(3))
    stones = [cell for cell in range(43) if board.color[cell] in (BLACK, WHITE)]
    assert stones and all(first_player[cell] in (BLACK, WHITE) for cell in stones)
    assert all(first_player[cell] == EMPTY for cell in range(43) if board.color[cell] == BORDER)


@pytest.mark.parametrize("size", [4, 7, 9])
def test_guided_moves_are_legal_and_fill_no_eye(size: int) -> None:
    found, state = np.empty(CANDIDATES, np.int64), np.uint64(11)
    for game in range(30):
        board, last, before, passes = new_board(size), NO_CELL, NO_CELL, 0
        for _ in range(3 * size * size):
            color = int(board.info[TO_PLAY])
            cell, state = guided_move(board, color, last, before, 0, found, np.uint64(state))
            if cell == NO_CELL:
                passes += 1
                board.info[KO] = NO_CELL
                if passes == 2:
                    break
            else:
                passes = 0
                assert local_verdict(board, cell, color, 0) == LEGAL, game
                assert not is_eye(board, cell, color, 0), game
                place(board, cell, color)
            before, last = last, cell
            board.info[TO_PLAY] = 3 - color


def test_self_atari_agrees_with_playing_it_out() -> None:
    checked = {True: 0, False: 0}
    for size in (5, 7, 9):
        for board in random_boards(size, games=6, seed=size, every=3):
            for cell, color in itertools.product(empty_cells(board), (BLACK, WHITE)):
                if not is_playable(board, cell, color, 0):
                    continue
                after = played(board, cell, color)
                captured = int((after.color == 3 - color).sum()) < int((board.color == 3 - color).sum())
                stones = stones_of(after)
                own = next(s for s in strings_of(stones, size) if point_of(after, cell) in s)
                slow = not captured and len(liberties_of(stones, own, size)) == 1
                assert is_self_atari(board, cell, color) == slow
                checked[slow] += 1
    assert min(checked.values()) > 300


def test_atari_cell_names_the_only_liberty() -> None:
    seen = 0
    for size in (5, 9, 19):
        for board in random_boards(size, games=3, seed=size, every=5):
            stones = stones_of(board)
            for string in strings_of(stones, size):
                liberties = liberties_of(stones, string, size)
                head = board.head[cell_of(board, next(iter(string)))]
                found = atari_cell(board.liberties[head])
                expected = cell_of(board, next(iter(liberties))) if len(liberties) == 1 else NO_CELL
                assert found == expected
                seen += len(liberties) == 1
    assert seen > 100


def test_a_stone_in_atari_is_captured_or_saved_at_once() -> None:
    """White has just put Black's two stones in atari: guided play answers there nearly every time."""
    board = board_from(
        """
        . . . . .
        . O O . .
        O X X . .
        . O O . .
        . . . . .
        """
    )
    found, state, answers = np.empty(CANDIDATES, np.int64), np.uint64(5), 0
    for _ in range(200):
        cell, state = guided_move(board, BLACK, at(board, "B4"), NO_CELL, 0, found, np.uint64(state))
        answers += cell == at(board, "D3")
    assert answers > 170


def test_patterns_are_symmetric_and_the_same_for_both_colours() -> None:
    exchange = [0, 2, 1, 3]

    def cells(code: int) -> list[int]:
        return [(code >> (2 * i)) & 3 for i in range(8)]

    def code(colors: list[int]) -> int:
        return sum(color << (2 * i) for i, color in enumerate(colors))

    rotation, mirror = [5, 3, 0, 6, 1, 7, 4, 2], [2, 1, 0, 4, 3, 7, 6, 5]
    for entry in np.flatnonzero(PATTERN_3X3)[::7]:
        around = cells(int(entry))
        assert PATTERN_3X3[code([around[i] for i in rotation])]
        assert PATTERN_3X3[code([around[i] for i in mirror])]
        assert PATTERN_3X3[code([exchange[color] for color in around])]
    assert 0.02 < PATTERN_3X3.mean() < 0.5


def test_hane_and_cut_fit_and_an_empty_board_does_not() -> None:
    board = board_from(
        """
        . . . . . .
        . X O X . .
        . . . . . .
        . . X O . .
        . . O . . .
        . . . . . .
        """
    )
    assert fits_pattern(board, at(board, "C4"))
    assert fits_pattern(board, at(board, "D2"))
    assert not fits_pattern(board, at(board, "F1"))
    assert surroundings(new_board(5), 20) == 0


def test_guided_playout_counts_like_any_other() -> None:
    for seed in range(1, 20):
        board = new_board(7)
        found = np.empty(CANDIDATES, np.int64)
        _, moves = run_guided_playout(board, NO_CELL, NO_CELL, 0, found, np.zeros_like(board.color), np.uint64(seed))
        assert 10 < moves <= 147
