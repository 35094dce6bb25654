"""HTTP for clients that mean it: who takes longer than some seconds to ask is cut off, so that they keep nobody out."""

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class ImpatientProtocol(H11Protocol):
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
