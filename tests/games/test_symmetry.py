"""The eight symmetries form a group, and act alike on points, arrays and policies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.encode.games import mixed_states

from tengen.encode import get_encoder, transform_batch
from tengen.games.go.coordinates import PASS, RESIGN
from tengen.games.symmetry import (
    SYMMETRIES,
    compose,
    inverse,
    symmetry_points,
    symmetry_sources,
    transform_array,
    transform_move,
    transform_policy,
)

symmetries = st.integers(0, SYMMETRIES - 1)
sizes = st.integers(2, 25)


@given(symmetries, symmetries, sizes, st.data())
def test_composing_is_doing_one_after_the_other(j: int, k: int, size: int, data: st.DataObject) -> None:
    move = data.draw(st.integers(0, size * size - 1))
    both = transform_move(transform_move(move, j, size), k, size)
    assert transform_move(move, compose(j, k), size) == both


@given(symmetries, symmetries, symmetries)
def test_the_symmetries_are_a_group(i: int, j: int, k: int) -> None:
    assert compose(i, compose(j, k)) == compose(compose(i, j), k)
    assert compose(0, k) == compose(k, 0) == k
    assert compose(k, inverse(k)) == compose(inverse(k), k) == 0
    assert inverse(compose(j, k)) == compose(inverse(k), inverse(j))


@given(sizes)
def test_the_tables_hold_eight_different_permutations_and_their_inverses(size: int) -> None:
    points, sources = symmetry_points(size), symmetry_sources(size)
    everywhere = np.arange(size * size)
    assert points.dtype == sources.dtype == np.int16
    assert points.shape == sources.shape == (SYMMETRIES, size * size)
    assert len({row.tobytes() for row in points}) == SYMMETRIES
    for k in range(SYMMETRIES):
        assert (np.sort(points[k]) == everywhere).all()
        assert (points[k][sources[k]] == everywhere).all()
        assert (sources[k] == points[inverse(k)]).all()


@given(symmetries, sizes)
def test_symmetries_keep_neighbours_together(k: int, size: int) -> None:
    rows, cols = np.divmod(symmetry_points(size)[k].reshape(size, size).astype(np.int64), size)
    for axis in (0, 1):
        assert (abs(np.diff(rows, axis=axis)) + abs(np.diff(cols, axis=axis)) == 1).all()


@given(symmetries, st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_arrays_policies_and_moves_are_transformed_alike(k: int, size: int, seed: int) -> None:
    policy = np.random.default_rng(seed).random((3, 2, size * size + 1))
    moved = transform_policy(policy, k, size)
    planes = transform_array(policy[..., :-1].reshape(3, 2, size, size), k)
    assert (moved[..., :-1].reshape(3, 2, size, size) == planes).all()
    assert (moved[..., -1] == policy[..., -1]).all()
    for move in range(size * size):
        assert (moved[..., transform_move(move, k, size)] == policy[..., move]).all()
    assert (transform_policy(moved, inverse(k), size) == policy).all()


@pytest.mark.parametrize(
    ("k", "shown"),
    [(0, "ab cd"), (1, "ba dc"), (2, "cd ab"), (3, "dc ba"), (4, "ac bd"), (5, "ca db"), (6, "bd ac")],
)
def test_each_number_means_what_the_table_says(k: int, shown: str) -> None:
    square = np.array([["a", "b"], ["c", "d"]])
    assert " ".join("".join(row) for row in transform_array(square, k)) == shown


@given(symmetries)
def test_passing_and_resigning_look_the_same_from_all_sides(k: int) -> None:
    assert transform_move(PASS, k, 9) == PASS
    assert transform_move(RESIGN, k, 9) == RESIGN


def test_what_cannot_be_transformed_is_named() -> None:
    with pytest.raises(ValueError, match="symmetry 8"):
        transform_move(0, 8, 9)
    with pytest.raises(ValueError, match="point 81"):
        transform_move(81, 1, 9)
    with pytest.raises(ValueError, match="82 entries, not 81"):
        transform_policy(np.zeros(81), 1, 9)
    with pytest.raises(ValueError, match="not square"):
        transform_array(np.zeros((9, 8)), 1)


# --------------------------------------------------------------------------------- batches for networks


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
