"""What a folder of archives holds: a list of the ones that were read to their end and found good.

`manifest.json` spares us reading the same archives at every run. It is only ever a memory of a check: an archive that
it does not know, or whose file has changed, is checked again, and a manifest that cannot be read is an empty one.
Each change replaces the file whole, so `kill -9` leaves the old one or the new one.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tengen._files import remove_cut_off, try_lock, write_atomically

MANIFEST_NAME = "manifest.json"


class FolderInUse(ValueError):
    """Another process is downloading into the folder."""


@dataclass(frozen=True)
class Entry:
    """A file that was found good."""

    name: str
    bytes: int
    sha256: str
    games: int
    """How many records are in it."""
    modified_ns: int
    """The file's time of change, by which we see that it is still the same."""


class Manifest:
    """The open manifest of a folder; only one process can have it open."""

    def __init__(self, folder: Path) -> None:
        """Make the folder, or open it again; FolderInUse if another process has it open."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._lock: IO[bytes] = open(folder / ".lock", "ab")
        try:
            self._take_lock()
            remove_cut_off(folder)
            self.entries = read_manifest(folder)
        except BaseException:
            self._lock.close()
            raise

    def trusted(self, path: Path) -> Entry | None:
        """The entry of a file that is still as it was when it was found good, else None."""
        entry = self.entries.get(path.name)
        try:
            now = path.stat()
        except FileNotFoundError:
            return None
        if entry is None or now.st_size != entry.bytes:
            return None
        if now.st_mtime_ns != entry.modified_ns:  # copied, or touched, or something else in its place
            if sha256_of(path) != entry.sha256:
                return None
            entry = replace(entry, modified_ns=now.st_mtime_ns)
            self._keep(entry)
        return entry

    def add(self, path: Path, games: int) -> Entry:
        """Remember that a file is good."""
        now = path.stat()
        entry = Entry(path.name, now.st_size, sha256_of(path), games, now.st_mtime_ns)
        self._keep(entry)
        return entry

    def close(self) -> None:
        """Let go of the folder."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _keep(self, entry: Entry) -> None:
        self.entries[entry.name] = entry
        archives = [asdict(self.entries[name]) for name in sorted(self.entries)]
        text = json.dumps({"archives": archives}, indent=1)
        write_atomically(self.folder / MANIFEST_NAME, text.encode() + b"\n")

    def _take_lock(self) -> None:
        """Hold the folder as long as it is open."""
        if not try_lock(self._lock):
            raise FolderInUse(
                f"another process is downloading into {self.folder}: wait for it to end, or choose another folder"
            )


def read_manifest(folder: Path) -> dict[str, Entry]:
    """The entries by file name; empty if there is no manifest, or none that can be read."""
    try:
        entries = [Entry(**fields) for fields in json.loads((folder / MANIFEST_NAME).read_bytes())["archives"]]
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return {}
    return {entry.name: entry for entry in entries}


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
