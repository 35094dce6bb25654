"""The page in a real Chromium: a whole game by clicks, taking back, counting, saving, a reload in the middle."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tengen.agents.registry import load_agent
from tengen.games import go

from .chromium import Chromium
from .served import Served

WIDE = (1280, 900)


@pytest.fixture(autouse=True)
def no_complaints(chromium: Chromium) -> Iterator[None]:
    """Nothing of what a test does may make the page report an error."""
    chromium.complaints.clear()
    yield
    assert [one for one in chromium.complaints if "nothing-here" not in one and "favicon" not in one] == []


def start(chromium: Chromium, served: Served, **setup: Any) -> None:
    """Fill in the form and press Start."""
    chromium.open(f"{served.address}/nothing-here", *WIDE)  # the same origin, and no page that writes its own
    chromium.wait("location.pathname === '/nothing-here' && document.readyState === 'complete'")
    chromium.run(f"localStorage.setItem('setup', {json.dumps(json.dumps(setup))}); localStorage.language = 'en'")
    chromium.open(f"{served.address}/?second", *WIDE)
    chromium.wait("location.search === '?second' && document.querySelectorAll('form option').length > 5")
    chromium.click("button.primary")
    chromium.wait("document.querySelector('.board') !== null")


def point(chromium: Chromium, name: str, cols: int, rows: int, shared: float) -> tuple[float, float]:
    """Where a point is in the window; `shared`: the width of the edge in cells."""
    x, y, width, height = chromium.run(
        "(() => { const b = document.querySelector('.board svg').getBoundingClientRect();"
        " return [b.x, b.y, b.width, b.height]; })()"
    )
    column, row = "ABCDEFGHJKLMNOPQRST".index(name[0].upper()), rows - int(name[1:])
    return (
        x + width * (shared + column + 0.5) / (cols + 2 * shared),
        y + height * (shared + row + 0.5) / (rows + 2 * shared),
    )


def play(chromium: Chromium, name: str, size: int = 5) -> None:
    """Click a point of a Go board."""
    edge = 0.62 * max(0.62, min(1.35, size / 9))
    chromium.click_at(*point(chromium, name, size, size, edge))


def moves(chromium: Chromium) -> list[str]:
    found: list[str] = chromium.run("[...document.querySelectorAll('.moves li')].map((one) => one.textContent)")
    return found


def my_turn(chromium: Chromium) -> bool:
    """Wait until the agent has moved; whether the game goes on."""
    chromium.wait("/Your move| wins /.test(document.querySelector('.headline').textContent)")
    return "Your move" in chromium.run("document.querySelector('.headline').textContent")


def test_a_whole_game_by_clicks(chromium: Chromium, served: Served) -> None:
    start(chromium, served, game="go", given={"size": 5}, level="spec", spec="zero:go5,sims=8", side="1")
    chromium.wait_for_text("zero:go5,sims=8")
    play(chromium, "C3")
    chromium.wait("document.querySelectorAll('.moves li').length === 2")
    address = chromium.run("location.href")

    chromium.click("button", "Undo")
    chromium.wait("document.querySelectorAll('.moves li').length === 0")
    play(chromium, "C3")
    chromium.wait("document.querySelectorAll('.moves li').length === 2")
    before = moves(chromium)

    chromium.run("window.old = true; location.reload()")
    chromium.wait("!window.old && document.querySelectorAll('.moves li').length === 2")
    assert moves(chromium) == before
    assert chromium.run("location.href") == address

    chromium.click("button", "Score")
    chromium.wait_for_text("is ahead by about")
    adviser = load_agent("zero:go5,sims=8", seed=1)
    while my_turn(chromium):
        state = position(moves(chromium))
        name = state.move_name(adviser.choose(state).move)
        chromium.click("button", "Pass") if name == "pass" else play(chromium, name)
        chromium.wait(f"document.querySelectorAll('.moves li').length > {state.move_number}")
    assert position(moves(chromium)).is_over
    chromium.wait("document.querySelector('.headline').textContent.includes('wins')")
    chromium.run(
        "window.saved = []; const usual = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { window.saved.push(blob); return usual.call(URL, blob); }; 0"
    )
    chromium.click("button", "Save")
    record = chromium.wait("window.saved.length && window.saved[0].text()")
    assert record.startswith("(;") and "SZ[5]" in record and "PW[zero:go5,sims=8]" in record


RECORD = "(;GM[1]SZ[5]KM[3.5]PB[<b>A</b>]C[<img src=x onerror=alert(1)>];B[cc];W[cd];B[bd](;W[dc];B[db])(;W[bc];B[cb]))"


def test_a_record_is_walked_through_and_analysed(chromium: Chromium, served: Served) -> None:
    chromium.open(f"{served.address}/?analyse#/analyse", *WIDE)
    chromium.wait("location.search === '?analyse' && document.querySelector('textarea') !== null")
    paste = "(() => { const area = document.querySelector('textarea'); area.value = %s;"
    chromium.run(paste % json.dumps(RECORD) + " area.dispatchEvent(new Event('input', {bubbles: true})); })()")
    chromium.click("button", "Continue")
    chromium.wait("document.querySelectorAll('.tree .node').length === 8")
    assert chromium.run("document.querySelectorAll('.comment img, .small-print b').length") == 0
    chromium.wait_for_text("<img src=x onerror=alert(1)>")
    for _ in range(4):
        chromium.press("ArrowRight")
    chromium.wait("document.querySelector('.count').textContent === '4 / 5'")
    chromium.press("ArrowDown")
    chromium.wait("document.querySelectorAll('.tree .node')[6].classList.contains('here')")
    chromium.press("a")
    chromium.wait("document.querySelectorAll('.candidates tbody tr').length > 1")
    chromium.wait("document.querySelector('.mark.best') !== null")
    chromium.click(".layers button", "Ownership")
    chromium.wait("document.querySelectorAll('.owner').length > 5")
    chromium.press("Home")
    chromium.click(".card button", "Start")
    chromium.wait("document.querySelector('.chart') !== null")


def test_a_search_goes_one_simulation_at_a_time(chromium: Chromium, served: Served) -> None:
    chromium.open(f"{served.address}/?explain#/explain", *WIDE)
    chromium.wait("location.search === '?explain' && document.querySelector('form') !== null")
    chromium.click("form .segments button", "5×5")
    chromium.click("button.primary")
    chromium.wait("document.querySelectorAll('.numbers tbody tr').length > 5")
    chromium.click(".panel button", "+10")
    chromium.wait_for_text("10 simulations")
    before = chromium.run(
        "[...document.querySelectorAll('.numbers tbody td:nth-child(2)')].map((one) => +one.textContent)"
    )
    chromium.press("s")
    chromium.wait_for_text("11 simulations")
    after = chromium.run(
        "[...document.querySelectorAll('.numbers tbody td:nth-child(2)')].map((one) => +one.textContent)"
    )
    assert sum(after) == sum(before) + 1
    assert chromium.run("document.querySelectorAll('.path li').length") >= 2
    assert chromium.run("document.querySelectorAll('.boards .board').length") == 4
    chromium.click(".numbers td button", "C3")
    chromium.wait("document.querySelectorAll('.crumbs button').length === 2")


def position(names: list[str]) -> go.State:
    """The position after moves of a 5x5 game."""
    state = go.State.new(size=5, komi=3.5)
    for name in names:
        state = state.play(state.parse_move(name))
    return state
