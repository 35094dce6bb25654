"""Games in files: all that a game has comes back, older files are read, and a damaged one does no harm."""

import json
import os
from pathlib import Path

import pytest

from tengen.games import go, microchess
from tengen.games.state import FIRST, SECOND
from tengen.web.clocks import GameClock, TimeControl
from tengen.web.storage import PlayedGame, StoredGames, game_as_json, game_from_json, is_id, new_id

HUMANS = ("human", "human")


def fresh(**about: object) -> PlayedGame:
    return PlayedGame(new_id(), go.State.new(size=5).play(12), HUMANS, ("", ""), **about)  # type: ignore[arg-type]


def again(played: PlayedGame) -> PlayedGame:
    return game_from_json(json.loads(json.dumps(game_as_json(played))))


def test_all_that_a_game_has_comes_back() -> None:
    specs, clock = ("uct:playouts=5", ""), GameClock(TimeControl(60))
    over = go.State.new(size=5).play(12).play(go.PASS).play(go.PASS).with_dead({12})
    played = PlayedGame(new_id(), over, ("strong", "human"), specs, frozenset({12}), 7.5, clock, 0, "192.0.2.1")
    found = again(played)
    assert (found.id, found.players, found.specs, found.dead) == (played.id, played.players, specs, {12})
    assert (found.touched, found.visitor, found.resigned) == (7.5, "192.0.2.1", 0)
    assert found.clock is not None and found.clock.to_json() == clock.to_json()
    assert found.state.moves == over.moves and found.state.score() == over.score() == -7.5
    assert game_as_json(found) == game_as_json(played)


def test_a_game_without_anything_comes_back() -> None:
    found = again(fresh())
    assert (found.dead, found.clock, found.visitor, found.resigned, found.result) == (None, None, "", 0, "")
    assert found.specs == ("", "") and not found.is_over and found.winner_beside_the_board == 0


def test_files_of_older_versions_are_read() -> None:
    fields = game_as_json(fresh(visitor="192.0.2.1", resigned=FIRST, clock=GameClock(TimeControl(60))))
    for name in ("visitor", "clock", "resigned_out_of_turn"):
        del fields[name]
    found = game_from_json(fields)
    assert (found.visitor, found.clock, found.resigned) == ("", None, 0)


@pytest.mark.parametrize("who, result", [(FIRST, "W+R"), (SECOND, "B+R")])
def test_a_resignation_out_of_turn(who: int, result: str) -> None:
    for played in (fresh(resigned=who), again(fresh(resigned=who))):
        assert played.result == result and played.is_over and played.winner_beside_the_board == 3 - who
        assert f"RE[{result}]" in played.write() and played.winner_on_time == 0


def test_a_resignation_in_turn() -> None:
    state = go.State.new(size=5).play(12)
    played = PlayedGame(new_id(), state.play(go.RESIGN), HUMANS, ("", ""))
    assert game_as_json(played)["resigned"] and not game_as_json(fresh())["resigned"]
    found = again(played)
    assert found.is_over and found.result == "B+R" and found.resigned == 0 and found.state.moves == played.state.moves


@pytest.mark.parametrize("who, result", [(FIRST, "W+T"), (SECOND, "B+T")])
def test_a_loss_on_time(who: int, result: str) -> None:
    clock = GameClock(TimeControl(60))
    clock.run(who)
    clock.flag()
    for played in (fresh(clock=clock), again(fresh(clock=clock))):
        assert played.result == result and played.is_over and played.winner_on_time == 3 - who
        assert f"RE[{result}]" in played.write()


def test_a_record_names_the_players() -> None:
    played = PlayedGame(new_id(), go.State.new(size=5), ("strong", "human"), ("uct:playouts=5", ""))
    assert "PB[uct:playouts=5]" in played.write() and "PW[Human]" in played.write() and "RE[" not in played.write()
    chess = PlayedGame(new_id(), microchess.State.new(), HUMANS, ("", ""))
    assert chess.game.name == "microchess" and again(chess).state.moves == []


def test_specs_of_a_file_are_texts_for_people() -> None:
    fields = game_as_json(fresh()) | {"players": ["strong", "human"], "specs": ["", "gtp:x"]}
    assert game_from_json(fields).specs == ("strong", "")
    assert game_from_json(fields | {"specs": ["x" * 400, ""]}).specs == ("x" * 300, "")
    assert game_from_json(fields | {"specs": ["", ""], "players": ["x" * 400, "human"]}).specs == ("x" * 300, "")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"\xff", b"3", b"[" * 100_000])
def test_a_damaged_file_does_no_harm(tmp_path: Path, text: bytes) -> None:
    stored, played = StoredGames(tmp_path), fresh()
    stored.save(played)
    damaged = new_id()
    (tmp_path / f"{damaged}.json").write_bytes(text)
    with pytest.raises(ValueError, match="there is no such game here any more"):
        stored.load(damaged)
    assert [fields["id"] for fields in stored.newest(9) if fields] == [played.id]
    stored.drop_oldest(most=2)
    assert stored.load(played.id).id == played.id


def test_the_newest_games_are_listed_first(tmp_path: Path) -> None:
    stored, all_of_them = StoredGames(tmp_path), [fresh(visitor=f"192.0.2.{number % 2}") for number in range(6)]
    for played in all_of_them:
        stored.save(played)
    names = [played.id for played in reversed(all_of_them)]
    assert [fields["id"] for fields in stored.newest(4)] == names[:4]
    assert [fields["id"] for fields in stored.newest(2, "192.0.2.0")] == names[1:4:2]
    stored.save(fresh())  # of nobody known: shown to all
    assert len(stored.newest(9, "192.0.2.0")) == 4
    stored.remove(names[0])
    stored.remove(names[0])
    assert [fields["id"] for fields in stored.newest(2)][1:] == names[1:2]
    with pytest.raises(ValueError, match="any more"):
        stored.load(names[0])


def test_so_many_games_and_no_more(tmp_path: Path) -> None:
    stored, all_of_them = StoredGames(tmp_path), [fresh() for _ in range(4)]
    for played in all_of_them:
        stored.save(played)
    for most, left in ((5, 4), (4, 4), (2, 2)):
        stored.drop_oldest(most)
        assert {path.stem for path in tmp_path.glob("*.json")} == {played.id for played in all_of_them[-left:]}


def test_a_game_that_is_saved_again_is_the_newest(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "games"
    stored, (one, two) = StoredGames(folder), (fresh(), fresh())
    for played in (one, two, one):
        stored.save(played)
    assert [fields["id"] for fields in stored.newest(9)] == [one.id, two.id]
    assert os.name == "nt" or folder.stat().st_mode & 0o077 == 0, "other users read no games"


def test_names_of_games() -> None:
    assert is_id(new_id()) and new_id() != new_id()
    assert not any(map(is_id, ("", "a" * 15, "a" * 17, "../../aaaaaaaaaa", "a" * 15 + "\n", None, 7)))
