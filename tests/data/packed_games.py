"""Small games of our own, as records and in archives of every kind."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tengen.games import go
from tengen.games.go.sgf import write_sgf


def random_game(seed: int, size: int = 9, moves: int = 40, handicap: int = 0) -> go.State:
    """A legal game of random moves."""
    rng = np.random.default_rng(seed)
    state = go.State.new(size, "japanese", 6.5, handicap)
    for _ in range(moves):
        legal = state.legal_moves()
        if state.is_over or len(legal) == 1:
            break
        state = state.play(int(rng.choice(legal[1:] if legal[0] < 0 else legal)))
    return state


def record(seed: int, size: int = 9, moves: int = 40, handicap: int = 0) -> bytes:
    """A random game as an SGF file."""
    return write_sgf(random_game(seed, size, moves, handicap), result="B+3.5")


def records(count: int, first: int = 0) -> dict[str, bytes]:
    """Random games by name."""
    return {f"games/{first + i}.sgf": record(first + i) for i in range(count)}


def tar(path: Path, members: Mapping[str, bytes], mode: str = "w:gz") -> Path:
    """Pack a tar in any compression: "w", "w:gz", "w:bz2"."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def zipped(path: Path, members: Mapping[str, bytes]) -> Path:
    """Pack a zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def loose(folder: Path, members: Mapping[str, bytes]) -> Path:
    """Write plain files into a folder."""
    for name, data in members.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder
