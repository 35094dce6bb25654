"""Game records streamed out of folders, SGF files and archives, without unpacking anything to disk.

Archives come from anywhere, so nothing in them is trusted:

* the name of a member is only a name: it is shown and stored, never opened or written;
* a record is read up to `MAX_RECORD_BYTES`, whatever size its header claims; a larger one is left out;
* links, devices and folders inside an archive are passed over; an archive inside an archive is left out;
* an archive that breaks off gives the records before the break, and one `RecordFile` with the reason;
* a member that unpacks to more than `MAX_PASSED_BYTES` (or a header as large) ends its archive.

`verify_archive` is the opposite: it reads a downloaded archive to its end and accepts nothing but all of it.
"""

import bz2
import gzip
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol

from tengen._text import printable

MAX_RECORD_BYTES: Final = 1_000_000
MAX_PASSED_BYTES: Final = 1 << 30
MAX_NAME_LENGTH: Final = 200
_BLOCK: Final = 1 << 20
LOOSE_FILES: Final = 1000  # SGF files of a folder that make up one source

TOO_LARGE: Final = "too large"
ARCHIVE_CUT: Final = "archive cut off"
ARCHIVE_UNREADABLE: Final = "archive unreadable"
ARCHIVE_INSIDE: Final = "archive inside an archive"
FILE_UNREADABLE: Final = "file unreadable"

_TAR_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_ARCHIVE_SUFFIXES: Final = (*_TAR_SUFFIXES, ".zip")
_NESTED_SUFFIXES: Final = (*_ARCHIVE_SUFFIXES, ".gz", ".bz2", ".xz", ".7z", ".rar")
_BROKEN: Final = (EOFError, OSError, ValueError, KeyError, IndexError, struct.error, zlib.error, lzma.LZMAError,
                  tarfile.TarError, zipfile.BadZipFile, RuntimeError, NotImplementedError)  # fmt: skip


class RecordFile(NamedTuple):
    """One record of a source; or, with a `reason`, something that could not be had."""

    name: str
    data: bytes
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True)
class RecordSource:
    """An archive, or up to `LOOSE_FILES` single records of a folder: what is read in one go."""

    name: str
    """Relative to the path that the user gave, so that it is the same everywhere."""
    files: tuple[Path, ...]
    names: tuple[str, ...]
    """The name of each file."""
    bytes: int
    """Size on disk."""

    @property
    def is_archive(self) -> bool:
        """Whether this is one archive rather than single files."""
        return is_archive(self.name)

    def records(self) -> Iterator[tuple[RecordFile, int]]:
        """All records, in the order in which they are stored, and how many bytes of the source were read by then."""
        if self.is_archive:
            yield from _archive_records(self.files[0], self.name)
            return
        position = 0
        for path, name in zip(self.files, self.names):
            record = _loose_record(path, name)
            position += len(record.data)
            yield record, position


def is_archive(name: str) -> bool:
    """Whether a file of this name is read as an archive."""
    return name.lower().endswith(_ARCHIVE_SUFFIXES)


def is_record(name: str) -> bool:
    """Whether a file of this name is read as a game record."""
    return name.lower().endswith(".sgf")


def find_sources(paths: Iterable[Path]) -> list[RecordSource]:
    """The sources under folders and files, sorted within each folder; ValueError for a path that holds none."""
    sources: list[RecordSource] = []
    for path in paths:
        if path.is_dir():
            found = _sources_of_folder(path)
        elif not path.exists():
            raise ValueError(f"{path} does not exist: give folders, .sgf files, .tar.gz, .tar.bz2 or .zip archives")
        elif is_archive(path.name) or is_record(path.name):
            found = [_source(path.name, [path], [path.name])]
        else:
            raise ValueError(f"{path} is no .sgf file and no .tar.gz, .tar.bz2, .tar or .zip archive")
        if not found:
            raise ValueError(f"{path} holds no .sgf files and no archives")
        sources += found
    return sources


def iter_records(paths: Iterable[Path]) -> Iterator[RecordFile]:
    """All records under folders and files, streamed."""
    for source in find_sources(paths):
        for record, _ in source.records():
            yield record


def clean_name(name: str) -> str:
    """A name from outside as it is shown and stored: printable, in one line, of bounded length."""
    plain = name.encode("utf-8", "replace").decode()
    plain = printable(plain[: 2 * MAX_NAME_LENGTH])
    return plain if len(plain) <= MAX_NAME_LENGTH else "..." + plain[3 - MAX_NAME_LENGTH :]


