"""Games through the websocket, without a browser: playing, taking back, counting, keeping; and what must not work."""

import json
from pathlib import Path

import pytest

from tengen.games import go
from tengen.web.app import WebConfig
from tengen.web.storage import PlayedGame, StoredGames, new_id

from .served import Page, Served

SMALL = {"size": 5, "komi": 3.5}


def begin(page: Page, players: tuple[str, str] = ("human", "human"), game: str = "go", **options: object) -> str:
    name: str = page.ask("play.new", game=game, options=options, players=players)["id"]
    page.ask("play.open", id=name)
    page.wait("game", lambda view: view["id"] == name)
    return name


def move(page: Page, name: str, *moves: str) -> None:
    for one in moves:
        number = page.news["game"]["number"]
        page.ask("play.move", id=name, move=one, number=number)
        page.wait("game", lambda view: view["number"] == number + 1 or view["over"])  # noqa: B023


def test_two_people_play_take_back_and_count(page: Page) -> None:
    name = begin(page, **SMALL)
    move(page, name, "C3", "D3", "C2", "D2", "C4", "D4", "C1", "D1", "C5", "D5")
    page.ask("play.undo", id=name)
    assert page.wait("game", lambda view: view["number"] == 9)["cells"][3] == "0"
    move(page, name, "D5", "E3", "pass", "pass")
    count = page.wait("game", lambda view: view["count"] is not None)["count"]
    assert count["dead"] == ["E3"]
    assert count["margin"] == 15 - 10 - 3.5
    page.ask("play.dead", id=name, point="E3")
    count = page.wait("game", lambda view: view["count"]["dead"] == [])["count"]
    assert count["margin"] == 16 - 5 - 3.5
    page.ask("play.undo", id=name)
    assert page.wait("game", lambda view: view["count"] is None)["over"] is False


def test_the_chance_is_that_of_the_first_player_whoever_moved_last(page: Page) -> None:
    name = begin(page, ("human", "spec:zero:go5,sims=16"), **SMALL)
    for number in (1, 3):  # Black passes, and has lost: White knows it after its move, and when it passes too
        page.ask("play.move", id=name, move="pass", number=number - 1)
        view = page.wait("game", lambda view: view["number"] == number + 1 or view["over"])  # noqa: B023
        assert view["chance"] < 0.5
        if view["over"]:
            break


def test_only_what_has_changed_is_sent(page: Page) -> None:
    name = begin(page, **SMALL)
    page.changed.clear()
    move(page, name, "C3")
    assert "players" not in page.changed["game"] and "komi" not in page.changed["game"]
    assert page.changed["game"]["cells"].count("1") == 1


def test_an_agent_answers_and_a_game_survives_a_restart(tmp_path: Path) -> None:
    config = WebConfig(tmp_path)
    first = Served(config)
    page = Page(first)
    name = begin(page, ("human", "club"), **SMALL)
    move(page, name, "C3")
    kept = page.wait("game", lambda view: view["number"] == 2 and not view["thinking"])
    assert kept["chance"] is not None
    page.ask("play.save", id=name)
    page.close()
    first.close()
    second = Served(config)
    page = Page(second)
    assert [one["id"] for one in page.ask("play.list")] == [name]
    page.ask("play.open", id=name)
    again = page.wait("game", lambda view: view["id"] == name)
    assert (again["cells"], again["moveList"], again["specs"]) == (kept["cells"], kept["moveList"], kept["specs"])
    page.ask("play.remove", id=name)
    with pytest.raises(ValueError, match="no such game"):
        page.ask("play.open", id=name)
    page.close()
    second.close()


@pytest.mark.parametrize("game, first", [("microchess", "c1b3"), ("tictactoe", "b2"), ("go", "C3")])
def test_every_game_can_be_played_saved_and_loaded(page: Page, game: str, first: str) -> None:
    name = begin(page, ("human", "first-game"), game=game)
    move(page, name, first)
    page.wait("game", lambda view: view["number"] >= 2)
    saved = page.ask("play.save", id=name)
    loaded = page.ask("play.load", record=saved["text"], players=["human", "human"])["id"]
    before = page.news["game"]["moveList"]
    page.ask("play.open", id=loaded)
    assert page.wait("game", lambda view: view["id"] == loaded)["moveList"] == before


