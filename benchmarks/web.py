"""How quickly the page answers, alone and under load, and whether it grows: python -m benchmarks.web --help"""

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from tests.web.chromium import Chromium, find_chromium
from tests.web.clicks import paste
from tests.web.test_fuzz import AT_ONCE, request_something, send_some
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

BUSY = "zero:go9"


@dataclass
class Server:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    seconds: float
    """Until it answered."""
    core_seconds: float
    """The same in seconds of one core's time, which a busy machine does not change."""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.address.rpartition(":")[2])

    def megabytes(self) -> float:
        """The memory that it holds."""
        return megabytes(self.process.pid)


def megabytes(pid: int) -> float:
    """The memory that a process holds; none once it has ended."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


@contextmanager
def serving() -> Iterator[Server]:
    """`tengen web` on a free port, its games in a folder that goes afterwards."""
    with tempfile.TemporaryDirectory() as games:
        command = [sys.executable, "-m", "tengen", "web", "--port", "0", "--no-browser", "--no-token", "--games", games]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\d.:]+", process.stdout.readline())
            if found is None:
                sys.exit("the server did not start")
            urlopen(found[0]).read()
            yield Server(process, found[0], time.perf_counter() - start, _core_seconds(process.pid))
        finally:
            process.terminate()
            process.wait()


def _core_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def browser() -> Iterator[Chromium]:
    """A real Chromium."""
    program = find_chromium()
    if program is None:
        sys.exit("needs Chromium (Debian: apt install chromium)")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        chromium = Chromium(program, Path(profile))
        try:
            yield chromium
        finally:
            chromium.close()


# ------------------------------------------------------------------------------------------------------- clicks


CLICK = """new Promise((done) => {
  const count = (what) => document.querySelectorAll(what).length;
  const stones = () => count('.board .stone') - count('.board .ghost .stone'), moves = () => count('.moves li');
  const before = [stones(), moves()];
  addEventListener('click', (event) => {
    const seen = [];
    const look = () => {
      const passed = performance.now() - event.timeStamp;
      if (seen[0] === undefined && stones() > before[0]) seen[0] = passed;
      if (moves() > before[1]) done([seen[0] ?? passed, passed]); else requestAnimationFrame(look);
    };
    look();
  }, {once: true, capture: true});
})"""
"""Milliseconds from a click to the stone on the board, and to the server's word that the move was played."""


def clicks(count: int) -> None:
    """Start, first page, and the time from a click to the stone, idle and with a study that is being analysed."""
    with serving() as first:
        print(f"server up, first time     {first.seconds:8.2f} s")
    with serving() as server, browser() as chromium:
        print(
            f"server up, warm           {server.seconds:8.2f} s, {server.core_seconds:.2f} s of a core's time  (aim: 3)"
        )
        start = time.perf_counter()
        chromium.open(server.address)
        chromium.wait("document.querySelectorAll('form option').length > 5")
        print(f"first page                {time.perf_counter() - start:8.2f} s   (aim: 1)")
        _time_clicks(chromium, server, count, "idle")
        asyncio.run(_while_analysing(server, lambda: _time_clicks(chromium, server, count, "analysing")))


def _time_clicks(chromium: Chromium, server: Server, count: int, how: str) -> None:
    """Two people play on one board, so that nobody thinks between their moves."""
    setup = {"game": "go", "given": {"size": 19}, "level": "human"}
    chromium.open(f"{server.address}/?{time.monotonic()}")
    chromium.wait("document.readyState === 'complete'")
    chromium.run(f"localStorage.setItem('setup', {json.dumps(json.dumps(setup))}); location.reload()")
    chromium.wait("document.querySelectorAll('form option').length > 5")
    chromium.click("button.primary")
    chromium.wait("document.querySelector('.board svg') !== null")
    edge, times = 0.62 * 1.35, list[list[float]]()
    points = [(column, row) for row in range(0, 19, 2) for column in range(0, 19, 2)][:count]
    for column, row in points:
        chromium.run(f"window.timed = {CLICK}; 0")
        chromium.click(".board svg", at=((edge + column + 0.5) / (19 + 2 * edge), (edge + row + 0.5) / (19 + 2 * edge)))
        times.append(chromium.run("window.timed"))
    shown, played = (statistics.median(each) for each in zip(*times, strict=True))
    print(
        f"click to stone, {how:10}{shown:8.1f} ms, until the server has played it {played:.1f} ms  (aim: 100, medians)"
    )


