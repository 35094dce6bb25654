"""A full disk: the command ends with one line that names the file, what is there stays whole, and it goes on later."""

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tengen.arena.results import GameResult, MatchFolder
from tengen.data.build import build_dataset
from tengen.games.go.game import GAME
from tengen.runs.files import append_line, write_atomically
from tengen.runs.folder import RunDirectory, read_metrics

from ..data.packed_games import record
from .commands import COMMANDS
from .inputs import Inputs
from .killing import Host


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file may grow beyond 1000 bytes: as a full disk, but for the number of the error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_old_file_and_is_named(tmp_path: Path, full_disk: None) -> None:
    path = tmp_path / "model"
    write_atomically(path, b"old")
    with pytest.raises(OSError) as caught:
        write_atomically(path, b"x" * 2000)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(path))
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["model"]


def test_a_line_is_whole_or_not_there(tmp_path: Path, full_disk: None) -> None:
    path = tmp_path / "lines"
    with open(path, "a+b", buffering=0) as file:
        append_line(file, b"a" * 900)
        with pytest.raises(OSError) as caught:
            append_line(file, b"b" * 900)
        assert caught.value.filename == str(path)
        append_line(file, b"c")
    assert path.read_bytes() == b"a" * 900 + b"\nc\n"


def test_a_run_keeps_its_metrics_and_a_match_its_games(tmp_path: Path, full_disk: None) -> None:
    run = RunDirectory(tmp_path / "run", {"seed": 1})
    lost = GameResult(2, "a", "b", "W+3.5", "forfeit", "x" * 2000, 80, (40, 40), (0.5, 1.5))
    with MatchFolder(tmp_path / "match", {"seed": 1}, GAME) as match:
        run.record({"loss": 1.5})
        match.record(GameResult(1, "a", "b", "W+3.5", "score", "", 80, (40, 40), (0.5, 1.5)), b"(;)")
        with pytest.raises(OSError, match=r"metrics\.jsonl"):
            run.record({"note": "x" * 2000})
        with pytest.raises(OSError, match=r"results\.jsonl"):
            match.record(lost, b"(;)")
    run.close()
    assert read_metrics(tmp_path / "run") == [{"loss": 1.5}]
    with MatchFolder(tmp_path / "match", {"seed": 1}, GAME) as match:
        assert list(match.results) == [1]


def test_a_full_tensorboard_log_is_named_and_holds_what_was_written(tmp_path: Path, full_disk: None) -> None:
    run, steps = RunDirectory(tmp_path, {"seed": 1}), 0
    with pytest.raises(OSError, match=r"tensorboard/events\.out\.tfevents"):
        for steps in range(100):
            run.record({"step": steps + 1, "loss": 1.5})
    run.close()
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert steps > 5 and [event.step for event in events.Scalars("run/loss")] == list(range(1, steps + 1))


@pytest.fixture
def games(tmp_path: Path) -> None:
    """Games that have been packed once, so that what reads them is compiled, and kept, before the disk is full."""
    (tmp_path / "games").mkdir()
    for seed in range(5):
        (tmp_path / f"games/{seed}.sgf").write_bytes(record(seed, 9, 60))
    build_dataset([tmp_path / "games"], tmp_path / "before", workers=1)


def test_chunks_are_named(games: None, tmp_path: Path, full_disk: None) -> None:
    with pytest.raises(OSError) as caught:
        build_dataset([tmp_path / "games"], tmp_path / "out", workers=1)
    assert caught.value.filename == str(tmp_path / "out/building/000000-000000.arrow")


def test_the_table_of_a_dataset_is_named(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (tmp_path / "game.sgf").write_bytes(record(1, 9, 60))
    with patch("shutil.rmtree"):  # so that the chunk stays
        build_dataset([tmp_path / "game.sgf"], tmp_path / "out", workers=1)
    request.getfixturevalue("full_disk")
    with pytest.raises(OSError) as caught:
        build_dataset([tmp_path / "game.sgf"], tmp_path / "out", workers=1)
    assert caught.value.filename == str(tmp_path / "out/building/games.arrow")


def test_a_failed_sync_names_the_metrics(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path, {"seed": 1})
    with patch("os.fsync", side_effect=OSError(errno.EIO, "broken")), pytest.raises(OSError) as caught:
        run.rewind(0)
    run.close()
    assert caught.value.filename == str(tmp_path / "metrics.jsonl")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 100 kB in memory, for the folder of a command alone; skipped where we may not mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system in memory")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.long
@pytest.mark.parametrize("name", ["match", "supervised", "zero", "tables"])
def test_a_command_stops_on_a_full_disk_and_goes_on_when_there_is_room(
    name: str, small_disk: Path, tmp_path: Path
) -> None:
    command, inputs = COMMANDS[name], Inputs(tmp_path / "inputs")
    arguments = command.arguments(inputs)
    with Host() as host:
        assert "No space left on device" in host.refusal(arguments, small_disk)
        subprocess.run(["mount", "-o", "remount,size=100M", str(small_disk)], check=True)
        host.run(arguments, small_disk)
    command.result(small_disk)
