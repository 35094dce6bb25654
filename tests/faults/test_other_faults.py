"""Two processes at one folder, a worker that dies, and a clock that jumps."""

import re
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest

import tengen
from tengen.arena.results import MatchFolder
from tengen.data import build
from tengen.data.build import BuildError, build_dataset
from tengen.data.download import Manifest
from tengen.games.go.game import GAME
from tengen.runs.files import sole_use
from tengen.runs.folder import RunDirectory
from tengen.solve.endgame_build import build_tables

from ..data.packed_games import records, tar

Driver = Callable[[Path], AbstractContextManager[Any]]

FIRST_AND_SECOND: dict[str, tuple[Driver, Callable[[Path], Any]]] = {
    "run": (lambda path: closing(RunDirectory(path, {})), lambda path: RunDirectory(path, {})),
    "match": (lambda path: MatchFolder(path, {}, GAME), lambda path: MatchFolder(path, {}, GAME)),
    "download": (Manifest, Manifest),
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


def test_a_worker_of_a_build_that_dies_ends_it_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class DyingPool:
        def __init__(self, *given: Any, **settings: Any) -> None:
            """As `ProcessPoolExecutor`."""

        def __enter__(self) -> "DyingPool":
            return self

        def __exit__(self, *error: object) -> None:
            """Nothing to end."""

        def submit(self, *call: Any) -> "Future[None]":
            future: Future[None] = Future()
            future.set_exception(BrokenProcessPool("killed"))
            return future

    sources = [tar(tmp_path / "a.tar.gz", records(2))]
    with monkeypatch.context() as patch:
        patch.setattr(build, "ProcessPoolExecutor", DyingPool)
        with pytest.raises(BuildError, match=r"worker process has died: .* with fewer --workers"):
            build_dataset(sources, tmp_path / "out", workers=2)
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
