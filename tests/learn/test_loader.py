"""The loader: a perfect shuffle, the same one every time, in memory that does not grow."""

import itertools
import threading
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.data.build import build_dataset
from tengen.data.dataset import Dataset, select
from tengen.encode.go import get_go_encoder
from tengen.games.go import BLACK
from tengen.games.go.coordinates import from_policy
from tengen.games.symmetry import transform_array, transform_move
from tengen.learn.loader import PositionLoader, RecordBatch, permuted

from ..data.packed_games import loose

SIZE = 5


def make_loader(dataset: Dataset, batch: int = 32, **settings: Any) -> PositionLoader:
    games = select(dataset, "all", size=SIZE)
    encoder = settings.pop("encoder", get_go_encoder("simple"))
    settings = {"seed": 1, "symmetries": False} | settings
    return PositionLoader(games, encoder, batch=batch, **settings)


def take(loader: PositionLoader, count: int) -> list[RecordBatch]:
    batches = loader.batches()
    try:
        return list(itertools.islice(batches, count))
    finally:
        batches.close()


def numbers(batches: list[RecordBatch]) -> list[tuple[int, int]]:
    """Which positions these are: (game, ply)."""
    return [pair for batch in batches for pair in zip(batch.games.tolist(), batch.plies.tolist())]


def assert_same(one: list[RecordBatch], other: list[RecordBatch]) -> None:
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
    for planes, move, ply, game in zip(*batch[:4]):
        state = tiny_dataset.start_of(int(game))
        for turn in range(ply):
            color, played = tiny_dataset.move_of(int(game), turn)
            state = state.play(played, color)
        color, following = tiny_dataset.move_of(int(game), int(ply))
        np.testing.assert_array_equal(planes, encoder.encode([state.with_to_play(color)])[0])
        assert from_policy(int(move), SIZE) == following


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
                and transform_move(from_policy(move, SIZE), k, SIZE) == from_policy(move_after, SIZE)
            }
            assert ways
            found += [(run, *ways)] if len(ways) == 1 else []
    assert {k for _, k in found} == set(range(8))


def test_memory_does_not_grow_with_the_number_of_games(tiny_dataset: Dataset) -> None:
    """A hundred times as many games take sixteen bytes each, for their numbers, and no more for their positions."""
    games = select(tiny_dataset, "all", size=SIZE)

    def peak(times: int) -> int:
        many = replace(games, rows=np.tile(games.rows, times), lengths=np.tile(games.lengths, times))
        tracemalloc.start()
        loader = PositionLoader(many, get_go_encoder("simple"), batch=64, seed=1)
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
        PositionLoader(replace(games, rows=games.rows[:0]), get_go_encoder("simple"), batch=1, seed=1)


# ----------------------------------------------------------------------------------------------- results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Games of one move: counted, counted at an unknown komi, resigned, drawn, unknown; White's is the second."""
    folder = tmp_path_factory.mktemp("results")
    heads = ("RE[B+3.5]KM[5.5];B[aa]", "RE[W+2];W[ba]", "RE[W+R]KM[7];B[ca]", "RE[0]KM[7];B[da]", "KM[7];B[ea]")
    files = {f"{i}.sgf": f"(;SZ[5]{head})".encode() for i, head in enumerate(heads)}
    build_dataset([loose(folder / "in", files)], folder / "out", workers=1)
    return Dataset.open(folder / "out")


def test_the_winner_is_as_the_player_to_move_sees_it(results: Dataset) -> None:
    batch = make_loader(results, shuffle=False).batch_at(0, 5)
    assert batch.winner.tolist() == [1, 1, -1, 0, 0]
    assert batch.known.tolist() == [True, True, True, True, False]
    assert batch.lengths.tolist() == [1] * 5


def test_counted_games_are_counted_again_at_another_komi(results: Dataset) -> None:
    encoder = get_go_encoder("compact-komi")
    batch = make_loader(results, encoder=encoder, shuffle=False, komi_spread=4.0).batch_at(0, 1000)
    for game, komi, winner in zip(batch.games.tolist(), batch.komi.tolist(), batch.winner.tolist()):
        # The first game has Black nine points ahead, the fourth seven; the others were not counted at a known komi.
        points = {0: 9, 3: 7}.get(game)
        assert winner == ({1: 1, 2: -1, 4: 0}[game] if points is None else np.sign(points - komi))
    shown = [sorted(set(batch.komi[batch.games == game].tolist())) for game in range(5)]
    assert shown == [np.arange(1.5, 10, 0.5).tolist(), [7.5], [7], np.arange(3, 11.5, 0.5).tolist(), [7]]
    for game, komi, planes in zip(batch.games.tolist(), batch.komi.tolist(), batch.planes):
        assert np.array_equal(planes, encoder.encode([results.start_of(game).with_komi(komi)])[0])


def test_ownership_goes_with_its_position_and_its_player(tiny_dataset: Dataset) -> None:
    rng = np.random.default_rng(3)
    owners = rng.integers(-1, 2, (len(tiny_dataset.columns["komi"]), SIZE * SIZE)).astype(np.int8)
    plain, turned = (make_loader(tiny_dataset, symmetries=is_on, ownership=owners).batch_at(0, 64) for is_on in (0, 1))
    assert plain.ownership is not None and turned.ownership is not None
    for i in range(64):
        color, _ = tiny_dataset.move_of(int(plain.games[i]), int(plain.plies[i]))
        assert np.array_equal(plain.ownership[i], owners[plain.games[i]] * (1 if color == BLACK else -1))
        both = np.concatenate([plain.planes[i].astype(int), plain.ownership[i].reshape(1, SIZE, SIZE)])
        found = np.concatenate([turned.planes[i].astype(int), turned.ownership[i].reshape(1, SIZE, SIZE)])
        images = [np.stack([transform_array(plane, k) for plane in both]) for k in range(8)]
        assert any(np.array_equal(image, found) for image in images)
    assert make_loader(tiny_dataset).batch_at(0, 4).ownership is None
