"""Clicks reach the point under the pointer, in windows of every shape, at a zoom of 200%, in every game."""

import pytest

from .chromium import Chromium
from .clicks import moves
from .served import Page, Served

WINDOWS = [
    (844, 390, 1), (667, 375, 1), (640, 400, 1), (800, 600, 1), (390, 844, 1), (320, 568, 1), (768, 1024, 1),
    (1024, 600, 1), (1280, 720, 1), (1920, 1080, 1), (2560, 900, 1), (900, 1400, 1),
    (640, 400, 2), (683, 384, 2), (960, 540, 2),  # 1280x800, 1366x768 and 1920x1080 at a zoom of 200%
]  # fmt: skip
QUEEN = '[Variant "microchess"]\n[SetUp "1"]\n[FEN "1k2/4/1K2/4/Q3 w - -"]\n\n*\n'
GAMES = {
    "go 9": ("go", {"size": 9}, [["A9"], ["J9"], ["A1"], ["J1"], ["C7"]]),
    "go 19": ("go", {"size": 19}, [["A19"], ["T19"], ["A1"], ["T1"], ["C16"]]),
    "go 5 study": ("study", {"size": 5}, [["A5"], ["E5"], ["A1"], ["E1"]]),
    "tic-tac-toe": ("tictactoe", {}, [["a3"], ["c3"], ["a1"], ["c1"]]),
    "microchess": ("microchess", {}, [["a1", "d1"], ["b5", "c5"], ["d1", "d4"], ["c5", "b5"], ["d4", "a1"]]),
}


def middle(chromium: Chromium, name: str) -> tuple[float, float]:
    """The middle of a point as it is drawn, in a window scrolled so that it can be seen."""
    x, y = chromium.run(
        f"""(() => {{
          const name = {name!r}, col = ("abcdefghjklmnopqrst").indexOf(name[0].toLowerCase()), row = +name.slice(1) - 1;
          const find = () => {{
            const outer = document.querySelector(".board .lines.outer");
            const squares = [...document.querySelectorAll(".board .square")].map((one) => one.getBoundingClientRect());
            if (!outer) {{
              const width = squares[0].width, cols = new Set(squares.map((one) => Math.round(one.x))).size;
              const box = squares[(squares.length / cols - 1 - row) * cols + col];
              return [box.x + width / 2, box.y + box.height / 2];
            }}
            const box = outer.getBoundingClientRect();
            const labels = [...document.querySelectorAll(".coordinates text")];
            const size = Math.max(...labels.map((one) => +one.textContent || 0));
            return [box.x + box.width * col / (size - 1), box.bottom - box.height * row / (size - 1)];
          }};
          scrollTo(0, 0);
          scrollBy(0, find()[1] - innerHeight / 2);
          return find();
        }})()"""
    )
    return x, y


@pytest.mark.parametrize("game", GAMES)
def test_a_click_plays_the_point_under_the_pointer(chromium: Chromium, served: Served, page: Page, game: str) -> None:
    name, options, clicks = GAMES[game]
    for width, height, zoom in WINDOWS:
        if name == "study":
            address = f"#/analyse/{page.ask('study.new', game='go', options=options)['id']}"
        elif name == "microchess":
            address = f"#/play/{page.ask('play.load', record=QUEEN, players=['human', 'human'])['id']}"
        else:
            address = f"#/play/{page.ask('play.new', game=name, options=options, players=['human', 'human'])['id']}"
        window = f"?{width}x{height}x{zoom}"
        chromium.open(f"{served.address}/{window}{address}", width, height, zoom=zoom)
        chromium.wait(f"location.search === '{window}' && document.querySelector('.board svg') !== null")
        chromium.run("document.fonts.ready.then(() => 0)")
        for number, points in enumerate(clicks, 1):
            for point in points:
                chromium.click_at(*middle(chromium, point))
            count = "document.querySelectorAll('.tree .node').length - 1"
            count = count if name == "study" else "document.querySelectorAll('.moves li').length"
            chromium.wait(f"{count} >= {number}", f"{points} at {width}x{height}")
        if name == "study":
            titles = "[...document.querySelectorAll('.tree .node title')].map((one) => one.textContent)"
            assert chromium.run(titles)[1:] == [one for [one] in clicks], (width, height, zoom)
        elif name != "microchess":  # there a click beside the square makes no move, or none that is legal
            assert moves(chromium) == [one for [one] in clicks], (width, height, zoom)
        assert chromium.run("document.documentElement.scrollWidth <= innerWidth"), (width, height, zoom)
        shape = chromium.run(
            "(() => { const b = document.querySelector('.board').getBoundingClientRect(),"
            " v = document.querySelector('.board svg').viewBox.baseVal;"
            " return [b.width / b.height, v.width / v.height, b.height]; })()"
        )
        assert shape[0] == pytest.approx(shape[1], rel=0.01), "the box has the board's shape"
        assert shape[2] <= height, "the whole board fits into the window"
