"""The file of one endgame table: values in blocks, each compressed by itself, so that a probe unpacks only one.

    magic    8 bytes
    length   uint32, of the header
    header   JSON: material, double_step, positions, longest, wins, draws, losses
    offsets  uint32[blocks + 1], where each block begins, counted from the end of the offsets
    blocks   zlib streams (which carry their own checksums) of 16,384 values each, fewer in the last

All numbers are little-endian. Files are memory-mapped; the same material has one file for each rule that matters to
it, so tables without pawns serve with and without the double step.
"""

import json
import mmap
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen._files import write_atomically
from tengen.games.microchess.tables_index import DRAW, UNUSED, layout_of
from tengen.games.microchess.tables_material import Material

_MAGIC = b"TENGMCT1"
_REMEDY = "make it again with `tengen tables build microchess`"
BLOCK: Final = 1 << 14  # values


class TableError(ValueError):
    """A table file that is missing, damaged or of another kind."""


@dataclass(frozen=True)
class TableFacts:
    """What the header of a table tells."""

    material: str
    double_step: bool | None  # None: there are no pawns, the rule does not matter
    positions: int  # entries, both sides to move, the unused ones too
    longest: int  # plies of the longest mate, 0 if there is none
    wins: int  # positions that the side to move wins; and so on
    draws: int
    losses: int

    @property
    def legal(self) -> int:
        return self.wins + self.draws + self.losses


def table_path(folder: Path, material: Material, double_step: bool) -> Path:
    """Where the table of a material lies, whether it is there or not."""
    rule = "" if not material.pawns else "-double" if double_step else "-single"
    return folder / f"{material.name}{rule}.mct"


def facts_of(material: Material, double_step: bool, values: NDArray[np.uint8]) -> TableFacts:
    """What the header of a table with these values (uint8[positions]) tells."""
    counts = np.bincount(values, minlength=256)
    decided = np.flatnonzero(counts[1:UNUSED])
    return TableFacts(
        material=material.name,
        double_step=double_step if material.pawns else None,
        positions=len(values),
        longest=int(decided[-1]) if len(decided) else 0,
        wins=int(counts[2:UNUSED:2].sum()),
        draws=int(counts[DRAW]),
        losses=int(counts[1:UNUSED:2].sum()),
    )


def write_table(folder: Path, material: Material, double_step: bool, values: NDArray[np.uint8]) -> TableFacts:
    """Write a table (values: uint8[positions]) whole or not at all."""
    facts = facts_of(material, double_step, values)
    blocks = [_pack(values[start : start + BLOCK].tobytes()) for start in range(0, len(values), BLOCK)]
    offsets = np.cumsum([0, *(len(block) for block in blocks)]).astype("<u4")
    header = json.dumps(asdict(facts)).encode()
    parts = [_MAGIC, np.array([len(header)], "<u4").tobytes(), header, offsets.tobytes(), *blocks]
    write_atomically(table_path(folder, material, double_step), b"".join(parts))
    return facts


def open_table(folder: Path, material: Material, double_step: bool) -> "TableFile":
    """The table of a material; TableError if it is missing, damaged or not what its name says."""
    path = table_path(folder, material, double_step)
    if not path.exists():
        raise TableError(f"{path} is missing: {_REMEDY}")
    table = TableFile(path)
    if (table.facts.material, table.facts.double_step) != (material.name, double_step if material.pawns else None):
        raise TableError(f"{path} holds another table than its name says: {_REMEDY}")
    return table


def _pack(values: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_FILTERED)
    return packer.compress(values) + packer.flush()


class TableFile:
    """A table on disk, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            try:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:  # an empty file
                raise TableError(f"{path} is empty: {_REMEDY}") from None
        if self._bytes[:8] != _MAGIC:
            raise TableError(f"{path} is not an endgame table of this version: {_REMEDY}")
        try:
            length = int(np.frombuffer(self._bytes[8:12], "<u4")[0])
            self.facts = TableFacts(**json.loads(self._bytes[12 : 12 + length]))
            self._first = 12 + length + 4 * (self.blocks + 1)
            self._offsets = np.frombuffer(self._bytes[12 + length : self._first], "<u4").astype(np.int64)
            whole = len(self._bytes) == self._first + int(self._offsets[self.blocks])
            whole = whole and self.facts.positions == 2 * layout_of(Material.parse(self.facts.material)).counts[1]
        except (ValueError, TypeError, IndexError):
            whole = False
        if not whole:
            raise TableError(f"{path} is damaged: {_REMEDY}")

    @property
    def blocks(self) -> int:
        return -(-self.facts.positions // BLOCK)

    def block(self, number: int) -> NDArray[np.uint8]:
        """The values of one block, unpacked."""
        start, end = self._first + self._offsets[number : number + 2]
        unpacker = zlib.decompressobj()
        try:
            values = np.frombuffer(unpacker.decompress(self._bytes[start:end], BLOCK + 1), np.uint8)
        except zlib.error:
            values = np.zeros(0, np.uint8)
        if len(values) != min(BLOCK, self.facts.positions - number * BLOCK) or not unpacker.eof:
            raise TableError(f"{self.path} is damaged: {_REMEDY}")
        return values

    def values(self) -> NDArray[np.uint8]:
        """All values, unpacked: uint8[positions]."""
        return np.concatenate([self.block(number) for number in range(self.blocks)])
