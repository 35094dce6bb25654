"""A record site on 127.0.0.1 that serves small archives made here, counts what it sends, and has mishaps on request."""

import functools
import gzip
import io
import re
import tarfile
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

NEWEST, MIDDLE, OLDEST = "KGS-2016_02-19-12-.tar.gz", "KGS-2016_01-19-20-.tar.gz", "KGS-2015-19-30-.tar.gz"

Answer = Callable[["Handler", bytes], None]
"""What a server does once instead of serving a file."""


@functools.cache
def archive(games: int) -> bytes:
    """A tar.gz of so many small records that do not compress well."""
    random, buffer = Random(games), io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for number in range(games):
            content = b"(;GM[1]C[%s])" % random.randbytes(300).hex().encode()
            member = tarfile.TarInfo(f"kgs-19/{number}.sgf")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


class Site(ThreadingHTTPServer):
    """A record site: its files, what it was asked for, what it sent, and the mishaps to come."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {name: archive(int(name.split("-")[-2])) for name in (NEWEST, MIDDLE, OLDEST)}
        self.mishaps: dict[str, list[Answer]] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.sent: Counter[str] = Counter()
        self.knows_ranges = True
        self.etag: str | None = '"v1"'
        self.held, self.release = threading.Event(), threading.Event()
        self.files[""] = self.page(NEWEST, MIDDLE, OLDEST)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @staticmethod
    def page(*names: str) -> bytes:
        """An index whose links lead to a site that tests cannot reach: hence the mirror."""
        rows = "".join(f'<tr><td><a href="https://records.invalid/x/{name}">Download</a>' for name in names)
        return f"<html><table><a href='/about'>about</a>{rows}</html>".encode()

    def archives_asked_for(self) -> list[tuple[str, str | None]]:
        return [request for request in self.requests if request[0]]


class Handler(BaseHTTPRequestHandler):
    """Serves `Site.files` with ranges and If-Range, unless a mishap is due."""

    server: Site
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.name = self.path.strip("/")
        self.server.requests.append((self.name, self.headers["Range"]))
        content = self.server.files.get(self.name)
        mishaps = self.server.mishaps.get(self.name)
        if mishaps:
            mishaps.pop(0)(self, content or b"")
        elif content is None:
            self.status(404)
        else:
            self.serve(content, len(content))

    def serve(self, content: bytes, upto: int) -> None:
        """Send the body, or what the client has not got of it; break off after `upto` bytes of the whole."""
        start = 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        fresh = self.headers["If-Range"] in (None, self.server.etag)
        if asked and self.server.knows_ranges and fresh:
            start = int(asked[1])
            if start >= len(content):
                return self.status(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        if self.server.etag is not None:
            self.send_header("ETag", self.server.etag)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:upto]
        self.wfile.write(body)
        self.server.sent[self.name] += len(body)
        self.close_connection = upto < len(content)

    def status(self, code: int, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


def cut(upto: int) -> Answer:
    return lambda handler, content: handler.serve(content, upto)


def fail(code: int, **headers: str) -> Answer:
    return lambda handler, content: handler.status(code, **headers)


def instead(other: bytes) -> Answer:
    return lambda handler, content: handler.serve(other, len(other))


def hold(handler: Handler, content: bytes) -> None:
    """Never answer; the test is told that we are here."""
    handler.server.held.set()
    handler.server.release.wait()
    handler.close_connection = True
