"""Building a dataset: records are read, checked and packed by all cores, and laid end to end in one file.

The work is cut into chunks that depend on nothing but the input: the i-th chunk of the j-th source. Each finished
chunk is one file in the work folder `OUT/building`. So a build that was killed resumes with the chunks that are
missing, and the result is the same, byte for byte, however often it was killed and however many workers there were.
At the end the chunks are merged, duplicates left out, and the work folder goes.

A chunk is a thousand records or so, packed into one Arrow file that also lists the bad ones. The merged table is in
memory once, before it is written: some 600 bytes per game.
"""

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tengen.data.archives import RecordFile, RecordSource, find_sources
from tengen.data.dataset import (
    FORMAT,
    GAMES_FILE,
    REJECTED_FILE,
    RULE_NAMES,
    SCHEMA,
    SUMMARY_FILE,
    TEST_PERCENT,
    file_checksum,
)
from tengen.data.records import RecordedGame, Rejected, read_game
from tengen.runs.files import make_folder, move_into_place, naming, sole_use, write_atomically
from tengen.workers.calls import Calls, WorkerFactory, open_workers
from tengen.workers.local import this_machine

WORK_FOLDER: Final = "building"
CHUNK_RECORDS: Final = 1000
CHUNK_BYTES: Final = 4_000_000
READER: Final = 1  # raise it when records are read differently: chunks of an older reader are not used

DUPLICATE: Final = "duplicate"
_REJECTED_KEY: Final = b"rejected"
Left = tuple[str, str, str]
"""A record left out: source, reason, detail."""


class BuildError(ValueError):
    """A dataset cannot be built there."""


class BuildProgress(NamedTuple):
    """How far a build is."""

    bytes: int  # of the sources
    total_bytes: int
    records: int  # read, good or bad


@dataclass(frozen=True)
class Built:
    """The outcome of a build."""

    folder: Path
    games: int
    positions: int
    rejected: dict[str, int]
    """Reason -> how many records were left out."""
    resumed: int = 0
    """How many chunks were there already."""
    up_to_date: bool = False
    """Whether there was nothing to do at all."""


def build_dataset(
    paths: list[Path],
    out: Path,
    workers: int | None = None,
    on_progress: Callable[[BuildProgress], None] | None = None,
    worker_factory: WorkerFactory = this_machine,
) -> Built:
    """Make (or finish) the dataset of all records under `paths` in the folder `out`.

    Workers of the factory read the records, on a cluster maybe; `workers` is how many there are at most.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import tengen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = Path(folder, "game.sgf")
    ...     _ = record.write_text("(;SZ[9]KM[7]RU[Chinese]RE[B+R];B[ee];W[ce];B[eg];W[gc])")
    ...     built = tengen.build_dataset([record], Path(folder, "dataset"), workers=1)
    >>> built.games, built.positions
    (1, 4)
    """
    sources = find_sources(paths)
    make_folder(out)
    with sole_use(out) as alone:
        if not alone:
            raise BuildError(f"another build is at work in {out}: wait for it, or choose another folder")
        done = _already_built(out, sources)
        if done is not None:
            return done
        work = _open_work_folder(out, sources)
        reading = _Reading(sources, work, on_progress)
        chunks = reading.run(workers, worker_factory)
        header = {"format": FORMAT, "reader": READER}
        summary = _Merge(chunks, work).into(out, header, _described(sources))
        shutil.rmtree(work)
    return Built(out, summary["games"], summary["positions"], summary["rejected"], reading.resumed)


# ------------------------------------------------------------------------------------- what is to be done


def _described(sources: list[RecordSource]) -> list[dict[str, Any]]:
    return [{"name": source.name, "files": len(source.files), "bytes": source.bytes} for source in sources]