def test_resignations_and_dead_stones_are_kept(tmp_path: Path) -> None:
    stored = StoredGames(tmp_path)
    state = go.State.new(5).play(12)
    resigned = PlayedGame(new_id(), state.play(go.RESIGN), ("human", "human"), ("", ""))
    counted = PlayedGame(new_id(), state.play(go.PASS).play(go.PASS), ("human", "human"), ("", ""), frozenset({12}))
    for played in (resigned, counted):
        stored.save(played)
    assert stored.load(resigned.id).state.result() == resigned.state.result() == "B+R"
    assert stored.load(counted.id).dead == {12}
    assert stored.load(counted.id).state.score() == counted.state.score({12})


def test_the_handicap_and_the_servers_own_opponents(page: Page) -> None:
    levels = page.ask("play.opponents", game="go", options={"size": 9})
    assert levels[-1]["key"] == "Own" and levels[0]["key"] == "first-game"
    name = begin(page, ("Own", "human"), size=9, handicap=2)
    assert page.news["game"]["cells"].count("1") == 2
    move(page, name, "E5")
    assert page.wait("game", lambda view: view["number"] == 2)["handicap"] == 2


def test_a_hint_and_an_estimate(page: Page) -> None:
    name = begin(page, **SMALL)
    move(page, name, "C3")
    assert page.ask("play.hint", id=name)["hints"][0]["move"]
    assert page.ask("play.estimate", id=name)["margin"] > 0
    assert len(page.wait("game", lambda view: "owners" in view["marks"])["marks"]["owners"]) == 25


# ------------------------------------------------------------------------------------- what must not work


@pytest.mark.parametrize(
    "action, fields",
    [
        ("play.new", {"game": "go", "players": ["human", "spec:gtp:touch /tmp/x"]}),
        ("play.new", {"game": "go", "players": ["human", "spec:zero:/etc/passwd"]}),
        ("play.new", {"game": "go", "players": ["human", "gtp:gnugo"]}),
        ("play.new", {"game": "go", "players": ["human"]}),
        ("play.new", {"game": "chess", "players": ["human", "human"]}),
        ("play.new", {"game": "go", "options": {"size": 1000}, "players": ["human", "human"]}),
        ("play.new", {"game": "go", "options": {"size": [9]}, "players": ["human", "human"]}),
        ("play.new", {"game": "go", "options": {"komi": "nan"}, "players": ["human", "human"]}),
        ("play.new", {"game": "go", "options": 7, "players": ["human", "human"]}),
        ("play.load", {"record": "(;GM[1]SZ[9];B[zz])", "players": ["human", "human"]}),
        ("play.load", {"record": "((((((", "players": ["human", "human"]}),
        ("play.open", {"id": "../../../../etc/passwd"}),
        ("play.open", {"id": "x" * 16}),
        ("play.open", {"id": 7}),
        ("play.move", {}),
        ("__class__", {}),
    ],
)
def test_bad_requests_get_one_line(page: Page, action: str, fields: dict[str, object]) -> None:
    with pytest.raises(ValueError) as error:
        page.ask(action, **fields)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500


@pytest.mark.parametrize(
    "text", ["", "x", "[]", "7", "null", "{}", '{"n": "1"}', '{"n": 1}', "[" * 5_000, '{"n":1,"do":{}}']
)
def test_what_is_no_message_is_answered_with_an_error(page: Page, text: str) -> None:
    assert "error" in page.send(text)
    assert page.ask("hello")["games"]


def test_a_move_that_comes_too_late_or_out_of_turn_is_refused(page: Page) -> None:
    name = begin(page, **SMALL)
    move(page, name, "C3")
    with pytest.raises(ValueError, match="gone on"):
        page.ask("play.move", id=name, move="C4", number=0)
    with pytest.raises(ValueError, match="not legal"):
        page.ask("play.move", id=name, move="C3", number=1)


def test_markup_in_a_record_stays_text(page: Page) -> None:
    record = "(;GM[1]SZ[5]PB[<script>alert(1)</script>]C[<img src=x onerror=alert(1)>];B[cc])"
    name = page.ask("play.load", record=record, players=["human", "human"])["id"]
    page.ask("play.open", id=name)
    view = page.wait("game", lambda view: view["id"] == name)
    assert "<" not in json.dumps(view)


def test_a_message_that_is_too_long_ends_the_connection(served: Served) -> None:
    page = Page(served)
    with pytest.raises(Exception, match=r"1009|too big|close"):
        page.send("x" * 1_100_000)
    other = Page(served)
    assert other.ask("hello")["version"]
    other.close()
