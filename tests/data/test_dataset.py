"""Datasets: what was built reads back game by game, in place; splits last for ever; the sampler keeps its word."""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tengen.data.build import build_dataset
from tengen.data.dataset import TEST_PERCENT, Dataset, DatasetError, dataset_statistics, is_test, position_of, select
from tengen.games import go
from tengen.games.go import BLACK, WHITE
from tengen.games.go.positions import allocate_positions, encode_move, replay
from tengen.games.go.sgf import read_sgf, write_sgf

from .packed_games import loose, random_game

FIRST_TEST_DIGESTS = [29, 32, 52, 56, 74, 75, 86, 89, 96, 99]
RANKS = [("7d", "6d"), ("9p", "8p"), ("1k", "5k"), ("", "6d"), ("3d", "3d"), ("6d?", "9d")]


@cache
def states() -> list[go.State]:
    """Ten games on three sizes of boards."""
    nine = [random_game(seed, 9, 30) for seed in range(6)]
    nineteen = [random_game(seed, 19, 60, handicap) for seed, handicap in ((10, 0), (11, 2), (12, 9))]
    return [*nine, *nineteen, random_game(20, 13, 20)]


def made(state: go.State, index: int) -> bytes:
    """A record with ranks, a year and a result."""
    black, white = RANKS[index % len(RANKS)]
    extra = f"BR[{black}]WR[{white}]DT[{2000 + index}-01-01]RE[{'BW'[index % 2]}+{index}.5]"
    return write_sgf(state).replace(b"FF[4]", b"FF[4]" + extra.encode(), 1)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The ten games as a dataset."""
    folder = tmp_path_factory.mktemp("dataset")
    files = {f"{i:02d}.sgf": made(state, i) for i, state in enumerate(states())}
    build_dataset([loose(folder / "games", files)], folder / "out", workers=1)
    return Dataset.open(folder / "out")


def test_every_fact_of_every_game_is_there(dataset: Dataset) -> None:
    columns = dataset.columns
    assert dataset.games == len(states())
    assert columns["size"].tolist() == [state.size for state in states()]
    assert columns["handicap"].tolist() == [state.handicap for state in states()]
    assert columns["year"].tolist() == [2000 + i for i in range(10)]
    assert columns["winner"].tolist() == [BLACK, WHITE] * 5
    assert columns["margin"].tolist() == [i + 0.5 for i in range(10)]
    assert columns["black_rank"].tolist()[:6] == [7, 19, -1, 0, 3, 6]
    assert columns["white_rank"].tolist()[:6] == [6, 18, -5, 6, 3, 9]
    assert [dataset.text("source", i) for i in range(10)] == [f"{i:02d}.sgf" for i in range(10)]
    assert {dataset.text("rules", i) for i in range(10)} == {"japanese"}
    assert dataset.text("result", 3) == "W+3.5"
    assert np.all(columns["komi"] == 6.5)


def test_komi_counts_the_bonus_and_where_unknown_is_that_of_the_rules(tmp_path: Path) -> None:
    heads = {"KM[5.5]": 5.5, "": 7.5, "RU[Japanese]": 6.5, "RU[Chinese]KM[0.5]HA[2]AB[cc][gg]": 2.5}
    files = {f"{i}.sgf": f"(;SZ[9]{head};W[a{'abcd'[i]}])".encode() for i, head in enumerate(heads)}
    build_dataset([loose(tmp_path / "in", files)], tmp_path / "out", workers=1)
    dataset = Dataset.open(tmp_path / "out")
    assert dataset.game_moves.komi.tolist() == list(heads.values())
    assert [dataset.start_of(row).compensation for row in range(4)] == list(heads.values())


def test_results_are_known_or_not_and_points_are_before_komi(tmp_path: Path) -> None:
    heads = ("RE[B+3.5]KM[5.5]", "RE[W+2]KM[7]", "RE[W+2]", "RE[W+R]KM[7]", "RE[0]KM[7]", "RE[Void]KM[7]")
    files = {f"{i}.sgf": f"(;SZ[9]{head};B[a{'abcdef'[i]}])".encode() for i, head in enumerate(heads)}
    build_dataset([loose(tmp_path / "in", files)], tmp_path / "out", workers=1)
    games = Dataset.open(tmp_path / "out").game_moves
    assert games.result.tolist() == [1, -1, -1, -1, 0, 0]
    assert games.known.tolist() == [True, True, True, True, True, False]
    np.testing.assert_array_equal(games.points, [9, 5, np.nan, np.nan, 7, np.nan])


def test_moves_and_setup_are_those_of_the_records(dataset: Dataset) -> None:
    for row, state in enumerate(states()):
        assert dataset.moves_of(row).tolist() == [encode_move(color, move, state.size) for color, move in state.moves]
        assert dataset.setup_of(row).tolist() == sorted(state.setup_stones[0])
        assert [dataset.move_of(row, ply) for ply in range(len(state.moves))] == state.moves


def test_replayed_positions_are_those_of_the_game_states(dataset: Dataset) -> None:
    for row, state in enumerate(states()):
        history = [state]
        while history[-1].previous is not None:
            history.append(history[-1].previous)
        history.reverse()
        plies = np.arange(len(state.moves))
        positions = allocate_positions(state.size, len(plies))
        replay(dataset.game_moves, np.full(len(plies), row), plies, positions)
        for ply in plies:
            assert np.array_equal(positions.past[ply, 0], history[ply].stones.ravel())


def test_states_begin_and_go_on_as_recorded(dataset: Dataset) -> None:
    for row, state in enumerate(states()):
        again = dataset.start_of(row)
        assert (again.komi, again.rules.name, again.handicap) == (6.5, "japanese", state.handicap)
        for color, move in state.moves:
            again = again.play(move, color)
        assert np.array_equal(again.stones, state.stones)
        shown = position_of(dataset, row, len(state.moves))
        assert np.array_equal(shown.stones, state.stones)
        assert shown.last_move == state.last_move


def test_a_position_is_shown_whatever_the_rules_say(tmp_path: Path) -> None:
    """Suicide, a ko retaken and play after two passes."""
    retaken = b"(;SZ[9]AB[ba][ab][bc]AW[ca][db][cc][bb];B[cb];W[bb];B[];W[];B[ii])"
    build_dataset([loose(tmp_path / "in", {"1.sgf": retaken})], tmp_path / "out", workers=1)
    dataset = Dataset.open(tmp_path / "out")
    assert [position_of(dataset, 0, ply).color_at(9 + 1) for ply in range(6)] == [WHITE, 0, WHITE, WHITE, WHITE, WHITE]
    assert position_of(dataset, 0, 5).color_at(80) == BLACK


def test_columns_lie_in_the_file_and_suit_kernels(dataset: Dataset) -> None:
    """No copies: each array is a view of one mapping, aligned and, for numba, writable (which changes no file)."""
    before = (dataset.folder / "games.arrow").read_bytes()
    for array in (*dataset.game_moves[:4], *dataset.columns.values()):
        assert type(array) is np.ndarray and array.flags.aligned and array.flags.writeable and not array.flags.owndata
    dataset.game_moves.moves[0] += 1
    assert (dataset.folder / "games.arrow").read_bytes() == before
    dataset.game_moves.moves[0] -= 1


# ---------------------------------------------------------------------------------------------- sampling


def test_the_split_is_a_property_of_the_game_alone() -> None:
    digests = np.random.default_rng(1).integers(0, 2**64, 100_000, np.uint64)
    tests = is_test(digests)
    assert abs(tests.mean() - TEST_PERCENT / 100) < 0.004
    shuffled = np.random.default_rng(2).permutation(len(digests))
    assert np.array_equal(is_test(digests[shuffled]), tests[shuffled])
    # Fixed for ever: a change here would make test games of models that exist into training games.
    assert np.flatnonzero(is_test(np.arange(100, dtype=np.uint64))).tolist() == FIRST_TEST_DIGESTS


def test_train_and_test_share_no_game_and_lose_none(dataset: Dataset) -> None:
    rows = []
    for split in ("train", "test"):
        try:
            rows += select(dataset, split, size=9).rows.tolist()  # type: ignore[arg-type]
        except DatasetError:  # none of so few games is a test game
            assert split == "test"
    assert sorted(rows) == [0, 1, 2, 3, 4, 5]


def test_filters(dataset: Dataset) -> None:
    def rows(**wanted: object) -> list[int]:
        return select(dataset, "all", **wanted).rows.tolist()  # type: ignore[arg-type]

    assert rows() == [6, 7, 8]
    assert rows(size=13) == [9]
    assert rows(size=9, min_rank=6) == [0, 1, 5]
    assert rows(size=9, min_rank=11) == [1]
    assert rows(size=9, min_rank=-5) == [0, 1, 2, 4, 5]
    assert rows(size=9, years=(2001, 2003)) == [1, 2, 3]
    assert rows(handicap=True) == [7, 8]
    assert rows(handicap=False) == [6]


def test_a_sample_is_drawn_by_its_seed(dataset: Dataset) -> None:
    draws = [tuple(select(dataset, "all", 3, size=9, seed=seed).rows.tolist()) for seed in (1, 1, 2, 3, 4, 5)]
    assert draws[0] == draws[1]
    assert len(set(draws)) > 2
    assert all(len(set(draw)) == 3 and list(draw) == sorted(draw) for draw in draws)


def test_a_selection_counts_its_positions(dataset: Dataset) -> None:
    chosen = select(dataset, "all", size=9)
    assert chosen.lengths.tolist() == [len(state.moves) for state in states()[:6]]
    assert chosen.positions == sum(len(state.moves) for state in states()[:6])


@pytest.mark.parametrize(
    ("split", "wanted"), [("all", {"games": 4}), ("all", {"games": 0}), ("all", {"size": 7}), ("some", {})]
)
def test_what_cannot_be_selected_is_an_error(dataset: Dataset, split: str, wanted: dict[str, int]) -> None:
    with pytest.raises(DatasetError):
        select(dataset, split, **wanted)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------- the rest


def test_statistics_count_every_game(dataset: Dataset) -> None:
    tables = dataset_statistics(dataset)
    assert tables["games"]["all"] == 10
    assert tables["board size"] == {"9x9": 6, "13x13": 1, "19x19": 3}
    assert tables["handicap"] == {"none": 8, "2 stones": 1, "9 stones": 1}
    assert tables["result"] == {"Black won": 5, "White won": 5}
    assert tables["players by rank"]["9p"] == 2
    for name in ("result", "ended", "rules", "year", "handicap", "board size"):
        assert sum(tables[name].values()) == 10


def test_a_dataset_of_nothing_can_be_opened(tmp_path: Path) -> None:
    build_dataset([loose(tmp_path / "in", {"bad.sgf": b"no game"})], tmp_path / "out", workers=1)
    empty = Dataset.open(tmp_path / "out")
    assert (empty.games, len(empty.game_moves.offsets), empty.lengths.tolist()) == (0, 1, [])
    assert dict(empty.summary["rejected"]) == {"unreadable": 1}
    assert dataset_statistics(empty)["games"] == {"all": 0, "train": 0, "test": 0}


@pytest.mark.parametrize("damage", ["missing", "cut", "other", "half", "no folder"])
def test_a_damaged_dataset_is_an_error_in_one_line(tmp_path: Path, damage: str) -> None:
    out = tmp_path / "out"
    build_dataset([loose(tmp_path / "in", {"1.sgf": b"(;SZ[9];B[aa])"})], out, workers=1)
    games = out / "games.arrow"
    if damage == "missing":
        games.unlink()
    elif damage == "cut":
        games.write_bytes(games.read_bytes()[:100])
    elif damage == "other":
        games.write_bytes(b"something else")
    elif damage == "half":
        (out / "dataset.json").write_text('{"games": 7}')
    else:
        out = tmp_path / "nowhere"
    with pytest.raises(DatasetError) as caught:
        Dataset.open(out)
    assert "\n" not in str(caught.value) and "build" in str(caught.value)


def test_rows_that_do_not_exist_are_an_error(dataset: Dataset) -> None:
    for row in (-1, 10):
        with pytest.raises(DatasetError, match="0 to 9"):
            dataset.moves_of(row)


def test_records_and_dataset_agree_on_komi_unknown(tmp_path: Path) -> None:
    data = b"(;SZ[9];B[aa])"
    build_dataset([loose(tmp_path / "in", {"1.sgf": data})], tmp_path / "out", workers=1)
    dataset = Dataset.open(tmp_path / "out")
    assert math.isnan(dataset.columns["komi"][0])
    assert dataset.start_of(0).komi == read_sgf(data).state.komi