# ---------------------------------------------------------------------------------------------- folders


def _sources_of_folder(folder: Path) -> list[RecordSource]:
    """Archives one by one; single records gathered, up to `LOOSE_FILES` of a folder together."""
    sources: list[RecordSource] = []
    for where, folders, names in os.walk(folder):
        folders.sort()
        loose: list[str] = []
        for name in sorted(names):
            if not _is_regular(Path(where, name)):
                continue
            if is_archive(name):
                sources.append(_source_in(folder, where, [name]))
            elif is_record(name):
                loose.append(name)
        for start in range(0, len(loose), LOOSE_FILES):
            sources.append(_source_in(folder, where, loose[start : start + LOOSE_FILES]))
    return sources


def _source_in(folder: Path, where: str, names: list[str]) -> RecordSource:
    files = [Path(where, name) for name in names]
    relative = [path.relative_to(folder).as_posix() for path in files]
    return _source(relative[0], files, relative)


def _source(name: str, files: list[Path], names: list[str]) -> RecordSource:
    return RecordSource(
        clean_name(name), tuple(files), tuple(map(clean_name, names)), sum(p.stat().st_size for p in files)
    )


def _is_regular(path: Path) -> bool:
    """A file, or a link to one: no pipe or device, which could block for ever."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False


def _loose_record(path: Path, name: str) -> RecordFile:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_RECORD_BYTES + 1)
    except OSError as error:
        return RecordFile(name, b"", FILE_UNREADABLE, error.strerror or str(error))
    return _bounded(name, data)


def _bounded(name: str, data: bytes) -> RecordFile:
    if len(data) > MAX_RECORD_BYTES:
        return RecordFile(name, b"", TOO_LARGE, f"more than {MAX_RECORD_BYTES} bytes")
    return RecordFile(name, data)


# --------------------------------------------------------------------------------------------- archives


def _archive_records(path: Path, name: str) -> Iterator[tuple[RecordFile, int]]:
    """The records of one archive, with the position in its file; whatever breaks it becomes the last one."""
    position = 0
    try:
        with open(path, "rb") as file:
            for record in _zip_records(file, name) if name.lower().endswith(".zip") else _tar_records(file, name):
                position = max(position, file.tell())
                yield record, position
    except _BrokenOff as error:
        yield RecordFile(name, b"", ARCHIVE_CUT, str(error)), position
    except _TooMuch as error:
        yield RecordFile(name, b"", TOO_LARGE, str(error)), position
    except _BROKEN as error:
        yield RecordFile(name, b"", ARCHIVE_UNREADABLE, clean_name(str(error) or type(error).__name__)), position


class _BrokenOff(Exception):
    """The archive ends before its end."""


class _TooMuch(Exception):
    """More than `MAX_PASSED_BYTES` would have to be unpacked to come to the next member."""


class _Reads(Protocol):
    def read1(self, size: int, /) -> bytes: ...


class _Unpacked:
    """The unpacked bytes of a tar, which end with zeros if they are whole, in doses that were allowed."""

    def __init__(self, stream: _Reads) -> None:
        self._stream = stream
        self._allowed = MAX_RECORD_BYTES
        self._last = b""

    def allow(self, size: int) -> None:
        """Let the next member of `size` bytes pass, and the header after it."""
        if size > MAX_PASSED_BYTES:
            raise _TooMuch(f"a member of {size} bytes")
        self._allowed = size + MAX_RECORD_BYTES

    def read(self, size: int) -> bytes:
        """`size` more bytes, fewer only at the end; all there is before a break, and only then `_BrokenOff`."""
        data = b""
        try:
            while len(data) < size and (more := self._stream.read1(size - len(data))):
                data += more
        except EOFError:
            if not data:
                raise _BrokenOff("the compressed data end too early") from None
        self._allowed -= len(data)
        if self._allowed < 0:
            raise _TooMuch(f"a header of more than {MAX_RECORD_BYTES} bytes")
        self._last = (self._last + data)[-512:]
        return data

    @property
    def is_whole(self) -> bool:
        """Whether the last block read was one of the zero blocks that end a tar."""
        return self._last == bytes(512)


def _tar_records(file: BufferedReader, archive: str, to_the_end: bool = False) -> Iterator[RecordFile]:
    """`to_the_end`: also read what follows the tar's end mark, because the checksum is behind it."""
    stream = _Unpacked(_decompressed(file, archive.lower()))
    try:
        with tarfile.open(fileobj=stream, mode="r|") as members:  # type: ignore[call-overload]
            while (member := members.next()) is not None:
                stream.allow(member.size)
                name = clean_name(f"{archive}/{member.name}")
                if member.isreg() and is_record(member.name):
                    contents = members.extractfile(member)
                    yield _bounded(name, contents.read(MAX_RECORD_BYTES + 1) if contents else b"")
                elif member.isreg() and member.name.lower().endswith(_NESTED_SUFFIXES):
                    yield RecordFile(name, b"", ARCHIVE_INSIDE)
                members.members = []  # a stream never goes back: keep no list of what went by
    except tarfile.ReadError as error:
        if "unexpected end" in str(error) or "truncated" in str(error):
            raise _BrokenOff("the tar ends too early") from None
        raise
    if not stream.is_whole:
        raise _BrokenOff("the tar has no end mark")
    stream.allow(MAX_PASSED_BYTES)
    while to_the_end and stream.read(_BLOCK):
        pass


