"""Nobody gets in: another site, another name for this machine, or somebody without the token."""

import http.client
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote, urlsplit

import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from tengen.cli.web import web
from tengen.web.app import STATIC, WebConfig
from tengen.web.guard import is_loopback, kept_secret
from tengen.web.server import IdleTimeoutProtocol, _opener

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


def talk(
    served: Served, origin: str | None, host: str | None = None, cookie: str | None = None, path: str = "/talk"
) -> None:
    """Open the websocket and close it; InvalidStatus if it is refused."""
    headers = {} if cookie is None else {"Cookie": cookie}
    address = f"ws://{host or f'127.0.0.1:{served.port}'}{path}"
    line = socket.create_connection(("127.0.0.1", served.port), timeout=60)
    with connect(address, sock=line, origin=origin, additional_headers=headers, proxy=None):  # type: ignore[arg-type]
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
        talk(closed, closed.address, cookie=f"tengen-{closed.port}=wrong")


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


class Hasty(IdleTimeoutProtocol):
    patience = 0.5  # enough for the page to become a websocket on a busy machine


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


def test_the_cookie_is_of_this_port_and_not_secure_without_tls(closed: Served) -> None:
    cookie = get(closed, f"/?token={TOKEN}").headers["set-cookie"]
    assert cookie.startswith(f"tengen-{closed.port}=") and "Secure" not in cookie


def test_a_cookie_of_another_kind_does_no_harm(closed: Served) -> None:
    for header in ("=" * 60_000, ";" * 60_000, 'a="' * 10_000, "\\" * 60_000, f"tengen-{closed.port}=;"):
        assert get(closed, Cookie=header).status == 401


PUBLIC = "https://go.example.org"


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server as with `--public`, on loopback behind a proxy that does TLS."""
    config = WebConfig(tmp_path_factory.mktemp("games"), token=TOKEN, cookie="kept", public=PUBLIC)
    server = Served(config)
    yield server
    server.close()


@pytest.mark.parametrize("host", ["go.example.org", None], ids=["proxy keeps Host", "proxy sets Host"])
def test_behind_a_proxy_with_tls(behind_proxy: Served, host: str | None) -> None:
    named = {} if host is None else {"Host": host}
    assert get(behind_proxy, **named).status == 401
    answer = get(behind_proxy, f"/?token={TOKEN}", **named)
    assert answer.status == 303 and "Secure" in answer.headers["set-cookie"]
    pair = answer.headers["set-cookie"].partition(";")[0]
    assert pair == f"tengen-{behind_proxy.port}=kept"
    talk(behind_proxy, PUBLIC, host=host, cookie=pair)
    for origin in ("http://go.example.org", "https://evil.example", "https://go.example.org.evil.example", None):
        with pytest.raises(InvalidStatus):
            talk(behind_proxy, origin, host=host if host is None else "127.0.0.1", cookie=pair)
    assert get(behind_proxy, Host="evil.example", Cookie=pair).status == 403


def test_a_proxy_of_this_machine_may_say_that_it_does_tls(closed: Served) -> None:
    assert "Secure" in get(closed, f"/?token={TOKEN}", X_Forwarded_Proto="https").headers["set-cookie"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[WebConfig]:
    """What `tengen web` would serve."""
    seen: list[WebConfig] = []
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("tengen.web.app.check_built", lambda: None)
    monkeypatch.setattr("tengen.web.server.run", lambda config, *_: seen.append(config))
    return seen


def test_everybody_needs_a_token(started: list[WebConfig], tmp_path: Path) -> None:
    """Also on loopback, where every user of the machine could come."""
    for host in ("0.0.0.0", "127.0.0.1", "127.0.0.1"):
        web(host=host, games_folder=tmp_path)
    assert [config.local for config in started] == [False, True, True]
    assert all(len(config.token) >= 20 for config in started)
    assert len({config.token for config in started}) == 3, "a token is of one start"
    assert len({config.cookie for config in started}) == 1, "a cookie outlives a restart"
    web(token="a-token-of-my-own", games_folder=tmp_path)
    assert started[3].token == "a-token-of-my-own" and started[3].cookie not in (started[0].cookie, started[3].token)
    web(no_token=True, games_folder=tmp_path)
    assert started[4].token == started[4].cookie == ""
    for given in ({"host": "0.0.0.0", "token": "short"}, {"no_token": True, "host": "0.0.0.0"}):
        with pytest.raises(ValueError, match=r"at least 8|alone"):
            web(games_folder=tmp_path, **given)  # type: ignore[arg-type]
    for public in ("go.example.org", "ftp://x", "https://x/tengen"):
        with pytest.raises(ValueError, match="--public"):
            web(games_folder=tmp_path, public=public)


def test_the_secret_is_for_this_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "secret"
    secret = kept_secret(path)
    assert kept_secret(path) == secret and path.stat().st_mode & 0o077 == 0
    path.chmod(0o644)
    assert kept_secret(path) != secret and path.stat().st_mode & 0o077 == 0


def test_the_token_is_in_no_argument_of_the_browser(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Other users can see them: the browser is given a file that only this user can read."""
    with _opener(f"http://127.0.0.1:1/?token={TOKEN}", True) as opened:
        file = Path(unquote(urlsplit(opened).path))
        assert TOKEN not in opened and TOKEN in file.read_text() and file.stat().st_mode & 0o077 == 0
    assert not file.exists()
    with _opener("http://127.0.0.1:1/", False) as opened:
        assert opened == "http://127.0.0.1:1/"


