"""Finished chunks laid end to end as the files of a dataset, each game once.

Peak memory is that of one chunk, plus some bytes a game to find duplicates: columns are gathered in files.
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

from tengen._files import move_into_place, naming
from tengen.data.chunks import Left, open_chunk
from tengen.data.column_files import ColumnFiles
from tengen.data.dataset import GAMES_FILE, REJECTED_FILE, SCHEMA, SUMMARY_FILE, TEST_PERCENT, file_checksum

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
