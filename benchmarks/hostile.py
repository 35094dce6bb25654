"""How long a person waits beside pages that use every action at full rate: python -m benchmarks.hostile --help

Starts a server of its own on 127.0.0.1 and ends it with SIGTERM. The pages ask for whole-game analyses, matches, long
records and explanations, play against networks, and send rubbish in between; they never wait for an answer.
"""

import argparse
import asyncio
import json
import multiprocessing
import random
import statistics
import time
from types import SimpleNamespace
from typing import Final

from tests.web.test_fuzz import ACTIONS, FIELDS, VALUES
from websockets.exceptions import ConnectionClosed, WebSocketException

from .web import Server, Talk, serving

_STRONG: Final = "zero:go9"
_OPTIONS: Final[dict[str, object]] = {"game": "go", "options": {"size": 9}}
_RECORD: Final = "(;SZ[9]" + "".join(f";{'BW'[i % 2]}[{'abcdefghi'[i % 9]}{'acegi'[i // 9]}]" for i in range(45)) + ")"
_LONG: Final = "(;SZ[19]" + ";B[];W[]" * 3000 + ")"
_LONGEST: Final = 60.0  # seconds that the person waits for a move
_MOST_KNOWN: Final = 20  # games and studies that a page remembers


def _asked(rng: random.Random, known: list[str]) -> dict[str, object]:
    """One message: most of them sensible and expensive, every action with any fields among them."""
    one = rng.choice(known) if known else ""
    if rng.random() < 0.3:
        return {"do": rng.choice(ACTIONS)} | {name: rng.choice(VALUES) for name in rng.sample(FIELDS, 3)} | {"id": one}
    move = f"{rng.choice('ABCDEFGHJ')}{rng.randrange(1, 10)}"
    sensible: list[dict[str, object]] = [
        {"do": "play.new", **_OPTIONS, "players": ["human", f"spec:{_STRONG}"]},
        {"do": "play.load", "record": rng.choice((_RECORD, _LONG, "{" * 900_000)), "players": ["human", "human"]},
        {"do": "play.open", "id": one},
        {"do": "play.move", "id": one, "move": move, "number": rng.choice((0, 2, 4, rng.randrange(40)))},
        {"do": "play.hint", "id": one},
        {"do": "play.estimate", "id": one},
        {"do": "study.new", **_OPTIONS},
        {"do": "study.load", "record": rng.choice((_RECORD, _LONG))},
        {"do": "study.open", "id": one},
        {"do": "study.play", "id": one, "node": rng.randrange(45), "move": move},
        {"do": "study.analyse", "id": one, "spec": _STRONG},
        {"do": "study.whole", "id": one, "spec": _STRONG, "visits": 400},
        {"do": "explain.start", "id": one, "spec": _STRONG},
        {"do": "explain.step", "count": 400},
        {"do": "match.new", **_OPTIONS, "players": [f"spec:{_STRONG}"] * 2, "games": 20},
        {"do": "match.open", "id": one},
    ]
    return rng.choice(sensible)


def _crowd(address: str, pages: int) -> None:
    """In a process of its own, so that the person's page waits for the server alone."""
    asyncio.run(_all_of(SimpleNamespace(address=address), pages))


async def _all_of(server: SimpleNamespace, pages: int) -> None:
    await asyncio.gather(*(_hostile(server, number) for number in range(pages)))


async def _hostile(server: SimpleNamespace, number: int) -> None:
    """Pages one after the other, should the server end one."""
    rng = random.Random(number)
    while True:
        known: list[str] = []
        try:
            page = await Talk.open(server)
        except (WebSocketException, OSError):  # the server is too busy, or has ended: wait as a browser does
            await asyncio.sleep(1)
            continue
        ears = asyncio.create_task(_remember(page, known))
        try:
            while not ears.done():
                await page._socket.send(json.dumps({"n": 1} | _asked(rng, known)))
        except (ConnectionClosed, OSError):
            pass
        finally:
            ears.cancel()
            await page.close()


async def _remember(page: Talk, known: list[str]) -> None:
    """Learn the names of what was made, the newest of them."""
    while True:
        answer = (await page.hear()).get("ok")
        if isinstance(answer, dict) and isinstance(answer.get("id"), str):
            known.append(answer["id"])
            del known[:-_MOST_KNOWN]


async def _person(server: Server, opponent: str, seconds: float) -> list[float]:
    """Somebody who plays on, game after game, one move at least; how long each answer took."""
    rng, page, waits = random.Random(0), await Talk.open(server), list[float]()
    until = time.monotonic() + seconds
    while not waits or time.monotonic() < until:
        page.game.clear()
        game = (await page.ask("play.new", **_OPTIONS, players=["human", f"spec:{opponent}"]))["id"]
        await page.ask("play.open", id=game)
        while "cells" not in page.game:
            await page.hear()
        while not (page.game["over"] or (waits and time.monotonic() >= until)):
            try:
                waits.append(await asyncio.wait_for(page.answered_move(game, rng), _LONGEST))
            except TimeoutError:
                waits.append(_LONGEST)
                shown = {name: page.game.get(name) for name in ("number", "toPlay", "thinking", "problem", "over")}
                print(f"no answer within {_LONGEST:g} s: {shown}", flush=True)
                break
            await asyncio.sleep(1)
    await page.close()
    return waits


async def _beside(server: Server, pages: int, opponent: str, seconds: float) -> tuple[list[float], float]:
    """The person's waits, and the most memory that the server held."""
    await _person(server, opponent, 0.0)  # compiles what is not in the cache
    _report("alone", await _person(server, opponent, min(30.0, seconds)))
    crowd = multiprocessing.get_context("spawn").Process(target=_crowd, args=(server.address, pages), daemon=True)
    crowd.start()
    most = [server.megabytes()]
    watch = asyncio.create_task(_watch(server, most))
    try:
        return await _person(server, opponent, seconds), max(most)
    finally:
        watch.cancel()
        if not crowd.is_alive():
            print("the hostile pages ended early: this run shows nothing")
        crowd.kill()


async def _watch(server: Server, most: list[float]) -> None:
    while True:
        await asyncio.sleep(1)
        most.append(server.megabytes())


def _report(how: str, waits: list[float]) -> None:
    ordered = sorted(waits)
    late = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    print(
        f"{how:8} {len(waits)} moves answered, median {statistics.median(waits):.2f} s, 99% {late:.2f} s, "
        f"longest {ordered[-1]:.2f} s",
        flush=True,
    )


def _bounded(text: str, low: float, high: float) -> float:
    if not low <= (value := float(text)) <= high:
        raise argparse.ArgumentTypeError(f"{text} is not from {low:g} to {high:g}")
    return value


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=__doc__)
    parser.add_argument("--minutes", type=lambda text: _bounded(text, 0.1, 120), default=10.0)
    parser.add_argument("--pages", type=lambda text: int(_bounded(text, 1, 50)), default=10)
    parser.add_argument("--opponent", default="uct:playouts=200", help="whom the person plays against")
    given = parser.parse_args()
    with serving() as server:
        waits, most = asyncio.run(_beside(server, given.pages, given.opponent, 60 * given.minutes))
        _report("beside", waits)
        print(f"server   at most {most:.0f} MB")
        began = time.monotonic()
        server.process.terminate()
        server.process.wait()
        print(f"SIGTERM  ended it in {time.monotonic() - began:.2f} s, exit code {server.process.returncode}")


if __name__ == "__main__":
    main()
