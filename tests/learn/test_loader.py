"""The loader: a perfect shuffle, the same one every time, in memory that does not grow."""

import itertools
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.data.dataset import Dataset, select
from tengen.encode.go import GoEncoder, get_go_encoder
from tengen.games.symmetry import transform_array, transform_move
from tengen.learn.loader import Batch, PositionLoader, permuted

SIZE = 5


def make_loader(dataset: Dataset, batch: int = 32, **settings: Any) -> PositionLoader:
    games = select(dataset, "all", size=SIZE)
    encoder = settings.pop("encoder", get_go_encoder("simple"))
    settings = {"seed": 1, "symmetries": False} | settings
    return PositionLoader(games.game_moves, games.rows, encoder, SIZE, batch=batch, **settings)


def take(loader: PositionLoader, count: int) -> list[Batch]:
    batches = loader.batches()
    try:
        return list(itertools.islice(batches, count))
    finally:
        batches.close()


def numbers(batches: list[Batch]) -> list[tuple[int, int]]:
    """Which positions these are: (game, ply)."""
    return [pair for batch in batches for pair in zip(batch.games.tolist(), batch.plies.tolist())]


def assert_same(one: list[Batch], other: list[Batch]) -> None:
    for a, b in zip(one, other, strict=True):
        for left, right in zip(a, b, strict=True):
            np.testing.assert_array_equal(left, right)


@given(st.integers(1, 3000), st.integers(0, 2**64 - 1))
def test_a_shuffle_is_a_permutation_of_any_length(count: int, key: int) -> None:
    assert sorted(permuted(i, count, np.uint64(key)) for i in range(count)) == list(range(count))


def test_every_position_comes_once_a_pass_and_another_way_round_in_the_next(tiny_dataset: Dataset) -> None:
    loader = make_loader(tiny_dataset)
    every = [(game, ply) for game in range(tiny_dataset.games) for ply in range(tiny_dataset.lengths[game])]
    assert loader.positions == len(every)
    first, second = (numbers([loader.batch_at(run * loader.positions, loader.positions)]) for run in (0, 1))
    assert sorted(first) == sorted(second) == every
    assert first != second
    assert first != every
    assert numbers([make_loader(tiny_dataset, seed=2).batch_at(0, loader.positions)]) != first


def test_without_shuffling_positions_come_in_the_order_of_the_games(tiny_dataset: Dataset) -> None:
    loader = make_loader(tiny_dataset, shuffle=False)
    drawn = numbers([loader.batch_at(0, loader.positions)])
    assert drawn == sorted(drawn)


def test_shuffling_is_even(tiny_dataset: Dataset) -> None:
    """The games among the first fifth of a pass are those of the whole: no run of one game, no late arrivals."""
    loader = make_loader(tiny_dataset)
    games = loader.batch_at(0, loader.positions // 5).games
    assert len(set(games.tolist())) > 0.95 * tiny_dataset.games
    assert np.mean(np.diff(games) == 0) < 0.05


@pytest.mark.parametrize("start", [0, 1, 31, 32, 1000, 12_345])
def test_from_any_start_the_sequence_goes_on_as_if_never_stopped(tiny_dataset: Dataset, start: int) -> None:
    whole = make_loader(tiny_dataset, symmetries=True)
    resumed = take(make_loader(tiny_dataset, symmetries=True, start=start), 4)
    assert_same(resumed, [whole.batch_at(start + 32 * i, 32) for i in range(4)])


def test_threads_do_not_change_the_order(tiny_dataset: Dataset) -> None:
    one, four = (take(make_loader(tiny_dataset, symmetries=True, threads=threads), 60) for threads in (1, 4))
    assert_same(one, four)


def test_threads_end_with_the_batches(tiny_dataset: Dataset) -> None:
    take(make_loader(tiny_dataset, threads=3), 2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("loader")]


@pytest.mark.parametrize("name", ["simple", "alphago", "zero"])
def test_positions_are_those_of_the_games(tiny_dataset: Dataset, name: str) -> None:
    encoder = get_go_encoder(name)
    batch = make_loader(tiny_dataset, encoder=encoder).batch_at(0, 40)
    for planes, move, ply, game in zip(*batch):
        state = tiny_dataset.start_of(int(game))
        for turn in range(ply):
            color, played = tiny_dataset.move_of(int(game), turn)
            state = state.play(played, color)
        color, following = tiny_dataset.move_of(int(game), int(ply))
        np.testing.assert_array_equal(planes, encoder.encode([state.with_to_play(color)])[0])
        assert GoEncoder.index_to_move(int(move), SIZE) == following


def test_symmetries_turn_planes_and_moves_alike_and_anew_each_pass(tiny_dataset: Dataset) -> None:
    plain, turned = make_loader(tiny_dataset), make_loader(tiny_dataset, symmetries=True)
    found = []
    for run in range(2):
        pairs = zip(*(loader.batch_at(run * loader.positions, loader.positions)[:2] for loader in (plain, turned)))
        (planes, planes_turned), (moves, moves_turned) = pairs
        for before, after, move, move_after in zip(planes, planes_turned, moves.tolist(), moves_turned.tolist()):
            ways = {
                k
                for k in range(8)
                if np.array_equal(transform_array(before, k), after)
                and transform_move(GoEncoder.index_to_move(move, SIZE), k, SIZE)
                == GoEncoder.index_to_move(move_after, SIZE)
            }
            assert ways
            found += [(run, *ways)] if len(ways) == 1 else []
    assert {k for _, k in found} == set(range(8))


def test_memory_does_not_grow_with_the_number_of_games(tiny_dataset: Dataset) -> None:
    """A hundred times as many games take sixteen bytes each, for their numbers, and no more for their positions."""
    games = select(tiny_dataset, "all", size=SIZE)

    def peak(times: int) -> int:
        rows = np.tile(games.rows, times)
        tracemalloc.start()
        loader = PositionLoader(games.game_moves, rows, get_go_encoder("simple"), SIZE, batch=64, seed=1)
        assert loader.positions == times * games.positions
        for start in range(0, 64 * 20, 64):
            loader.batch_at(start, 64)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1)  # compiles
    few, many = peak(1), peak(100)
    assert many - few < 40 * 99 * len(games.rows)
    assert many - few < games.positions * 99  # a byte a position would be more


def test_no_position_is_an_error_with_a_remedy(tiny_dataset: Dataset) -> None:
    games = select(tiny_dataset, "all", size=SIZE)
    with pytest.raises(ValueError, match="choose more games"):
        PositionLoader(games.game_moves, games.rows[:0], get_go_encoder("simple"), SIZE, batch=1, seed=1)
