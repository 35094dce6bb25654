"""What tests do with the page by mouse: begin a game, click points and squares, read the moves."""

import json
from typing import Any

from .chromium import Chromium
from .served import Served

WIDE = (1280, 900)


def start(chromium: Chromium, served: Served, **setup: Any) -> None:
    """Fill in the form and press Start."""
    chromium.open(f"{served.address}/nothing-here", *WIDE)  # the same origin, and no page that writes its own
    chromium.wait("location.pathname === '/nothing-here' && document.readyState === 'complete'")
    chromium.run(f"localStorage.setItem('setup', {json.dumps(json.dumps(setup))}); localStorage.language = 'en'")
    chromium.open(f"{served.address}/?second", *WIDE)
    chromium.wait("location.search === '?second' && document.querySelectorAll('form option').length > 5")
    chromium.click("button.primary")
    chromium.wait("document.querySelector('.board') !== null")


def paste(chromium: Chromium, record: str) -> None:
    """Paste a record into the form of Analyse or Explain, and open it."""
    chromium.run(
        f"(() => {{ const area = document.querySelector('textarea'); area.value = {json.dumps(record)};"
        " area.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    chromium.click("button", "Continue")


def play(chromium: Chromium, name: str, size: int = 5) -> None:
    """Click a point of a Go board."""
    edge = 0.62 * max(0.62, min(1.35, size / 9))
    chromium.click(".board svg", at=point(name, size, size, edge))


def point(name: str, cols: int, rows: int, edge: float) -> tuple[float, float]:
    """Where a point of a board is, as shares of its width and height; `edge`: its width in cells."""
    column, row = "ABCDEFGHJKLMNOPQRST".index(name[0].upper()), rows - int(name[1:])
    return (edge + column + 0.5) / (cols + 2 * edge), (edge + row + 0.5) / (rows + 2 * edge)


def move_piece(chromium: Chromium, move: str) -> None:
    """Click a piece of Microchess, its target and, where the move has one (`d4d5r`), what it is promoted to."""
    edge = 0.62 * 0.62
    for square in (move[:2], move[2:4]):
        chromium.click(".board svg", at=point(square, 4, 5, edge))
    if move[4:]:
        chromium.click(f".promotions button[aria-label={move[4]}]")


def moves(chromium: Chromium) -> list[str]:
    found: list[str] = chromium.run("[...document.querySelectorAll('.moves li')].map((one) => one.textContent)")
    return found


def my_turn(chromium: Chromium) -> bool:
    """Wait until the agent has moved; whether the game goes on."""
    chromium.wait("/Your move| wins /.test(document.querySelector('.headline').textContent)")
    return "Your move" in chromium.run("document.querySelector('.headline').textContent")


def saved(chromium: Chromium, selector: str = "button", text: str = "Save") -> str:
    """Press Save; the text of the file."""
    chromium.run(
        "window.saved = []; window.usual ??= URL.createObjectURL;"
        "URL.createObjectURL = (blob) => { window.saved.push(blob); return window.usual.call(URL, blob); }; 0"
    )
    chromium.click(selector, text)
    return str(chromium.wait("window.saved.length && window.saved[0].text()"))
