"""The eight symmetries of the square, on points, arrays and policies.

A symmetry is a number k from 0 to 7, read as three bits and carried out in this order:

| bit | value | does                                | (row, col) goes to   |
|-----|-------|-------------------------------------|----------------------|
| 2   | 4     | mirror in the main diagonal         | (col, row)           |
| 1   | 2     | mirror top and bottom               | (size - 1 - row, col)|
| 0   | 1     | mirror left and right               | (row, size - 1 - col)|

So 0 is the identity, 3 the half turn, 5 and 6 the quarter turns. Everything here moves *contents*: if k takes
point p to q, then what stood at p in an array or policy stands at q in the transformed one.
"""

from collections.abc import Sequence
from functools import cache
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

SYMMETRIES: Final = 8
Scalar = TypeVar("Scalar", bound=np.generic)
_TRANSPOSE, _FLIP_ROWS, _FLIP_COLUMNS = 4, 2, 1


@cache
def symmetry_points(size: int) -> NDArray[np.int16]:
    """int16[8, size * size]: entry [k, p] is the point where symmetry k takes point p. Read only."""
    rows, cols = np.divmod(np.arange(size**2), size)
    table = np.empty((SYMMETRIES, size * size), np.int16)
    for k in range(SYMMETRIES):
        row, col = (cols, rows) if k & _TRANSPOSE else (rows, cols)
        row = size - 1 - row if k & _FLIP_ROWS else row
        col = size - 1 - col if k & _FLIP_COLUMNS else col
        table[k] = row * size + col
    table.flags.writeable = False
    return table


@cache
def symmetry_sources(size: int) -> NDArray[np.int16]:
    """int16[8, size * size]: entry [k, q] is the point that symmetry k takes to q. Read only.

    This is the table to gather with: `transformed = policy[..., symmetry_sources(size)[k]]`.
    """
    sources = np.argsort(symmetry_points(size), axis=1).astype(np.int16)
    sources.flags.writeable = False
    return sources


def square_symmetries(
    size: int, can_pass: bool = False, which: Sequence[int] = range(SYMMETRIES)
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`Game.symmetries` of a square board with a move for each point, and perhaps a pass, which stays what it is."""
    points = symmetry_sources(size)[list(which)].astype(np.int64)
    return points, np.hstack([points, np.full((len(points), int(can_pass)), size * size)])


def inverse(k: int) -> int:
    """The symmetry that undoes k: itself, but for the two quarter turns."""
    return {5: 6, 6: 5}.get(_check(k), k)


def compose(first: int, then: int) -> int:
    """The one symmetry that does `first` and `then` after it."""
    _check(first)
    _check(then)
    moved = first & (_FLIP_ROWS | _FLIP_COLUMNS)
    if then & _TRANSPOSE:  # a mirror of rows, seen past a transposition, is a mirror of columns
        moved = moved >> 1 | (moved & 1) << 1
    return (first ^ then) & _TRANSPOSE | moved ^ then & (_FLIP_ROWS | _FLIP_COLUMNS)


def transform_move(move: int, k: int, size: int) -> int:
    """Where symmetry k takes a move; PASS and RESIGN stay what they are."""
    if move < 0:
        return move
    if move >= size * size:
        raise ValueError(f"point {move} is not on a {size}x{size} board: the last one is {size * size - 1}")
    return int(symmetry_points(size)[_check(k), move])


def transform_array(array: NDArray[Scalar], k: int) -> NDArray[Scalar]:
    """The array [..., size, size] under symmetry k, as a view on the same memory."""
    height, width = array.shape[-2:]
    if height != width:
        raise ValueError(f"an array of shape {array.shape} is not square in its last two axes")
    if _check(k) & _TRANSPOSE:
        array = array.swapaxes(-1, -2)
    if k & _FLIP_ROWS:
        array = array[..., ::-1, :]
    if k & _FLIP_COLUMNS:
        array = array[..., ::-1]
    return array


def transform_policy(policy: NDArray[Scalar], k: int, size: int) -> NDArray[Scalar]:
    """The policy [..., size * size + 1] under symmetry k, as a new array; its last entry, pass, stays."""
    if policy.shape[-1] != size * size + 1:
        raise ValueError(f"a policy for {size}x{size} has {size * size + 1} entries, not {policy.shape[-1]}")
    transformed: NDArray[Scalar] = policy[..., np.append(symmetry_sources(size)[_check(k)], size * size)]
    return transformed


def _check(k: int) -> int:
    if not 0 <= k < SYMMETRIES:
        raise ValueError(f"symmetry {k} does not exist: choose from 0 to {SYMMETRIES - 1}")
    return k
