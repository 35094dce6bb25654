"""Fetching a file over HTTP in such a way that no byte is asked for twice.

A file under way is two files:

    NAME.part        the bytes that have come so far
    NAME.part.json   the server's headers of the whole file: its length, its ETag, when it was last changed

The second is written before the first byte of the first. An interrupted fetch resumes there with a Range
request (RFC 9110, section 14), guarded by If-Range: a server whose file has changed in the meantime sends it whole,
and so does one without ranges; then we begin again. What was received is on disk at once, so `kill -9` loses
nothing but what was still in the network.
"""

import json
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import httpx

from tengen import __version__
from tengen.runs.files import move_into_place, write_atomically

MAX_PAGE = 16 << 20
MAX_FILE = 4 << 30
"""No page and no archive that we want is larger, in bytes."""

_T = TypeVar("_T")


class DownloadError(RuntimeError):
    """Something could not be fetched; the message has what and why."""


class Unavailable(DownloadError):
    """The server was reached and does not give us this file. Others may fare better."""


class Unreachable(DownloadError):
    """The server could not be reached, or the connection never lasted."""


@dataclass(frozen=True)
class Patience:
    """How often to try again, and how long to wait before it."""

    attempts: int = 6
    """So many failures in a row are the end. An attempt that brought new bytes starts the count again."""
    first_delay: float = 0.5
    """Seconds before the second attempt; every further wait is twice as long, less up to half by chance."""
    longest_delay: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        return min(self.longest_delay, self.first_delay * 2.0 ** (failures - 1)) * (1 - self.chance() / 2)


class Watcher:
    """Receives the progress of a download; this one ignores it."""

    def chosen(self, files: int, games: int) -> None:
        """These are needed, some of which may be there already."""

    def started(self, name: str, received: int, total: int | None) -> None:
        """A file begins, or is resumed at `received` bytes; `total` is None while unknown."""

    def progressed(self, name: str, received: int, total: int | None) -> None:
        """The file has so many bytes now."""

    def waiting(self, name: str, reason: str, seconds: float) -> None:
        """An attempt failed; the next one is in so many seconds."""

    def damaged(self, name: str, reason: str) -> None:
        """A file is not what it should be, and is fetched again."""

    def present(self, name: str, games: int, fetched: bool) -> None:
        """A file is there and good, fetched just now or earlier."""


class _TryAgain(Exception):
    """An attempt failed in a way that may pass; `seconds` is how long the server asks us to wait."""

    def __init__(self, reason: str, seconds: float = 0.0) -> None:
        super().__init__(reason)
        self.seconds = seconds


