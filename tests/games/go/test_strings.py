"""Strings and liberties found by kernels are those that a flood fill finds."""

import numpy as np
import pytest

from tengen.games.go.board import SIZE, Board
from tengen.games.go.strings import liberty_cells, liberty_count, string_cells, two_liberties

from .diagrams import at, board_from, cell_of, liberties_of, point_of, random_boards, stones_of, strings_of


def cells_by(kernel: object, board: Board, stone: int) -> list[tuple[int, int]]:
    out = np.empty(board.color.shape[0], np.int64)
    count = kernel(board, stone, out)  # type: ignore[operator]
    return [point_of(board, int(cell)) for cell in out[:count]]


@pytest.mark.parametrize(("size", "every"), [(2, 1), (3, 2), (5, 5), (9, 20), (19, 200)])
@pytest.mark.parametrize("eyes", [True, False])
def test_strings_and_liberties_are_those_of_a_flood_fill(size: int, every: int, eyes: bool) -> None:
    for board in random_boards(size, games=3, seed=size, every=every, eyes=eyes):
        stones = stones_of(board)
        for string in strings_of(stones, size):
            liberties = liberties_of(stones, string, size)
            for point in string:
                stone = cell_of(board, point)
                assert sorted(cells_by(string_cells, board, stone)) == sorted(string)
                assert sorted(cells_by(liberty_cells, board, stone)) == sorted(liberties)
                for at_most in (1, 2, 3, 8, 1000):
                    assert liberty_count(board, stone, at_most) == min(len(liberties), at_most)
                count, a, b = two_liberties(board, stone)
                assert count == min(len(liberties), 3)
                assert count == 3 or {point_of(board, cell) for cell in (a, b) if cell} == liberties


def test_liberties_are_cut_off_at_the_end_of_a_short_array() -> None:
    board = board_from("""
        . . . . .
        . . X . .
        . X X X .
        . . X . .
        . . . . .
    """)
    assert board.info[SIZE] == 5
    out = np.full(5, -1, np.int64)
    assert liberty_cells(board, at(board, "C3"), out[:3]) == 3
    assert (out[:3] > 0).all() and (out[3:] == -1).all()
    assert len(set(cells_by(liberty_cells, board, at(board, "C3")))) == 8
