"""The static factors of all moves on a board, kept up to date from move to move.

A *factor* is `exp` of a weight of the fast policy, so that features multiply. The products of static factors are kept
for both colours. After a move only these are looked at again: the points around stones that came or went, the
liberties of strings that have one or two of them now or had them before, and points whose crowd changed.

What a cell looks like is hard to predict, and the tables are larger than the processor's cache. So the loops here have
few branches, and first collect what is to be done: then many reads are under way at once.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import copy_into, kernel
from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    SIZE,
    WHITE,
    cell_count,
    place,
)
from tengen.games.go.rules import TERRITORY_KEPT
from tengen.games.go.strings import two_liberties
from tengen.search.fast_policy import (
    BEFORE,
    CROWD,
    CROWD_STRIDE,
    LAST,
    SHAPE,
    TACTIC,
    Scene,
    add_to_crowd,
    diamond_feature,
    new_scene,
    place_of,
    point_feature,
    survey,
    tactic_feature,
)
from tengen.search.fast_shapes import (
    BREATHING,
    EYE,
    PEACEFUL,
    TACTICAL,
    read_far,
    read_shape,
    shape_class,
    swap_shape,
)

LANES: Final = 32
"""Cells are weighed in blocks of so many."""


class Factors(NamedTuple):
    """A fast policy as kernels multiply it, for boards of one size N, whose P cells are Q in whole blocks of LANES."""

    table: NDArray[np.float32]  # [WEIGHTS] exp of the weights
    windows: NDArray[np.float32]  # factors of all cells by their place from a move: windows[starts[k, move] + cell]
    starts: NDArray[np.int64]  # [2, P] for the last move and the one before; NO_CELL has factors of 1


class Tracker(NamedTuple):
    """The static factors of all moves on a board, and what is needed to keep them."""

    scene: Scene
    weights: NDArray[np.float32]  # [2, Q] by colour - 1: the product of static factors; 0 where no move is
    shapes: NDArray[np.uint16]  # [2, P] classes of the shapes around the empty cells
    stamps: NDArray[np.int64]  # [P] when a cell was last marked for another look
    stamp: NDArray[np.int64]  # [1] the present one
    marked: NDArray[np.int64]  # [P + 1] the cells marked
    lifted: NDArray[np.int64]  # [P] stones about to be captured
    codes: NDArray[np.int64]  # [P, 2, 2] what is around the cells marked, for Black and for White: shape and far
    tactical: NDArray[np.int64]  # [2 * P + 1] which of these have tactics to look at: 2 * i + colour - 1


def blocks_of(size: int) -> int:
    """How many cells whole blocks of LANES have, on a board of this size."""
    return -(-cell_count(size) // LANES) * LANES


def factors_of(weights: NDArray[np.float32], size: int) -> Factors:
    """The factors of weights: float32[WEIGHTS] on boards of this size."""
    table = np.exp(weights.astype(np.float32))
    stride, rows, ones = size + 1, 2 * size + 1, blocks_of(size)
    windows = np.ones((2, size, rows, stride), np.float32)
    starts = np.zeros((2, cell_count(size)), np.int64)
    for k, section in enumerate((LAST, BEFORE)):
        for col in range(1, stride):
            for row in range(1, stride):
                starts[k, row * stride + col] = ones + ((k * size + col - 1) * rows + size - row) * stride
            for r in range(-size, size + 1):
                for c in range(1, stride):
                    place = place_of(r, c - col)
                    if place >= 0:
                        windows[k, col - 1, r + size, c] = table[section + place]
    edge = np.ones(ones, np.float32)
    return Factors(table, np.concatenate([edge, windows.ravel(), edge]), starts)


def new_tracker(size: int) -> Tracker:
    """Room to track one board of this size."""
    cells = cell_count(size)
    return Tracker(
        new_scene(size),
        np.zeros((2, blocks_of(size)), np.float32),
        np.zeros((2, cells), np.uint16),
        np.zeros(cells, np.int64),
        np.zeros(1, np.int64),
        np.zeros(cells + 1, np.int64),
        np.zeros(cells, np.int64),
        np.zeros((cells, 2, 2), np.int64),
        np.zeros(2 * cells + 1, np.int64),
    )


# --------------------------------------------------------------------------------------------- kernels


@kernel
def track(board, tracker, tables, factors, flags):  # type: ignore[no-untyped-def]
    """Look at a whole board anew."""
    survey(board, tracker.scene)
    tracker.weights[:] = 0
    count = board.info[EMPTY_COUNT]
    for i in range(count):
        tracker.marked[i] = board.empties[i]
    _rescore(board, tracker, tables, factors, flags, count)


@kernel
def copy_tracker(source, target):  # type: ignore[no-untyped-def]
    """Copy what is known of a board."""
    copy_into(source.scene.classes, target.scene.classes)
    copy_into(source.scene.crowd, target.scene.crowd)
    for color in range(2):
        copy_into(source.weights[color], target.weights[color])
        copy_into(source.shapes[color], target.shapes[color])


@kernel(inline=True)
def play_tracked(board, tracker, tables, factors, flags, p, color):  # type: ignore[no-untyped-def]
    """Play the cell p, legal and no suicide, and bring the tracker up to date."""
    u = np.uint64
    tracker.stamp[0] += 1
    tracker.stamps[u(p)] = tracker.stamp[0]  # it will hold a stone, so there is nothing to look at
    count, lifted = _foresee(board, tracker, p, color)
    place(board, p, color)
    count = _see(board, tracker, p, lifted, count)
    tracker.weights[0, u(p)] = 0
    tracker.weights[1, u(p)] = 0
    _rescore(board, tracker, tables, factors, flags, count)


@kernel(inline=True)
def _foresee(board, tracker, p, color):  # type: ignore[no-untyped-def]
    """Mark what a move at p is about to change, while it can be seen; returns (how many cells are marked, how many
    stones will be captured)."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    count = lifted = np.int64(0)
    for q in (p - 1, p + 1, p - stride, p + stride):
        c = board.color[u(q)]
        if c == EMPTY or c == BORDER:
            continue
        liberties = tracker.scene.classes[board.head[u(q)]]
        if c != color and liberties == 1:
            count, lifted = _foresee_capture(board, tracker, q, color, count, lifted)
        elif liberties <= 2:
            _, count = _mark_liberties(board, tracker, q, count)
    return count, lifted