async def _while_analysing(server: Server, do: Callable[[], None]) -> None:
    """Let as many studies as there are cores be analysed while something else runs."""
    pages = [await Talk.open(server) for _ in range(2)]
    for page in pages:
        study = (await page.ask("study.new", game="go", options={"size": 9}))["id"]
        await page.ask("study.open", id=study)
        await page.ask("study.analyse", id=study, spec=BUSY)
    walkers = [asyncio.create_task(page.listen()) for page in pages]
    await asyncio.to_thread(do)
    for walker in walkers:
        walker.cancel()
    for page in pages:
        await page.close()


# --------------------------------------------------------------------------------------------------------- load


class Talk:
    """A page without a browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._count, self.game = socket, 0, dict[str, object]()

    @classmethod
    async def open(cls, server: Server) -> "Talk":
        origin = Origin(server.address)
        return cls(await connect(server.address.replace("http", "ws") + "/talk", origin=origin, proxy=None))

    async def close(self) -> None:
        await self._socket.close()

    async def ask(self, action: str, **fields: object) -> dict[str, str]:
        self._count += 1
        await self._socket.send(json.dumps({"n": self._count, "do": action, **fields}))
        while (message := await self.hear()).get("re") != self._count:
            pass
        if "error" in message:
            raise ValueError(message["error"])
        answer: dict[str, str] = message["ok"]  # type: ignore[assignment]
        return answer

    async def hear(self) -> dict[str, object]:
        message: dict[str, object] = json.loads(await self._socket.recv())
        if message.get("on") == "game":
            self.game |= message["set"]  # type: ignore[arg-type]
        return message

    async def listen(self) -> None:
        while True:
            await self.hear()

    async def answered_move(self, game: str, rng: random.Random) -> float:
        """Play on a free point, or pass where none is legal, and wait for the agent's answer; seconds."""
        cells = str(self.game["cells"])
        free = [index for index, cell in enumerate(cells) if cell == "0"]
        rng.shuffle(free)
        before = int(str(self.game["number"]))
        start = time.perf_counter()
        for name in [*(f"{'ABCDEFGHJ'[index % 9]}{9 - index // 9}" for index in free), "pass"]:
            try:
                await self.ask("play.move", id=game, move=name, number=before)
                break
            except ValueError:
                continue
        while int(str(self.game["number"])) < before + 2 and not self.game["over"]:
            await self.hear()
        return time.perf_counter() - start


def load(games: int, moves: int, spec: str) -> None:
    """Games at once, each with an agent to answer; then how long a person waits while somebody floods the server."""
    with serving() as server:
        asyncio.run(_games_at_once(server, games, moves, spec))
        asyncio.run(_beside_a_flood(server))


async def _games_at_once(server: Server, games: int, moves: int, spec: str) -> None:
    before, start = server.megabytes(), time.perf_counter()
    waits = await asyncio.gather(*(_play(server, number, moves, spec) for number in range(games)))
    every = sorted(wait for each in waits for wait in each)
    slowest = [max(each) for each in waits]
    print(f"{games} games with {spec} at once, {moves} moves each: all {len(every)} answered")
    print(f"  the whole took          {time.perf_counter() - start:8.1f} s")
    print(f"  an answer, median       {statistics.median(every):8.2f} s")
    print(f"  an answer, longest      {every[-1]:8.2f} s")
    print(f"  fair: a game's longest  {min(slowest):8.2f} to {max(slowest):.2f} s")
    print(f"  memory                  {before:8.0f} to {server.megabytes():.0f} MB")


async def _play(server: Server, number: int, moves: int, spec: str) -> list[float]:
    rng, page = random.Random(number), await Talk.open(server)
    game = (await page.ask("play.new", game="go", options={"size": 9}, players=["human", f"spec:{spec}"]))["id"]
    await page.ask("play.open", id=game)
    while "cells" not in page.game:
        await page.hear()
    waits = []
    for _ in range(moves):
        if page.game["over"]:
            break
        waits.append(await page.answered_move(game, rng))
    await page.close()
    return waits


async def _beside_a_flood(server: Server) -> None:
    alone = await _answer_time(server)
    flood = asyncio.create_task(_flood(server))
    await asyncio.sleep(1)
    beside = await _answer_time(server)
    flood.cancel()
    print(f"a question answered in    {1000 * alone:8.2f} ms; beside somebody who floods {1000 * beside:.2f} ms")


