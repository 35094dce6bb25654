"""Downloading the KGS archives: only those that a sample needs, and each of them once.

An archive passes through these states, and `kill -9` between or inside them loses nothing:

    NAME.part        under way, see fetch.py
    NAME.part        complete: read to its end, its games counted (verification.py)
    NAME             good, by an atomic rename
    manifest.json    remembered as good (manifest.py): the next run need not read it again

An archive that fails its check is fetched afresh, then in its other formats.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

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
from tengen.data.manifest import Manifest
from tengen.data.verification import BrokenArchive, verify_archive

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


def _find(archive: Archive, manifest: Manifest, watcher: Watcher) -> Path | None:
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


def _obtain(client: httpx.Client, archive: Archive, manifest: Manifest, patience: Patience, watcher: Watcher) -> Path:
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
