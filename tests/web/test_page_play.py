"""Playing in a real Chromium: buttons that stay, passes that are meant, hints, keys, a server that is silent."""

from pathlib import Path

from tengen.web.app import WebConfig

from .chromium import Chromium
from .clicks import WIDE, moves, my_turn, play, start
from .served import Page, Served

BUTTONS = (
    "JSON.stringify([...document.querySelectorAll('.actions button')].map((one) => {"
    " const b = one.getBoundingClientRect(); return [one.textContent, b.x, b.y + scrollY]; }))"
)


def test_buttons_never_move(chromium: Chromium, served: Served) -> None:
    for width, height in ((1280, 900), (390, 844), (844, 390)):
        start(chromium, served, game="go", given={"size": 5}, level="spec", spec="uct:playouts=50", side="1")
        chromium.resize(width, height)
        place = chromium.run(BUTTONS)
        chromium.click("button", "Score")
        chromium.wait("document.querySelector('.estimate') !== null")
        assert chromium.run(BUTTONS) == place
        play(chromium, "C3")
        chromium.wait("document.querySelectorAll('.moves li').length >= 1")
        assert chromium.run(BUTTONS) == place, "while the bot thinks"
        my_turn(chromium)
        chromium.wait("document.querySelector('.chance') !== null")
        assert chromium.run(BUTTONS) == place, "with the chance to win"
        chromium.click("button", "Resign")
        chromium.wait("document.querySelector('.confirm') !== null")
        assert chromium.run(BUTTONS) == place, "with a question"


def test_a_pass_on_an_open_board_asks_first(chromium: Chromium, served: Served) -> None:
    start(chromium, served, game="go", given={"size": 9}, level="spec", spec="uct:playouts=50", side="1")
    chromium.click("button", "Pass")
    chromium.wait("document.querySelector('.confirm') !== null")
    chromium.click(".confirm button", "No")
    chromium.wait("document.querySelector('.confirm') === null")
    assert moves(chromium) == []
    chromium.press("p")
    chromium.click(".confirm button", "Yes")
    chromium.wait("document.querySelectorAll('.moves li').length === 2")
    assert moves(chromium)[0] == "pass" and moves(chromium)[1] != "pass"
    assert my_turn(chromium), "White leads by komi alone, and plays on"


def test_the_keyboard_keeps_the_board_while_a_bot_moves(chromium: Chromium, served: Served) -> None:
    start(chromium, served, game="go", given={"size": 5}, level="first-game", side="1")
    while not chromium.run("document.activeElement.classList.contains('board')"):
        chromium.press("Tab")
    chromium.press("ArrowUp")
    chromium.press("Enter")
    chromium.wait("document.querySelectorAll('.moves li').length === 2")
    assert chromium.run("document.activeElement.classList.contains('board')")
    assert chromium.run("document.querySelectorAll('.mark-square.cursor').length") == 1
    free = chromium.run("[...document.querySelectorAll('.board .stone')].length")
    assert free == 2
    for key in ("ArrowUp", "Enter", "ArrowUp", "Enter"):  # one of the two is free, whatever the bot took
        chromium.press(key)
    chromium.wait("document.querySelectorAll('.moves li').length >= 4")


MANY_TO_ONE = '[Variant "microchess"]\n[SetUp "1"]\n[FEN "3k/4/Q1Q1/4/K3 w - -"]\n\n*\n'


def test_every_hint_of_microchess_has_its_arrow(chromium: Chromium, served: Served, page: Page) -> None:
    game = page.ask("play.load", record=MANY_TO_ONE, players=["human", "human"])["id"]
    chromium.open(f"{served.address}/?hints#/play/{game}", *WIDE)
    chromium.wait("location.search === '?hints' && document.querySelector('.board svg') !== null")
    hints = page.ask("play.hint", id=game)["hints"]
    chromium.wait("document.querySelector('.mark.best') !== null")
    assert chromium.run("document.querySelectorAll('.arrow').length") == len(hints)
    assert chromium.run("document.querySelectorAll('.arrow.best').length") == 1
    # the disc of the best move is drawn, also where another hint goes to the same square
    assert chromium.run("document.querySelectorAll('.mark.best .disc').length") == 1


def test_one_can_resign_while_the_bot_thinks(chromium: Chromium, served: Served) -> None:
    start(chromium, served, game="go", given={"size": 9}, level="spec", spec="uct:seconds=30", side="1")
    play(chromium, "E5", 9)
    chromium.wait("document.querySelectorAll('.moves li').length === 1")
    chromium.click("button", "Resign")
    chromium.click(".confirm button", "Yes")
    chromium.wait("document.querySelector('.headline').textContent === 'White wins · resignation'")
    chromium.run("window.old = true; location.reload()")
    chromium.wait("!window.old && document.querySelector('.headline') !== null")
    chromium.wait("document.querySelector('.headline').textContent === 'White wins · resignation'")


def test_who_resigned_is_said(chromium: Chromium, served: Served) -> None:
    start(chromium, served, game="go", given={"size": 5}, level="human")
    chromium.click("button", "Resign")
    chromium.click(".confirm button", "Yes")
    chromium.wait("document.querySelector('.status [role=status]').textContent === 'Black resigned'")


def test_tabs_have_titles_of_their_own(chromium: Chromium, served: Served) -> None:
    start(chromium, served, game="go", given={"size": 5}, level="human")
    chromium.wait("document.title === 'Go 5×5 · Play · Tengen'")
    for part in ("Analyse", "Explain", "Match", "Learn"):
        chromium.click("header nav a", part)
        chromium.wait(f"document.title === '{part} · Tengen'")


def test_a_silent_server_is_noticed_and_nothing_is_played_later(chromium: Chromium, tmp_path: Path) -> None:
    served = Served(WebConfig(tmp_path))
    start(chromium, served, game="go", given={"size": 5}, level="human")
    with served.frozen():
        chromium.wait("document.querySelector('.banner') !== null")
        play(chromium, "C3")
        chromium.wait("document.querySelector('.problem') !== null")
    chromium.wait("document.querySelector('.banner') === null")
    assert moves(chromium) == []
    play(chromium, "B2")
    chromium.wait("document.querySelectorAll('.moves li').length === 1")
    assert moves(chromium) == ["B2"]
    served.close()
    browser_complains_of_the_server(chromium)


def browser_complains_of_the_server(chromium: Chromium) -> None:
    """Chromium itself logs requests that failed; those are no errors of the page."""
    chromium.run("0")
    chromium.complaints[:] = [one for one in chromium.complaints if "net::ERR_" not in one]


def test_too_much_text_is_refused_before_it_is_sent(chromium: Chromium, served: Served) -> None:
    chromium.open(f"{served.address}/?large#/analyse", *WIDE)
    chromium.wait("location.search === '?large' && document.querySelector('textarea') !== null")
    chromium.run(
        "(() => { const area = document.querySelector('textarea'); area.value = '가'.repeat(400000);"
        " area.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    chromium.click("button", "Continue")
    chromium.wait_for_text("a record has at most 700 kB")
    assert not chromium.run("document.querySelector('.banner') !== null")
