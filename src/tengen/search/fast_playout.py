"""Playouts by the fast policy: whole games in which every move is drawn from it, at a few microseconds a move.

The static factors of all moves (`exp` of their weights, multiplied) are kept for both colours and go on from move to
move: only the points around stones that came or went, the liberties of strings that have one or two of them now or had
them before, and points whose crowd changed are looked at again. Features of the last two moves are multiplied in
when a move is drawn. As in other playouts nobody fills eyes, commits suicide or retakes a ko at once.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    KO,
    MAX_SIZE,
    NO_CELL,
    SIZE,
    TO_PLAY,
    WHITE,
    cell_count,
    copy_board,
    place,
)
from tengen.games.go.playout import next_random, quick_area
from tengen.games.go.rules import TERRITORY_KEPT
from tengen.games.go.strings import two_liberties
from tengen.search.fast_policy import (
    BEFORE,
    CROWD,
    LAST,
    NEAR,
    RESCUE,
    RESCUES,
    SHAPE,
    TACTIC,
    Scene,
    diamond_feature,
    find_rescues,
    new_scene,
    place_of,
    point_feature,
    response_feature,
    response_key,
    survey,
    tactic_feature,
)
from tengen.search.fast_shapes import (
    BREATHING,
    EYE,
    PEACEFUL,
    REACH,
    TACTICAL,
    liberty_class,
    read_far,
    read_shape,
    shape_class,
    swap_shape,
)

_FAR: Final = MAX_SIZE - 1  # the longest way between two points along a line
_SPAN: Final = 2 * _FAR + 1
_MARK, _COUNT = 0, 1


class Factors(NamedTuple):
    """A fast policy as kernels multiply it."""

    table: NDArray[np.float32]  # [WEIGHTS] exp of the weights
    windows: NDArray[
        np.float32
    ]  # [3 * 49 * 49] by rows and columns from a move, each + 24: none, the last, the one before


class Tracker(NamedTuple):
    """The static factors of all moves on a board, and what is needed to keep them."""

    scene: Scene
    weights: NDArray[np.float32]  # [2, P] by colour - 1: the product of static factors; 0 where no move is
    shapes: NDArray[np.uint16]  # [2, P] classes of the shapes around the empty cells
    stamps: NDArray[np.int64]  # [P] when a cell was last marked for another look
    marked: NDArray[np.int64]  # [P] the cells marked
    lifted: NDArray[np.int64]  # [P] stones about to be captured
    counters: NDArray[np.int64]  # [2] the present stamp, how many cells are marked


class DrawRoom(NamedTuple):
    """Scratch room for drawing a move."""

    weights: NDArray[np.float32]  # [P]
    rows: NDArray[np.float32]  # [rows of the padded grid]
    rescues: NDArray[np.int64]  # [RESCUES, 2]


def factors_of(weights: NDArray[np.float32]) -> Factors:
    """The factors of weights: float32[WEIGHTS]."""
    table = np.exp(weights.astype(np.float32))
    windows = np.ones((3, _SPAN, _SPAN), np.float32)
    for row in range(-_FAR, _FAR + 1):
        for col in range(-_FAR, _FAR + 1):
            place = place_of(row, col)
            if place >= 0:
                windows[1, row + _FAR, col + _FAR] = table[LAST + place]
                windows[2, row + _FAR, col + _FAR] = table[BEFORE + place]
    return Factors(table, windows.ravel())


def new_tracker(size: int) -> Tracker:
    """Room to track one board of this size."""
    cells = cell_count(size)
    return Tracker(
        new_scene(size),
        np.zeros((2, cells), np.float32),
        np.zeros((2, cells), np.uint16),
        np.zeros(cells, np.int64),
        np.zeros(cells, np.int64),
        np.zeros(cells, np.int64),
        np.zeros(2, np.int64),
    )


def new_draw_room(size: int) -> DrawRoom:
    """Scratch room for boards of this size."""
    return DrawRoom(
        np.zeros(cell_count(size), np.float32), np.zeros(size + 2, np.float32), np.zeros((RESCUES, 2), np.int64)
    )


# -------------------------------------------------------------------------------------------- tracking


@njit(cache=True, nogil=True)
def track(board, tracker, tables, factors, flags):  # type: ignore[no-untyped-def]
    """Look at a whole board anew."""
    survey(board, tracker.scene)
    tracker.weights[:] = 0
    for i in range(board.info[EMPTY_COUNT]):
        _rescore(board, tracker, tables, factors, flags, np.int64(board.empties[i]))


@njit(cache=True, nogil=True)
def copy_tracker(source, target):  # type: ignore[no-untyped-def]
    """Copy what is known of a board."""
    target.scene.classes[:] = source.scene.classes
    target.scene.crowd[:] = source.scene.crowd
    target.weights[:] = source.weights
    target.shapes[:] = source.shapes


@njit(cache=True, nogil=True, forceinline=True)
def play_tracked(board, tracker, tables, factors, flags, p, color):  # type: ignore[no-untyped-def]
    """Play the cell p, legal and no suicide, and bring the tracker up to date."""
    tracker.counters[_MARK] += 1
    tracker.counters[_COUNT] = 0
    lifted = _foresee(board, tracker, p, color)
    place(board, p, color)
    _see(board, tracker, p, lifted)
    for i in range(tracker.counters[_COUNT]):
        _rescore(board, tracker, tables, factors, flags, tracker.marked[i])


@njit(cache=True, nogil=True, forceinline=True)
def _foresee(board, tracker, p, color):  # type: ignore[no-untyped-def]
    """Mark what a move at p is about to change, while it can be seen; returns how many stones will be captured."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    lifted = 0
    for q in (p - 1, p + 1, p - stride, p + stride):
        c = board.color[u(q)]
        if c == EMPTY or c == BORDER:
            continue
        if c != color and tracker.scene.classes[board.head[u(q)]] == 1:
            lifted = _foresee_capture(board, tracker, q, color, lifted)
        else:
            _mark_liberties(board, tracker, q)
    return lifted


