"""Files that are there whole or not at all, and folders that only one process works in."""

import errno
import json
import os
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tengen import __version__

if sys.platform != "win32":
    import fcntl

SettingValue = str | int | float | bool


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that whoever looks sees the old one or the new one, whole, even after a power cut."""
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Write aside, sync, rename: like `write_atomically`, for what is too large to have in memory twice."""
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with naming(path, aside):
            with aside.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def move_into_place(source: Path, target: Path) -> None:
    """Give a file that has been written its name, so that it is there whole even after a power cut."""
    with naming(target, source):
        with source.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(source, target)
    _sync_folder(target.parent)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, so that they are there after a power cut. `mode`: who may use it, if new."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(mode, parents=True, exist_ok=True)
    for folder in reversed(missing):
        _sync_folder(folder.parent)


def append_line(file: IO[bytes], line: bytes) -> None:
    """Add a line to a file, as `append` does."""
    append(file, line + b"\n")


def append(file: IO[bytes], data: bytes) -> None:
    """Add to a file opened for appending without a buffer: on the disk when this returns, whole or not at all.

    Only `kill -9` or a power cut within can leave a part of it.
    """
    end = file.seek(0, os.SEEK_END)
    try:
        with naming(file.name):
            if file.write(data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
    except OSError:
        file.truncate(end)
        raise


@contextmanager
def naming(path: Path | str, aside: Path | None = None) -> Iterator[None]:
    """Name this file in errors that name none, as those of writes and syncs do, or only the file written aside."""
    try:
        yield
    except OSError as error:
        if error.filename is None or error.filename == str(aside):
            error.filename, error.filename2 = str(path), None
        raise


def remove_cut_off(folder: Path) -> None:
    """Remove what `kill -9` left of files that were being written, in this folder and all within it.

    For whoever has the folder to itself: files under way look the same.
    """
    for aside in folder.rglob(f".*.{'[0-9a-f]' * 32}.part"):
        aside.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename last, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with naming(folder):
                os.fsync(handle)
        finally:
            os.close(handle)


def user_state() -> Path:
    """The user's folder for what Tengen keeps from one use to the next, such as games."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "tengen"


def try_lock(file: IO[bytes] | int) -> bool:
    """Lock an open file or folder against other processes for as long as it is open; False if one of them has it.

    The system lets go of it even after `kill -9`. On Windows everybody gets it.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def sole_use(folder: Path) -> Iterator[bool]:
    """Keep other processes out of a folder, and remove what they left half written; False if one is at work there."""
    if sys.platform == "win32":
        yield True
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        alone = try_lock(handle)
        if alone:
            remove_cut_off(folder)
        yield alone
    finally:
        os.close(handle)


def settings_as_toml(settings: Mapping[str, SettingValue]) -> str:
    """Settings as TOML; its strings are JSON's but for the character DEL."""
    lines = [f"# Written by tengen {__version__}. The command that made this folder resumes it."]
    for name, value in settings.items():
        text = repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{name} = {text}".replace("\x7f", "\\u007f"))
    return "\n".join(lines) + "\n"
