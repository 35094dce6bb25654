"""The page in a real Chromium: whole games by clicks, taking back, counting, saving, a reload in the middle."""

from tengen.agents.registry import load_agent
from tengen.games import go

from .chromium import Chromium
from .clicks import WIDE, move_piece, moves, my_turn, paste, play, saved, start
from .served import Served


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
        if name == "pass":
            chromium.click("button", "Pass")
            if chromium.run("document.querySelector('.confirm') !== null"):
                chromium.click(".confirm button", "Yes")
        else:
            play(chromium, name)
        chromium.wait(f"document.querySelectorAll('.moves li').length > {state.move_number}")
    assert position(moves(chromium)).is_over
    chromium.wait("document.querySelector('.headline').textContent.includes('wins')")
    record = saved(chromium)
    assert record.startswith("(;") and "SZ[5]" in record and "PW[zero:go5,sims=8]" in record


def test_microchess_with_castling_and_promotion(chromium: Chromium, served: Served) -> None:
    start(chromium, served, game="microchess", given={}, level="human")
    game = "c1a2 c5a3 a2b4 a3b4 b1c2 b4c3 d1b1 b5a3 b1a2 a5c5 d2d4 c5c4 d4d5r c3b4 c2b3".split()
    for number, move in enumerate(game, 1):
        move_piece(chromium, move)
        chromium.wait(f"document.querySelectorAll('.moves li').length === {number}")
    assert moves(chromium)[:4] == ["Na2", "Ba3", "Nb4", "Bxb4"]
    assert {"O-O-O", "O-O", "d5=R"} <= {*moves(chromium)}
    chromium.wait("document.querySelector('.headline').textContent === 'White wins · checkmate'")
    record = saved(chromium)
    assert "4. O-O-O" in record and "5. Ka2 O-O 6." in record and "7. d5=R" in record and "8. Bb3#" in record


def test_a_clock_runs_and_is_lost(chromium: Chromium, served: Served) -> None:
    clock = {"system": "byoyomi", "minutes": 0, "periods": 2, "period": 1, "increment": 0}
    start(chromium, served, game="go", given={"size": 5}, level="first-game", side="1", clock=clock)
    chromium.wait("document.querySelector('.clock.runs') !== null")
    assert chromium.run("document.querySelectorAll('.clock').length") == 1, "the agent has none"
    chromium.wait("document.querySelector('.headline').textContent === 'White wins · time'")
    chromium.wait("document.querySelector('.clock').textContent === '0:00'")
    assert "RE[W+T]" in saved(chromium)


RECORD = "(;GM[1]SZ[5]KM[3.5]PB[<b>A</b>]C[<img src=x onerror=alert(1)>];B[cc];W[cd];B[bd](;W[dc];B[db])(;W[bc];B[cb]))"


def test_a_record_is_walked_through_and_analysed(chromium: Chromium, served: Served) -> None:
    chromium.open(f"{served.address}/?analyse#/analyse", *WIDE)
    chromium.wait("location.search === '?analyse' && document.querySelector('textarea') !== null")
    paste(chromium, RECORD)
    chromium.wait("document.querySelectorAll('.tree .node').length === 8")
    assert chromium.run("document.querySelectorAll('.comment img, .small-print b').length") == 0
    chromium.wait_for_text("<img src=x onerror=alert(1)>")
    for _ in range(4):
        chromium.press("ArrowRight")
    chromium.wait("document.querySelector('.count').textContent === '4 / 5'")
    chromium.press("ArrowDown")
    chromium.wait("document.querySelectorAll('.tree .node')[6].classList.contains('here')")
    chromium.press("a")
    below = "document.querySelector('.panel .narrow').getBoundingClientRect().top"
    chromium.wait("document.querySelector('.candidates') !== null")
    place = chromium.run(below)
    chromium.wait("document.querySelectorAll('.candidates tbody button').length > 3")
    assert chromium.run(below) == place, "what is below stays where it is while moves come in"
    chromium.wait("document.querySelector('.mark.best') !== null")
    chromium.click(".layers button", "Ownership")
    chromium.wait("document.querySelectorAll('.owner').length > 5")
    chromium.wait("document.querySelector('.pv').textContent.split(' ').length > 1")
    chromium.press("Home")
    chromium.click(".card button", "Start")
    chromium.wait("document.querySelector('.chart') !== null")


def test_the_wheel_and_keys_walk_also_after_a_click_on_the_board(chromium: Chromium, served: Served) -> None:
    chromium.open(f"{served.address}/?wheel#/analyse", *WIDE)
    chromium.wait("location.search === '?wheel' && document.querySelector('form') !== null")
    chromium.click("form .segments button", "5×5")
    chromium.click("button.primary")
    chromium.wait("document.querySelector('.board svg') !== null")
    for number, name in enumerate(("C3", "B3", "D3"), 1):
        play(chromium, name)
        chromium.wait(f"document.querySelector('.count').textContent === '{number} / {number}'")
    x, y = chromium.run(
        "(() => { const b = document.querySelector('.board').getBoundingClientRect(); return [b.x + 50, b.y + 50]; })()"
    )
    chromium.press("ArrowLeft")
    chromium.wait("document.querySelector('.count').textContent === '2 / 3'")
    chromium.wheel(x, y, -100)
    chromium.wait("document.querySelector('.count').textContent === '1 / 3'")
    chromium.wheel(x, y, 30)  # a touchpad
    chromium.wheel(x, y, 30)
    chromium.wait("document.querySelector('.count').textContent === '2 / 3'")


def test_a_game_by_keyboard_alone(chromium: Chromium, served: Served) -> None:
    start(chromium, served, game="go", given={"size": 5}, level="human")
    while not chromium.run("document.activeElement.classList.contains('board')"):
        chromium.press("Tab")
    for key in ("ArrowUp", "ArrowLeft", "Enter"):  # the first one shows the cursor, in the middle
        chromium.press(key)
    chromium.wait("document.querySelectorAll('.moves li').length === 1")
    assert moves(chromium) == ["B3"]
    assert "B3" in chromium.run("document.querySelector('.board [aria-live]').textContent")
    chromium.wait("document.querySelector('.status [role=status]').textContent === 'Black B3'")
    chromium.press("p")
    chromium.click(".confirm button", "Yes")
    chromium.wait("document.querySelectorAll('.moves li').length === 2")
    chromium.press("u")
    chromium.wait("document.querySelectorAll('.moves li').length === 1")


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
