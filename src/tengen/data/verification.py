"""Is an archive whole? Read it to its end, checksums included, and count the game records in it."""

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, cast

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
