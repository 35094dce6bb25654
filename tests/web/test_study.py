"""Studies: records with variations read and written, and analysed over the websocket."""

import base64
from pathlib import Path

import pytest

from tengen.games import go
from tengen.games.game import get_game
from tengen.serve.review import PositionEstimate
from tengen.web.app import WebConfig
from tengen.web.opponents import analysts_for
from tengen.web.study import MOST_NODES, Study, read_study
from tengen.web.study_sessions import analyst_spec

from .served import Page, Served

TWO_WAYS = (
    "(;GM[1]SZ[5]KM[3.5]PB[A]PW[B]RE[B+R]C[start];B[cc];W[cd](;B[bd]C[one];W[dc])(;B[dd](;W[bd])(;W[bc]C[a \\] b])))"
)


def shape(study: Study, number: int = 0) -> object:
    """The tree as nested lists, with comments."""
    node = study.nodes[number]
    return [node.move, node.comment, [shape(study, child) for child in node.children]]


def test_variations_are_read_and_written() -> None:
    study = read_study(TWO_WAYS)
    assert study.names == ("A", "B") and study.result == "B+R"
    assert [study.nodes[number].move for number in study.main_line()] == ["", "C3", "C2", "B2", "D3"]
    assert len(study.nodes) == 8
    assert study.nodes[7].comment == "a ] b"
    name, data = study.write()
    assert name == "study.sgf"
    assert shape(read_study(data)) == shape(study)


def test_a_move_that_is_there_is_not_added_again() -> None:
    study = read_study(TWO_WAYS)
    assert study.play(2, "d2") == study.nodes[2].children[1]
    added = study.play(2, "A1")
    assert added == 8 and study.nodes[2].children[-1] == 8
    assert study.play(2, "A1") == 8
    with pytest.raises(ValueError, match="not legal"):
        study.play(2, "C3")
    with pytest.raises(ValueError, match="no such position"):
        study.play(99, "C3")


def test_analysis_is_written_as_comments() -> None:
    study = read_study(TWO_WAYS)
    study.nodes[1].estimate = PositionEstimate(100, 0.25, -2.0, "C2", ("C2", "B2"))
    text = study.write()[1].decode()
    assert "White 75.0%, White+2.0 (100 visits). Best: C2 B2" in text
    assert "SBKV[25.0]" in text
    assert len(read_study(text).nodes) == len(study.nodes)


def test_other_games_keep_their_main_line() -> None:
    start = get_game("microchess").start()
    study = Study(start)
    study.play(study.play(0, "c1b3"), "a5b4")
    study.play(0, "d2d3")
    study.nodes[1].estimate = PositionEstimate(10, 0.9, None, "a5b4")
    name, data = study.write()
    assert name == "study.pgn" and b"White 90.0%" in data
    again = read_study(data)
    assert [node.move for node in again.nodes] == ["", "c1b3", "a5b4"]


@pytest.mark.parametrize("text", ["(" * 200_000, "(;" * 100_000, "(;SZ[5]" + "(;B[aa]" * 50_000, "", "{" * 9000, "x"])
def test_what_is_no_record_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError):
        read_study(text)


def test_a_record_beyond_all_bounds_is_cut() -> None:
    many = "".join(f"(;B[{a}{b}])" for a in "abcdefghi" for b in "abcdefghi")
    study = read_study(f"(;SZ[9];B[aa];W[bb];B[cc]{'(;W[dd])' * 10_000}{many})")
    assert len(study.nodes) <= MOST_NODES


def test_a_variation_ends_where_it_is_not_legal() -> None:
    study = read_study("(;SZ[5];B[cc](;W[cd];B[ab])(;W[cc];B[aa])(;AB[aa]AE[cc];W[dd];B[dd]))")
    assert [node.move for node in study.nodes] == ["", "C3", "C2", "A4", "", "D2"]


def test_analysts_have_bounded_trees() -> None:
    assert analyst_spec("zero:go5") == "zero:go5,nodes=1000000"
    assert analyst_spec("uct") == "uct:nodes=2000000"
    with pytest.raises(ValueError, match="does not search a tree"):
        analyst_spec("random")
    with pytest.raises(ValueError):
        analyst_spec("gtp:gnugo")
    for state in (go.State.new(5), go.State.new(9), go.State.new(19), go.State.new(9, "japanese")):
        assert all(analyst_spec(spec) for spec in analysts_for(state))


