"""Columns of a table that grow in files, one per buffer, and end up as a single record batch.

An Arrow file is usually a row of batches; a dataset wants one, so that the moves of all games are one array. The
table may be larger than memory, so its buffers are collected on disk and mapped when they are written.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tengen._files import naming
from tengen.data.chunks import write_table


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
