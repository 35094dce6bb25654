"""Who may talk to the server: checks of host, origin and token, before anything else sees a request.

| check  | against                                                                                                   |
|--------|-----------------------------------------------------------------------------------------------------------|
| Host   | another site's name that leads to this machine (DNS rebinding); only where the server is on loopback      |
| Origin | a page of another site in the same browser that opens our websocket or sends a form                       |
| token  | everybody else on the network, where the server is not on loopback; once in the address, then as a cookie |
"""

import hmac
import ipaddress
from typing import Final
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE: Final = "tengen-token"
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

    def __init__(self, app: ASGIApp, token: str = "", local: bool = True) -> None:
        """`token`: what everybody must know; empty: nothing. `local`: the server listens on loopback alone."""
        self._app, self._token, self._local = app, token, local

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
        if self._local and not is_loopback(_name(f"//{host}")):
            return PlainTextResponse("this server answers to localhost only", 403)
        acts = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if acts and (origin is None or not _is_same(origin, host)):
            return PlainTextResponse("requests from other sites are refused", 403)
        if not self._token:
            return None
        if hmac.compare_digest(_cookie(headers, COOKIE).encode(), self._token.encode()):
            return None
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["type"] == "http" and hmac.compare_digest(given.encode(), self._token.encode()):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, self._token, httponly=True, samesite="strict", max_age=30 * 86_400)
            return answer
        return PlainTextResponse("this server wants a token: open the address that it printed when it started", 401)

    @staticmethod
    async def _refuse(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await answer(scope, receive, send)


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
