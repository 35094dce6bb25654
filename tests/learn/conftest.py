"""A dataset of small games of our own, made as any other."""

from pathlib import Path

import pytest

from tengen.data.build import build_dataset
from tengen.data.dataset import Dataset
from tengen.games.go.sgf import write_sgf

from ..encode.games import guided_game

SIZE = 5


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a dataset of 100 games of guided playouts on 5x5."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "games").mkdir()
    for seed in range(100):
        (folder / "games" / f"{seed:03d}.sgf").write_bytes(write_sgf(guided_game(SIZE, seed)[-1]))
    build_dataset([folder / "games"], folder / "data", workers=1)
    return folder / "data"


@pytest.fixture
def tiny_dataset(tiny: Path) -> Dataset:
    """The same, open."""
    return Dataset.open(tiny)