@kernel(inline=True)
def _foresee_capture(board, tracker, stone, color, count, lifted):  # type: ignore[no-untyped-def]
    """List the stones of a string and mark the liberties of those that capture it; returns both counts."""
    stride = board.info[SIZE] + 1
    first = board.head[stone]
    for i in range(lifted):
        if tracker.lifted[i] == first:
            return count, lifted
    s = first
    while True:
        tracker.lifted[lifted] = s
        lifted += 1
        t = np.int64(s)
        for q in (t - 1, t + 1, t - stride, t + stride):
            if board.color[q] == color and tracker.scene.classes[board.head[q]] <= 2:
                _, count = _mark_liberties(board, tracker, q, count)
        s = board.next[s]
        if s == first:
            return count, lifted


@kernel(inline=True)
def _see(board, tracker, p, lifted, count):  # type: ignore[no-untyped-def]
    """Mark what a move at p has changed; returns how many cells are marked."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    count = _mark_around(board, tracker, p, count)
    if add_to_crowd(tracker.scene, p, 1):
        count = _mark_lonely(board, tracker, p, count)
    count = _reclass(board, tracker, p, count)
    opponent = 3 - board.color[u(p)]
    for q in (p - 1, p + 1, p - stride, p + stride):
        if board.color[u(q)] == opponent:
            count = _reclass(board, tracker, q, count)
    for i in range(lifted):
        s = tracker.lifted[i]
        count = _mark(board, tracker, s, count)
        count = _mark_around(board, tracker, s, count)
        if add_to_crowd(tracker.scene, s, -1):
            count = _mark_lonely(board, tracker, s, count)
        for q in (s - 1, s + 1, s - stride, s + stride):
            if board.color[u(q)] == BLACK or board.color[u(q)] == WHITE:
                count = _reclass(board, tracker, q, count)
    return count


@kernel(inline=True)
def _mark(board, tracker, q, count):  # type: ignore[no-untyped-def]
    """Mark q for another look if it is empty; returns how many cells are marked."""
    u = np.uint64
    fresh = (tracker.stamps[u(q)] != tracker.stamp[0]) & (board.color[u(q)] == EMPTY)
    tracker.stamps[u(q)] = tracker.stamp[0]
    tracker.marked[u(count)] = q
    return count + np.int64(fresh)


@kernel(inline=True)
def _mark_around(board, tracker, p, count):  # type: ignore[no-untyped-def]
    """Mark the empty cells that see p among their twelve."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    for step, aside in ((-stride, 1), (1, stride), (stride, -1), (-1, -stride)):
        q = p + step
        count = _mark(board, tracker, q, count)
        count = _mark(board, tracker, q + aside, count)
        count = _mark(board, tracker, q + (step if board.color[u(q)] != BORDER else 0), count)
    return count


