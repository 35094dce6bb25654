"""A server in a thread, and a page without a browser to talk to it."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import uvicorn
from websockets.sync.client import connect
from websockets.typing import Origin

from tengen.web.app import WebConfig, make_app
from tengen.web.connection import MAX_MESSAGE
from tengen.web.messages import ACTIONS, TOPICS
from tengen.web.server import IdleTimeoutProtocol

from .described import faults


class Served:
    """The server, on a port of its own, until it is closed."""

    def __init__(self, config: WebConfig, http: type[IdleTimeoutProtocol] = IdleTimeoutProtocol) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(512)
        self.port: int = self._listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        limits = {"ws_max_size": MAX_MESSAGE, "ws": "websockets-sansio", "http": http}
        settings = uvicorn.Config(make_app(config), log_level="error", **limits)  # type: ignore[arg-type]
        self._server = uvicorn.Server(settings)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve([self._listener])

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """A server that does nothing for as long as the block runs."""
        begun, end = threading.Event(), threading.Event()
        self._loop.call_soon_threadsafe(lambda: (begun.set(), end.wait()))
        begun.wait()
        try:
            yield
        finally:
            end.set()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()


class Address(Protocol):
    """Where a server is."""

    @property
    def port(self) -> int: ...

    @property
    def address(self) -> str: ...


class Page:
    """What a page says and hears."""

    def __init__(self, served: Address) -> None:
        self._open = ExitStack()
        talk, origin = f"ws://127.0.0.1:{served.port}/talk", Origin(served.address)
        socket = connect(talk, origin=origin, proxy=None, max_size=None, ping_timeout=None)  # machines are busy
        self._socket = self._open.enter_context(socket)
        self._count = 0
        self.news: dict[str, dict[str, Any]] = {}
        """The newest of each topic, put together from what was sent."""
        self.changed: dict[str, dict[str, Any]] = {}
        """What was sent of each topic, since the test cleared it."""

    def ask(self, action: str, **fields: Any) -> Any:
        """The answer; ValueError if it is an error."""
        self._count += 1
        self._socket.send(json.dumps({"n": self._count, "do": action, **fields}))
        while True:
            message = self._hear()
            if message.get("re") == self._count:
                if "error" in message:
                    raise ValueError(message["error"])
                wrong = [*faults(message["ok"], ACTIONS[action].gets, action)]
                assert not wrong, wrong
                return message["ok"]

    def send(self, text: str | bytes) -> dict[str, Any]:
        """Send anything at all; returns the next answer."""
        self._socket.send(text)
        while "re" not in (message := self._hear()):
            pass
        return message

    def wait(self, topic: str, is_so: Any) -> dict[str, Any]:
        """Listen until what is known of a topic is as wanted."""
        while topic not in self.news or not is_so(self.news[topic]):
            self._hear()
        return self.news[topic]

    def close(self) -> None:
        self._open.close()

    def _hear(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.recv(timeout=300))
        if "on" in message:
            known = {} if message.get("whole") else self.news.get(message["on"], {})
            news = self.news[message["on"]] = known | message["set"]
            self.changed.setdefault(message["on"], {}).update(message["set"])
            wrong = [*faults(news, TOPICS[message["on"]], message["on"])]
            assert not wrong, wrong
        return message