@njit(cache=True, nogil=True, forceinline=True)
def _foresee_capture(board, tracker, stone, color, lifted):  # type: ignore[no-untyped-def]
    """List the stones of a string and mark the liberties of those that capture it; returns the length of the list."""
    stride = board.info[SIZE] + 1
    first = board.head[stone]
    for i in range(lifted):
        if tracker.lifted[i] == first:
            return lifted
    s = first
    while True:
        tracker.lifted[lifted] = s
        lifted += 1
        t = np.int64(s)
        for q in (t - 1, t + 1, t - stride, t + stride):
            if board.color[q] == color:
                _mark_liberties(board, tracker, q)
        s = board.next[s]
        if s == first:
            return lifted


@njit(cache=True, nogil=True, forceinline=True)
def _see(board, tracker, p, lifted):  # type: ignore[no-untyped-def]
    """Mark what a move at p has changed."""
    u = np.uint64
    size = board.info[SIZE]
    stride = size + 1
    _mark(tracker, p)
    _mark_around(board, tracker, p)
    _crowd(board, tracker, p, 1)
    _reclass(board, tracker, p)
    for q in (p - 1, p + 1, p - stride, p + stride):
        if board.color[u(q)] == 3 - board.color[u(p)]:
            _reclass(board, tracker, q)
    for i in range(lifted):
        s = tracker.lifted[i]
        _mark(tracker, s)
        _mark_around(board, tracker, s)
        _crowd(board, tracker, s, -1)
        for q in (s - 1, s + 1, s - stride, s + stride):
            if board.color[u(q)] == BLACK or board.color[u(q)] == WHITE:
                _reclass(board, tracker, q)


@njit(cache=True, nogil=True, forceinline=True)
def _mark(tracker, p):  # type: ignore[no-untyped-def]
    u = np.uint64
    if tracker.stamps[u(p)] != tracker.counters[_MARK]:
        tracker.stamps[u(p)] = tracker.counters[_MARK]
        tracker.marked[u(tracker.counters[_COUNT])] = p
        tracker.counters[_COUNT] += 1


