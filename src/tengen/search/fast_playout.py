"""Playouts by the fast policy: whole games in which every move is drawn from it, at a few microseconds a move.

The static factors of all moves go on from move to move (`fast_tracker`); features of the last two moves are multiplied
in when a move is drawn. As in other playouts nobody fills eyes, commits suicide or retakes a ko at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.board import KO, NO_CELL, TO_PLAY, cell_count
from tengen.games.xorshift import next_random
from tengen.search.fast_policy import NEAR, RESCUE, RESCUES, find_rescues, response_feature, response_key
from tengen.search.fast_shapes import OFFSETS, REACH
from tengen.search.fast_tracker import LANES, blocks_of, play_tracked


class DrawRoom(NamedTuple):
    """Scratch room for drawing a move; cells in whole blocks of LANES are Q."""

    weights: NDArray[np.float32]  # [Q]
    sums: NDArray[np.float32]  # [Q / LANES] of the weights of a block
    around: NDArray[np.uint16]  # [P, OFFSETS] the cells around a cell, row by row; NO_CELL off the board
    answers: NDArray[np.int64]  # [OFFSETS + 1] the offsets of moves around the last one
    rescues: NDArray[np.int64]  # [RESCUES, 2]


def new_draw_room(size: int) -> DrawRoom:
    """Scratch room for boards of this size."""
    cells, stride = blocks_of(size), size + 1
    around = np.zeros((cell_count(size), OFFSETS), np.uint16)
    for row in range(1, stride):
        for col in range(1, stride):
            square = [(r, c) for r in range(row - REACH, row + REACH + 1) for c in range(col - REACH, col + REACH + 1)]
            around[row * stride + col] = [
                r * stride + c if 1 <= r <= size and 1 <= c <= size else NO_CELL for r, c in square
            ]
    return DrawRoom(
        np.zeros(cells, np.float32),
        np.zeros(cells // LANES, np.float32),
        around,
        np.zeros(OFFSETS + 1, np.int64),
        np.zeros((RESCUES, 2), np.int64),
    )


# --------------------------------------------------------------------------------------------- kernels


@kernel(inline=True, fastmath={"reassoc", "nsz", "contract"})
def weigh_moves(board, tracker, tables, factors, last, before, color, room):  # type: ignore[no-untyped-def]
    """Write the weight of every move of `color` to room.weights: float32[Q], sums to room.sums; returns the total.

    A move's probability is its weight over the total. `last` is the opponent's last move, `before` the player's own.
    """
    u = np.uint64
    weights, windows, out = tracker.weights[color - 1], factors.windows, room.weights
    one, two = u(factors.starts[u(0), u(last)]), u(factors.starts[u(1), u(before)])
    for p in range(u(out.shape[0])):
        out[p] = weights[p] * windows[one + p] * windows[two + p]
    if last != NO_CELL:
        _weigh_answers(board, tracker, tables, factors, last, color, room)
    out[u(board.info[KO])] = 0  # of NO_CELL it is 0 in any case
    total = np.float32(0.0)
    for block in range(u(room.sums.shape[0])):
        sum_ = np.float32(0.0)
        for p in range(block * u(LANES), block * u(LANES) + u(LANES)):
            sum_ += out[p]
        room.sums[block] = sum_
        total += sum_
    return total


@kernel(inline=True)
def _weigh_answers(board, tracker, tables, factors, last, color, room):  # type: ignore[no-untyped-def]
    """Multiply in what answers to the last move have of their own."""
    u = np.uint64
    weights, table = room.weights, factors.table
    key, turn, second, own = response_key(board, tracker.scene.classes, tables, last, color)
    count = u(0)
    for offset in range(u(OFFSETS)):
        room.answers[count] = offset
        count += u(weights[room.around[u(last), offset]] > 0)
    for i in range(count):
        offset = room.answers[i]
        p = room.around[u(last), u(offset)]
        response = response_feature(tables, key, turn, second, own, offset)
        near = NEAR + np.int64(tracker.shapes[u(color - 1), p])
        weights[p] *= table[u(response)] * table[u(near)]
    for i in range(find_rescues(board, last, color, room.rescues)):
        weights[u(room.rescues[i, 0])] *= table[u(RESCUE + room.rescues[i, 1])]


@kernel(inline=True)
def draw_move(room, total, state):  # type: ignore[no-untyped-def]
    """A cell drawn by the weights in the room, or NO_CELL if none has any; state: a fresh random uint64."""
    u = np.uint64
    if not total > 0:
        return np.int64(NO_CELL)
    left = np.float32(np.float64(state >> u(11)) * 2.0**-53) * total
    block, last = u(0), u(room.sums.shape[0] - 1)
    while block < last and left >= room.sums[block]:
        left -= room.sums[block]
        block += u(1)
    found = np.int64(NO_CELL)
    for p in range(block * u(LANES), block * u(LANES) + u(LANES)):
        if room.weights[p] > 0:
            found = np.int64(p)
            left -= room.weights[p]
            if left < 0:
                return found
    if found == NO_CELL:  # rounding carried us past the end
        for p in range(u(room.weights.shape[0])):
            if room.weights[p] > 0:
                found = np.int64(p)
    return found


@kernel
def run_fast_playout(  # type: ignore[no-untyped-def]
    board, tracker, tables, factors, last, before, flags, limit, room, state
):
    """Play `board`, which the tracker tracks, to its end or for `limit` moves, in place.

    Returns (random state, moves played).
    """
    color = board.info[TO_PLAY]
    passes = 0
    moves = 0
    while passes < 2 and moves < limit:
        state = next_random(state)
        total = weigh_moves(board, tracker, tables, factors, last, before, color, room)
        p = draw_move(room, total, state)
        if p == NO_CELL:
            passes += 1
            board.info[KO] = NO_CELL
        else:
            passes = 0
            play_tracked(board, tracker, tables, factors, flags, p, color)
        before, last = last, p
        color = 3 - color
        moves += 1
    board.info[TO_PLAY] = color
    return state, moves
