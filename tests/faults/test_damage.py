"""A flipped bit in any file that a run goes on from: it is found, and the message names the file and the remedy."""

import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tengen.arena.results import GameResult, MatchFolder
from tengen.data.build import build_dataset
from tengen.data.dataset import GAMES_FILE, Dataset
from tengen.games.go.game import GAME
from tengen.learn.generation_games import GenerationFolder, GenerationGames
from tengen.learn.reinforce import Experience, GameFolder
from tengen.learn.replay import ChunkFacts, ChunkFolder, Packed, PlayedGames
from tengen.learn.settings import PositionSettings
from tengen.learn.trainer import load_checkpoint, save_checkpoint
from tengen.learn.value import ValuePositions
from tengen.nets.model_file import ModelCard, read_model, save_model
from tengen.nets.network import build_network
from tengen.runs.files import settings_as_toml
from tengen.solve.endgame_build import build_tables
from tengen.solve.transposition_table import load_table, new_table, save_table, store
from tengen.workers.calls import open_workers
from tengen.workers.local import this_machine

from ..data.packed_games import loose, records

Read = Callable[[], Any]
"""Reads what a file holds, as something that can be compared."""
Made = tuple[Path, Read]

FLIPS = 40


def noise(shape: tuple[int, ...], dtype: Any) -> Any:
    return np.random.default_rng(1).integers(0, 2, shape).astype(dtype)


def comparable(arrays: Any) -> list[Any]:
    return [np.asarray(array).tolist() for array in arrays]


def chunk(folder: Path) -> Made:
    positions = Packed(
        noise((4, 9), np.uint8), noise((4, 5), np.float16), noise((4, 2), np.uint8), noise((4,), np.float16),
        noise((4,), np.float16), noise((4, 9), np.int8), noise((4,), np.float16), noise((4,), np.bool_),
    )  # fmt: skip
    games = PlayedGames(noise((4,), np.int16), np.array([0, 4]), noise((1,), np.int8), noise((1,), np.bool_))
    ChunkFolder(folder).write(positions, games, ChunkFacts(0, 4, 1, 0, 1, 8, 0.5))
    [path] = folder.glob("*.safetensors")

    def read() -> Any:
        chunks = ChunkFolder(folder)
        return [comparable(chunks.read(facts)) for facts in chunks.facts]

    return path, read


def checkpoint(folder: Path) -> Made:
    path, network = folder / "trainer.safetensors", torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    save_checkpoint(path, network, optimizer, {}, {"step": 7})

    def read() -> Any:
        progress = load_checkpoint(path, network, optimizer, {})
        return progress, comparable(value.detach() for value in network.state_dict().values())

    return path, read


def model(folder: Path) -> Made:
    path = folder / "model.safetensors"
    network = build_network("residual", 10, 5, seed=1, blocks=1, filters=2, head_filters=1)
    save_model(path, network, ModelCard.of(network, encoder="compact"))
    return path, lambda: (comparable(read_model(path)[0].values()), read_model(path)[1])


def update_games(folder: Path) -> Made:
    games, moves = (2,), (2, 3)
    experience = Experience(
        noise(moves, np.int16), noise(moves, np.int8), noise(moves, np.float32),
        noise(games, np.int8), noise(games, np.int8), np.array(0),
    )  # fmt: skip
    kept = GameFolder(folder)
    kept.write(1, experience, 3)
    return folder / "000001.safetensors", lambda: comparable(kept.read(1) or ())


def generation_games(folder: Path) -> Made:
    class Player:
        def play(self, generation: int, number: int, count: int) -> tuple[int, GenerationGames]:
            return number, GenerationGames(noise((count, 5), np.int16), noise((count,), np.int8), np.ones(3))

    kept = GenerationFolder(folder, 6)
    with open_workers(this_machine, 1, Player) as workers:
        list(kept.play(1, workers))
    return folder / "0000.safetensors", lambda: comparable(kept.read())


