"""Matches over the websocket: games and table, stopping and going on, replaying and saving; and what must not work."""

import pytest

from tengen.web.match_sessions import MOST_GAMES

from .served import Page, Served

SMALL = {"size": 5, "komi": 3.5}
SLOW = "spec:uct:seconds=30"


def begin(page: Page, *players: str, games: int = 2, game: str = "go", pace: float = 0.0) -> str:
    options = SMALL if game == "go" else None
    name: str = page.ask("match.new", game=game, options=options, players=players, games=games)["id"]
    page.ask("match.pace", id=name, seconds=pace)
    page.ask("match.open", id=name)
    page.wait("match", lambda view: view["id"] == name)
    return name


def end(page: Page, games: int) -> dict[str, object]:
    return page.wait("match", lambda view: view["summary"]["games"] == games and not view["underWay"])


def test_a_match_is_played_to_its_end_and_its_games_are_kept(page: Page) -> None:
    name = begin(page, "first-game", "spec:uct:playouts=50", games=4)
    view = end(page, 4)
    assert view["sides"] == ["first-game", "spec:uct:playouts=50"] and view["specs"] == ["random", "uct:playouts=50"]
    assert [one[0] for one in view["results"]] == ["a", "b", "a", "b"], "the agents take turns to move first"
    score = view["summary"]["a"]
    assert score["wins"] + score["draws"] + score["losses"] == 4 == view["games"]
    assert score["score_interval"][0] <= score["score"] <= score["score_interval"][1]
    assert not view["waiting"] and not view["problem"]
    board = page.wait("matchBoard", lambda board: board["round"] == 4 and board["over"])
    assert board["first"] == "b"

    saved = page.ask("match.save", id=name, number=2)
    assert saved["name"] == "game-2.sgf" and "PB[uct:playouts=50]" in saved["text"] and "PW[random]" in saved["text"]
    study = page.ask("match.replay", id=name, number=2)["id"]
    page.ask("study.open", id=study)
    tree = page.wait("study", lambda tree: tree["id"] == study)
    assert len(tree["moves"]) - 1 == view["results"][1][5] and tree["names"] == ["uct:playouts=50", "random"]
    assert page.ask("match.list")[0]["summary"]["a"] == score
    with pytest.raises(ValueError, match="has not been played"):
        page.ask("match.replay", id=name, number=5)


@pytest.mark.parametrize("game", ["microchess", "tictactoe"])
def test_every_game_has_matches(page: Page, game: str) -> None:
    name = begin(page, "Own", "first-game", game=game)
    view = end(page, 2)
    assert view["specs"] == ["random", "random"]
    study = page.ask("match.replay", id=name, number=1)["id"]
    page.ask("study.open", id=study)
    assert len(page.wait("study", lambda tree: tree["id"] == study)["moves"]) - 1 == view["results"][0][5]


def test_a_match_is_stopped_and_goes_on_where_it_was(page: Page) -> None:
    name = begin(page, "first-game", "first-game", pace=5)
    page.wait("match", lambda view: view["pace"] == 5)
    page.ask("match.pause", id=name)
    assert not page.wait("match", lambda view: not view["underWay"])["waiting"]
    page.ask("match.open", id=name)
    before = page.wait("matchBoard", lambda board: board["id"] == name)
    assert before["round"] == 1
    page.ask("match.pace", id=name, seconds=0)
    page.ask("match.resume", id=name)
    view = end(page, 2)
    record = page.ask("match.save", id=name, number=1)["text"]
    study = page.ask("study.load", record=record)["id"]
    page.ask("study.open", id=study)
    page.ask("study.go", id=study, node=before["number"])
    assert page.wait("position", lambda position: position["number"] == before["number"])["cells"] == before["cells"]
    assert view["results"][0][5] >= before["number"]


def test_an_agent_that_thinks_is_interrupted(page: Page) -> None:
    name = begin(page, SLOW, SLOW)
    page.wait("match", lambda view: view["underWay"])
    page.ask("match.pause", id=name)
    assert not page.wait("match", lambda view: not view["underWay"])["results"]


def test_few_matches_are_under_way_and_others_wait(served: Served) -> None:
    pages = [Page(served) for _ in range(3)]
    names = [begin(page, SLOW, SLOW) for page in pages]
    for page in pages[:2]:
        page.wait("match", lambda view: view["underWay"])
    assert pages[2].wait("match", lambda view: view["waiting"])["underWay"] is False
    pages[0].close()  # nobody looks at the first any more
    pages[2].wait("match", lambda view: view["underWay"])
    pages[1].ask("match.open", id=names[0])
    assert pages[1].wait("match", lambda view: view["id"] == names[0])["results"] == []
    for page in pages[1:]:
        page.close()


@pytest.mark.parametrize(
    "fields, problem",
    [
        ({"players": ["human", "first-game"]}, "between two agents"),
        ({"players": ["spec:gtp:gnugo", "first-game"]}, "cannot be asked for"),
        ({"players": ["first-game", "spec:zero:/etc/passwd"]}, "spec"),
        ({"players": ["gtp:gnugo", "first-game"]}, "no opponent"),
        ({"players": ["first-game", "spec:zero:go9"]}, "9x9 only"),
        ({"players": ["first-game"]}, "two players"),
        ({"games": 0}, "0 games"),
        ({"games": MOST_GAMES + 1}, "games are not possible"),
        ({"games": True}, "games"),
        ({"game": "chess"}, "chess"),
        ({"options": {"size": 1000}}, "1000"),
    ],
)
def test_what_is_no_match_is_refused(page: Page, fields: dict[str, object], problem: str) -> None:
    usual: dict[str, object] = {"game": "go", "options": SMALL, "players": ["first-game", "first-game"], "games": 2}
    with pytest.raises(ValueError, match=problem):
        page.ask("match.new", **usual | fields)
    with pytest.raises(ValueError, match="has gone"):
        page.ask("match.open", id="nothing")
