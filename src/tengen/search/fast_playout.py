"""Playouts by the fast policy: whole games in which every move is drawn from it, at a few microseconds per move.

A *factor* is `exp` of a weight of the fast policy, so that features multiply. The `Tracker` keeps the products of
static factors of all moves, for both colours. After a move only these are looked at again: the points around stones
that came or went, the liberties of strings that have one or two of them now or had them before, and points whose crowd
changed. Features of the last two moves are multiplied in when a move is drawn. As in other playouts nobody fills eyes,
commits suicide or retakes a ko at once.

What a cell looks like is hard to predict, and the tables are larger than the processor's cache. So the loops here have
few branches, and first collect what is to be done: then many reads are under way at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import copy_into, kernel
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
    cell_count,
    place,
)
from tengen.games.go.rules import TERRITORY_KEPT
from tengen.games.go.strings import two_liberties
from tengen.games.kernels import next_random
from tengen.search.fast_policy import (
    CROWD,
    CROWD_STRIDE,
    LANES,
    NEAR,
    RESCUE,
    RESCUES,
    SHAPE,
    TACTIC,
    Scene,
    add_to_crowd,
    blocks_of,
    diamond_feature,
    find_rescues,
    new_scene,
    point_feature,
    response_feature,
    response_key,
    survey,
    tactic_feature,
)
from tengen.search.fast_shapes import (
    BREATHING,
    EYE,
    OFFSETS,
    PEACEFUL,
    REACH,
    TACTICAL,
    read_far,
    read_shape,
    shape_class,
    swap_shape,
)


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


# --------------------------------------------------------------------------- keeping the factors of moves


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


# ----------------------------------------------------------------------------- drawing moves, playing on


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
