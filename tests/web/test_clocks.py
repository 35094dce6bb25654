"""Clocks: byo-yomi and Fischer by a clock of our own, and games that are lost on time."""

from pathlib import Path

import pytest

from tengen.games import go
from tengen.web.clocks import GameClock, TimeControl
from tengen.web.storage import PlayedGame, StoredGames, new_id

from .served import Page

FIRST, SECOND = 1, 2


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def turn(clock: GameClock, hand: Hand, player: int, seconds: float) -> None:
    clock.run(player)
    hand.time += seconds
    clock.press()


def test_byo_yomi() -> None:
    hand = Hand()
    clock = GameClock(TimeControl(60, periods=3, period=10), hand)
    turn(clock, hand, FIRST, 50)
    assert (clock.main, clock.periods) == ([10, 60], [3, 3])
    turn(clock, hand, SECOND, 1)
    turn(clock, hand, FIRST, 15)  # the main time, and a part of a period: that begins anew
    assert (clock.main, clock.periods) == ([0, 59], [3, 3])
    turn(clock, hand, FIRST, 9.5)
    assert clock.periods[0] == 3
    turn(clock, hand, FIRST, 25)
    assert clock.periods[0] == 1
    clock.run(FIRST)
    hand.time += 4
    assert clock.left == 6


def test_fischer() -> None:
    hand = Hand()
    clock = GameClock(TimeControl(10, increment=3), hand)
    turn(clock, hand, FIRST, 4)
    assert clock.main == [9, 10]
    clock.run(FIRST)
    assert clock.left == 9


def test_a_clock_stands_still_while_nobody_looks_and_is_kept(tmp_path: Path) -> None:
    hand = Hand()
    clock = GameClock(TimeControl(10, periods=1, period=5), hand)
    clock.run(FIRST)
    hand.time += 3
    clock.halt()
    hand.time += 1000
    clock.run(FIRST)
    hand.time += 1
    assert clock.left == 11
    clock.halt()
    stored = StoredGames(tmp_path)
    played = PlayedGame(new_id(), go.State.new(5), ("human", "first-game"), ("", "random"), clock=clock)
    stored.save(played)
    again = stored.load(played.id).clock
    assert again is not None and again.to_json() == clock.to_json() and again.left == 11
    clock.run(FIRST)
    hand.time += 11
    clock.flag()
    stored.save(played)
    assert played.result == "W+T" and "RE[W+T]" in played.write()
    kept = stored.load(played.id)
    assert kept.is_over and kept.winner_on_time == SECOND


def test_a_game_is_lost_on_time(page: Page) -> None:
    clock = {"main": 1, "periods": 0, "period": 0, "increment": 0}
    fields = {"game": "microchess", "players": ["human", "first-game"], "clock": clock}
    name = page.ask("play.new", **fields)["id"]
    page.ask("play.open", id=name)
    view = page.wait("game", lambda view: view["id"] == name)
    assert view["clock"]["running"] and view["clock"]["player"] == FIRST
    view = page.wait("game", lambda view: view["over"])
    assert (view["winner"], view["result"], view["reason"]) == (SECOND, "0-1", "time")
    for action, more in (("play.move", {"move": "d2d3", "number": 0}), ("play.hint", {})):
        with pytest.raises(ValueError, match="over"):
            page.ask(action, id=name, **more)
    assert "time forfeit" in page.ask("play.save", id=name)["text"]
    page.ask("play.remove", id=name)


def test_the_agent_has_no_clock(page: Page) -> None:
    clock = {"main": 100, "periods": 0, "period": 0, "increment": 5}
    fields = {"game": "go", "options": {"size": 5}, "players": ["human", "first-game"], "clock": clock}
    name = page.ask("play.new", **fields)["id"]
    page.ask("play.open", id=name)
    page.ask("play.move", id=name, move="C3", number=0)
    view = page.wait("game", lambda view: view["number"] == 2)
    assert view["clock"]["player"] == FIRST and view["clock"]["running"]
    (first, _), second = view["clock"]["left"]
    assert 100 < first <= 105 and second == [100, 0]
    page.ask("play.undo", id=name)
    assert page.wait("game", lambda view: view["number"] == 0)["clock"]["player"] == FIRST


@pytest.mark.parametrize(
    "clock",
    [
        7,
        {},
        {"main": 0, "periods": 0, "period": 0, "increment": 1},
        {"main": -1, "periods": 1, "period": 10, "increment": 0},
        {"main": 1e9, "periods": 1, "period": 10, "increment": 0},
        {"main": float("nan"), "periods": 1, "period": 10, "increment": 0},
        {"main": 10, "periods": 10**9, "period": 10, "increment": 0},
        {"main": 10, "periods": 1.5, "period": 10, "increment": 0},
    ],
)
def test_what_is_no_clock_is_refused(page: Page, clock: object) -> None:
    with pytest.raises(ValueError, match=r"clock|main|periods"):
        page.ask("play.new", game="go", players=["human", "human"], clock=clock)
