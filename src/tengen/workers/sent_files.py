"""Files that a call takes along to its worker, which may be on a machine without the disk of the one that calls.

A path in the arguments of a call that is a `SentFile` can be read where the worker is. A worker on this machine reads
the file itself. On another one it gets the contents once, and keeps them under their digest:

    TEMP/tengen-sent-UID/DIGEST/go9.safetensors         a file
    TEMP/tengen-sent-UID/DIGEST/{games.arrow, ...}      a folder

So a file that was written anew under its old name is another file, and is never mixed up with the old one.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

_DAY: Final = 86_400.0  # after which contents that nobody has asked for may go

Contents = list[tuple[str, bytes]]
"""The files of a folder, by their names in it; of a file, this one alone."""


class SentFile(str):
    """The path of a file, or of a folder of files, in the arguments of a call."""

    __slots__ = ()


class StoredFile(NamedTuple):
    """A sent file on its way: what it is, without its contents."""

    digest: str
    name: str
    """Of the file; empty for a folder."""


def replace_files(value: Any, kind: type[Any], replace: Callable[[Any], Any]) -> Any:
    """The same arguments with something else for every value of a kind, in tuples and named tuples too."""
    if isinstance(value, kind):
        return replace(value)
    if not isinstance(value, tuple):
        return value
    entries = [replace_files(entry, kind, replace) for entry in value]
    return type(value)(*entries) if hasattr(value, "_fields") else tuple(entries)


def read_contents(path: str | Path) -> tuple[StoredFile, Contents]:
    """What a file or a folder holds; folders within it are left out."""
    path = Path(path)
    folder = path.is_dir()
    files = sorted(file for file in path.iterdir() if file.is_file()) if folder else [path]
    contents = [(file.name, file.read_bytes()) for file in files]
    digest = hashlib.sha256()
    for name, data in contents:
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return StoredFile(digest.hexdigest()[:32], "" if folder else path.name), contents


def keep_contents(stored: StoredFile, fetch: Callable[[], Contents]) -> Path:
    """Where the contents are on this machine; they are fetched if they are not there yet."""
    home = _home()
    folder = home / stored.digest
    if not folder.is_dir():
        aside = Path(tempfile.mkdtemp(prefix=".", dir=home))
        _forget_old(home, now=aside.stat().st_mtime)
        for name, data in fetch():
            (aside / Path(name).name).write_bytes(data)
        try:
            aside.rename(folder)
        except OSError:  # another worker of this machine was faster
            shutil.rmtree(aside, ignore_errors=True)
    os.utime(folder)
    return folder / stored.name if stored.name else folder


def _home() -> Path:
    """The folder of all contents, which no other user can write to."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    home = Path(tempfile.gettempdir(), f"tengen-sent-{user}")
    home.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and home.stat().st_uid != user:
        raise PermissionError(f"{home} belongs to somebody else: remove it")
    return home


def _forget_old(home: Path, now: float) -> None:
    """Make room. Whoever misses something gets it again, so a clock that jumps does no harm."""
    for folder in home.iterdir():
        try:
            if now - folder.stat().st_mtime > _DAY:
                shutil.rmtree(folder, ignore_errors=True)
        except FileNotFoundError:  # another worker of this machine was faster
            continue
