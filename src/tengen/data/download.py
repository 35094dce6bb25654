"""Downloading the KGS archives: only those that a sample needs, and each of them once.

An archive passes through these states, and `kill -9` between or inside them loses nothing:

    NAME.part        under way, see `data.fetch`
    NAME.part        complete: read to its end, its games counted (`verify_archive`)
    NAME             good, by an atomic rename
    manifest.json    remembered as good (`Manifest`): the next run need not read it again

An archive that fails its check is fetched afresh, then in its other formats.
"""

import bz2
import gzip
import hashlib
import json
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

import httpx

from tengen.data.fetch import (
    DownloadError,
    PartFile,
    Patience,
    Unavailable,
    Watcher,
    fetch_file,
    fetch_page,
    open_client,
)
from tengen.data.kgs_index import FORMATS, INDEX_URL, Archive, choose_archives, parse_index
from tengen.runs.files import remove_cut_off, try_lock, write_atomically

TRIES_TO_VERIFY = 2
"""How often an archive is fetched in one format before we believe that it is broken on the server."""


@dataclass(frozen=True)
class ArchiveSite:
    """Where the archives come from."""

    index: str = INDEX_URL
    """Address of the index page, or the path of a saved one."""
    mirror: str | None = None
    """Address of a folder with the same archives; if given, they are fetched from there."""

    @classmethod
    def at(cls, index: str | None = None, mirror: str | None = None) -> "ArchiveSite":
        """A source: a mirror without an index of its own choice has its index page in its folder."""
        if mirror is not None and not mirror.startswith(("http://", "https://")):
            raise ValueError(f"the mirror {mirror!r} is not an address: it begins with https:// or http://")
        if index is None:
            index = INDEX_URL if mirror is None else mirror.rstrip("/") + "/"
        return cls(index, mirror)


@dataclass(frozen=True)
class Downloaded:
    """What a download left in its folder."""

    paths: tuple[Path, ...]
    """The archives that the sample needs, newest first."""
    games: int
    """How many games are in them."""
    fetched: int
    """How many of them came over the network this time."""


def download_kgs(
    folder: Path,
    games: int | None = None,
    years: tuple[int, int] | None = None,
    *,
    source: ArchiveSite | None = None,
    patience: Patience | None = None,
    watcher: Watcher | None = None,
    timeout: float = 30.0,
) -> Downloaded:
    """Bring into `folder` the newest archives that hold `games` games, all if None, and verify them.

    `years` is the first and the last year to take from; `timeout` the longest silence of a server in seconds.
    Archives that are there already are not fetched again, nor are parts of them. Raises DownloadError.
    """
    source, patience, watcher = source or ArchiveSite(), patience or Patience(), watcher or Watcher()
    with open_client(timeout) as client:
        chosen = choose_archives(list_archives(client, source, patience, watcher), games, years)
        return fetch_archives(client, chosen, folder, patience, watcher)


def list_archives(client: httpx.Client, source: ArchiveSite, patience: Patience, watcher: Watcher) -> list[Archive]:
    """All archives of the index page, at their place on the mirror if there is one."""
    if "://" in source.index:
        page = fetch_page(client, source.index, patience, watcher)
        archives = parse_index(page, source.index)
    else:
        archives = parse_index(Path(source.index).read_bytes())
    if not archives:
        raise DownloadError(f"{source.index}: no archives on this page; is it the index of the game records?")
    return archives if source.mirror is None else [_at_mirror(archive, source.mirror) for archive in archives]


def fetch_archives(
    client: httpx.Client, archives: Sequence[Archive], folder: Path, patience: Patience, watcher: Watcher
) -> Downloaded:
    """Fetch and verify archives, one after the other.

    One that the server does not give is left out, and reported when the others are there. A server that cannot be
    reached ends it at once.
    """
    watcher.chosen(len(archives), sum(archive.games for archive in archives))
    paths: list[Path] = []
    failures: list[str] = []
    fetched = 0
    with Manifest(folder) as manifest:
        for archive in archives:
            path = _find(archive, manifest, watcher)
            missing = path is None
            if path is None:
                try:
                    path = _obtain(client, archive, manifest, patience, watcher)
                except (Unavailable, BrokenArchive) as error:
                    failures.append(str(error))
                    continue
                fetched += 1
            watcher.present(path.name, archive.games, fetched=missing)
            paths.append(path)
    if failures:
        raise DownloadError(_shortfall(failures, len(archives)))
    return Downloaded(tuple(paths), sum(archive.games for archive in archives), fetched)


def _at_mirror(archive: Archive, mirror: str) -> Archive:
    base = mirror.rstrip("/")
    return replace(archive, urls={format: f"{base}/{archive.file_name(format)}" for format in archive.urls})


