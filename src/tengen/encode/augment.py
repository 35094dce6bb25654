"""The eight symmetries of the square, applied to a batch on its way to a network.

Symmetries are numbered as in `games.symmetry`. A board has no up or down, so every position seen is eight: a
network learns the same from fewer games.
"""

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import copy_into, kernel, stack_array
from tengen.games.symmetry import SYMMETRIES, symmetry_points


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
