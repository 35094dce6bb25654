"""Planes of liberties: the encoders `sevenplane`, `simple` and `compact`, and how liberties are counted for them."""

from typing import Final

import numpy as np

from tengen._kernel import kernel, stack_array
from tengen.games.go.board import BLACK, EMPTY, KO, NO_CELL, PASSES, SIZE, TO_PLAY, WHITE, board_at

# ------------------------------------------------------------------------------------------ sevenplane
# The liberties of stones, and the ko.
#
# | planes  | 1 where                                                                       |
# |---------|-------------------------------------------------------------------------------|
# | 0, 1, 2 | a stone of the player to move is in a string with 1, 2, 3 or more liberties   |
# | 3, 4, 5 | a stone of the opponent is in a string with 1, 2, 3 or more liberties         |
# | 6       | the ko forbids the player to move to play at once                             |

_SEVENPLANE_LIBERTIES = 3  # as many and more share the last plane
_SEVENPLANE_KO_PLANE = 2 * _SEVENPLANE_LIBERTIES

SEVENPLANE_MEANINGS = (
    *(f"{whose} stones with {n} liberties" for whose in ("own", "enemy") for n in ("1", "2", "3 or more")),
    "points that the ko forbids",
)


@kernel
def encode_sevenplane(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 7, N * N]."""
    cells = positions.boards.color.shape[1]
    stones, liberties = stack_array(cells, np.int64), stack_array(cells, np.int64)
    for i in range(out.shape[0]):
        board = board_at(positions.boards, i)
        count_strings(board, stones, liberties)
        out[i] = 0
        mark_liberties(board, liberties, _SEVENPLANE_LIBERTIES, board.info[TO_PLAY], out[i])
        mark_ko(board, out[i, _SEVENPLANE_KO_PLANE])


# ---------------------------------------------------------------------------------------------- simple
# The liberties of stones by their colour, who is to play, and the ko.
#
# | planes     | 1 where                                                                |
# |------------|------------------------------------------------------------------------|
# | 0, 1, 2, 3 | a black stone is in a string with 1, 2, 3, 4 or more liberties         |
# | 4, 5, 6, 7 | a white stone is in a string with 1, 2, 3, 4 or more liberties         |
# | 8          | everywhere, if Black is to play                                        |
# | 9          | everywhere, if White is to play                                        |
# | 10         | the ko forbids the player to move to play at once                      |

_SIMPLE_LIBERTIES = 4  # as many and more share the last plane
_SIMPLE_PLAYER_PLANES = 2 * _SIMPLE_LIBERTIES
_SIMPLE_KO_PLANE = _SIMPLE_PLAYER_PLANES + 2

SIMPLE_MEANINGS = (
    *(f"{color} stones with {n} liberties" for color in ("black", "white") for n in ("1", "2", "3", "4 or more")),
    "ones if Black is to play",
    "ones if White is to play",
    "points that the ko forbids",
)


@kernel
def encode_simple(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 11, N * N]."""
    cells = positions.boards.color.shape[1]
    stones, liberties = stack_array(cells, np.int64), stack_array(cells, np.int64)
    for i in range(out.shape[0]):
        board = board_at(positions.boards, i)
        count_strings(board, stones, liberties)
        out[i] = 0
        mark_liberties(board, liberties, _SIMPLE_LIBERTIES, BLACK, out[i])
        out[i, _SIMPLE_PLAYER_PLANES + board.info[TO_PLAY] - BLACK] = 1
        mark_ko(board, out[i, _SIMPLE_KO_PLANE])


# --------------------------------------------------------------------------------------------- compact
# Few planes for small boards and self-play: stones by their liberties, the ko, the colour, a pass.
#
# | planes  | 1 where                                                                               |
# |---------|---------------------------------------------------------------------------------------|
# | 0, 1, 2 | an own stone is in a string with 1, 2, 3 or more liberties                            |
# | 3, 4, 5 | an enemy stone is in a string with 1, 2, 3 or more liberties                          |
# | 6       | the ko forbids the player to move to play at once                                     |
# | 7       | everywhere: shows a network that pads with zeros where the board ends                 |
# | 8       | everywhere, if Black is to play (komi makes the colours differ)                       |
# | 9       | everywhere, if the opponent has just passed, so that one more pass ends the game      |
#
# `compact-komi` adds the komi c as the player to move sees it: White's compensation if White is to play, else its
# negative.
#
# | planes   | 1 everywhere, if                                                                            |
# |----------|---------------------------------------------------------------------------------------------|
# | 10 to 23 | c is greater than -15, -11, -9, -7, ... 9, 11, 15                                           |
# | 24       | c is a whole number, even or odd as the number of points is, so that the game can be drawn  |

_COMPACT_LIBERTIES = 3  # as many and more share the last plane
_COMPACT_KO_PLANE = 2 * _COMPACT_LIBERTIES
KOMI_MARKS: Final = (-15, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 15)

COMPACT_MEANINGS = (
    *(f"{whose} stones with {n} liberties" for whose in ("own", "enemy") for n in ("1", "2", "3 or more")),
    "points that the ko forbids",
    "ones",
    "ones if Black is to play",
    "ones if the opponent has just passed",
)
_COMPACT_KOMI_PLANE = len(COMPACT_MEANINGS)
COMPACT_MEANINGS_WITH_KOMI = (
    *COMPACT_MEANINGS,
    *(f"ones if the komi is worth more than {mark} points to the player to move" for mark in KOMI_MARKS),
    "ones if the komi makes a draw possible",
)


@kernel
def encode_compact(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 10 or more, N * N]; planes beyond the tenth are left empty."""
    cells = positions.boards.color.shape[1]
    stones, liberties = stack_array(cells, np.int64), stack_array(cells, np.int64)
    for i in range(out.shape[0]):
        board = board_at(positions.boards, i)
        count_strings(board, stones, liberties)
        out[i] = 0
        mark_liberties(board, liberties, _COMPACT_LIBERTIES, board.info[TO_PLAY], out[i])
        mark_ko(board, out[i, _COMPACT_KO_PLANE])
        out[i, _COMPACT_KO_PLANE + 1] = 1
        out[i, _COMPACT_KO_PLANE + 2] = board.info[TO_PLAY] == BLACK
        out[i, _COMPACT_KO_PLANE + 3] = board.info[PASSES] > 0


@kernel
def encode_compact_komi(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 25, N * N]."""
    encode_compact(positions, out)
    for i in range(out.shape[0]):
        komi = positions.komi[i]
        own = komi if positions.boards.info[i, TO_PLAY] == WHITE else -komi
        for k in range(len(KOMI_MARKS)):
            out[i, _COMPACT_KOMI_PLANE + k] = own > KOMI_MARKS[k]
        out[i, _COMPACT_KOMI_PLANE + len(KOMI_MARKS)] = (komi - out.shape[2]) % 2 == 0


# -------------------------------------------------------------------------------------------- counting
# All strings with their liberties in one sweep over the board. A stone counts for its own string. An empty point counts
# once for each different string beside it, so these are real liberties, not the board's pseudo-liberties; and no string
# is ever walked.


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
