"""Files that are there whole or not at all, and folders that only one process works in."""

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

Setting = str | int | float | bool


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that whoever looks sees the old one or the new one, whole, even after a power cut."""
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Write aside, sync, rename: like `write_atomically`, for what is too large to have in memory twice."""
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with aside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
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


def settings_as_toml(settings: Mapping[str, Setting]) -> str:
    """Settings as TOML; its strings are JSON's but for the character DEL."""
    lines = [f"# Written by tengen {__version__}. The command that made this folder resumes it."]
    for name, value in settings.items():
        text = repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{name} = {text}".replace("\x7f", "\\u007f"))
    return "\n".join(lines) + "\n"
