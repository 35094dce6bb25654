"""One page's websocket, without a network: what happens to a page that does not read."""

import asyncio
import json
from datetime import date
from typing import Any

from starlette.websockets import WebSocketDisconnect

from tengen.web.connection import FAILED, Connection, Message

ASKED = 70  # below the number of messages from which a page is slowed down


class SlowSocket:
    """A page that asks, and reads no answer until it is let."""

    def __init__(self) -> None:
        self.reads, self.received, self.answers = asyncio.Event(), 0, list[Message]()
        self.gone = False
        self.client = None

    async def accept(self) -> None:
        pass

    async def receive(self) -> Message:
        if self.received == ASKED:
            if len(self.answers) < ASKED and not self.gone:
                await asyncio.Event().wait()
            return {"type": "websocket.disconnect"}
        self.received += 1
        return {"type": "websocket.receive", "text": json.dumps({"n": self.received, "do": "ask"})}

    async def send_text(self, text: str) -> None:
        await self.reads.wait()
        if self.gone:
            raise WebSocketDisconnect
        self.answers.append(json.loads(text))


async def answer(page: Connection, message: Message) -> Any:
    return "a long answer"


async def serve_without_reading(socket: SlowSocket) -> "asyncio.Task[None]":
    page = Connection(socket, {"ask": answer})  # type: ignore[arg-type]
    task = asyncio.create_task(page.serve())
    for _ in range(1_000):
        await asyncio.sleep(0)
    return task


def test_answers_do_not_pile_up_for_a_page_that_does_not_read() -> None:
    async def talk() -> None:
        socket = SlowSocket()
        task = await serve_without_reading(socket)
        assert 10 < socket.received < 40
        socket.reads.set()
        while len(socket.answers) < ASKED:
            await asyncio.sleep(0)
        assert [one["re"] for one in socket.answers] == [*range(1, ASKED + 1)]
        task.cancel()

    asyncio.run(talk())


def test_a_page_that_goes_without_reading_is_let_go() -> None:
    async def talk() -> None:
        socket = SlowSocket()
        task = await serve_without_reading(socket)
        socket.gone = True
        socket.reads.set()
        await task

    asyncio.run(talk())


def test_an_answer_that_is_no_json_is_told_and_the_connection_goes_on() -> None:
    async def answer_nonsense(page: Connection, message: Message) -> Any:
        return {"when": date(2026, 11, 18)} if message["n"] % 2 else {"loss": float("nan")}

    async def talk() -> None:
        socket = SlowSocket()
        socket.reads.set()
        page = Connection(socket, {"ask": answer_nonsense})  # type: ignore[arg-type]
        task = asyncio.create_task(page.serve())
        while len(socket.answers) < ASKED:
            await asyncio.sleep(0)
        task.cancel()
        assert all(one["error"] == FAILED for one in socket.answers)

    asyncio.run(talk())
