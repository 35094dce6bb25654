"""Playouts by the fast policy: whole games in which every move is drawn from it, at a few microseconds a move.

The static factors of all moves go on from move to move (`fast_tracker`); features of the last two moves are multiplied
in when a move is drawn. As in other playouts nobody fills eyes, commits suicide or retakes a ko at once.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tengen.games.go.board import EMPTY, KO, NO_CELL, SIZE, TO_PLAY, cell_count, copy_board
from tengen.games.go.playout import add_quick_owners
from tengen.games.xorshift import next_random
from tengen.search.fast_policy import NEAR, RESCUE, RESCUES, find_rescues, response_feature, response_key
from tengen.search.fast_shapes import REACH
from tengen.search.fast_tracker import FAR, SPAN, play_tracked, track


class DrawRoom(NamedTuple):
    """Scratch room for drawing a move."""

    weights: NDArray[np.float32]  # [P]
    rows: NDArray[np.float32]  # [rows of the padded grid]
    rescues: NDArray[np.int64]  # [RESCUES, 2]


def new_draw_room(size: int) -> DrawRoom:
    """Scratch room for boards of this size."""
    return DrawRoom(
        np.zeros(cell_count(size), np.float32), np.zeros(size + 2, np.float32), np.zeros((RESCUES, 2), np.int64)
    )


# --------------------------------------------------------------------------------------------- kernels


@njit(cache=True, nogil=True, forceinline=True, fastmath={"reassoc", "nsz", "contract"})
def weigh_moves(board, tracker, tables, factors, last, before, color, room):  # type: ignore[no-untyped-def]
    """Write the weight of every move of `color` to room.weights: float32[P], sums to room.rows; returns the total.

    A move's probability is its weight over the total. `last` is the opponent's last move, `before` the player's own.
    """
    u = np.uint64
    size = board.info[SIZE]
    stride = size + 1
    weights, windows, out = tracker.weights[color - 1], factors.windows, room.weights
    one = _window_start(1, last, stride)
    two = _window_start(2, before, stride)
    for row in range(1, stride):
        start = u(row * stride + 1)
        for i in range(u(size)):
            out[start + i] = weights[start + i] * windows[one + i] * windows[two + i]
        one += u(SPAN)
        two += u(SPAN)
    if last != NO_CELL:
        _weigh_answers(board, tracker, tables, factors, last, color, room)
    if board.info[KO] != NO_CELL:
        room.weights[board.info[KO]] = 0
    total = np.float32(0.0)
    for row in range(1, stride):
        start = u(row * stride + 1)
        sum_ = np.float32(0.0)
        for i in range(u(size)):
            sum_ += out[start + i]
        room.rows[row] = sum_
        total += sum_
    return total


@njit(cache=True, nogil=True, forceinline=True)
def _window_start(kind, move, stride):  # type: ignore[no-untyped-def]
    """Where in `Factors.windows` the factor of the first point of the board lies, seen from `move`."""
    if move == NO_CELL:
        return np.uint64(0)
    return np.uint64((kind * SPAN + 1 - move // stride + FAR) * SPAN + 1 - move % stride + FAR)


@njit(cache=True, nogil=True, forceinline=True)
def _weigh_answers(board, tracker, tables, factors, last, color, room):  # type: ignore[no-untyped-def]
    """Multiply in what answers to the last move have of their own."""
    u = np.uint64
    size = board.info[SIZE]
    stride = size + 1
    key, turn, second, own = response_key(board, tracker.scene.classes, tables, last, color)
    shapes = tracker.shapes[color - 1]
    row, col = last // stride, last % stride
    for r in range(max(1, row - REACH), min(size, row + REACH) + 1):
        offset = (r - row + REACH) * (2 * REACH + 1) - col + REACH
        for c in range(max(1, col - REACH), min(size, col + REACH) + 1):
            p = r * stride + c
            if room.weights[u(p)] > 0:
                response = response_feature(tables, key, turn, second, own, offset + c)
                near = NEAR + np.int64(shapes[u(p)])
                room.weights[u(p)] *= factors.table[u(response)] * factors.table[u(near)]
    for i in range(find_rescues(board, last, color, room.rescues)):
        room.weights[u(room.rescues[i, 0])] *= factors.table[u(RESCUE + room.rescues[i, 1])]


@njit(cache=True, nogil=True, forceinline=True)
def draw_move(board, room, total, state):  # type: ignore[no-untyped-def]
    """A cell drawn by the weights in the room, or NO_CELL if none has any; state: a fresh random uint64."""
    u = np.uint64
    if not total > 0:
        return np.int64(NO_CELL)
    size = board.info[SIZE]
    stride = size + 1
    left = np.float32(np.float64(state >> u(11)) * 2.0**-53) * total
    found = np.int64(NO_CELL)
    for row in range(1, stride):
        if left >= room.rows[row] and found == NO_CELL and row < size:
            left -= room.rows[row]
            continue
        for p in range(row * stride + 1, row * stride + 1 + size):
            if room.weights[u(p)] > 0:
                found = np.int64(p)
                left -= room.weights[u(p)]
                if left < 0:
                    return found
    if found == NO_CELL:  # rounding carried us past the end
        for p in range(stride, stride * stride):
            if room.weights[u(p)] > 0:
                found = np.int64(p)
    return found


@njit(cache=True, nogil=True)
def run_fast_playout(  # type: ignore[no-untyped-def]
    board, tracker, tables, factors, last, before, flags, room, first_player, state
):
    """Play `board`, which the tracker tracks, to its end, in place, noting who plays first on each cell.

    first_player: uint8[P] holds EMPTY where nobody has played yet. Returns (random state, moves played).
    """
    size = board.info[SIZE]
    limit = 3 * size * size
    color = board.info[TO_PLAY]
    passes = 0
    moves = 0
    while passes < 2 and moves < limit:
        state = next_random(state)
        total = weigh_moves(board, tracker, tables, factors, last, before, color, room)
        p = draw_move(board, room, total, state)
        if p == NO_CELL:
            passes += 1
            board.info[KO] = NO_CELL
        else:
            passes = 0
            play_tracked(board, tracker, tables, factors, flags, p, color)
            if first_player[p] == EMPTY:
                first_player[p] = color
        before, last = last, p
        color = 3 - color
        moves += 1
    board.info[TO_PLAY] = color
    return state, moves


@njit(cache=True, nogil=True)
def fast_playouts(  # type: ignore[no-untyped-def]
    board, scratch, tracker, tables, factors, flags, room, first_player, ownership, count, rng
):
    """Play `count` playouts from `board` and add their ends to ownership: int64[P], as `playouts` does with light ones.

    Returns (sum of area scores, moves played).
    """
    state = rng[0]
    total = 0
    moves = 0
    for _ in range(count):
        copy_board(board, scratch)
        track(scratch, tracker, tables, factors, flags)
        first_player[:] = EMPTY
        state, n = run_fast_playout(
            scratch, tracker, tables, factors, NO_CELL, NO_CELL, flags, room, first_player, state
        )
        moves += n
        total += add_quick_owners(scratch, ownership)
    rng[0] = state
    return total, moves
