"""Chunks: a thousand records or so, read, checked and packed into one Arrow file that also lists the bad ones.

A chunk depends on nothing but its records, and its file appears whole, by a rename, or not at all.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tengen._files import move_into_place, naming
from tengen.data.archives import RecordFile, RecordSource
from tengen.data.dataset import RULE_NAMES, SCHEMA
from tengen.data.records import RecordedGame, Rejected, read_game

CHUNK_RECORDS: Final = 1000
CHUNK_BYTES: Final = 4_000_000

_REJECTED_KEY: Final = b"rejected"
Left = tuple[str, str, str]
"""A record left out: source, reason, detail."""


def cut_into_chunks(source: RecordSource) -> Iterator[tuple[list[RecordFile], int]]:
    """The records of a source in chunks, each with the number of the source's bytes read by its end."""
    records: list[RecordFile] = []
    size = position = 0
    for record, position in source.records():
        records.append(record)
        size += len(record.data)
        if len(records) == CHUNK_RECORDS or size >= CHUNK_BYTES:
            yield records, position
            records, size = [], 0
    if records:
        yield records, position


def pack_chunk(path: Path, records: list[RecordFile]) -> None:
    """Read a chunk of records and write its file; what a worker of this machine does."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    with naming(path):
        write_table(partial, _packed(records))
    move_into_place(partial, path)


class ChunkPacker:
    """A worker that cannot write the file of a chunk, for it may be on another machine."""

    def pack(self, path: str, records: list[RecordFile]) -> tuple[str, bytes]:
        """The file's path and what it is to hold."""
        batch, contents = _packed(records), pa.BufferOutputStream()
        with pa.ipc.new_file(contents, batch.schema) as writer:
            writer.write_batch(batch)
        return path, contents.getvalue().to_pybytes()


def _packed(records: list[RecordFile]) -> pa.RecordBatch:
    """The games of a chunk of records, and in its metadata the records left out."""
    games: list[RecordedGame] = []
    names: list[str] = []
    rejected: list[Left] = []
    for record in records:
        game = Rejected(record.reason, record.detail) if record.reason else read_game(record.data)
        if isinstance(game, Rejected):
            rejected.append((record.name, *game))
        else:
            games.append(game)
            names.append(record.name)
    return _batch(games, names).replace_schema_metadata({_REJECTED_KEY: json.dumps(rejected).encode()})


def open_chunk(path: Path) -> tuple[pa.RecordBatch, list[Left]]:
    """The games of a chunk, mapped from its file, and the records left out."""
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    rejected = json.loads(reader.schema.metadata[_REJECTED_KEY])
    return reader.get_batch(0).replace_schema_metadata(None), [(name, why, what) for name, why, what in rejected]


def write_table(path: Path, batch: pa.RecordBatch) -> None:
    """Write an Arrow IPC file with one batch."""
    with open(path, "wb") as file:
        with pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)


def _batch(games: list[RecordedGame], names: list[str]) -> pa.RecordBatch:
    columns: list[pa.Array] = []
    for field in SCHEMA:
        if field.name == "source":
            columns.append(pa.array(names, field.type))
        elif field.name in ("moves", "setup"):
            columns.append(_code_lists([getattr(game, field.name) for game in games]))
        elif field.name == "rules":
            indices = pa.array([RULE_NAMES.index(game.rules) for game in games], pa.int8())
            columns.append(pa.DictionaryArray.from_arrays(indices, pa.array(RULE_NAMES, pa.string())))
        else:
            columns.append(pa.array([getattr(game, field.name) for game in games], field.type, from_pandas=False))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _code_lists(codes: list[NDArray[np.uint16]]) -> pa.Array:
    offsets = np.zeros(len(codes) + 1, np.int64)
    np.cumsum([len(code) for code in codes], out=offsets[1:])
    values = np.concatenate(codes) if codes else np.zeros(0, np.uint16)
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(values), type=SCHEMA.field("moves").type)