def _find(archive: Archive, manifest: "Manifest", watcher: Watcher) -> Path | None:
    """The archive in the folder, in any format, if it is there and good."""
    for format in FORMATS:
        path = manifest.folder / archive.file_name(format)
        if not path.exists():
            continue
        if manifest.trusted(path) is None:
            try:
                verify_archive(path, format, archive.games)
            except BrokenArchive as error:
                watcher.damaged(path.name, str(error))
                continue
            manifest.add(path, archive.games)
        PartFile(path).discard()  # what `kill -9` may have left
        return path
    return None


def _obtain(client: httpx.Client, archive: Archive, manifest: "Manifest", patience: Patience, watcher: Watcher) -> Path:
    """Fetch an archive in the best format in which it can be had whole; Unavailable or BrokenArchive if in none."""
    errors: list[Unavailable | BrokenArchive] = []
    for format, url in archive.urls.items():
        path = manifest.folder / archive.file_name(format)
        for _ in range(TRIES_TO_VERIFY):
            part = PartFile(path)
            try:
                fetch_file(client, url, part, patience, watcher)
                verify_archive(part.path, format, archive.games)
            except Unavailable as error:
                errors.append(error)
                break
            except BrokenArchive as error:
                errors.append(BrokenArchive(f"{url}: {error}"))
                watcher.damaged(path.name, str(error))
                part.discard()
                continue
            part.finish(path)
            manifest.add(path, archive.games)
            part.discard()
            return path
    raise errors[0]


def _shortfall(failures: Iterable[str], asked: int) -> str:
    reasons = list(failures)
    text = "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more" if len(reasons) > 3 else "")
    return f"{len(reasons)} of {asked} archives could not be fetched: {text}. The same command tries again."


# ---------------------------------------------------------------------------------------- the manifest
# What a folder of archives holds: a list of the ones that were read to their end and found good.
#
# `manifest.json` spares us reading the same archives at every run. It is only ever a memory of a check: an archive that
# it does not know, or whose file has changed, is checked again, and a manifest that cannot be read is an empty one.
# Each change replaces the file whole, so `kill -9` leaves the old one or the new one.

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


# -------------------------------------------------------------------------------- is an archive whole?
# Read it to its end, checksums included, and count the game records in it.

_BLOCK = 1 << 20


class BrokenArchive(ValueError):
    """An archive that cannot be read to its end, or does not hold what its name promises."""


def verify_archive(path: Path, format: str, games: int) -> None:
    """Raise BrokenArchive unless the archive is whole and holds exactly `games` records."""
    found = count_records(path, format)
    if found != games:
        raise BrokenArchive(f"holds {found} games where its name promises {games}")


def count_records(path: Path, format: str) -> int:
    """How many .sgf files an archive of format tar.gz, tar.bz2 or zip holds; BrokenArchive if it is not whole."""
    count = {"tar.gz": _count_gzip, "tar.bz2": _count_bzip2, "zip": _count_zip}.get(format)
    if count is None:
        raise ValueError(f"unknown archive format {format!r}: tar.gz, tar.bz2 and zip are known")
    try:
        return count(path)
    except EOFError:
        raise BrokenArchive(f"is cut short: not a whole {format} file") from None
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise BrokenArchive(f"is damaged: {error}") from None
    except (NotImplementedError, RuntimeError, UnicodeError, ValueError) as error:
        raise BrokenArchive(f"cannot be read: {error}") from None
    except OSError as error:
        if error.errno is not None:  # the disk's fault, not the archive's: bz2 raises bare OSErrors
            raise
        raise BrokenArchive(f"is damaged: {error}") from None


def _count_gzip(path: Path) -> int:
    with gzip.open(path, "rb") as stream:
        return _count_tar(cast(IO[bytes], stream))


def _count_bzip2(path: Path) -> int:
    with bz2.open(path, "rb") as stream:
        return _count_tar(cast(IO[bytes], stream))


def _count_tar(stream: IO[bytes]) -> int:
    """Count while streaming; then read what follows the tar's end mark, for the checksum is behind it."""
    records = 0
    with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as tar:
        for member in tar:
            records += member.isfile() and _is_record(member.name)
            tar.members = []  # type: ignore[attr-defined]  # it would remember every member
    while stream.read(_BLOCK):
        pass
    return records


def _count_zip(path: Path) -> int:
    records = 0
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as stream:
                    while stream.read(_BLOCK):
                        pass
                records += _is_record(member.filename)
    return records


def _is_record(name: str) -> bool:
    return name.lower().endswith(".sgf")