def value_positions(folder: Path) -> Made:
    from tengen.learn.value import ValueGames
    from tengen.runs.arrays import save_arrays

    settings = PositionSettings("policy", "policy", 5, "chinese", 0.5, 0.0, 8, 1)
    (folder / "config.toml").write_text(settings_as_toml(asdict(settings)))
    games = ValueGames(
        noise((6,), np.uint16), np.array([0, 3, 6]), np.ones(2, np.float32), np.ones(2, np.float32),
        np.arange(2, dtype=np.uint64),
    )  # fmt: skip
    path = folder / "chunks" / "000000.safetensors"
    path.parent.mkdir()
    save_arrays(path, games._asdict())
    return path, lambda: comparable(ValuePositions.open(folder).games)


def dataset(folder: Path) -> Made:
    build_dataset([loose(folder / "records", records(3))], folder / "data", workers=1)
    return folder / "data" / GAMES_FILE, lambda: Dataset.open(folder / "data").table.to_pydict()


def match_results(folder: Path) -> Made:
    def opened() -> MatchFolder:
        return MatchFolder(folder, {"a": "random"}, GAME)

    with opened() as kept:
        kept.record(GameResult(1, "a", "b", "W+3.5", "score", "", 80, (40, 40), (0.5, 1.5)), b"(;)")
        kept.record(GameResult(2, "b", "b", "B+1", "score", "", 81, (40, 41), (0.5, 1.5)), b"(;)")

    def read() -> Any:
        with opened() as kept:
            return {1: kept.results[1]}  # a damaged last line is dropped, and its game is played again

    return folder / "results.jsonl", read


def solver_table(folder: Path) -> Made:
    path, table = folder / "table-1-4.npy", new_table(0.001)
    for key in range(1, 9):
        store(table, key * 1000, 5, 7, 64, 0)
    save_table(table, path)

    def read() -> Any:
        again = new_table(0.001)
        load_table(again, path)
        return again.tolist()

    return path, read


KINDS = (
    chunk, checkpoint, model, update_games, generation_games, value_positions, dataset, match_results, solver_table,
)  # fmt: skip


@pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)
def test_a_flipped_bit_is_found_and_the_file_is_named(make: Callable[[Path], Made], tmp_path: Path) -> None:
    path, read = make(tmp_path)
    good, expected, rng, found = path.read_bytes(), read(), random.Random(1), 0
    for _ in range(FLIPS):
        place = rng.randrange(len(good))
        path.write_bytes(good[:place] + bytes([good[place] ^ 1 << rng.randrange(8)]) + good[place + 1 :])
        try:
            assert read() == expected  # in padding, say
        except ValueError as error:
            found += 1
            text = str(error)
            assert path.name in text or path.parent.name in text, text
            assert "\n" not in text, text
            assert any(word in text for word in ("damaged", "is not a", "has format", "no model card")), text
    assert found > FLIPS / 4
    path.write_bytes(good)
    assert read() == expected


def test_the_checkpoint_before_a_damaged_one_is_there_to_go_on_from(tmp_path: Path) -> None:
    network = torch.nn.Linear(3, 2)
    optimizer, path = torch.optim.SGD(network.parameters(), 0.1), tmp_path / "trainer.safetensors"
    for step in (1, 2, 3):
        save_checkpoint(path, network, optimizer, {}, {"step": step})
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    before = tmp_path / "trainer-before.safetensors"
    with pytest.raises(ValueError, match=f"mv {before} {path}"):
        load_checkpoint(path, network, optimizer, {})
    before.rename(path)
    assert load_checkpoint(path, network, optimizer, {}) == {"step": 2}


def test_a_damaged_dataset_is_built_again(tmp_path: Path) -> None:
    path, _ = dataset(tmp_path)
    good = path.read_bytes()
    path.write_bytes(good[:900] + bytes([good[900] ^ 1]) + good[901:])
    assert not build_dataset([tmp_path / "records"], tmp_path / "data", workers=1).up_to_date
    assert path.read_bytes() == good


def test_a_damaged_endgame_table_is_made_again(tmp_path: Path) -> None:
    build_tables(tmp_path, 3, workers=1)
    for name in ("KQK.mct", "KPK-double.mct"):
        path = tmp_path / name
        good = path.read_bytes()
        for place in (len(good) - 20, good.index(b'"wins": ') + 9):  # a block, and a number of the header
            path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
            build_tables(tmp_path, 3, workers=1)
            assert path.read_bytes() == good