def _decompressed(file: BufferedReader, name: str) -> _Reads:
    if name.endswith((".gz", ".tgz")):
        return gzip.GzipFile(fileobj=file, mode="rb")
    if name.endswith((".bz2", ".tbz2")):
        return bz2.BZ2File(file)
    if name.endswith((".xz", ".txz")):
        return lzma.LZMAFile(file)
    return file


def _zip_records(file: IO[bytes], archive: str) -> Iterator[RecordFile]:
    try:
        members = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        file.seek(0)
        yield from _cut_zip_records(file, archive)
        return
    with members:
        for member in members.infolist():
            name = clean_name(f"{archive}/{member.filename}")
            if member.filename.lower().endswith(_NESTED_SUFFIXES):
                yield RecordFile(name, b"", ARCHIVE_INSIDE)
            elif is_record(member.filename) and stat.S_IFMT(member.external_attr >> 16) in (0, stat.S_IFREG):
                try:
                    with members.open(member) as contents:
                        yield _bounded(name, contents.read(MAX_RECORD_BYTES + 1))
                except _BROKEN as error:
                    yield RecordFile(name, b"", FILE_UNREADABLE, clean_name(str(error)))


def _cut_zip_records(file: IO[bytes], archive: str) -> Iterator[RecordFile]:
    """The records of a zip whose list of contents, at its end, is lost: member by member from the front."""
    while True:
        header = file.read(30)
        if len(header) < 30 or header[:4] != b"PK\x03\x04":
            raise _BrokenOff("the zip has no list of its contents")
        flags, method = struct.unpack_from("<HH", header, 6)
        packed, _, name_length, extra_length = struct.unpack_from("<IIHH", header, 18)
        name = file.read(name_length).decode("utf-8" if flags & 0x800 else "cp437", "replace")
        file.seek(extra_length, os.SEEK_CUR)
        if flags & 0x9 or method not in (0, 8) or packed > MAX_RECORD_BYTES:  # encrypted, of unknown length, ...
            raise _BrokenOff(f"the zip has no list of its contents, and {clean_name(name)!r} cannot be read without")
        data = file.read(packed)
        if len(data) < packed:
            raise _BrokenOff("the zip ends within a member")
        if is_record(name):
            if method == 8:
                data = zlib.decompressobj(-15).decompress(data, MAX_RECORD_BYTES + 1)
            yield _bounded(clean_name(f"{archive}/{name}"), data)


# -------------------------------------------------------------------------------- is an archive whole?


class BrokenArchive(ValueError):
    """An archive that cannot be read to its end, or holds another number of records than its name says."""


def verify_archive(path: Path, format: str, games: int) -> None:
    """Raise BrokenArchive unless the archive is whole and holds exactly `games` records."""
    found = count_records(path, format)
    if found != games:
        raise BrokenArchive(f"holds {found} games where its name promises {games}")


def count_records(path: Path, format: str) -> int:
    """How many .sgf files an archive of format tar.gz, tar.bz2 or zip holds; BrokenArchive if it is not whole."""
    name, records = f"archive.{format}", 0
    try:
        with open(path, "rb") as file:
            for record in _zip_records(file, name) if format == "zip" else _tar_records(file, name, to_the_end=True):
                if record.reason == FILE_UNREADABLE:
                    raise zipfile.BadZipFile(record.detail)
                records += record.reason != ARCHIVE_INSIDE
    except _BrokenOff:
        raise BrokenArchive(f"is cut short: not a whole {format} file") from None
    except (_TooMuch, *_BROKEN) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's fault: bz2 raises bare OSErrors
            raise
        raise BrokenArchive(f"is damaged: {error}") from None
    return records
