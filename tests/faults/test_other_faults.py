"""Two processes at one folder, a worker that dies, and a clock that jumps."""

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest

import tengen
from tengen.arena.results import MatchFolder
from tengen.data.archives import RecordFile
from tengen.data.build import build_dataset
from tengen.data.download import Manifest
from tengen.games.go.game import GAME
from tengen.runs.files import sole_use
from tengen.runs.folder import RunDirectory
from tengen.solve.endgame_build import build_tables
from tengen.workers.calls import WorkerError, Workers
from tengen.workers.local import ProcessWorkers

from ..data.packed_games import records, tar

Driver = Callable[[Path], AbstractContextManager[Any]]

FIRST_AND_SECOND: dict[str, tuple[Driver, Callable[[Path], Any]]] = {
    "run": (lambda path: closing(RunDirectory(path, {})), lambda path: RunDirectory(path, {})),
    "match": (lambda path: MatchFolder(path, {}, GAME), lambda path: MatchFolder(path, {}, GAME)),
    "download": (lambda path: closing(Manifest(path)), Manifest),
    "build": (sole_use, lambda path: build_dataset([tar(path.parent / "a.tar.gz", records(1))], path, workers=1)),
    "tables": (sole_use, lambda path: build_tables(path, 3)),
}


@pytest.mark.parametrize("name", FIRST_AND_SECOND)
def test_the_second_one_is_refused(name: str, tmp_path: Path) -> None:
    first, second = FIRST_AND_SECOND[name]
    folder = tmp_path / "folder"
    folder.mkdir()
    with first(folder):
        with pytest.raises(ValueError, match=f"{folder}.*(another process|wait for it)|another .* {folder}"):
            second(folder)


class DyingPacker:
    def pack(self, path: str, records: list[RecordFile]) -> None:
        os._exit(3)


def dying_workers(count: int, make: object, arguments: Callable[[int], tuple[Any, ...]], niceness: int) -> Workers:
    return ProcessWorkers(count, DyingPacker, arguments, niceness)


def test_a_worker_of_a_build_that_dies_ends_it_with_the_remedy(tmp_path: Path) -> None:
    sources = [tar(tmp_path / "a.tar.gz", records(2))]
    with pytest.raises(WorkerError, match=r"worker process has died \(exit code 3\): .* with fewer --workers"):
        build_dataset(sources, tmp_path / "out", workers=2, worker_factory=dying_workers)
    assert build_dataset(sources, tmp_path / "out", workers=1).games == 2


def test_no_wall_clock_decides_anything() -> None:
    """The clock may jump: durations come from `time.monotonic`; TensorBoard alone is given the time of day, to show."""
    wall_clock = re.compile(
        r"\btime\.time(_ns)?\(|import time\b.*\btime\b,|datetime\.(now|utcnow|today)|localtime|gmtime"
    )
    for path in Path(tengen.__file__).parent.rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            shown = path.name == "progress.py" and "time.time()" in line
            assert shown or not wall_clock.search(line), f"{path}, line {number}: {line.strip()}"
