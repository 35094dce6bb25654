"""A batch is turned as the symmetries turn single arrays and moves."""

import numpy as np
import pytest

from tengen.encode import get_encoder, transform_batch
from tengen.games.symmetry import SYMMETRIES, transform_array, transform_move

from .games import mixed_states


@pytest.mark.parametrize("size", [3, 9, 19])
def test_planes_and_labels_are_turned_together(size: int) -> None:
    rng = np.random.default_rng(size)
    planes = rng.integers(0, 256, (40, 5, size, size), np.uint8)
    labels = rng.integers(0, size * size + 1, 40)
    labels[:SYMMETRIES] = size * size
    symmetries = np.arange(40) % SYMMETRIES
    turned, moved = planes.copy(), labels.copy()
    transform_batch(turned, moved, symmetries)
    for i, k in enumerate(symmetries):
        assert np.array_equal(turned[i], transform_array(planes[i], int(k)))
        if labels[i] == size * size:
            assert moved[i] == size * size
        else:
            assert moved[i] == transform_move(int(labels[i]), int(k), size)


def test_a_label_stays_on_its_point() -> None:
    states = mixed_states(9, 32, seed=1)
    planes = get_encoder("oneplane").encode(states)
    labels = np.random.default_rng(1).integers(0, 81, 32)
    planes[np.arange(32), 0, labels // 9, labels % 9] = 99
    transform_batch(planes, labels, np.arange(32) % SYMMETRIES)
    assert (planes[np.arange(32), 0, labels // 9, labels % 9] == 99).all()


def test_an_empty_batch_is_a_batch() -> None:
    transform_batch(np.empty((0, 3, 9, 9), np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))


def test_batches_that_do_not_fit_are_refused() -> None:
    planes, labels, symmetries = np.zeros((2, 3, 9, 9), np.uint8), np.zeros(2, np.int64), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="shapes"):
        transform_batch(planes[:1], labels, symmetries)
    with pytest.raises(ValueError, match="shapes"):
        transform_batch(planes[..., :8], labels, symmetries)
    with pytest.raises(ValueError, match="symmetries are 0 to 7, not 0 to 8"):
        transform_batch(planes, labels, np.array([0, 8]))
    with pytest.raises(ValueError, match="labels are 0 to 81 on 9x9, not -1 to 0"):
        transform_batch(planes, np.array([-1, 0]), symmetries)
