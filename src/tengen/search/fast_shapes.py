"""Local shapes for the fast policy, each the same number however the board is turned, mirrored or recoloured.

The *surroundings* of a cell are three codes, read clockwise from the top, for the colours seen by Black:

    sides    12 bits, 3 each: the four neighbours; 0 empty, 1 to 3 Black, 4 to 6 White (liberties: 1, 2, more), 7 edge
    corners   8 bits, 2 each: the four diagonal neighbours, as `Board.color`, from the top right
    far       8 bits, 2 each: the four cells two steps away along the lines, as `Board.color`

`sides` and `corners` make a *shape* of 3x3 cells; with `far` it is the *diamond* of twelve. For White the colours are
exchanged. A symmetry is a number 0 to 7: first, if bit 2 is set, a mirror in the vertical axis, then as many quarter
turns clockwise as the two low bits say. Tables answer which symmetry makes a shape the least of its kind.
"""

from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.board import BLACK, BORDER, EMPTY, SIZE, WHITE, pseudo_liberties
from tengen.games.go.strings import liberty_count

SHAPES: Final = 1 << 15
"""More than there are shapes of 3x3 cells (with liberties, up to symmetry: 26,886)."""
EDGE_SIDE: Final = 7
REACH: Final = 2
"""Answers to a move may be this many rows and columns away from it."""
# What is known of a shape, for the player whose colour is Black in it: its class in the low 15 bits and
TACTICAL: Final = 1 << 15  # whether strings with few liberties are beside, or the move might be self-atari
TURN_BITS: Final = 16  # three bits: the symmetry that makes it least
OWN_BITS: Final = 19  # eight bits: which symmetries leave that as it is
BREATHING: Final = 1 << 27  # whether a move is no suicide
EYE: Final = 1 << 28  # whether it is an eye for playouts (`games.go.playout.is_eye`)
PEACEFUL: Final = 1 << 29  # whether it is an eye by Simple-Go's rules

_SPAN: Final = 2 * REACH + 1
OFFSETS: Final = _SPAN * _SPAN
_ALL: Final = range(8)
_PLENTY: Final = 3  # liberties: this many or more


class ShapeTables(NamedTuple):
    """What kernels look up. Symmetries of a shape are sets, as bits of a byte."""

    shape: NDArray[np.int32]  # [2**20] by sides << 8 | corners: what is known of a shape, packed as below
    far_least: NDArray[np.uint8]  # [256, 256] by the set of symmetries allowed and `far`: the least it can become
    far_turn: NDArray[np.uint8]  # [256, 256] the symmetry that does that
    far_own: NDArray[np.uint8]  # [256, 256] which of the set leave the result as it is
    offset_turned: NDArray[np.uint8]  # [8, OFFSETS] where a symmetry takes an offset
    offset_least: NDArray[np.uint8]  # [256, OFFSETS] the least offset that a set of symmetries makes of one
    swap_sides: NDArray[np.uint16]  # [4096] colours exchanged
    swap_colors: NDArray[np.uint8]  # [256] colours exchanged, for corners and far


@cache
def shape_tables() -> ShapeTables:
    """The tables, made once (a tenth of a second)."""
    far_least, far_turn, far_own = _far_tables()
    turned = np.array([[_turn_offset(k, o) for o in range(OFFSETS)] for k in _ALL], np.uint8)
    offset_least = np.zeros((256, OFFSETS), np.uint8)
    for mask in range(1, 256):
        offset_least[mask] = np.min([turned[k] for k in _ALL if mask >> k & 1], axis=0)
    swap = _each_field(np.arange(4096), 3, np.array([0, 4, 5, 6, 1, 2, 3, 7]))
    swap_colors = _each_field(np.arange(256), 2, np.array([EMPTY, WHITE, BLACK, BORDER]))
    return ShapeTables(
        _shape_table(),
        far_least,
        far_turn,
        far_own,
        turned,
        offset_least,
        swap.astype(np.uint16),
        swap_colors.astype(np.uint8),
    )


# ------------------------------------------------------------------------------------------ symmetries


def _turn_offset(k: int, offset: int) -> int:
    """Where symmetry k takes the offset (row, column) = divmod(offset, 5) - 2."""
    row, col = offset // _SPAN - REACH, offset % _SPAN - REACH
    if k & 4:
        col = -col
    for _ in range(k & 3):
        row, col = col, -row
    return (row + REACH) * _SPAN + col + REACH


def _turn_fields(code: NDArray[np.int64], k: int, bits: int, mirror: tuple[int, ...]) -> NDArray[np.int64]:
    """Apply symmetry k to codes of four fields that stand in clockwise order; mirror[i] is where field i goes."""
    mask = (1 << bits) - 1
    turned = np.zeros_like(code)
    for i in range(4):
        target = ((mirror[i] if k & 4 else i) + (k & 3)) % 4
        turned |= (code >> (bits * i) & mask) << (bits * target)
    return turned


def _turn_cross(code: NDArray[np.int64], k: int, bits: int) -> NDArray[np.int64]:
    """Fields at the top, right, bottom and left."""
    return _turn_fields(code, k, bits, (0, 3, 2, 1))