def test_live_analysis_follows_the_position(page: Page) -> None:
    name = page.ask("study.load", record=TWO_WAYS)["id"]
    page.ask("study.open", id=name)
    page.wait("study", lambda tree: tree["id"] == name)
    page.ask("study.analyse", id=name, spec="zero:go5")
    seen = page.wait("analysis", lambda known: known["visits"] >= 20)
    assert seen["node"] == 0 and seen["moves"][0]["move"] == "C3" and seen["toPlay"] == 1
    assert len(seen["owners"]) == 25 and seen["moves"][0]["pv"][0] == "C3"
    page.ask("study.go", id=name, node=1)
    seen = page.wait("analysis", lambda known: known["node"] == 1 and known["visits"] >= 20)
    assert seen["toPlay"] == 2 and seen["chance"] < 0.5
    page.ask("study.analyse", id=name, spec="")
    assert page.wait("analysis", lambda known: known["spec"] == "")["moves"] == []
    assert page.wait("graph", lambda graph: "1" in graph["values"])["values"]["1"][0] > 0.5


def test_a_whole_game_in_the_background(page: Page) -> None:
    name = page.ask("study.load", record=TWO_WAYS)["id"]
    page.ask("study.open", id=name)
    page.ask("study.whole", id=name, spec="zero:go5", visits=20)
    graph = page.wait("graph", lambda graph: graph["progress"]["total"] and graph["progress"]["done"] >= 5)
    assert sorted(graph["values"]) == ["0", "1", "2", "3", "4"]
    assert b"visits)" in base64.b64decode(page.ask("study.export", id=name)["data"])


def test_an_agent_that_cannot_says_so(page: Page) -> None:
    name = page.ask("study.new", game="go", options={"size": 7})["id"]
    page.ask("study.open", id=name)
    page.ask("study.analyse", id=name, spec="zero:go5")
    assert "5x5 only" in page.wait("analysis", lambda known: known["problem"])["problem"]
    with pytest.raises(ValueError, match="visits"):
        page.ask("study.whole", id=name, spec="zero:go5", visits=10**9)
    with pytest.raises(ValueError, match="study has gone"):
        page.ask("study.open", id="nothing")


def test_a_study_survives_a_restart(tmp_path: Path) -> None:
    config = WebConfig(tmp_path)
    first = Served(config)
    page = Page(first)
    words = "(;GM[1]CA[EUC-KR]SZ[5]PB[이창호];B[cc])(;SZ[5]PB[Choi];B[bb];W[cc])".encode("euc-kr")
    name = page.ask("study.load", data=base64.b64encode(words).decode())["id"]
    page.ask("study.open", id=name)
    tree = page.wait("study", lambda tree: tree["id"] == name)
    assert tree["names"][0] == "이창호" and len(tree["games"]) == 2
    added = page.ask("study.play", id=name, node=1, move="D3")["node"]
    other = page.ask("study.choose", id=name, game=1)["id"]
    empty = page.ask("study.new", game="microchess")["id"]
    page.ask("study.play", id=empty, node=0, move="c1b3")
    page.close()
    first.close()
    second = Served(config)
    page = Page(second)
    assert {one["id"] for one in page.ask("study.list")} == {name, other, empty}
    page.ask("study.open", id=name)
    assert page.wait("study", lambda tree: tree["id"] == name)["moves"] == ["", "C3", "D3"] and added == 2
    saved = base64.b64decode(page.ask("study.export", id=name)["data"])
    assert saved == words.replace(b";B[cc])", b";B[cc];W[dc])", 1) or b"W[dc]" in saved
    page.ask("study.open", id=other)
    assert page.wait("study", lambda tree: tree["id"] == other)["moves"] == ["", "B4", "C3"]
    page.ask("study.open", id=empty)
    assert page.wait("study", lambda tree: tree["id"] == empty)["moves"] == ["", "c1b3"]
    page.ask("study.remove", id=other)
    with pytest.raises(ValueError, match="has gone"):
        page.ask("study.open", id=other)
    page.close()
    second.close()


def test_nonsense_is_called_so_and_bad_specs_are_refused_before_the_game(page: Page) -> None:
    for text in ("hello, world", "x" * 5000, "   "):
        with pytest.raises(ValueError, match="no record of a game"):
            page.ask("study.load", record=text)
        with pytest.raises(ValueError, match="no record of a game"):
            page.ask("play.load", record=text, players=["human", "human"])
    with pytest.raises(ValueError, match="5x5"):
        page.ask("play.new", game="go", options={"size": 7}, players=["human", "spec:policy:go5"])
