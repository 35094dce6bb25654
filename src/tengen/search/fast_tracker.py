"""The static factors of all moves on a board, kept up to date from move to move.

A *factor* is `exp` of a weight of the fast policy, so that features multiply. The products of static factors are kept
for both colours. After a move only these are looked at again: the points around stones that came or went, the
liberties of strings that have one or two of them now or had them before, and points whose crowd changed.
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
    MAX_SIZE,
    NO_CELL,
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
    LAST,
    SHAPE,
    TACTIC,
    Scene,
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

FAR: Final = MAX_SIZE - 1  # the longest way between two points along a line
SPAN: Final = 2 * FAR + 1
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


def factors_of(weights: NDArray[np.float32]) -> Factors:
    """The factors of weights: float32[WEIGHTS]."""
    table = np.exp(weights.astype(np.float32))
    windows = np.ones((3, SPAN, SPAN), np.float32)
    for row in range(-FAR, FAR + 1):
        for col in range(-FAR, FAR + 1):
            place = place_of(row, col)
            if place >= 0:
                windows[1, row + FAR, col + FAR] = table[LAST + place]
                windows[2, row + FAR, col + FAR] = table[BEFORE + place]
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


# --------------------------------------------------------------------------------------------- kernels


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
        elif tracker.scene.classes[board.head[u(q)]] <= 2:
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
            if board.color[q] == color and tracker.scene.classes[board.head[q]] <= 2:
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
    """Mark the liberties of a string if it has one or two; returns how many it has, 3 standing for more."""
    count, a, b = two_liberties(board, stone)
    if count <= 2:
        _mark(tracker, a)
        if b != NO_CELL:
            _mark(tracker, b)
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _reclass(board, tracker, stone):  # type: ignore[no-untyped-def]
    """Count the liberties of a string again."""
    tracker.scene.classes[board.head[np.uint64(stone)]] = _mark_liberties(board, tracker, stone)


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
