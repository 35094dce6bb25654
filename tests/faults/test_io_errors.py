"""The n-th write, sync or rename fails: the command ends with one line that says where, and later comes to the same."""

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from tengen.runs.files import make_folder, move_into_place, write_atomically

from .campaign import compare, found
from .commands import COMMANDS
from .failing import Failing, can_fail
from .inputs import Inputs
from .killing import Host

FEW, MANY = 6, 20  # of the failures of a run, in `make test` and in the long version


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Failing]:
    if not can_fail():
        pytest.skip("needs Linux and gcc")
    yield Failing(tmp_path)


@pytest.mark.parametrize(
    "name, most",
    [("match", FEW)]
    + [pytest.param(name, MANY, marks=pytest.mark.long) for name in ("build", "match", "supervised", "zero", "tables")],
)
def test_a_command_survives_each_failure(name: str, most: int, failing: Failing, tmp_path: Path) -> None:
    """So many of them, drawn from the whole run. `-s` shows what failed, and the message."""
    command, folder, undisturbed = COMMANDS[name], tmp_path / "run", tmp_path / "undisturbed"
    arguments = command.arguments(Inputs(tmp_path / "inputs"))
    with Host(failing.environment) as host:
        failing.fail(undisturbed, 0, 0)
        host.run(arguments, undisturbed)
        expected, count = found(command, undisturbed), failing.done
        rng = random.Random(1)
        for nth in rng.sample(range(1, count + 1), min(most, count)):
            failing.fail(folder, nth, rng.choice((errno.ENOSPC, errno.EIO)))
            line = host.refusal(arguments, folder)
            print(f"{nth} of {count}: {failing.failed}: {line}", flush=True)
            assert "Errno" not in line and ".part" not in line, f"{failing.failed}: {line}"
            assert ": " in line.removeprefix("tengen: "), f"{failing.failed}: {line}"
            failing.fail(folder, 0, 0)
            host.run(arguments, folder)
            compare(folder, expected, found(command, folder))
            shutil.rmtree(folder)


def test_the_store_of_the_page_survives_every_failure(failing: Failing, tmp_path: Path) -> None:
    """Of all its writes, syncs and renames."""
    folder = tmp_path / "games"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.faults.page_store", str(folder)]
    environment, root = failing.environment, Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    print(done.stdout)


def test_a_failed_rename_or_sync_of_a_folder_is_named(tmp_path: Path) -> None:
    broken = OSError(errno.EIO, "broken")
    with patch("os.replace", side_effect=lambda a, b: (_ for _ in ()).throw(OSError(errno.EIO, "broken", str(a)))):
        with pytest.raises(OSError) as caught:
            write_atomically(tmp_path / "model", b"new")
        assert caught.value.filename == str(tmp_path / "model") and not os.listdir(tmp_path)
        (tmp_path / "partial").touch()
        with pytest.raises(OSError) as caught:
            move_into_place(tmp_path / "partial", tmp_path / "chunk")
        assert caught.value.filename == str(tmp_path / "chunk")
    with patch("os.fsync", side_effect=broken), pytest.raises(OSError) as caught:
        make_folder(tmp_path / "run")
    assert caught.value.filename == str(tmp_path)
