"""Files that are whole or not there: after a kill, with two processes at them, with a flipped bit."""

import errno
import io
import os
import stat
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import safetensors.numpy

from tengen.runs.arrays import ArrayFolder, load_arrays, save_arrays
from tengen.runs.files import (
    append_line,
    atomic_file,
    make_folder,
    move_into_place,
    remove_cut_off,
    sole_use,
    try_lock,
    user_state,
    write_atomically,
)
from tengen.runs.folder import FolderError


def test_what_a_kill_cut_off_is_removed_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    cut_off = tmp_path / "models" / f".g1.safetensors.{'0a' * 16}.part"
    others = [tmp_path / "KGS.tar.gz.part", tmp_path / ".mine.part", tmp_path / "models" / "g1.safetensors"]
    for path in (cut_off, *others):
        path.write_bytes(b"")
    remove_cut_off(tmp_path)
    assert not cut_off.exists() and all(path.exists() for path in others)


def test_a_folder_has_one_user(tmp_path: Path) -> None:
    with sole_use(tmp_path) as first, sole_use(tmp_path) as second:
        assert first and not second
    with sole_use(tmp_path) as again:
        assert again


def test_every_flipped_bit_of_arrays_is_found(tmp_path: Path) -> None:
    path = tmp_path / "arrays.safetensors"
    arrays = {"moves": np.arange(6, dtype=np.int16).reshape(2, 3), "komi": np.array(3.5)}
    save_arrays(path, arrays, {"facts": "7"})
    found, about = load_arrays(path)
    assert about == {"facts": "7"} and found["komi"].shape == ()
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    good = path.read_bytes()
    for place in range(len(good)):
        for bit in range(8):
            path.write_bytes(good[:place] + bytes([good[place] ^ 1 << bit]) + good[place + 1 :])
            try:
                found, about = load_arrays(path)
            except ValueError:
                continue
            assert about["facts"] == "7" and found.keys() == arrays.keys()  # such as a blank
            assert all(np.array_equal(found[name], array) for name, array in arrays.items())