@kernel(inline=True)
def _mark_liberties(board, tracker, stone, count):  # type: ignore[no-untyped-def]
    """Mark the liberties of a string if it has one or two; returns how many it has, 3 standing for more, and how many
    cells are marked."""
    liberties, a, b = two_liberties(board, stone)
    if liberties <= 2:
        count = _mark(board, tracker, a, count)
        count = _mark(board, tracker, b, count)  # NO_CELL is never empty
    return liberties, count


@kernel(inline=True)
def _reclass(board, tracker, stone, count):  # type: ignore[no-untyped-def]
    """Count the liberties of a string again; returns how many cells are marked."""
    liberties, count = _mark_liberties(board, tracker, stone, count)
    tracker.scene.classes[board.head[np.uint64(stone)]] = liberties
    return count


@kernel(inline=True)
def _mark_lonely(board, tracker, p, count):  # type: ignore[no-untyped-def]
    """Mark the empty cells around p with few stones around them: those whose number changed and shows."""
    u = np.uint64
    size = board.info[SIZE]
    stride = size + 1
    row, col = p // stride, p % stride
    for r in range(max(1, row - CROWD), min(size, row + CROWD) + 1):
        for c in range(max(1, col - CROWD), min(size, col + CROWD) + 1):
            if tracker.scene.crowd[u((r - 1 + CROWD) * CROWD_STRIDE + c - 1 + CROWD)] <= 2:
                count = _mark(board, tracker, r * stride + c, count)
    return count


@kernel(inline=True)
def _rescore(board, tracker, tables, factors, flags, count):  # type: ignore[no-untyped-def]
    """Look at the cells marked, all of them empty, for both colours."""
    u = np.uint64
    codes, marked, table = tracker.codes, tracker.marked, factors.table
    for i in range(u(count)):
        p = marked[i]
        code, far = read_shape(board, tracker.scene.classes, p), read_far(board, p)
        codes[i, u(0), u(0)], codes[i, u(0), u(1)] = code, far
        codes[i, u(1), u(0)], codes[i, u(1), u(1)] = swap_shape(code, tables), tables.swap_colors[u(far)]
    eye = PEACEFUL if flags & TERRITORY_KEPT else EYE
    quiet = table[u(TACTIC)]
    tactical = u(0)
    for i in range(u(count)):
        p = u(marked[i])
        at_point = table[u(point_feature(tracker.scene, p))]
        for k in range(u(2)):
            shape = np.int64(tables.shape[u(codes[i, k, u(0)])])
            diamond = diamond_feature(shape, codes[i, k, u(1)], tables)
            weight = table[u(SHAPE + shape_class(shape))] * table[u(diamond)] * at_point
            possible = shape & (eye | BREATHING) == BREATHING
            busy = shape & TACTICAL != 0
            tracker.shapes[k, p] = shape_class(shape)
            tracker.weights[k, p] = weight * (np.float32(1.0) if busy else quiet) if possible else np.float32(0.0)
            tracker.tactical[tactical] = 2 * i + k
            tactical += u(possible & busy)
    for j in range(tactical):
        at, side = u(tracker.tactical[j]) >> u(1), u(tracker.tactical[j]) & u(1)
        tactic = tactic_feature(board, marked[at], np.int64(side) + 1, codes[at, side, u(0)])
        tracker.weights[side, u(marked[at])] *= table[u(tactic)]
