"""A hostile or careless visitor: slow records, work that nobody waits for, files that would start programs."""

import json
import os
import threading
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from tengen.games import go
from tengen.games.microchess.game import from_pgn
from tengen.web import app, inputs, play_sessions, study_sessions
from tengen.web.app import WebConfig
from tengen.web.connection import FAILED
from tengen.web.inputs import read_any, weight_of_game
from tengen.web.storage import PlayedGame, StoredGames, game_as_json, new_id

from .served import Page, Served

SMALL = {"size": 5, "komi": 3.5}


def test_records_are_read_in_turn_with_all_who_think(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that one who loads a lot waits alone; and 900,000 brackets are no work."""
    readers = set[str]()
    read = play_sessions.read_any

    def watched(text: str) -> object:
        readers.add(threading.current_thread().name)
        return read(text)

    monkeypatch.setattr(play_sessions, "read_any", watched)
    server = Served(WebConfig(tmp_path))
    page = Page(server)
    with pytest.raises(ValueError, match="not a record"):
        page.ask("play.load", record="{" * 900_000, players=["human", "human"])
    assert all(name.startswith("thinking") for name in readers) and readers
    page.close()
    server.close()


def test_an_unclosed_comment_of_a_pgn_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end"):
        from_pgn("1. Nb3 {and so on Kb4 *")
    assert from_pgn("1. Nb3 {and so on} Kb4 *")[0].move_number == 2


def kept_game(folder: Path, players: tuple[str, str], specs: tuple[str, str]) -> str:
    played = PlayedGame(new_id(), go.State.new(size=5), players, specs)
    StoredGames(folder).save(played)
    return played.id


def test_a_kept_game_starts_no_program(tmp_path: Path) -> None:
    """Who plays is looked up by name in the list of today; what a file says of it is only shown."""
    games, sign = tmp_path / "games", tmp_path / "sign"
    spec = f"gtp:touch {sign}"
    names = [kept_game(games, ("GNU Go", "human"), (spec, ""))]
    names += [
        kept_game(games, ("human", "human"), (spec, spec)),
        kept_game(games, (f"spec:{spec}", "human"), (spec, "")),
    ]
    server = Served(WebConfig(games, opponents={"Another": "random"}))
    page = Page(server)
    for name in (names[0], names[2]):
        page.ask("play.open", id=name)
        view = page.wait("game", lambda view: view["id"] == name and view["problem"])  # noqa: B023
        assert "no opponent is called 'GNU Go'" in view["problem"] or "give an agent's spec" in view["problem"]
        page.ask("play.again", id=name)
        assert page.wait("game", lambda view: view["problem"])["number"] == 0
    page.ask("play.open", id=names[1])
    assert page.wait("game", lambda view: view["id"] == names[1])["specs"] == ["", ""]
    page.close()
    server.close()
    assert not sign.exists()


def test_a_kept_game_goes_on_against_an_opponent_of_today(tmp_path: Path) -> None:
    name = kept_game(tmp_path, ("GNU Go", "human"), ("gtp:gnugo --mode gtp", ""))
    server = Served(WebConfig(tmp_path, opponents={"GNU Go": "random"}))
    page = Page(server)
    page.ask("play.open", id=name)
    page.wait("game", lambda view: view["number"] == 1)
    page.close()
    server.close()


def test_what_goes_wrong_while_an_agent_moves_is_told(tmp_path: Path) -> None:
    """A disk without room, say: the game does not stop without a word, and can go on."""
    folder = tmp_path / "games"
    server = Served(WebConfig(folder))
    page = Page(server)
    name = page.ask("play.new", game="go", options=SMALL, players=["human", "spec:random"])["id"]
    page.ask("play.open", id=name)
    kept = folder.rename(tmp_path / "away")
    folder.write_text("no folder")
    with pytest.raises(ValueError, match="games"):
        page.ask("play.move", id=name, move="C3", number=0)
    with pytest.raises(ValueError, match="games"):
        page.ask("play.again", id=name)
    folder.unlink()
    kept.rename(folder)
    page.ask("play.again", id=name)
    page.wait("game", lambda view: view["number"] == 2)
    page.close()
    server.close()


def test_any_fault_while_an_agent_moves_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise RuntimeError("ours")

    usual = play_sessions.view_of_thought
    monkeypatch.setattr(
        play_sessions, "view_of_thought", lambda decision, player: usual(None, player) if decision is None else fail()
    )
    server = Served(WebConfig(tmp_path))
    page = Page(server)
    name = page.ask("play.new", game="go", options=SMALL, players=["spec:random", "human"])["id"]
    page.ask("play.open", id=name)
    assert page.wait("game", lambda view: view["problem"])["problem"] == FAILED
    page.close()
    server.close()


def test_a_page_that_has_left_leaves_no_work_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Analyses of whole games end soon after nobody looks at them, and take one page's turns before that."""
    monkeypatch.setattr(study_sessions, "_LINGER", 0.0)
    sessions = list[study_sessions.StudySession]()
    made = study_sessions.StudySession.__init__

    def remember(session: study_sessions.StudySession, *given: object) -> None:
        made(session, *given)  # type: ignore[arg-type]
        sessions.append(session)

    monkeypatch.setattr(study_sessions.StudySession, "__init__", remember)
    server = Served(WebConfig(tmp_path, threads=1))
    greedy = Page(server)
    for _ in range(12):
        name = greedy.ask("study.load", record="(;SZ[5];B[cc];W[bb];B[dd])")["id"]
        greedy.ask("study.open", id=name)
        greedy.ask("study.whole", id=name, spec="uct", visits=2_000)
    assert len({id(session.whole.owner) for session in sessions}) == 1
    with pytest.raises(ValueError, match="open this study"):
        greedy.ask("study.whole", id=sessions[0].id, spec="uct", visits=2_000)
    greedy.close()
    page = Page(server)
    while any(session.task is not None for session in sessions):
        page.ask("hello")
    page.close()
    server.close()


def test_an_agent_stops_thinking_when_nobody_looks(tmp_path: Path) -> None:
    server = Served(WebConfig(tmp_path, threads=1))
    page = Page(server)
    for _ in range(10):  # each would think for 30 seconds
        name = page.ask("play.new", game="go", options=SMALL, players=["spec:uct:seconds=30", "human"])["id"]
        page.ask("play.open", id=name)
        page.wait("game", lambda view: view["thinking"])
    page.ask("play.leave")
    page.ask("play.load", record="(;SZ[5];B[cc])", players=["human", "human"])  # reads in the only thread
    page.close()
    server.close()


def test_a_file_holds_what_a_game_shows(tmp_path: Path) -> None:
    played = PlayedGame(new_id(), go.State.new(size=5), ("human", "strong"), ("", "uct:playouts=20000"))
    assert json.loads(json.dumps(game_as_json(played)))["specs"] == ["", "uct:playouts=20000"]


def test_nobody_pushes_out_the_games_of_others(tmp_path: Path) -> None:
    """Of whoever has the most games the oldest go, so a visitor who begins games without end loses their own."""
    stored, mine = StoredGames(tmp_path), list[str]()
    for visitor, count in (("192.0.2.1", 3), ("192.0.2.66", 12)):
        for _ in range(count):
            played = PlayedGame(new_id(), go.State.new(size=5), ("human", "human"), ("", ""), visitor=visitor)
            stored.save(played)
            mine += [played.id] * (visitor == "192.0.2.1")
    stored.drop_oldest(most=8)
    kept = {path.stem for path in tmp_path.glob("*.json")}
    assert set(mine) < kept and len(kept) == 8
    assert {fields["id"] for fields in stored.newest(30, "192.0.2.1")} == set(mine)


def test_a_clock_that_is_set_back_makes_no_game_an_old_one(tmp_path: Path) -> None:
    stored, names = StoredGames(tmp_path), list[str]()
    for number in range(4):
        played = PlayedGame(new_id(), go.State.new(size=5), ("human", "human"), ("", ""))
        stored.save(played)
        names.append(played.id)
        if number == 1:  # as if the clock had been a year ahead, and was corrected
            ahead = (tmp_path / f"{played.id}.json").stat().st_mtime + 3e7
            os.utime(tmp_path / f"{played.id}.json", (ahead, ahead))
            stored = StoredGames(tmp_path)
    assert [fields["id"] for fields in stored.newest(30)] == names[::-1]
    stored.drop_oldest(most=3)
    assert {path.stem for path in tmp_path.glob("*.json")} == set(names[1:])


LONG = "(;SZ[9]" + "".join(f";{'BW'[n % 2]}[{chr(97 + n % 9)}{chr(97 + n // 9)}]" for n in range(60)) + ")"


def test_small_records_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies and games are let go, the oldest first, when all of them together hold too much; none that is open."""
    size = weight_of_game(read_any(LONG))
    for module in (study_sessions, play_sessions):
        for name in ("MOST_OF_STUDIES", "MOST_OF_GAMES"):
            monkeypatch.setattr(module, name, 4 * size, raising=False)
    server = Served(WebConfig(tmp_path))
    page, other = Page(server), Page(server)
    mine = other.ask("study.load", record=LONG)["id"]
    other.ask("study.open", id=mine)
    studies = [page.ask("study.load", record=LONG)["id"] for _ in range(6)]
    other.ask("study.go", id=mine, node=1)
    page.ask("study.open", id=studies[-1])
    page.ask("study.open", id=studies[0])  # from its file
    game = other.ask("play.load", record=LONG, players=["human", "human"])["id"]
    other.ask("play.open", id=game)
    games = [page.ask("play.load", record=LONG, players=["human", "human"])["id"] for _ in range(6)]
    page.ask("play.open", id=games[0])  # from its file
    others = [Page(server) for _ in range(4)]
    with pytest.raises(ValueError, match="as many games as it can"):
        for each, name in zip(others, games[1:], strict=False):
            each.ask("play.open", id=name)
    for each in (page, other, *others):
        each.close()
    server.close()


def test_one_record_may_not_take_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "MOST_OF_ONE", 50_000)
    with pytest.raises(ValueError, match="MB of memory"):
        weight_of_game(read_any(LONG))


def test_a_game_goes_by_its_name_and_no_other_path_does(tmp_path: Path) -> None:
    """A name that leads out of the folder reads and removes nothing."""
    folder, outside = tmp_path / "games", tmp_path / "secretsecretsecr.json"
    name = kept_game(folder, ("human", "human"), ("", ""))
    (folder / f"{name}.json").rename(outside)
    (tmp_path / "games" / "a").mkdir()
    stored = StoredGames(folder)
    for path in (
        "../secretsecretsecr",
        f"{tmp_path}/secretsecretsecr",
        "a/../../secretsecretsecr",
        "",
        "a" * 15,
        "a" * 17,
    ):
        for do in (stored.load, stored.remove):
            with pytest.raises(ValueError, match="there is no such game"):
                do(path)
    assert outside.exists()


def test_so_many_pages_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_MOST_PAGES", 3)
    server = Served(WebConfig(tmp_path))
    pages = [Page(server) for _ in range(3)]
    for page in pages:
        page.ask("play.list")
    with pytest.raises(InvalidStatus):
        Page(server)
    pages.pop().close()
    while True:  # until the server has noticed
        try:
            pages.append(Page(server))
            break
        except InvalidStatus:
            continue
    for page in pages:
        assert page.ask("play.list") == []
        page.close()
    server.close()
