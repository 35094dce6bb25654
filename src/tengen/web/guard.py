"""Who may talk to the server: checks of host, origin and token, before anything else sees a request.

| check  | against                                                                                                   |
|--------|-----------------------------------------------------------------------------------------------------------|
| Host   | another site's name that leads to this machine (DNS rebinding); only where the server is on loopback      |
| Origin | a page of another site in the same browser that opens our websocket or sends a form                       |
| token  | other users of this machine, and everybody on the network; once in the address, then a cookie             |

Behind a proxy with TLS the server is told its public address: that name and origin pass too, and the cookie is
`Secure`.
"""

import hmac
import ipaddress
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


def is_loopback(host: str) -> bool:
    """Whether a name or address can only be this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Lets through to `app` what passes the checks, and adds the headers that keep a page to itself."""

    def __init__(self, app: ASGIApp, token: str = "", local: bool = True, cookie: str = "", public: str = "") -> None:
        """`token`: what everybody must know; empty: nothing. `local`: the server listens on loopback alone.

        `cookie`: what a page is given that has shown the token; the token itself if empty. `public`: the address that
        people see, such as https://go.example.org.
        """
        self._app, self._token, self._local, self._cookie = app, token, local, cookie or token
        self._public = urlsplit(public)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await self._refuse(refusal, scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to who may not come in; None: they may."""
        host, origin = headers.get("host", ""), headers.get("origin")
        is_public = bool(self._public.netloc) and host.lower() == self._public.netloc.lower()
        if self._local and not is_public and not is_loopback(_name(f"//{host}")):
            return PlainTextResponse("this server answers to localhost only", 403)
        acts = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if acts and (origin is None or not (_is_same(origin, host) or self._is_public(origin))):
            return PlainTextResponse("requests from other sites are refused", 403)
        if not self._token:
            return None
        name = cookie_name(scope)
        if hmac.compare_digest(_cookie(headers, name).encode(), self._cookie.encode()):
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["type"] == "http" and hmac.compare_digest(given.encode(), self._token.encode()):
            answer = RedirectResponse("/", 303)
            encrypted = self._public.scheme == "https" or scope["scheme"] == "https"  # said by a proxy of this machine
            lifetime = 30 * 86_400
            answer.set_cookie(name, self._cookie, httponly=True, samesite="strict", max_age=lifetime, secure=encrypted)
            return answer
        return PlainTextResponse("this server wants a token: open the address that it printed when it started", 401)

    def _is_public(self, origin: str) -> bool:
        return bool(self._public.netloc) and origin.lower() == f"{self._public.scheme}://{self._public.netloc}".lower()

    @staticmethod
    async def _refuse(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})  # before it was opened: the client gets status 403
        else:
            await answer(scope, receive, send)


def cookie_name(scope: Scope) -> str:
    """With the server's port, because browsers do not tell the ports of a machine apart."""
    return f"tengen-{(scope.get('server') or ('', 0))[1]}"


def kept_secret(path: Path) -> str:
    """A secret that only this user can read, made at its first use: cookies outlive a restart of the server by it."""
    with suppress(OSError):
        status = path.stat()
        text = path.read_text("ascii").strip()
        if len(text) >= 32 and (os.name == "nt" or status.st_mode & 0o077 == 0):
            return text
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    text = secrets.token_urlsafe(32)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "w", encoding="ascii") as file:
        file.write(text + "\n")
    return text


def _name(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_same(origin: str, host: str) -> bool:
    """Whether a page's origin is this server, as the browser names it."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _cookie(headers: Headers, wanted: str) -> str:
    """A cookie's value; empty if there is none. Not `http.cookies`, which takes quadratic time over a long header."""
    for pair in headers.get("cookie", "").split(";"):
        name, _, value = pair.partition("=")
        if name.strip() == wanted:
            return value.strip().strip('"')
    return ""
