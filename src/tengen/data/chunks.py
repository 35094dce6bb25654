"""Chunks: a thousand records or so, read, checked and packed into one Arrow file that also lists the bad ones.

A chunk depends on nothing but its records, and its file appears whole, by a rename, or not at all.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tengen.data.archives import RecordFile, RecordSource
from tengen.data.dataset import GAMES_FILE, REJECTED_FILE, RULE_NAMES, SCHEMA, SUMMARY_FILE, TEST_PERCENT, file_checksum
from tengen.data.records import RecordedGame, Rejected, read_game
from tengen.runs.files import move_into_place, naming

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


class ChunkPacker:
    """A worker that reads records. It does not write the file of a chunk, because it may be on another machine."""

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


# -------------------------------------------------------------------------------------- merging chunks
# Finished chunks laid end to end as the files of a dataset, each game once.
#
# Peak memory is that of one chunk, plus some bytes a game to find duplicates: columns are gathered in files.

DUPLICATE: Final = "duplicate"


class Merge:
    """The chunks of some sources, in order: `chunks[s]` are the files of source s."""

    def __init__(self, chunks: list[list[Path]], work: Path) -> None:
        """Prepare to merge; `work` is a folder for files in the making."""
        self._chunks, self._work = chunks, work
        self._first = self._first_alike()
        self._row = np.cumsum(self._first == np.arange(len(self._first))) - 1  # of each game that is kept

    def into(self, out: Path, header: dict[str, Any], sources: list[dict[str, Any]]) -> dict[str, Any]:
        """Write a dataset, the summary last; returns the summary, which begins with `header`."""
        columns = ColumnFiles(SCHEMA, self._work)
        reasons: Counter[str] = Counter()
        described = []
        left_out_path = self._work / REJECTED_FILE
        with naming(left_out_path), open(left_out_path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("source", "reason", "detail"))
            seen = 0
            for source, chunks in zip(sources, self._chunks):
                games = left_out = 0
                for path in chunks:
                    batch, rejected = open_chunk(path)
                    kept, duplicates = self._without_duplicates(batch, seen)
                    seen += batch.num_rows
                    columns.append(kept)
                    table.writerows(rejected + duplicates)
                    reasons.update(reason for _, reason, _ in rejected + duplicates)
                    games += kept.num_rows
                    left_out += len(rejected) + len(duplicates)
                described.append(source | {"games": games, "rejected": left_out})
        elements = columns.write(self._work / GAMES_FILE)
        summary = header | {
            "checksum": file_checksum(self._work / GAMES_FILE),
            "games": columns.rows,
            "positions": elements["moves"],
            "test_percent": TEST_PERCENT,
            "rejected": dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
            "sources": described,
        }
        with naming(self._work / SUMMARY_FILE):
            (self._work / SUMMARY_FILE).write_bytes(json.dumps(summary, indent=1).encode() + b"\n")
        for name in (REJECTED_FILE, GAMES_FILE, SUMMARY_FILE):
            move_into_place(self._work / name, out / name)
        return summary

    def _without_duplicates(self, batch: pa.RecordBatch, seen: int) -> tuple[pa.RecordBatch, list[Left]]:
        """The games of a chunk that were not there before, and a line for each of the others."""
        numbers = np.arange(seen, seen + batch.num_rows)
        is_new = self._first[numbers] == numbers
        names = batch.column("source")
        duplicates = [
            (names[int(i)].as_py(), DUPLICATE, f"of game {self._row[self._first[numbers[i]]]}")
            for i in np.flatnonzero(~is_new)
        ]
        return batch.filter(pa.array(is_new)), duplicates

    def _first_alike(self) -> NDArray[np.int64]:
        """For each game of all chunks, the number of the first with the same digest: itself, if it is new."""
        parts = [np.zeros(0, np.uint64), *self._digests()]
        _, first, inverse = np.unique(np.concatenate(parts), return_index=True, return_inverse=True)
        return first[inverse].astype(np.int64)

    def _digests(self) -> Iterator[NDArray[np.uint64]]:
        for chunks in self._chunks:
            for path in chunks:
                yield open_chunk(path)[0].column("digest").to_numpy()


# ------------------------------------------------------------------------------------ columns in files
# Columns of a table that grow in files, one per buffer, and end up as a single record batch.
#
# An Arrow file is usually a row of batches; a dataset wants one, so that the moves of all games are one array. The
# table may be larger than memory, so its buffers are collected on disk and mapped when they are written.


class ColumnFiles:
    """A table under construction: numbers, dictionaries (all batches with the same one), lists of numbers, strings."""

    def __init__(self, schema: pa.Schema, folder: Path) -> None:
        """Begin an empty table, with its files in `folder`."""
        self.rows = 0
        self._schema = schema
        self._files = {field.name: folder / f"{field.name}.column" for field in schema}
        self._ends = {field.name: folder / f"{field.name}.ends" for field in schema if _has_offsets(field.type)}
        self._lengths = dict.fromkeys(self._ends, 0)
        self._dictionaries: dict[str, pa.Array] = {}
        for path in (*self._files.values(), *self._ends.values()):
            path.write_bytes(b"")
        for path in self._ends.values():
            _extend(path, np.zeros(1, np.int64))

    def append(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch, none of them null."""
        self.rows += batch.num_rows
        for field, column in zip(self._schema, batch.columns):
            name = field.name
            if name in self._ends:
                values, ends = _values_and_ends(column)
                _extend(self._ends[name], ends + self._lengths[name])
                self._lengths[name] += int(ends[-1]) if len(ends) else 0
            elif pa.types.is_dictionary(field.type):
                self._dictionaries[name] = column.dictionary
                values = column.indices.to_numpy()
            else:
                values = column.to_numpy()
            _extend(self._files[name], values)

    def write(self, path: Path) -> dict[str, int]:
        """Write the table as an Arrow IPC file with one batch; returns how many elements each list column has."""
        columns = [self._column(field) for field in self._schema]
        with naming(path):
            write_table(path, pa.RecordBatch.from_arrays(columns, schema=self._schema))
        return dict(self._lengths)

    def _column(self, field: pa.Field) -> pa.Array:
        data = _mapped(self._files[field.name])
        if field.name in self._ends:
            ends = _mapped(self._ends[field.name])
            if pa.types.is_large_string(field.type):
                return pa.Array.from_buffers(field.type, self.rows, [None, ends, data])
            values = pa.Array.from_buffers(field.type.value_type, self._lengths[field.name], [None, data])
            return pa.Array.from_buffers(field.type, self.rows, [None, ends], children=[values])
        if pa.types.is_dictionary(field.type):
            indices = pa.Array.from_buffers(field.type.index_type, self.rows, [None, data])
            words = self._dictionaries.get(field.name, pa.array([], field.type.value_type))
            return pa.DictionaryArray.from_arrays(indices, words)
        return pa.Array.from_buffers(field.type, self.rows, [None, data])


def _has_offsets(type_: pa.DataType) -> bool:
    return bool(pa.types.is_large_list(type_) or pa.types.is_large_string(type_))


def _values_and_ends(column: pa.Array) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The elements of all entries end to end, and where each entry ends."""
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    if not len(column):
        return np.zeros(0, np.uint8), np.zeros(0, np.int64)
    if pa.types.is_large_string(column.type):
        data = column.buffers()[2]
        values = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    else:
        values = column.values.to_numpy()
    return values[offsets[0] : offsets[-1]], offsets[1:] - offsets[0]


def _extend(path: Path, values: NDArray[Any]) -> None:
    with naming(path), open(path, "ab") as file:
        file.write(np.ascontiguousarray(values).tobytes())


def _mapped(path: Path) -> pa.Buffer:
    if not path.stat().st_size:
        return pa.py_buffer(b"")
    return pa.memory_map(str(path)).read_buffer()
