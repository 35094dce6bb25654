"""Downloading the KGS archives: only those that a sample needs, and each of them once.

An archive passes through these states, and `kill -9` between or inside them loses nothing:

    NAME.part        under way, see `data.fetch`
    NAME.part        complete: read to its end, its games counted (`verify_archive`)
    NAME             good, by an atomic rename
    manifest.json    remembered as good (`Manifest`): the next run need not read it again

An archive that fails its check is fetched afresh, then in its other formats.

Which archives there are stands on the site's index page, one long HTML table, newest period first, with three rows a
period: one for each archive format. All that counts is in the links, whose file names follow a pattern:

    https://dl.u-go.net/gamerecords/KGS-2016_05-19-1011-.tar.gz
                                        period  size games  format

so the parser looks at links only, and the table may be laid out, or left unclosed, as the site likes.
"""

import ast
import hashlib
import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from tengen.data.archives import BrokenArchive, verify_archive
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
from tengen.runs.files import make_folder, sole_use, write_atomically

INDEX_URL = "https://u-go.net/gamerecords/"

FORMATS = ("tar.gz", "tar.bz2", "zip")
"""The archive formats of the site, best first: tar.gz unpacks fastest, zip is twice as large."""

_FILE_NAME = re.compile(
    r"(?P<name>KGS[0-9A-Za-z]*-(?P<period>\d{4}(?:_\d{2})?)-\d{1,2}-(?P<games>\d{1,9})-)"
    r"\.(?P<format>tar\.gz|tar\.bz2|zip)",
    re.ASCII,
)
# Not `html.parser`, which takes quadratic time over unclosed tags. A comment ends at the end of the page at the latest,
# and a value at the first quote of its kind, so nothing is read twice.
_LINK = re.compile(
    r"""<!--(?:[^-]++|-(?!->))*+|(?<![\w-])href\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))""", re.IGNORECASE
)

TRIES_TO_VERIFY = 2
"""How often an archive is fetched in one format before we believe that it is broken on the server."""


@dataclass(frozen=True)
class Archive:
    """One archive of the index, in one to three formats."""

    name: str
    """The file name without its format: `KGS-2016_05-19-1011-`."""
    period: str
    """A year, `2015`, or a month, `2016-05`. Periods sort by time as text."""
    games: int
    """How many games are inside, by the file name."""
    urls: Mapping[str, str]
    """Where each format is, the best format first."""

    @property
    def year(self) -> int:
        return int(self.period[:4])

    def file_name(self, format: str) -> str:
        """The name under which the archive is served and stored."""
        return f"{self.name}.{format}"


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
    with closing(Manifest(folder)) as manifest:
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
        make_folder(folder)
        self.folder = folder
        with ExitStack() as stack:
            if not stack.enter_context(sole_use(folder)):
                raise FolderInUse(
                    f"another process is downloading into {folder}: wait for it to end, or choose another folder"
                )
            self.entries = read_manifest(folder)
            self._held = stack.pop_all()

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
        self._held.close()

    def _keep(self, entry: Entry) -> None:
        self.entries[entry.name] = entry
        archives = [asdict(self.entries[name]) for name in sorted(self.entries)]
        text = json.dumps({"archives": archives}, indent=1)
        write_atomically(self.folder / MANIFEST_NAME, text.encode() + b"\n")


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


# ---------------------------------------------------------------------------------------------- the index


def parse_index(page: bytes | str, url: str = INDEX_URL) -> list[Archive]:
    """Read an index page: its archives in the order of the page, each once, with all their formats.

    `url` is the page's own address, to which relative links refer. Links to anything else are ignored, so a page
    without archives gives an empty list. A page that some tool saved as the repr of a Python bytes object
    (`b'\\n<html>...'`) is read like any other.
    """
    found: dict[str, tuple[re.Match[str], dict[str, str]]] = {}
    for link in _links(_as_text(page)):
        try:
            address = urljoin(url, link.strip())
            parts = urlsplit(address)
        except ValueError:  # not an address at all: "http://["
            continue
        match = _FILE_NAME.fullmatch(parts.path.rpartition("/")[2])
        if match is not None and parts.scheme in ("http", "https"):
            _, urls = found.setdefault(match["name"], (match, {}))
            urls.setdefault(match["format"], address)
    return [
        Archive(
            name, match["period"].replace("_", "-"), int(match["games"]), {f: urls[f] for f in FORMATS if f in urls}
        )
        for name, (match, urls) in found.items()
    ]


def choose_archives(
    archives: Iterable[Archive], games: int | None = None, years: tuple[int, int] | None = None
) -> list[Archive]:
    """The archives that a sample needs: the newest ones that together hold `games` games, all if None.

    `years` is the first and the last year to take from.
    """
    newest_first = sorted(archives, key=lambda archive: archive.period, reverse=True)
    if games is not None and games < 1:
        raise ValueError(f"cannot fetch {games} games: ask for 1 or more")
    if years is not None:
        inside = [archive for archive in newest_first if years[0] <= archive.year <= years[1]]
        if newest_first and not inside:
            span = f"{newest_first[-1].year} to {newest_first[0].year}"
            raise ValueError(f"the index has no archive of {years[0]} to {years[1]}: it goes from {span}")
        newest_first = inside
    chosen: list[Archive] = []
    held = 0
    for archive in newest_first:
        if games is not None and held >= games:
            break
        chosen.append(archive)
        held += archive.games
    return chosen


def parse_years(text: str) -> tuple[int, int]:
    """The first and last year of `2016` or `2016-2018`; `2016-` and `-2018` leave one end open."""
    match = re.fullmatch(r"\s*+(\d{4})?\s*+(-)?\s*+(\d{4})?\s*+", text, re.ASCII)
    if match is None or not (match[1] or match[3]) or (match[1] and match[3] and not match[2]):
        raise ValueError(f"not a range of years: {text[:60]!r}; write 2016, 2016-2018, 2016- or -2018")
    first = int(match[1] or 1)
    last = int(match[3] or (9999 if match[2] else first))
    if last < first:
        raise ValueError(f"the years {text!r} run backwards; write {last}-{first}")
    return first, last


def _as_text(page: bytes | str) -> str:
    text = page.decode("utf-8", errors="replace") if isinstance(page, bytes) else page
    text = text.removeprefix("\ufeff").strip()
    if text[:2] in ("b'", 'b"'):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's remarks about escapes that it does not know
                saved = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text  # cut short, perhaps: most links can be read even so
        return saved.decode("utf-8", errors="replace") if isinstance(saved, bytes) else text
    return text


def _links(text: str) -> list[str]:
    return [unescape(found[found.lastindex]) for found in _LINK.finditer(text) if found.lastindex]