def _turn_corners(code: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Fields at the top right, bottom right, bottom left and top left."""
    return _turn_fields(code, k, 2, (3, 2, 1, 0))


def _turn_shape(code: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    return _turn_cross(code >> 8, k, 3) << 8 | _turn_corners(code & 255, k)


def _each_field(code: NDArray[np.int64], bits: int, change: NDArray[np.int64]) -> NDArray[np.int64]:
    mask = (1 << bits) - 1
    result = np.zeros_like(code)
    for i in range(4):
        result |= change[code >> (bits * i) & mask] << (bits * i)
    return result


def _shape_table() -> NDArray[np.int32]:
    codes = _possible_shapes()
    images = np.stack([_turn_shape(codes, k) for k in _ALL])
    turn = images.argmin(axis=0)
    least = images.min(axis=0)
    kinds, number = np.unique(least, return_inverse=True)
    own = _own_symmetries(kinds, _turn_shape)
    table = np.zeros(1 << 20, np.int32)
    table[codes] = number | turn << TURN_BITS | own[number] << OWN_BITS | _tactical_bits(codes)
    return table


def _tactical_bits(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """TACTICAL, BREATHING, EYE and PEACEFUL of shapes."""
    sides = np.stack([codes >> (8 + 3 * i) & 7 for i in range(4)])
    corners = np.stack([codes >> (2 * i) & 3 for i in range(4)])
    empty, captures = sides == 0, sides == _PLENTY + 1
    own = (sides >= 1) & (sides <= _PLENTY)
    breathing = (empty | captures | own & (sides > 1)).any(axis=0)
    surrounded = (own | (sides == EDGE_SIDE)).all(axis=0)
    enemies = (corners == WHITE).sum(axis=0) + (corners == BORDER).any(axis=0)
    weak = (own | (sides > _PLENTY) & (sides < EDGE_SIDE)) & (sides != _PLENTY) & (sides != 2 * _PLENTY)
    cramped = (empty.sum(axis=0) < 2) & ~(captures | (sides == _PLENTY)).any(axis=0)
    bits = np.zeros_like(codes)
    bits[weak.any(axis=0) | cramped] |= TACTICAL
    bits[breathing] |= BREATHING
    bits[surrounded & (enemies < 2)] |= EYE
    bits[surrounded & ~(sides == 1).any(axis=0)] |= PEACEFUL
    return bits


def _possible_shapes() -> NDArray[np.int64]:
    """All codes where the edge is a straight line or a right angle."""
    code = np.arange(1 << 20)
    edge = np.stack([code >> (8 + 3 * i) & 7 == EDGE_SIDE for i in range(4)])
    corner_edge = np.stack([code >> (2 * i) & 3 == BORDER for i in range(4)])
    fits = ~(edge[0] & edge[2]) & ~(edge[1] & edge[3])
    for i in range(4):
        fits &= corner_edge[i] == (edge[i] | edge[(i + 1) % 4])
    possible: NDArray[np.int64] = code[fits]
    return possible


def _own_symmetries(
    codes: NDArray[np.int64], turn: Callable[[NDArray[np.int64], int], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """For each code the set of symmetries that leave it as it is."""
    own = np.zeros_like(codes)
    for k in _ALL:
        own |= (turn(codes, k) == codes).astype(np.int64) << k
    return own


def _far_tables() -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    codes = np.arange(256)
    images = np.stack([_turn_cross(codes, k, 2) for k in _ALL])
    own = _own_symmetries(codes, lambda far, k: _turn_cross(far, k, 2))
    least, turn, left = (np.zeros((256, 256), np.uint8) for _ in range(3))
    for mask in range(1, 256):
        allowed = [k for k in _ALL if mask >> k & 1]
        best = images[allowed].argmin(axis=0)
        least[mask] = images[allowed].min(axis=0)
        turn[mask] = np.array(allowed)[best]
        left[mask] = own[least[mask]] & mask
    return least, turn, left


# --------------------------------------------------------------------------------------------- kernels


@kernel(inline=True)
def liberty_class(board, stone):  # type: ignore[no-untyped-def]
    """1, 2 or 3 (or more) liberties of the string of `stone`."""
    if pseudo_liberties(board.liberties[board.head[stone]]) > 4 * (_PLENTY - 1):
        return _PLENTY
    return liberty_count(board, stone, _PLENTY)


@kernel(inline=True)
def _side(board, classes, q):  # type: ignore[no-untyped-def]
    """The three bits of a neighbour; classes: uint8[P] holds the liberty class at the head of each string."""
    u = np.uint64
    shift = np.int64(board.color[u(q)]) << 2
    of_stone = np.int64(classes[board.head[u(q)]]) & 0x0330 >> shift  # all bits for stones, none for others
    return (0x7300 >> shift & 7) + (of_stone & 3)  # no branches: what stands there is hard to predict


@kernel(inline=True)
def read_shape(board, classes, p):  # type: ignore[no-untyped-def]
    """The code sides << 8 | corners around cell p."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    return (
        np.int64(cells[u(p - stride + 1)])
        | np.int64(cells[u(p + stride + 1)]) << 2
        | np.int64(cells[u(p + stride - 1)]) << 4
        | np.int64(cells[u(p - stride - 1)]) << 6
        | _side(board, classes, p - stride) << 8
        | _side(board, classes, p + 1) << 11
        | _side(board, classes, p + stride) << 14
        | _side(board, classes, p - 1) << 17
    )


@kernel(inline=True)
def read_far(board, p):  # type: ignore[no-untyped-def]
    """The code `far` around cell p. Beyond an edge is edge, though the padded grid goes on there."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    far = np.int64(0)
    i = 0
    for step in (-stride, 1, stride, -1):
        near = p + step
        beyond = step if cells[u(near)] != BORDER else 0
        far |= np.int64(cells[u(near + beyond)]) << i
        i += 2
    return far


@kernel(inline=True)
def shape_class(shape):  # type: ignore[no-untyped-def]
    """The number of a shape, from its entry in the table."""
    return shape & (SHAPES - 1)


@kernel(inline=True)
def swap_shape(code, tables):  # type: ignore[no-untyped-def]
    """The shape with its colours exchanged."""
    u = np.uint64
    return np.int64(tables.swap_sides[u(code >> 8)]) << 8 | np.int64(tables.swap_colors[u(code & 255)])