class Full(io.FileIO):
    """A file on a disk that has room for three more bytes."""

    def write(self, data: Any, /) -> int:
        return super().write(bytes(data)[:3])


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What was synced, in order: inode and, of a file, its size at that moment."""
    seen = list[tuple[int, int]]()

    def sync(handle: int) -> None:
        status = os.fstat(handle)
        seen.append((status.st_ino, 0 if stat.S_ISDIR(status.st_mode) else status.st_size))

    monkeypatch.setattr(os, "fsync", sync)
    return seen


def test_a_file_is_synced_before_its_folder(tmp_path: Path, synced: list[tuple[int, int]]) -> None:
    path, folder = tmp_path / "model", (tmp_path.stat().st_ino, 0)
    write_atomically(path, b"weights")
    assert synced == [(path.stat().st_ino, 7), folder]
    synced.clear()
    move_into_place(path, tmp_path / "best")
    assert synced == [((tmp_path / "best").stat().st_ino, 7), folder] and not path.exists()


def test_new_folders_are_synced_from_the_top(tmp_path: Path, synced: list[tuple[int, int]]) -> None:
    make_folder(tmp_path / "a" / "b" / "c")
    assert synced == [(path.stat().st_ino, 0) for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")]
    synced.clear()
    make_folder(tmp_path / "a" / "b" / "c")
    assert synced == []


def test_a_line_is_synced_whole(tmp_path: Path, synced: list[tuple[int, int]]) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    with path.open("a+b", buffering=0) as file:
        append_line(file, b"two")
    assert path.read_bytes() == b"one\ntwo\n" and synced == [(path.stat().st_ino, 8)]


@pytest.mark.parametrize("line", [b"two", b"three"], ids=["no room for its end", "no room for half of it"])
def test_a_line_that_finds_no_room_leaves_nothing_behind(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    with Full(path, "a+") as file, pytest.raises(OSError) as caught:
        append_line(file, line)  # type: ignore[arg-type]
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(path)
    assert path.read_bytes() == b"one\n"


def test_a_line_that_cannot_be_synced_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    with path.open("a+b", buffering=0) as file, patch("os.fsync", side_effect=OSError(errno.EIO, "broken")):
        with pytest.raises(OSError) as caught:
            append_line(file, b"two")
    assert caught.value.errno == errno.EIO and str(caught.value.filename) == str(path)
    assert path.read_bytes() == b"one\n"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), ValueError("no weights"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with pytest.raises(type(error)) as caught, atomic_file(path) as file:
        file.write(b"half of the new")
        raise error
    assert caught.value is error and path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    if isinstance(error, OSError):
        assert error.filename == str(path) and error.filename2 is None


def test_an_error_of_another_file_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_file(tmp_path / "model"):
        (tmp_path / "weights").read_bytes()
    assert caught.value.filename == str(tmp_path / "weights")


def test_no_handle_stays_open(tmp_path: Path) -> None:
    def next_handle() -> int:
        handle = os.open(tmp_path, os.O_RDONLY)
        os.close(handle)
        return handle

    before = next_handle()
    write_atomically(tmp_path / "a", b"")
    with sole_use(tmp_path):
        pass
    assert next_handle() == before


def test_who_has_a_folder_removes_what_was_cut_off_and_others_do_not(tmp_path: Path) -> None:
    cut_off = tmp_path / f".model.{'0a' * 16}.part"
    cut_off.write_bytes(b"half")
    with sole_use(tmp_path):
        assert not cut_off.exists()
        cut_off.write_bytes(b"under way")
        with sole_use(tmp_path):
            assert cut_off.exists()


def test_on_windows_everybody_gets_a_lock(tmp_path: Path) -> None:
    with patch("sys.platform", "win32"), sole_use(tmp_path) as first, sole_use(tmp_path) as second:
        assert first and second and try_lock(0)


@pytest.mark.parametrize(
    "platform, environment, folder",
    [
        ("linux", {}, "home/.local/state/tengen"),
        ("linux", {"XDG_STATE_HOME": "/state"}, "/state/tengen"),
        ("linux", {"XDG_STATE_HOME": ""}, "home/.local/state/tengen"),
        ("darwin", {"XDG_STATE_HOME": "/state"}, "home/Library/Application Support/tengen"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/tengen"),
        ("win32", {}, "home/AppData/Local/tengen"),
    ],
)
def test_what_is_kept_is_where_each_system_wants_it(
    tmp_path: Path, platform: str, environment: dict[str, str], folder: str
) -> None:
    home = {"HOME": str(tmp_path / "home")}
    with patch("sys.platform", platform), patch.dict(os.environ, home | environment, clear=True):
        found = user_state()
    assert found == tmp_path / folder


def test_arrays_of_older_versions_have_no_checksum(tmp_path: Path) -> None:
    path = tmp_path / "arrays.safetensors"
    for about in (None, {"facts": "7"}):
        path.write_bytes(safetensors.numpy.save({"moves": np.arange(3)}, about))
        arrays, found = load_arrays(path)
        assert found == (about or {}) and np.array_equal(arrays["moves"], np.arange(3))
    path.write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match=r"\w"):
        load_arrays(path)
    with pytest.raises(FileNotFoundError):
        load_arrays(tmp_path / "nothing")


def test_a_folder_of_arrays_has_whole_files_by_number(tmp_path: Path) -> None:
    folder = ArrayFolder(tmp_path / "chunks", "delete it, and it is made again", digits=4)
    for number in (12, 3):
        folder.write(number, {"moves": np.arange(number)}, {"facts": str(number)})
    assert folder.numbers() == [3, 12] and folder.file(3).name == "0003.safetensors"
    assert folder.read(12, lambda arrays, about: (len(arrays["moves"]), about)) == (12, {"facts": "12"})
    assert folder.read_about(3, lambda about: about["facts"]) == "3"
    with pytest.raises(FolderError, match=r"0003\.safetensors is damaged \('more'\): delete it, and it is made again"):
        folder.read(3, lambda arrays, about: arrays["more"])
    folder.file(12).write_bytes(b"x")
    for read in (folder.read, folder.read_about):
        with pytest.raises(FolderError, match=r"0012\.safetensors is damaged .*: delete it, and it is made again"):
            read(12, lambda *_: None)
    folder.delete(12)
    with pytest.raises(FileNotFoundError):
        folder.read(12, lambda arrays, about: None)


def test_only_a_writer_of_a_folder_of_arrays_tidies_it(tmp_path: Path) -> None:
    ArrayFolder(tmp_path / "chunks", "", tidy=False)
    assert not (tmp_path / "chunks").exists()
    ArrayFolder(tmp_path / "chunks", "")
    cut_off = tmp_path / "chunks" / f".000001.safetensors.{'0a' * 16}.part"
    cut_off.write_bytes(b"")
    assert ArrayFolder(tmp_path / "chunks", "", tidy=False).numbers() == [] and cut_off.exists()
    assert ArrayFolder(tmp_path / "chunks", "").numbers() == [] and not cut_off.exists()