@pytest.mark.skipif(not (STATIC / "index.html").is_file(), reason="needs the built page")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_in_the_middle_of_a_thought_and_lets_no_second_one_in(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "tengen", "web", "--port", "0", "--no-browser", "--no-token", "--games"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, str(tmp_path)], text=True, **pipes) as server:  # type: ignore[call-overload]
        assert server.stdout is not None
        port = int(server.stdout.readline().split(":")[2].split("/")[0])
        second = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=300)
        assert second.returncode == 2 and "in use by another tengen web" in second.stderr
        page = Page(SimpleNamespace(port=port, address=f"http://127.0.0.1:{port}"))  # type: ignore[arg-type]
        name = page.ask("play.new", game="go", options={"size": 5}, players=["spec:uct:seconds=30", "human"])["id"]
        page.ask("play.open", id=name)
        page.wait("game", lambda view: view["thinking"])
        bad = Page(SimpleNamespace(port=port, address=f"http://127.0.0.1:{port}"))  # type: ignore[arg-type]
        bad._socket.send(b"\xff", text=True)
        with pytest.raises(ConnectionClosedError, match="1007"):
            bad._socket.recv()
        server.send_signal(number)
        said = server.communicate(timeout=60)[1]
        page.close()
    assert "Traceback" not in said and "UTF-8" not in said


@pytest.mark.parametrize("length, is_kept", [(31, False), (32, True)])
def test_a_secret_that_is_too_short_is_made_again(tmp_path: Path, length: int, is_kept: bool) -> None:
    path = tmp_path / "a" / "state" / "secret"
    assert len(kept_secret(path)) >= 32  # its folders are made
    path.write_text("x" * length)
    assert (kept_secret(path) == "x" * length) is is_kept


def test_names_of_this_machine() -> None:
    assert is_loopback("LOCALHOST") and is_loopback("[::1]") and is_loopback("127.1.2.3")
    assert not is_loopback("localhost.evil.example")


@pytest.mark.parametrize("origin", ["ftp://{}", "http://[", "file://{}"])
def test_an_origin_is_that_of_a_page(served: Served, origin: str) -> None:
    assert get(served, method="POST", Origin=origin.format(f"127.0.0.1:{served.port}")).status == 403


def test_a_name_that_is_none_is_refused(served: Served) -> None:
    assert get(served, Host="[").status in (400, 403)


def test_the_token_opens_no_websocket(closed: Served) -> None:
    """It would stay in logs of proxies; only a page is given the cookie."""
    with pytest.raises(InvalidStatus):
        talk(closed, closed.address, path=f"/talk?token={TOKEN}")


def test_every_answer_has_the_headers_once(served: Served, closed: Served) -> None:
    for header in ("x-content-type-options", "referrer-policy", "cross-origin-opener-policy"):
        assert len(get(served).headers.get_all(header)) == 1
    cookie = get(closed, f"/?token={TOKEN}").headers["set-cookie"]
    assert "Max-Age=2592000" in cookie  # 30 days


def test_of_several_cookies_ours_counts(closed: Served) -> None:
    name = f"tengen-{closed.port}"
    assert get(closed, Cookie=f'other=1; {name}="{TOKEN}" ; tengen-1=x').status in (200, 503)
    assert get(closed, Cookie=f"other={TOKEN}; tengen-1={TOKEN}").status == 401