@dataclass(frozen=True)
class _Version:
    """What distinguishes one version of a file on a server from another."""

    total: int | None = None
    etag: str | None = None
    modified: str | None = None

    @property
    def guard(self) -> str | None:
        """A value for If-Range, which takes strong validators only."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified

    def agrees(self, other: "_Version") -> bool:
        pairs = zip((self.total, self.etag, self.modified), (other.total, other.etag, other.modified), strict=True)
        return all(a is None or b is None or a == b for a, b in pairs)


class PartFile:
    """A file under way: the bytes so far, and which version of the file they belong to."""

    def __init__(self, target: Path) -> None:
        """The part file of `target`, as an earlier run left it, or a new one."""
        self.path = target.with_name(target.name + ".part")
        self._version_path = target.with_name(target.name + ".part.json")
        self._version = self._read_version()

    @property
    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def total(self) -> int | None:
        return self._version.total

    @property
    def is_complete(self) -> bool:
        return self.total is not None and self.path.exists() and self.size == self.total

    def headers(self) -> dict[str, str]:
        """What to ask for: the rest of the file if it is known which file that is, else all of it."""
        headers = {"Accept-Encoding": "identity"}
        if self.size and self._version != _Version():
            headers["Range"] = f"bytes={self.size}-"
            if self._version.guard:
                headers["If-Range"] = self._version.guard
        return headers

    def expect(self, response: httpx.Response) -> None:
        """Get ready for the body of a response: to append it, or to begin again."""
        version = _version_of(response)
        if response.status_code == 206 and self.size:
            if not (_range_start(response) == self.size and self._version.agrees(version)):
                self.discard()
                raise _TryAgain("the file has changed on the server")
            return
        if response.status_code != 200:
            raise Unavailable(f"unexpected answer {response.status_code} {response.reason_phrase}".strip())
        self.path.write_bytes(b"")
        write_atomically(self._version_path, json.dumps(asdict(version)).encode())
        self._version = version

    def discard(self) -> None:
        """Forget the bytes, if there are any."""
        self.path.unlink(missing_ok=True)
        self._version_path.unlink(missing_ok=True)
        self._version = _Version()

    def finish(self, target: Path) -> None:
        """Give the whole and verified file its name."""
        move_into_place(self.path, target)

    def _read_version(self) -> _Version:
        try:
            fields = json.loads(self._version_path.read_bytes())
            total, etag, modified = fields["total"], fields["etag"], fields["modified"]
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return _Version()
        return _Version(
            total if isinstance(total, int) else None,
            etag if isinstance(etag, str) else None,
            modified if isinstance(modified, str) else None,
        )


def open_client(timeout: float = 30.0) -> httpx.Client:
    """An HTTP client; `timeout` is the longest silence, in seconds, that counts as a connection."""
    return httpx.Client(
        follow_redirects=True,
        timeout=timeout,
        headers={"User-Agent": f"tengen/{__version__}"},
    )


def fetch_file(client: httpx.Client, url: str, part: PartFile, patience: Patience, watcher: Watcher) -> None:
    """Bring a part file to its end, from wherever it stands; Unavailable or Unreachable if that fails."""
    name = part.path.name.removesuffix(".part")

    def attempt() -> None:
        if not part.is_complete:
            _receive(client, url, part, name, watcher)

    _persevere(attempt, url, name, lambda: part.size, patience, watcher)


def fetch_page(client: httpx.Client, url: str, patience: Patience, watcher: Watcher) -> bytes:
    """A page, whole and in memory; Unavailable or Unreachable if that fails."""

    def attempt() -> bytes:
        page = bytearray()
        with client.stream("GET", url) as response:
            _check_status(response)
            for chunk in response.iter_bytes():
                page += chunk
                if len(page) > MAX_PAGE:
                    raise Unavailable(f"larger than {MAX_PAGE >> 20} MB")
        return bytes(page)

    return _persevere(attempt, url, url, lambda: 0, patience, watcher)


def _receive(client: httpx.Client, url: str, part: PartFile, name: str, watcher: Watcher) -> None:
    """One request, and as much of its body as comes."""
    with client.stream("GET", url, headers=part.headers()) as response:
        if response.status_code == 416:  # the file on the server ends before our part does
            part.discard()
            raise _TryAgain("the file has changed on the server")
        _check_status(response)
        part.expect(response)
        received = part.size
        watcher.started(name, received, part.total)
        with part.path.open("ab") as file:
            for chunk in response.iter_raw():
                received += len(chunk)
                if received > MAX_FILE:
                    raise Unavailable(f"larger than {MAX_FILE >> 30} GB")
                file.write(chunk)
                file.flush()
                watcher.progressed(name, received, part.total)
            os.fsync(file.fileno())
    if part.total is not None and received < part.total:
        raise _TryAgain(f"the connection ended after {received} of {part.total} bytes")
    if part.total is not None and received > part.total:
        part.discard()
        raise _TryAgain(f"the server sent {received} bytes instead of {part.total}")


def _persevere(
    attempt: Callable[[], _T], url: str, name: str, received: Callable[[], int], patience: Patience, watcher: Watcher
) -> _T:
    """Try until it works, or until it has failed `patience.attempts` times without getting any farther."""
    failures, farthest = 0, received()
    while True:
        error: Exception
        asked = 0.0
        try:
            return attempt()
        except Unavailable as permanent:
            raise Unavailable(f"{url}: {permanent}") from None
        except (httpx.UnsupportedProtocol, httpx.TooManyRedirects, httpx.InvalidURL, httpx.DecodingError) as permanent:
            raise Unavailable(f"{url}: {_reason(permanent)}") from None
        except httpx.TransportError as passing:
            error = passing
        except _TryAgain as passing:
            error, asked = passing, passing.seconds
        failures = 1 if received() > farthest else failures + 1
        farthest = max(farthest, received())
        if failures >= patience.attempts or "CERTIFICATE_VERIFY_FAILED" in str(error):
            kind = Unreachable if isinstance(error, httpx.TransportError) else Unavailable
            raise kind(f"{url}: {_reason(error)}; gave up after {_times(failures)}") from None
        seconds = max(patience.delay(failures), min(asked, 2 * patience.longest_delay))
        watcher.waiting(name, _reason(error), seconds)
        patience.sleep(seconds)


def _check_status(response: httpx.Response) -> None:
    if response.is_success:
        return
    reason = f"{response.status_code} {response.reason_phrase}".strip()
    if response.status_code in (408, 425, 429) or response.is_server_error:
        wait = response.headers.get("Retry-After", "")
        raise _TryAgain(reason, float(wait) if re.fullmatch(r"\d{1,6}", wait, re.ASCII) else 0.0)
    raise Unavailable(reason)


def _version_of(response: httpx.Response) -> _Version:
    """The version that a response belongs to: all of a file (200) or a range of it (206)."""
    headers = response.headers
    if response.status_code == 206:
        length = headers.get("Content-Range", "").rpartition("/")[2]
    else:
        length = headers.get("Content-Length", "")
    total = int(length) if re.fullmatch(r"\d{1,18}", length, re.ASCII) else None
    return _Version(total, headers.get("ETag"), headers.get("Last-Modified"))


def _range_start(response: httpx.Response) -> int | None:
    match = re.match(r"bytes (\d{1,18})-", response.headers.get("Content-Range", ""), re.ASCII)
    return int(match[1]) if match else None


def _reason(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    return str(error) or type(error).__name__


def _times(count: int) -> str:
    return "1 attempt" if count == 1 else f"{count} attempts"
