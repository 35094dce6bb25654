"""Take the pictures of the page for these documents anew, with a real Chromium: python -m docs.make_pictures [FOLDER]

Looks at a game of Black, `zero:go9`, against the opponent "Beginner". The picture of Learn is not among them: it
shows a tournament that takes a while (`tengen tournament`). The name of the other language needs a font (Debian:
fonts-nanum).
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from benchmarks.web import Server, browser, serving
from tests.web.chromium import Chromium
from tests.web.clicks import moves, my_turn, paste, play, saved, start

from tengen.agents.registry import load_agent
from tengen.games import go

WIDTH = 1440
MOVES = 34  # of the game that is shown


def main() -> None:
    """Take all pictures, one after the other."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, help="where they are written")
    options.add_argument("--dark", action="store_true")
    options.add_argument("--width", type=int, default=WIDTH, help="of the window, in pixels; a phone's is 390")
    given = options.parse_args()
    scheme = "dark" if given.dark else "light"
    with serving() as server, browser() as chromium:

        def take(name: str, height: int) -> None:
            chromium.resize(given.width, height, scheme)
            chromium.send("Input.dispatchMouseEvent", type="mouseMoved", x=3, y=height // 2)  # away from the board
            chromium.run("new Promise((done) => setTimeout(done, 700))")  # what moves has come to rest
            chromium.picture(given.folder / f"web-{name}.png")
            print(given.folder / f"web-{name}.png", flush=True)

        record = _play(chromium, server, take)
        _analyse(chromium, server, record, take)
        _explain(chromium, server, record, take)
        _match(chromium, server, take)


Take = Callable[[str, int], None]
"""Takes a picture, by its name and the height of the window."""


def _play(chromium: Chromium, server: Server, take: Take) -> str:
    """The record of the game."""
    start(chromium, server, game="go", given={"size": 9}, level="beginner", side="1")
    adviser = load_agent("zero:go9,sims=32", seed=1)
    while len(moves(chromium)) < MOVES and my_turn(chromium):
        state = go.State.new(size=9, komi=7)
        for name in moves(chromium):
            state = state.play(state.parse_move(name))
        play(chromium, state.move_name(adviser.choose(state).move), size=9)
        chromium.wait(f"document.querySelectorAll('.moves li').length > {state.move_number + 1}")
    my_turn(chromium)
    take("play", 900)
    return saved(chromium)


def _open(chromium: Chromium, server: Server, room: str, record: str) -> None:
    chromium.open(f"{server.address}/?{room}#/{room}", WIDTH)
    chromium.wait(f"location.search === '?{room}' && document.querySelector('textarea') !== null")
    paste(chromium, record)


def _walk(chromium: Chromium) -> None:
    """To the middle of the game."""
    chromium.wait("document.querySelector('.count') !== null")
    for number in range(1, MOVES // 2 + 1):
        chromium.press("ArrowRight")
        chromium.wait(f"document.querySelector('.count')?.textContent.startsWith('{number} /')")


def _analyse(chromium: Chromium, server: Server, record: str, take: Take) -> None:
    _open(chromium, server, "analyse", record)
    chromium.wait(f"document.querySelectorAll('.tree .node').length > {MOVES - 4}")
    chromium.click(".card button", "Start")
    chromium.wait("document.querySelector('.chart') !== null")
    _walk(chromium)
    chromium.press("a")
    chromium.wait("document.querySelectorAll('.candidates tbody button').length > 3")
    chromium.wait("document.querySelector('progress') === null", "the whole game is analysed")
    chromium.run("new Promise((done) => setTimeout(done, 4000))")
    take("analyse", 1050)


def _explain(chromium: Chromium, server: Server, record: str, take: Take) -> None:
    _open(chromium, server, "explain", record)
    _walk(chromium)
    chromium.wait("document.querySelectorAll('.numbers tbody tr').length > 5")
    for _ in range(4):
        chromium.click(".panel button", "+10")
    chromium.wait_for_text("40 simulations")
    take("explain", 1400)


def _match(chromium: Chromium, server: Server, take: Take) -> None:
    setup = {"game": "go", "given": {"size": 9}, "games": 4}
    setup |= {
        side: {"level": "spec", "spec": spec} for side, spec in (("a", "zero:go9,sims=8"), ("b", "uct:playouts=60"))
    }
    chromium.run(f"localStorage.setItem('match', {json.dumps(json.dumps(setup))})")
    chromium.open(f"{server.address}/?match#/match", WIDTH)
    chromium.wait("location.search === '?match' && document.querySelectorAll('form option').length > 10")
    chromium.click("button.primary")
    chromium.wait("document.querySelectorAll('.games-table tbody tr').length === 3")
    chromium.wait("document.querySelectorAll('.board .stone').length > 25")
    take("match", 900)


if __name__ == "__main__":
    main()
