"""Building a dataset: records are read, checked and packed by all cores, and laid end to end in one file.

The work is cut into chunks that depend on nothing but the input: the i-th chunk of the j-th source. Each finished
chunk is one file in the work folder `OUT/building`. So a build that was killed goes on with the chunks that are
missing, and the result is the same, byte for byte, however often it was killed and however many workers there were.
At the end the chunks are merged, duplicates left out, and the work folder goes.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from tengen.data.archives import RecordFile, RecordSource, find_sources
from tengen.data.chunks import CHUNK_BYTES, CHUNK_RECORDS, ChunkPacker, Merge, cut_into_chunks
from tengen.data.dataset import FORMAT, GAMES_FILE, SUMMARY_FILE, file_checksum
from tengen.runs.files import make_folder, sole_use, write_atomically
from tengen.workers.calls import Calls, WorkerFactory, open_workers
from tengen.workers.local import this_machine

WORK_FOLDER: Final = "building"
READER: Final = 1  # raise it when records are read differently: chunks of an older reader are not used


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
        summary = Merge(chunks, work).into(out, header, _described(sources))
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
