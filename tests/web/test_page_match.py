"""The Match page in a real Chromium: a match by clicks, the board and the table as it goes on, a game replayed."""

import json

from .chromium import Chromium
from .clicks import WIDE, saved
from .served import Served


def test_a_match_by_clicks(chromium: Chromium, served: Served) -> None:
    chromium.open(f"{served.address}/nothing-here", *WIDE)
    chromium.wait("location.pathname === '/nothing-here' && document.readyState === 'complete'")
    setup = {"game": "go", "given": {"size": 5}, "b": {"level": "spec", "spec": "uct:playouts=20"}, "games": 4}
    chromium.run(f"localStorage.setItem('match', {json.dumps(json.dumps(setup))}); localStorage.language = 'en'")
    chromium.open(f"{served.address}/?match#/match", *WIDE)
    chromium.wait("location.search === '?match' && document.querySelectorAll('form option').length > 10")
    chromium.run(
        "(() => { const a = [...document.querySelectorAll('form select')].find((one) => one.value === 'casual');"
        " a.value = 'first-game'; a.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
    chromium.wait("document.querySelector('.about-level code').textContent === 'random'")
    chromium.click("button.primary")
    chromium.wait("document.querySelectorAll('.board .stone').length > 3")
    chromium.wait("document.querySelectorAll('.games-table tbody tr').length >= 1")
    chromium.wait("document.querySelectorAll('.games-table tbody tr').length === 4")
    chromium.wait_for_text("Game 4 / 4 · finished")
    rows = "[...document.querySelectorAll('.standings tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    (a, won, drawn, lost, share, _), (b, *_) = chromium.run(rows)
    assert (a, b) == ("First game", "uct:playouts=20")
    assert int(won) + int(drawn) + int(lost) == 4
    assert share == f"{(int(won) + int(drawn) / 2) * 25:.0f}%"
    assert "PB[random]" in saved(chromium, "button[aria-label='Save 1']", "")
    chromium.click("button[aria-label='Replay 4']")
    chromium.wait("document.querySelectorAll('.tree .node').length > 3")
    chromium.wait_for_text("uct:playouts=20 – random")
    chromium.click("header nav a", "Match")
    chromium.wait("document.querySelector('.games strong') !== null")
    chromium.wait_for_text("First game – uct:playouts=20")
