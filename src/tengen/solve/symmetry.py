"""Positions up to the eight symmetries of the board, as exact keys of 57 bits.

A pair of point sets is one int64, the second set 32 bits above the first, so that both are turned and mirrored by the
same few shifts. The key of a position is the least of its eight images; nothing is hashed, so two positions share a key
only if one is an image of the other.

    bits 0-24 a's stones | 25-49 b's stones | 50-54 ko (0: none) | 55 whether b is to move | 56 whether a pass came last
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from tengen._kernel import kernel
from tengen.solve.bitboard import WIDTH, count

_PAIR: Final = 1 | 1 << 32
_POINTS: Final = (1 << 25) - 1


def _both(points: Iterable[tuple[int, int]]) -> int:
    """A set of points (row, column), in both halves of a pair."""
    return sum(1 << WIDTH * row + col for row, col in points) * _PAIR


def _diagonal(k: int) -> int:
    """Where the column is the row plus k."""
    return _both((row, row + k) for row in range(5) if 0 <= row + k < 5)


_R0, _R1, _R2, _R3, _R4 = (_both((k, col) for col in range(5)) for k in range(5))
_C0, _C1, _C2, _C3, _C4 = (_both((row, k) for row in range(5)) for k in range(5))
_D0, _D1, _D2, _D3, _D4 = (_diagonal(k) for k in range(5))
_E1, _E2, _E3, _E4 = (_diagonal(-k) for k in range(1, 5))


@kernel(inline=True)
def upside_down(pair, size):  # type: ignore[no-untyped-def]
    """The pair with its rows in reverse order."""
    turned = (pair & _R0) << 20 | (pair & _R1) << 10 | pair & _R2 | (pair & _R3) >> 10 | (pair & _R4) >> 20
    return turned >> WIDTH * (WIDTH - size)


@kernel(inline=True)
def mirrored(pair, size):  # type: ignore[no-untyped-def]
    """The pair with its columns in reverse order."""
    turned = (pair & _C0) << 4 | (pair & _C1) << 2 | pair & _C2 | (pair & _C3) >> 2 | (pair & _C4) >> 4
    return turned >> (WIDTH - size)


@kernel(inline=True)
def transposed(pair):  # type: ignore[no-untyped-def]
    """The pair with rows and columns exchanged."""
    above = (pair & _D1) << 4 | (pair & _D2) << 8 | (pair & _D3) << 12 | (pair & _D4) << 16
    below = (pair & _E1) >> 4 | (pair & _E2) >> 8 | (pair & _E3) >> 12 | (pair & _E4) >> 16
    return pair & _D0 | above | below


@kernel(inline=True)
def _least(pair, size):  # type: ignore[no-untyped-def]
    """The least of the four images that need no transposition."""
    turned = upside_down(pair, size)
    best = min(pair, turned)
    return min(best, min(mirrored(pair, size), mirrored(turned, size)))


@kernel
def image(pair, size, symmetry):  # type: ignore[no-untyped-def]
    """The image of a pair under symmetry 0 to 7: bit 2 transposes, then bit 0 reverses rows, bit 1 columns."""
    if symmetry & 4:
        pair = transposed(pair)
    if symmetry & 1:
        pair = upside_down(pair, size)
    return mirrored(pair, size) if symmetry & 2 else pair


@kernel
def position_key(a, b, ko, turn, passes, size):  # type: ignore[no-untyped-def]
    """The key of a position; turn: 0 if a is to move, 1 if b is; passes: 1 if the last move was a pass."""
    pair = a | b << 32
    if ko == 0:
        best = min(_least(pair, size), _least(transposed(pair), size))
        return best & _POINTS | (best >> 32) << 25 | turn << 55 | passes << 56
    best, best_ko = np.int64(1) << 62, np.int64(0)
    for symmetry in range(8):
        turned, turned_ko = image(pair, size, symmetry), image(ko, size, symmetry)
        if turned < best or (turned == best and turned_ko < best_ko):
            best, best_ko = turned, turned_ko
    return best & _POINTS | (best >> 32) << 25 | (count(best_ko - 1) + 1) << 50 | turn << 55 | passes << 56