@njit(cache=True, nogil=True, forceinline=True)
def _mark_around(board, tracker, p):  # type: ignore[no-untyped-def]
    """Mark the empty cells that see p among their twelve."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    for step, aside in ((-stride, 1), (1, stride), (stride, -1), (-1, -stride)):
        q = p + step
        if cells[u(q)] == EMPTY:
            _mark(tracker, q)
        if cells[u(q)] != BORDER and cells[u(q + step)] == EMPTY:
            _mark(tracker, q + step)
        if cells[u(q + aside)] == EMPTY:
            _mark(tracker, q + aside)


@njit(cache=True, nogil=True, forceinline=True)
def _mark_liberties(board, tracker, stone):  # type: ignore[no-untyped-def]
    """Mark the liberties of a string if it has one or two."""
    if tracker.scene.classes[board.head[np.uint64(stone)]] <= 2:
        _, a, b = two_liberties(board, stone)
        if a != NO_CELL:
            _mark(tracker, a)
        if b != NO_CELL:
            _mark(tracker, b)


@njit(cache=True, nogil=True, forceinline=True)
def _reclass(board, tracker, stone):  # type: ignore[no-untyped-def]
    """Count the liberties of a string again."""
    tracker.scene.classes[board.head[np.uint64(stone)]] = liberty_class(board, stone)
    _mark_liberties(board, tracker, stone)


@njit(cache=True, nogil=True, forceinline=True)
def _crowd(board, tracker, p, change):  # type: ignore[no-untyped-def]
    """A stone came or went at p: count it, and mark the empty cells where that shows."""
    u = np.uint64
    size = board.info[SIZE]
    stride = size + 1
    crowd = tracker.scene.crowd
    row, col = p // stride, p % stride
    left, right = max(1, col - CROWD), min(size, col + CROWD)
    for r in range(max(1, row - CROWD), min(size, row + CROWD) + 1):
        few = False
        for q in range(r * stride + left, r * stride + right + 1):
            crowd[u(q)] += change
            few |= crowd[u(q)] <= 2
        if few:
            for q in range(r * stride + left, r * stride + right + 1):
                if crowd[u(q)] <= 2 and board.color[u(q)] == EMPTY:
                    _mark(tracker, q)


@njit(cache=True, nogil=True, forceinline=True)
def _rescore(board, tracker, tables, factors, flags, p):  # type: ignore[no-untyped-def]
    """Look at a cell again, for both colours."""
    u = np.uint64
    if board.color[u(p)] != EMPTY:
        tracker.weights[0, u(p)] = 0
        tracker.weights[1, u(p)] = 0
        return
    code = read_shape(board, tracker.scene.classes, p)
    far = read_far(board, p)
    at_point = factors.table[u(point_feature(board, tracker.scene, p))]
    eye = PEACEFUL if flags & TERRITORY_KEPT else EYE
    for color in (BLACK, WHITE):
        if color == WHITE:
            code = swap_shape(code, tables)
            far = np.int64(tables.swap_colors[u(far)])
        shape = np.int64(tables.shape[u(code)])
        tracker.shapes[color - 1, u(p)] = shape_class(shape)
        weight = np.float32(0.0)
        if shape & (eye | BREATHING) == BREATHING:
            tactic = tactic_feature(board, p, color, code) if shape & TACTICAL else TACTIC
            weight = (
                factors.table[u(SHAPE + shape_class(shape))]
                * factors.table[u(diamond_feature(shape, far, tables))]
                * at_point
                * factors.table[u(tactic)]
            )
        tracker.weights[color - 1, u(p)] = weight


# --------------------------------------------------------------------------------------------- drawing


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
        one += u(_SPAN)
        two += u(_SPAN)
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
    return np.uint64((kind * _SPAN + 1 - move // stride + _FAR) * _SPAN + 1 - move % stride + _FAR)


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
def run_fast_playout(board, tracker, tables, factors, last, before, flags, room, first_player, state):  # type: ignore[no-untyped-def]
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
def fast_playouts(board, scratch, tracker, tables, factors, flags, room, first_player, count, rng):  # type: ignore[no-untyped-def]
    """Play `count` playouts from `board`, no moves having been made before; returns (sum of areas, moves played)."""
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
        total += quick_area(scratch)
    rng[0] = state
    return total, moves
