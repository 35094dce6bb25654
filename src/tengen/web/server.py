"""Runs the application under uvicorn: listens, prints the address, opens the browser."""

import asyncio
import socket
import threading
import webbrowser

import uvicorn

from tengen.web.app import WebConfig, make_app
from tengen.web.connection import MAX_MESSAGE
from tengen.web.impatient import ImpatientProtocol


class _Announcing(uvicorn.Server):
    """A server that says where it is once it is there."""

    def __init__(self, config: uvicorn.Config, address: str, browser: bool) -> None:
        super().__init__(config)
        self._address, self._browser = address, browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            print(f"Tengen is at {self._address}  (Ctrl-C ends it)", flush=True)
            if self._browser:
                threading.Thread(target=webbrowser.open, args=(self._address,), daemon=True).start()


def run(config: WebConfig, host: str, port: int, browser: bool) -> None:
    """Serve until somebody ends it; OSError if the port is taken."""
    listener = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}/" + (f"?token={config.token}" if config.token else "")
    settings = uvicorn.Config(
        make_app(config),
        log_level="warning",
        http=ImpatientProtocol,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE,
        ws_ping_interval=20,
        server_header=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=1_000,
        h11_max_incomplete_event_size=65_536,
    )
    with listener:
        asyncio.run(_Announcing(settings, address, browser).serve([listener]))


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
