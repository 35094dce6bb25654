"""Runs the application under uvicorn: listens, prints the address, opens the browser."""

import asyncio
import logging
import os
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tengen._processes import end_all
from tengen.runs.files import make_folder, sole_use
from tengen.web.app import WebConfig, make_app
from tengen.web.connection import MAX_MESSAGE

_LONGEST_END: Final = 2.0  # seconds


class _Announcing(uvicorn.Server):
    """A server that says where it is once it is there."""

    def __init__(self, config: uvicorn.Config, address: str, opened: str) -> None:
        """`opened`: what a browser is to open; empty: nothing."""
        super().__init__(config)
        self._address, self._opened = address, opened

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(f"Tengen is at {self._address}  (Ctrl-C ends it)", flush=True)
            if self._opened:
                threading.Thread(target=webbrowser.open, args=(self._opened,), daemon=True).start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        last = threading.Timer(_LONGEST_END, _leave)
        last.daemon = True
        last.start()
        await super().shutdown(sockets)


def _leave() -> None:
    """Wait no longer for threads that still think."""
    end_all()
    os._exit(0)


def run(config: WebConfig, host: str, port: int, browser: bool) -> None:
    """Serve until somebody ends it; OSError if the port is taken."""
    listener = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = config.public.rstrip("/") or f"http://{shown}:{listener.getsockname()[1]}"
    address += f"/?token={config.token}" if config.token else "/"
    settings = uvicorn.Config(
        make_app(config),
        log_level="warning",
        http=IdleTimeoutProtocol,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE,
        ws_ping_interval=20,
        server_header=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=1_000,
        h11_max_incomplete_event_size=65_536,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_no_bad_text)
    make_folder(config.state, 0o700)  # who plays here is nobody else's business
    with listener, sole_use(config.state) as alone:
        if not alone:
            raise ValueError(
                f"{config.state} is in use by another tengen web: end that one, or give another folder by --games"
            )
        with _opener(address if browser else "", bool(config.token)) as opened:
            asyncio.run(_Announcing(settings, address, opened).serve([listener]))


def _is_no_bad_text(record: logging.LogRecord) -> bool:
    """Whether this is to be printed: a text that is no UTF-8 closes its connection, and is nobody else's business."""
    return not record.getMessage().startswith("Invalid UTF-8")


@contextmanager
def _opener(address: str, secret: bool) -> Iterator[str]:
    """What to give to a browser for an address. Other users can see the arguments of programs, so a secret one is in a
    file that only this user can read, and that leads to it."""
    if not address or not secret:
        yield address
        return
    handle, name = tempfile.mkstemp(prefix="tengen-", suffix=".html")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}">\n')
        yield Path(name).as_uri()
    finally:
        Path(name).unlink(missing_ok=True)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ValueError(
            f"{host}:{port} cannot be listened on ({error.strerror or error}): give another --port"
        ) from None
    listener.set_inheritable(True)
    return listener


class IdleTimeoutProtocol(H11Protocol):
    """A connection that is closed where no request is under way when it is looked at. Websockets are left alone."""

    patience: ClassVar[float] = 10.0
    """Seconds between two looks."""
    _look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody has come."""
        super().connection_made(transport)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        self._look_no_more()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """The connection becomes a websocket, which has pings of its own."""
        self._look_no_more()
        super().handle_websocket_upgrade(event)

    def _look_later(self) -> None:
        self._look = self.loop.call_later(self.patience, self._close_if_idle)

    def _look_no_more(self) -> None:
        if self._look is not None:
            self._look.cancel()

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self._look_later()
