"""Strings of stones and their real liberties, as kernels over a `Board`.

The board keeps pseudo-liberties, which tell captures and ataris but not numbers. These kernels walk a string
and see each liberty once: a liberty q belongs to the first stone of the string among q's neighbours in the
order left, right, above, below, and is skipped at the others. So no marks are needed, and no memory.
"""

import numpy as np

from tengen._kernel import kernel
from tengen.games.go.board import EMPTY, NO_CELL, SIZE, pseudo_liberties

_MOST_BESIDE = 4  # a liberty touches at most four stones of a string, so it counts for at most four pseudo-liberties


@kernel(inline=True)
def is_of_string(board, q, color, head):  # type: ignore[no-untyped-def]
    """Whether cell q holds a stone of the string of this colour with this head."""
    u = np.uint64
    return board.color[u(q)] == color and board.head[u(q)] == head


@kernel
def string_cells(board, stone, out):  # type: ignore[no-untyped-def]
    """Write the cells of the string of `stone` to out: int[P]; returns how many there are."""
    first = board.head[stone]
    count = 0
    s = first
    while True:
        out[count] = s
        count += 1
        s = board.next[s]
        if s == first:
            return count


@kernel
def liberty_cells(board, stone, out):  # type: ignore[no-untyped-def]
    """Write the liberties of the string of `stone` to out: int[P]; returns how many there are.

    They come in no particular order. If out is shorter than the liberties are many, it is filled and the
    walk ends: the answer is then the length of out.
    """
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    room = out.shape[0]
    color, first = cells[stone], board.head[stone]
    count = 0
    s = np.int64(first)
    while count < room:
        for side in range(4):
            q = _beside(s, side, stride)
            if cells[u(q)] == EMPTY and count < room and _is_first(board, q, side, color, first, stride):
                out[count] = q
                count += 1
        s = np.int64(board.next[u(s)])
        if s == first:
            break
    return count


@kernel
def liberty_count(board, stone, at_most):  # type: ignore[no-untyped-def]
    """How many liberties the string of `stone` has; counting ends at `at_most`."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    color, first = cells[u(stone)], board.head[u(stone)]
    if pseudo_liberties(board.liberties[first]) > _MOST_BESIDE * (at_most - 1):
        return at_most
    count = 0
    s = np.int64(first)
    while True:
        for side in range(4):
            q = _beside(s, side, stride)
            if cells[u(q)] == EMPTY and _is_first(board, q, side, color, first, stride):
                count += 1
                if count >= at_most:
                    return at_most
        s = np.int64(board.next[u(s)])
        if s == first:
            return count


@kernel(inline=True)
def two_liberties(board, stone):  # type: ignore[no-untyped-def]
    """(count, a, b): the number of liberties, 3 standing for 3 or more, and two of them or NO_CELL."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    first = board.head[u(stone)]
    a = b = np.int64(NO_CELL)
    if pseudo_liberties(board.liberties[first]) > 2 * _MOST_BESIDE:
        return 3, a, b
    s = np.int64(first)
    while True:
        for q in (s - 1, s + 1, s - stride, s + stride):
            if cells[u(q)] == EMPTY and q != a and q != b:
                if b != NO_CELL:
                    return 3, a, b
                if a != NO_CELL:
                    b = q
                else:
                    a = q
        s = np.int64(board.next[u(s)])
        if s == first:
            return np.int64(a != NO_CELL) + np.int64(b != NO_CELL), a, b


@kernel(inline=True)
def _beside(p, side, stride):  # type: ignore[no-untyped-def]
    """The neighbour of p on side 0 to 3, such that p is neighbour number `side` of it (see `_is_first`)."""
    if side == 0:
        return p + 1
    if side == 1:
        return p - 1
    if side == 2:
        return p + stride
    return p - stride


@kernel(inline=True)
def _is_first(board, q, side, color, head, stride):  # type: ignore[no-untyped-def]
    """Whether none of the first `side` neighbours (left, right, above) of q is of the string."""
    if side >= 1 and is_of_string(board, q - 1, color, head):
        return False
    if side >= 2 and is_of_string(board, q + 1, color, head):
        return False
    return not (side >= 3 and is_of_string(board, q - stride, color, head))