def _already_built(out: Path, sources: list[RecordSource]) -> Built | None:
    """The dataset that is there, if it is of these very sources and complete."""
    try:
        summary = json.loads((out / SUMMARY_FILE).read_bytes())
        used = [{key: source[key] for key in ("name", "files", "bytes")} for source in summary["sources"]]
        same = used == _described(sources) and (summary["format"], summary["reader"]) == (FORMAT, READER)
        if not same or (out / WORK_FOLDER).exists():
            return None
        if summary.get("checksum") not in (None, file_checksum(out / GAMES_FILE)):
            return None
        return Built(out, summary["games"], summary["positions"], summary["rejected"], up_to_date=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _open_work_folder(out: Path, sources: list[RecordSource]) -> Path:
    """The work folder, with the chunks of an earlier attempt if that was at the same sources."""
    work = out / WORK_FOLDER
    stamps = [[[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in s.files] for s in sources]
    plan = json.dumps([FORMAT, READER, CHUNK_RECORDS, CHUNK_BYTES, _described(sources), stamps]).encode()
    if work.exists() and not _holds(work / "plan.json", plan):
        shutil.rmtree(work)
    make_folder(work)
    write_atomically(work / "plan.json", plan)
    return work


def _holds(path: Path, contents: bytes) -> bool:
    try:
        return path.read_bytes() == contents
    except OSError:
        return False


# ---------------------------------------------------------------------------------------- reading records


class _Reading:
    """Hands the missing chunks to workers, in order and only so many at a time."""

    def __init__(
        self, sources: list[RecordSource], work: Path, on_progress: Callable[[BuildProgress], None] | None
    ) -> None:
        self._sources, self._work, self._on_progress = sources, work, on_progress
        self._total = sum(source.bytes for source in sources)
        self._before = self._records = 0  # bytes of all earlier sources, records
        self.resumed = 0

    def run(self, workers: int | None, factory: WorkerFactory) -> list[list[Path]]:
        """Make all chunks that are missing; the chunks of each source."""
        if workers is not None and workers < 1:
            raise BuildError(f"{workers} workers cannot work: give 1 or more")
        calls = Calls(0)
        with open_workers(factory, workers or 0, ChunkPacker) as pool:
            for path, records in self._missing():
                pool.map("pack", [(str(path), records)], calls)
                while calls.unfinished > 2 * pool.count:
                    _write(calls.collect(1.0))
            _write(calls.results())
        return [[self._chunk(s, i) for i in range(self._count(s) or 0)] for s in range(len(self._sources))]

    def _missing(self) -> Iterator[tuple[Path, list[RecordFile]]]:
        for number, source in enumerate(self._sources):
            if not self._is_complete(number):
                count = 0
                for records, position in cut_into_chunks(source):
                    path = self._chunk(number, count)
                    count += 1
                    if path.exists():
                        self.resumed += 1
                    else:
                        yield path, records
                    self._report(position, len(records))
                write_atomically(self._work / f"{number:06d}.count", str(count).encode())
            self._before += source.bytes
            self._report(0, 0)

    def _chunk(self, source: int, chunk: int) -> Path:
        return self._work / f"{source:06d}-{chunk:06d}.arrow"

    def _count(self, source: int) -> int | None:
        """How many chunks a source has, if it has been read to its end before."""
        try:
            return int((self._work / f"{source:06d}.count").read_bytes())
        except (OSError, ValueError):
            return None

    def _is_complete(self, source: int) -> bool:
        count = self._count(source)
        if count is None or not all(self._chunk(source, chunk).exists() for chunk in range(count)):
            return False
        self.resumed += count
        return True

    def _report(self, position: int, records: int) -> None:
        self._records += records
        if self._on_progress is not None:
            self._on_progress(BuildProgress(self._before + position, self._total, self._records))


def _write(chunks: Iterable[tuple[str, bytes]]) -> None:
    for path, contents in chunks:
        write_atomically(Path(path), contents)


# ------------------------------------------------------------------------------------------------- chunks


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


class _Merge:
    """Lays chunks end to end as the files of a dataset, each game once; `chunks[s]` are those of source s, in order."""

    def __init__(self, chunks: list[list[Path]], work: Path) -> None:
        """Prepare to merge; `work` is a folder for files in the making."""
        self._chunks, self._work = chunks, work
        self._first = self._first_alike()
        self._row = np.cumsum(self._first == np.arange(len(self._first))) - 1  # of each game that is kept

    def into(self, out: Path, header: dict[str, Any], sources: list[dict[str, Any]]) -> dict[str, Any]:
        """Write a dataset, the summary last; returns the summary, which begins with `header`."""
        batches: list[pa.RecordBatch] = []
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
                    batches.append(kept)
                    table.writerows(rejected + duplicates)
                    reasons.update(reason for _, reason, _ in rejected + duplicates)
                    games += kept.num_rows
                    left_out += len(rejected) + len(duplicates)
                described.append(source | {"games": games, "rejected": left_out})
        whole = pa.Table.from_batches(batches, SCHEMA).combine_chunks()  # a dataset is one batch, so one array a column
        batch = next(iter(whole.to_batches()), _batch([], []))
        with naming(self._work / GAMES_FILE), open(self._work / GAMES_FILE, "wb") as file:
            with pa.ipc.new_file(file, SCHEMA) as writer:
                writer.write_batch(batch)
        summary = header | {
            "checksum": file_checksum(self._work / GAMES_FILE),
            "games": batch.num_rows,
            "positions": len(batch.column("moves").flatten()),
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
