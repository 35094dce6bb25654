"""Positions of self-play on the disk: chunks of a run, from which its replay memory is filled again.

    chunks/00000040960.safetensors      the positions from number 40960 on, with their games

A chunk is whole or not there at all, holds finished games only, and has in its metadata which round it belongs to,
which model played and what the run had done by then. Chunks that the window has left behind are deleted.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
from numpy.typing import NDArray

from tengen.learn.replay import Packed
from tengen.learn.selfplay import SelfPlayData
from tengen.runs.arrays import load_arrays, save_arrays
from tengen.runs.files import make_folder, remove_cut_off


class ChunkError(ValueError):
    """A chunk that is damaged or missing."""


class PlayedGames(NamedTuple):
    """Games as they were played."""

    moves: NDArray[np.int16]  # [T] the actions of all games
    offsets: NDArray[np.int64]  # [G + 1] where each game's begin
    winner: NDArray[np.int8]  # [G] 1: who began, 2: the other, 0: nobody
    resigned: NDArray[np.bool_]  # [G]

    @classmethod
    def of(cls, data: SelfPlayData) -> "PlayedGames":
        """The games of self-play's data."""
        return cls(data.moves, data.offsets, data.winner, data.resigned)


@dataclass(frozen=True)
class ChunkFacts:
    """The metadata of a chunk."""

    first: int
    """Number of its first position in the run."""
    positions: int
    iteration: int
    """The round of self-play it belongs to."""
    generation: int
    """The model that played."""
    games: int
    """Games of the run, those of the chunk included."""
    simulations: int
    """Simulations of the run, likewise."""
    seconds: float
    """The run's time when it was written."""

    @property
    def end(self) -> int:
        """The number after its last position."""
        return self.first + self.positions


class ChunkFolder:
    """The chunks of a run."""

    def __init__(self, path: Path, *, tidy: bool = True) -> None:
        """Those in this folder; whoever writes to it makes it if it is missing, and removes what was cut off."""
        self._path = path
        if tidy:
            make_folder(path)
            remove_cut_off(path)
        self.facts = [facts for file in sorted(path.glob("*.safetensors")) if (facts := self._facts(file)) is not None]
        """Of all chunks that are there, in order."""

    def write(self, positions: Packed, games: PlayedGames, facts: ChunkFacts) -> None:
        """Add a chunk."""
        tensors: dict[str, NDArray[Any]] = {f"positions.{name}": value for name, value in positions._asdict().items()}
        tensors |= {f"games.{name}": value for name, value in games._asdict().items()}
        save_arrays(self._file(facts), tensors, {"facts": json.dumps(asdict(facts))})
        self.facts.append(facts)

    def read(self, facts: ChunkFacts) -> Packed:
        """The positions of a chunk."""
        return Packed(**self._part(facts, "positions", Packed._fields))

    def read_games(self, facts: ChunkFacts) -> PlayedGames:
        """The games of a chunk."""
        return PlayedGames(**self._part(facts, "games", PlayedGames._fields))

    def since(self, number: int) -> Iterator[ChunkFacts]:
        """The unbroken row of newest chunks that hold positions from this number on."""
        wanted: list[ChunkFacts] = []
        for facts in reversed(self.facts):
            if facts.end <= number or (wanted and facts.end != wanted[-1].first):
                break
            wanted.append(facts)
        return reversed(wanted)

    def drop_before(self, number: int) -> None:
        """Delete chunks all of whose positions come before this number."""
        for facts in [facts for facts in self.facts if facts.end <= number]:
            self._file(facts).unlink(missing_ok=True)
            self.facts.remove(facts)

    def _part(self, facts: ChunkFacts, part: str, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
        try:
            arrays, _ = load_arrays(self._file(facts))
            return {name: arrays[f"{part}.{name}"] for name in names}
        except (OSError, KeyError, ValueError) as error:
            raise ChunkError(f"{self._file(facts)} is damaged ({error}): delete it to go on without it") from None

    def _file(self, facts: ChunkFacts) -> Path:
        return self._path / f"{facts.first:011d}.safetensors"

    def _facts(self, file: Path) -> ChunkFacts | None:
        """None if it has just been deleted, by the run that a report is written about."""
        try:
            with safetensors.safe_open(file, "np") as opened:
                return ChunkFacts(**json.loads(opened.metadata()["facts"]))
        except FileNotFoundError:
            return None
        except (safetensors.SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ChunkError(f"{file} is damaged ({error}): delete it to go on without it") from None
