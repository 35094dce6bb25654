"""The numbers of legal positions are John Tromp's (https://tromp.github.io/go/legal.html).

A position is legal if every string has a liberty. Counted twice: by colouring the board in every way and
letting the kernels place the stones, and by playing every legal move from the empty board.
"""

import itertools

import numpy as np
import pytest
from numba import njit

from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE, RuleSet
from tengen.games.go.board import (
    EMPTY,
    EMPTY_COUNT,
    PRISONERS_OF_BLACK,
    PRISONERS_OF_WHITE,
    Board,
    allocate,
    clear,
    new_board,
    place,
)

LEGAL_POSITIONS = {2: 57, 3: 12_675, 4: 24_318_165}


@njit
def count_legal(board: Board, size: int) -> int:
    """How many colourings of the board kernels can place stone by stone without a capture.

    Stones are only added, so a string that lacks a liberty half way has none in the end: the order is free.
    """
    points = size * size
    legal = 0
    for number in range(3**points):
        clear(board, size)
        rest, stones = number, 0
        for point in range(points):
            color = rest % 3
            rest //= 3
            if color != EMPTY:
                place(board, (point // size + 1) * (size + 1) + point % size + 1, color)
                stones += 1
                if board.info[PRISONERS_OF_BLACK] + board.info[PRISONERS_OF_WHITE] > 0:
                    break
        legal += board.info[EMPTY_COUNT] == points - stones
    return legal


@pytest.mark.parametrize("size", [2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_the_number_of_legal_positions_is_tromps(size: int) -> None:
    assert count_legal(allocate(size), size) == LEGAL_POSITIONS[size]


def test_setup_accepts_exactly_the_legal_positions_of_2x2() -> None:
    accepted = 0
    for colors in itertools.product((EMPTY, BLACK, WHITE), repeat=4):
        black = [point for point, color in enumerate(colors) if color == BLACK]
        white = [point for point, color in enumerate(colors) if color == WHITE]
        try:
            state = go.State.setup(2, "chinese", None, black, white)
        except ValueError:
            continue
        assert state.stones.ravel().tolist() == list(colors)
        accepted += 1
    assert accepted == LEGAL_POSITIONS[2]


def reachable(size: int, suicide: bool) -> set[bytes]:
    """Every position that play can reach if players may pass and nothing but suicide is forbidden."""
    free = RuleSet("free", "simple", suicide, "area", 0.0, removes_dead=False)
    found, edge = set(), [new_board(size).color]
    while edge:
        color = edge.pop()
        if color.tobytes() in found:
            continue
        found.add(color.tobytes())
        for to_play in (BLACK, WHITE):
            flat = color[: (size + 1) * (size + 2)].reshape(size + 2, size + 1)[1:-1, 1:].ravel()
            black, white = np.flatnonzero(flat == BLACK), np.flatnonzero(flat == WHITE)
            state = go.State.setup(size, free, None, black.tolist(), white.tolist(), to_play)
            edge += [state.play(move).board.color for move in state.legal_moves() if move != PASS]
    return found


@pytest.mark.parametrize("suicide", [True, False])
def test_every_legal_position_of_2x2_can_be_reached_by_play(suicide: bool) -> None:
    assert len(reachable(2, suicide)) == LEGAL_POSITIONS[2]


def test_every_legal_position_of_3x3_can_be_reached_by_play() -> None:
    assert len(reachable(3, suicide=False)) == LEGAL_POSITIONS[3]
