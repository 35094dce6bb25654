"""Strings of stones with their liberties, counted for a whole board by one sweep and shown in planes.

A stone counts for its own string. An empty point counts once for each different string beside it, so these are real
liberties, not the board's pseudo-liberties; and no string is ever walked.
"""

import numpy as np

from tengen._kernel import kernel
from tengen.games.go.board import BLACK, EMPTY, KO, NO_CELL, SIZE, WHITE


@kernel
def count_strings(board, stones, liberties):  # type: ignore[no-untyped-def]
    """Write to stones, liberties: int64[P] at the head of every string how many it has of both; elsewhere 0."""
    u = np.uint64
    cells, head = board.color, board.head
    size = board.info[SIZE]
    stride = size + 1
    stones[:] = 0
    liberties[:] = 0
    for row in range(1, size + 1):
        for p in range(row * stride + 1, row * stride + 1 + size):
            if cells[u(p)] != EMPTY:
                stones[head[u(p)]] += 1
                continue
            n0, n1, n2, n3 = u(p - 1), u(p + 1), u(p - stride), u(p + stride)
            h0, h1 = _name(cells[n0], head[n0]), _name(cells[n1], head[n1])
            h2, h3 = _name(cells[n2], head[n2]), _name(cells[n3], head[n3])
            liberties[h0] += 1
            liberties[h1] += np.int64(h1 != h0)
            liberties[h2] += np.int64((h2 != h0) & (h2 != h1))
            liberties[h3] += np.int64((h3 != h0) & (h3 != h1) & (h3 != h2))
    liberties[NO_CELL] = 0


@kernel(inline=True)
def _name(color, head):  # type: ignore[no-untyped-def]
    """The head of a stone's string; NO_CELL for a cell without a stone, whose `head` means nothing."""
    return np.uint64(head) if color == BLACK or color == WHITE else np.uint64(NO_CELL)


@kernel
def mark_liberties(board, liberties, most, first_color, planes):  # type: ignore[no-untyped-def]
    """Write a 1 for every stone: those of first_color to planes 0 to most - 1, the others to the next `most`.

    The first of each is for stones with one liberty, the last for `most` and more. liberties: int64[P] as
    `count_strings` makes it; planes: uint8[C, N * N].
    """
    u = np.uint64
    cells, head = board.color, board.head
    size = board.info[SIZE]
    for row in range(size):
        for col in range(size):
            p = u((row + 1) * (size + 1) + col + 1)
            if cells[p] != EMPTY:
                plane = min(liberties[head[p]], most) - 1
                if cells[p] != first_color:
                    plane += most
                planes[u(plane), u(row * size + col)] = 1


@kernel
def mark_ko(board, plane):  # type: ignore[no-untyped-def]
    """Write a 1 to plane: uint8[N * N] where the ko forbids a move."""
    ko, size = board.info[KO], board.info[SIZE]
    if ko != NO_CELL:
        plane[ko - ko // (size + 1) - size - 1] = 1