async def _answer_time(server: Server) -> float:
    page, times = await Talk.open(server), list[float]()
    for _ in range(60):
        start = time.perf_counter()
        await page.ask("play.list")
        times.append(time.perf_counter() - start)
        await asyncio.sleep(0.03)
    await page.close()
    return statistics.median(times)


async def _flood(server: Server) -> None:
    page = await Talk.open(server)
    ears = asyncio.create_task(page.listen())
    try:
        while True:
            await page._socket.send('{"n": 1, "do": "play.list"}')
    finally:
        ears.cancel()


# ------------------------------------------------------------------------------------------------------- growth


class WalkedStudy:
    """A page with a study under live analysis, and somebody who walks through it."""

    def __init__(self, chromium: Chromium, server: Server) -> None:
        self._chromium, self._rng = chromium, random.Random(1)
        chromium.send("Performance.enable")
        chromium.open(f"{server.address}/#/analyse")
        chromium.wait("document.querySelector('textarea') !== null")
        points = enumerate(_points(self._rng, 40))
        record = "(;GM[1]SZ[9]KM[7]" + "".join(f";{'BW'[i % 2]}[{m}]" for i, m in points) + ")"
        paste(chromium, record)
        chromium.wait("document.querySelectorAll('.tree .node').length > 30")
        chromium.press("a")

    def walk(self, seconds: float) -> None:
        """Go to another position every three seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._chromium.press(self._rng.choice(["ArrowLeft", "ArrowRight", "ArrowRight", "Home", "End", "PageUp"]))
            time.sleep(3)

    def holds(self) -> tuple[float, int]:
        """Megabytes of the page's heap, and its nodes."""
        self._chromium.send("HeapProfiler.collectGarbage")
        found = {one["name"]: one["value"] for one in self._chromium.send("Performance.getMetrics")["metrics"]}
        return found["JSHeapUsedSize"] / 1e6, int(found["Nodes"])


def growth(minutes: float) -> None:
    """One page with live analysis, walking to another position every few seconds: its memory and the server's."""
    with serving() as server, browser() as chromium:
        study = WalkedStudy(chromium, server)
        print("minute  page's heap MB  its nodes  server MB", flush=True)
        start, passed = time.monotonic(), 0.0
        while passed <= 60 * minutes:
            heap, nodes = study.holds()
            print(f"{passed / 60:6.1f}  {heap:14.1f}  {nodes:9,}  {server.megabytes():9.0f}", flush=True)
            study.walk(60 * max(1.0, minutes / 30))
            passed = time.monotonic() - start


# --------------------------------------------------------------------------------------------------------- fuzz


def fuzz(requests: int) -> None:
    """Random messages and random requests, and the memory of the server meanwhile. The tests check the answers."""
    rng, sent, told = random.Random(1), 0, 0
    with serving() as server:
        print("requests  server MB", flush=True)
        while sent < requests:
            if sent >= told:
                print(f"{sent:8,}  {server.megabytes():9.0f}", flush=True)
                told += requests // 10
            send_some(server, rng)
            for _ in range(2):
                request_something(server, rng)
            sent += AT_ONCE + 4
        print(f"{sent:8,}  {server.megabytes():9.0f}", flush=True)
        if server.process.poll() is not None:
            sys.exit("the server has ended")


def _points(rng: random.Random, count: int) -> list[str]:
    """Points of a 9x9 board, none twice, and none beside another, so that every move is legal."""
    every = [f"{column}{row}" for column in "abcdefghi" for row in "abcdefghi" if (ord(column) + ord(row)) % 2]
    return rng.sample(every, min(count, len(every)))


def main() -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=["clicks", "load", "growth", "fuzz"], help="default: clicks and load"
    )
    parser.add_argument("--clicks", type=int, default=40, help="clicks to measure")
    parser.add_argument("--games", type=int, default=100, help="games at once")
    parser.add_argument("--moves", type=int, default=5, help="moves of each")
    parser.add_argument("--spec", default="zero:go9,sims=100", help="who answers")
    parser.add_argument("--minutes", type=float, default=60, help="how long one page is left open")
    parser.add_argument("--requests", type=int, default=100_000, help="random messages and requests to send")
    given = parser.parse_args()
    parts = given.parts or ["clicks", "load"]
    if "clicks" in parts:
        clicks(given.clicks)
    if "load" in parts:
        load(given.games, given.moves, given.spec)
    if "growth" in parts:
        growth(given.minutes)
    if "fuzz" in parts:
        fuzz(given.requests)


if __name__ == "__main__":
    main()
