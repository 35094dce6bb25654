"""Nobody gets in: another site, another name for this machine, or somebody without the token."""

import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tengen.web.app import WebConfig
from tengen.web.guard import COOKIE, is_loopback
from tengen.web.impatient import ImpatientProtocol

from .served import Page, Served

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server as with `--host 0.0.0.0`."""
    server = Served(WebConfig(tmp_path_factory.mktemp("games"), token=TOKEN, local=False))
    yield server
    server.close()


def get(served: Served, path: str = "/", method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.read()
    return answer


def talk(served: Served, origin: str | None, host: str | None = None, cookie: str | None = None) -> None:
    """Open the websocket and close it; InvalidStatus if it is refused."""
    headers = {name: value for name, value in (("Host", host), ("Cookie", cookie)) if value is not None}
    address = f"ws://127.0.0.1:{served.port}/talk"
    with connect(address, origin=origin, additional_headers=headers, proxy=None):  # type: ignore[arg-type]
        pass


def test_our_own_page_may_talk(served: Served) -> None:
    talk(served, served.address)


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://127.0.0.1", "http://localhost:1"])
def test_pages_of_other_sites_may_not_talk(served: Served, origin: str | None) -> None:
    with pytest.raises(InvalidStatus):
        talk(served, origin)


def test_forms_of_other_sites_are_refused(served: Served) -> None:
    assert get(served, method="POST", Origin="https://evil.example").status == 403
    assert get(served, method="POST").status == 403


def test_a_foreign_name_for_this_machine_is_refused(served: Served) -> None:
    """As in DNS rebinding: the browser believes that evil.example is here."""
    assert get(served, Host="evil.example").status == 403
    assert get(served, Host=f"localhost:{served.port}").status in (200, 503)  # 503: the page has not been built


def test_without_the_token_nothing_is_shown(closed: Served) -> None:
    assert get(closed).status == 401
    assert get(closed, "/assets/index.js").status == 401
    assert get(closed, "/?token=wrong").status == 401
    with pytest.raises(InvalidStatus):
        talk(closed, closed.address)
    with pytest.raises(InvalidStatus):
        talk(closed, closed.address, cookie=f"{COOKIE}=wrong")


def test_the_token_becomes_a_cookie_that_scripts_cannot_read(closed: Served) -> None:
    answer = get(closed, f"/?token={TOKEN}")
    cookie = answer.headers["set-cookie"]
    assert answer.status == 303
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    pair = cookie.partition(";")[0]
    assert get(closed, Cookie=pair).status in (200, 503)
    talk(closed, closed.address, cookie=pair)


def test_a_page_may_load_nothing_from_elsewhere(served: Served) -> None:
    policy = get(served).headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", ["/assets/../app.py", "/assets/%2e%2e/app.py", "/..%2f..%2fetc/passwd", "/static"])
def test_files_beside_the_page_stay_where_they_are(served: Served, path: str) -> None:
    assert get(served, path).status == 404


class Hasty(ImpatientProtocol):
    patience = 0.02


def test_who_does_not_finish_asking_is_cut_off_and_a_page_is_not(tmp_path: Path) -> None:
    server = Served(WebConfig(tmp_path), http=Hasty)
    page = Page(server)
    for begun in (b"", b"GET / HTTP/1.1\r\nHost: 127", b"POST / HTTP/1.1\r\nContent-Length: 9\r\nHost: x\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow:
            slow.sendall(begun)
            while slow.recv(4096):
                pass  # an answer, perhaps; then the end
    assert page.ask("play.list") == []
    page.close()
    server.close()


@pytest.mark.parametrize(
    "host, local",
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False), ("192.168.1.2", False), ("", False)],
)
def test_loopback(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_a_server_for_others_makes_up_a_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tengen.cli.web import web

    seen: list[WebConfig] = []
    monkeypatch.setattr("tengen.web.app.check_built", lambda: None)
    monkeypatch.setattr("tengen.web.server.run", lambda config, *_: seen.append(config))
    web(host="0.0.0.0", games=tmp_path)
    web(host="127.0.0.1", games=tmp_path)
    assert len(seen[0].token) >= 20 and not seen[0].local
    assert seen[1].token == "" and seen[1].local
    with pytest.raises(ValueError, match="at least 8"):
        web(host="0.0.0.0", token="short", games=tmp_path)
