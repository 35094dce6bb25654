"""The eight symmetries of the square, on points, arrays, policies and batches for networks.

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

from tengen._kernel import copy_into, kernel, stack_array

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
    """`Game.symmetries` of a square board with a move for each point, and perhaps a pass, which stays what it is.

    >>> import tengen
    >>> points, actions = tengen.square_symmetries(6, can_pass=True, which=(0, 3, 4, 7))
    >>> points.shape, actions.shape
    ((4, 36), (4, 37))
    """
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


# --------------------------------------------------------------------------------- batches for networks
# A board has no up or down, so every position seen is eight: a network learns the same from fewer games.


def transform_batch(planes: NDArray[np.uint8], labels: NDArray[np.int64], symmetries: NDArray[np.int64]) -> None:
    """Turn each position of a batch, and the move that goes with it, by a symmetry of its own; in place.

    planes: uint8[B, C, N, N] in C order; labels: int64[B] as policy indices, N * N being pass, which stays;
    symmetries: int64[B] of 0 to 7.
    """
    batch, channels, size, width = planes.shape
    if size != width or labels.shape != (batch,) or symmetries.shape != (batch,) or not planes.flags.c_contiguous:
        raise ValueError(
            f"a batch is C-contiguous planes[B, C, N, N], labels[B] and symmetries[B], "
            f"not arrays of the shapes {planes.shape}, {labels.shape} and {symmetries.shape}"
        )
    if batch and not (0 <= symmetries.min() and symmetries.max() < SYMMETRIES):
        raise ValueError(f"symmetries are 0 to {SYMMETRIES - 1}, not {symmetries.min()} to {symmetries.max()}")
    if batch and not (0 <= labels.min() and labels.max() <= size * size):
        raise ValueError(f"labels are 0 to {size * size} on {size}x{size}, not {labels.min()} to {labels.max()}")
    _transform(planes.reshape(batch, channels, size * size), labels, symmetries, symmetry_points(size))


@kernel
def _transform(planes, labels, symmetries, points):  # type: ignore[no-untyped-def]
    """planes: uint8[B, C, N * N]; points: int16[8, N * N], where each symmetry takes each point."""
    u = np.uint64
    area = planes.shape[2]
    before = stack_array(area, planes.dtype)
    for i in range(planes.shape[0]):
        k = symmetries[i]
        if k == 0:
            continue
        if labels[i] < area:
            labels[i] = points[k, labels[i]]
        for c in range(planes.shape[1]):
            copy_into(planes[i, c], before)
            for point in range(area):
                planes[u(i), u(c), u(points[u(k), u(point)])] = before[u(point)]
