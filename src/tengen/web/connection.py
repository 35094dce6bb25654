"""One page's websocket: messages in, answers and news out, with limits on both.

A page sends `{"n": 7, "do": "play.move", ...}` and gets `{"re": 7, "ok": {...}}` or `{"re": 7, "error": "..."}`. In
between come news, `{"on": "game", "set": {...}}`. Of news under one topic only the newest is kept while the page is
slow, and of a topic's fields only those that changed are sent. Who does not read their answers is not read from either.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from tengen.agents.agent import AgentError

MAX_MESSAGE: Final = 1_000_000
"""Bytes of a message, a game record included."""
FAILED: Final = "something went wrong in the server: see what it printed"
_LOG = logging.getLogger("tengen.web")
_PER_SECOND: Final = 40.0  # messages that a page may go on sending
_AT_ONCE: Final = 80.0
_MOST_NEWS: Final = 64
_MOST_ANSWERS: Final = 32  # that wait to be sent

Message = dict[str, Any]
Action = Callable[["Connection", Message], Awaitable[Any]]


class Connection:
    """What the server knows of one page."""

    def __init__(self, socket: WebSocket, actions: dict[str, Action]) -> None:
        self._socket, self._actions = socket, actions
        self._sent: dict[str, Message] = {}
        self._news: dict[str, Message] = {}
        self._answers: list[Message] = []
        self._wake = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._has_gone = False
        self._allowance, self._counted = _AT_ONCE, time.monotonic()
        self._leaving: list[Callable[[], None]] = []
        client = socket.client
        self.address = "" if client is None else client.host
        """Where the page is, behind a proxy that says so too."""
        self.parts: dict[str, Any] = {}
        """What each part of the server remembers of this page."""

    def on_leaving(self, do: Callable[[], None]) -> None:
        """Do something when the page has gone."""
        self._leaving.append(do)

    def tell(self, topic: str, news: Message, *, whole: bool = False) -> None:
        """Send news soon: what changed of this topic since the last news, or all of it."""
        if whole:
            self._sent.pop(topic, None)
        if topic in self._news or len(self._news) < _MOST_NEWS:
            self._news[topic] = news
            self._wake.set()

    def forget(self, topic: str) -> None:
        """Send the next news of this topic whole."""
        self._sent.pop(topic, None)
        self._news.pop(topic, None)

    async def serve(self) -> None:
        """Talk until the page leaves."""
        await self._socket.accept()
        writer = asyncio.create_task(self._write())
        try:
            while True:
                await self._has_room.wait()
                message = await self._socket.receive()
                if message["type"] != "websocket.receive":
                    break
                await self._slow_down()
                text = message.get("text")
                if text is None or len(text) > MAX_MESSAGE:
                    await self._socket.close(1009)
                    break
                await self._obey(text)
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            writer.cancel()
            for do in self._leaving:
                do()
            self.parts.clear()

    async def _slow_down(self) -> None:
        """Who floods is read from more slowly; nobody else notices."""
        now = time.monotonic()
        self._allowance = min(_AT_ONCE, self._allowance + (now - self._counted) * _PER_SECOND) - 1
        self._counted = now
        if self._allowance < 0:
            await asyncio.sleep(-self._allowance / _PER_SECOND)

    async def _obey(self, text: str) -> None:
        number: Any = None
        try:
            message = json.loads(text)
            if not isinstance(message, dict):
                raise ValueError("a message is a JSON object")
            number = message.get("n")
            if not isinstance(number, int):
                number = None  # NaN, say, which no answer could repeat
                raise ValueError("a message has a number, n")
            action = self._actions.get(str(message.get("do")))
            if action is None:
                raise ValueError(f"nothing is called {str(message.get('do'))[:40]!r} here")
            self._answer({"re": number, "ok": await action(self, message)})
        except RecursionError:
            self._answer({"re": number, "error": "that is nested too deeply"})
        except Exception as error:
            self._answer({"re": number, "error": problem_of(error, f"a message failed: {text[:200]!r}")})

    def _answer(self, answer: Message) -> None:
        self._answers.append(answer)
        if len(self._answers) >= _MOST_ANSWERS and not self._has_gone:
            self._has_room.clear()
        self._wake.set()

    async def _write(self) -> None:
        """Send what there is, one after the other: news that come while one is sent replace those still waiting."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while self._answers or self._news:
                    if self._answers:
                        await self._send(self._answers.pop(0))
                        self._has_room.set()
                        continue
                    topic = next(iter(self._news))
                    news = self._news.pop(topic)
                    changed = self._changes(topic, news)
                    if changed:
                        await self._send({"on": topic, **changed})
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:  # the page has gone, and `serve` will find out
            self._has_gone = True
            self._has_room.set()

    def _changes(self, topic: str, news: Message) -> Message:
        known = self._sent.get(topic)
        self._sent[topic] = news
        if known is None:
            return {"set": news, "whole": True}
        changed = {key: value for key, value in news.items() if key not in known or known[key] != value}
        return {"set": changed} if changed else {}

    async def _send(self, message: Message) -> None:
        try:
            text = json.dumps(message, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:  # ours: NaN, a date, ... that no page can read
            problem = problem_of(TypeError(str(error)), f"this is no JSON: {str(message)[:200]}")
            if "re" not in message:
                return
            text = json.dumps({"re": message["re"], "error": problem})
        await self._socket.send_text(text)


def problem_of(error: Exception, where: str) -> str:
    """One line for people about what went wrong. What is the server's own fault is printed in full where it runs."""
    if isinstance(error, ValueError | AgentError | OSError):
        return " ".join(str(error).split())[:500]
    _LOG.error("%s", where, exc_info=error)
    return FAILED
