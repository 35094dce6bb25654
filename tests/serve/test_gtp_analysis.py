"""GTP's commands for analysis: what lines say, when they end, and what Sabaki and Lizzie do with them."""

import io
import math
import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tengen.agents.agent import Agent, Decision
from tengen.agents.analysis import Analysis, MoveAnalysis, Watcher
from tengen.agents.registry import load_agent
from tengen.games import go
from tengen.games.go import PASS, from_gtp
from tengen.games.go.rules import GoOptions
from tengen.serve.gtp import GtpServer
from tengen.serve.gtp_analysis import ANALYSIS_COMMANDS, parse_request
from tengen.serve.gtp_protocol import parse_line

from .test_gtp import Session

OWNERS = np.linspace(-1, 1, 25, dtype=np.float32)


def snapshot(visits: int = 30, final: bool = False) -> Analysis:
    """Three moves on 5x5, the last without a visit."""
    c3, b2, d4 = (from_gtp(word, 5) for word in ("C3", "B2", "D4"))
    moves = (
        MoveAnalysis(c3, 20, 0.75, 0.5, 0, (c3, b2, PASS), (20, 9, 2), 2.5, OWNERS),
        MoveAnalysis(b2, 9, 0.25, 0.25, 1, (b2,), (9,)),
        MoveAnalysis(d4, 0, 0.6, 0.125, 2, (d4,), (0,)),
    )
    return Analysis(visits, 0.6, moves, 1.5, OWNERS, final)


class FakeAnalyst:
    """Says the same until it is stopped."""

    name = "fake"

    def __init__(self) -> None:
        self.asked: list[tuple[go.State, dict[str, Any]]] = []
        self.stopped = threading.Event()

    def analyse(self, state: go.State, **limits: Any) -> Iterator[Analysis]:
        self.asked.append((state, limits))
        self.stopped.clear()
        return self._snapshots()

    def _snapshots(self) -> Iterator[Analysis]:
        yield snapshot()
        self.stopped.wait()
        yield snapshot(99, final=True)

    def choose(self, state: go.State, seconds: float | None = None, watcher: Watcher | None = None) -> Decision:
        if watcher is not None:
            watcher.show(snapshot())
        return Decision(state.legal_moves()[0], 0.5)

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        pass


class Conversation:
    """A server in a thread of its own, spoken to through pipes."""

    def __init__(self, agent: Agent, size: int = 5, ponder: bool = False) -> None:
        commands, self._to = (os.fdopen(end, mode, buffering=0) for end, mode in zip(os.pipe(), ("rb", "wb")))
        self._from, answers = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb")))
        self._input = io.BufferedReader(commands)  # type: ignore[arg-type]
        options = GoOptions(size, komi=3.5)
        server = GtpServer(agent, self._input, answers, options=options, ponder=ponder, log=io.StringIO())

        def run() -> None:
            server.run()
            answers.close()

        self.server, self._thread = server, threading.Thread(target=run, daemon=True)
        self._thread.start()

    def send(self, line: str) -> None:
        self._to.write(line.encode() + b"\n")

    def line(self) -> str:
        return self._from.readline().decode().rstrip("\n")

    def answer(self) -> list[str]:
        """The lines up to the empty one."""
        return list(iter(self.line, ""))

    def ask(self, line: str) -> list[str]:
        self.send(line)
        return self.answer()

    def end(self) -> list[str]:
        self._to.close()
        rest = self._from.read().decode().split("\n")
        self._thread.join()
        return rest


# ------------------------------------------------------------------------------------------------ lines


def test_a_line_of_kata_analyze() -> None:
    session = Session(FakeAnalyst(), 5)
    assert session("kata-analyze") == (
        "=\n"
        "info move C3 visits 20 utility 0.500000 winrate 0.750000 scoreMean 2.500000 scoreStdev 3.996526"
        " scoreLead 2.500000 scoreSelfplay 2.500000 prior 0.500000 lcb 0.560224 utilityLcb 0.120448 weight 20.000000"
        " order 0 pv C3 B2 pass"
        " info move B2 visits 9 utility -0.500000 winrate 0.250000 scoreMean 1.500000 scoreStdev 3.996526"
        " scoreLead 1.500000 scoreSelfplay 1.500000 prior 0.250000 lcb 0.000000 utilityLcb -1.000000 weight 9.000000"
        " order 1 pv B2\n\n"
    )


def test_a_line_of_lz_analyze() -> None:
    session = Session(FakeAnalyst(), 5)
    assert session("lz-analyze b 10") == (
        "=\ninfo move C3 visits 20 winrate 7500 prior 5000 lcb 5602 order 0 pv C3 B2 pass"
        " info move B2 visits 9 winrate 2500 prior 2500 lcb 0 order 1 pv B2\n\n"
    )


def test_more_and_fewer_moves_and_more_fields() -> None:
    session = Session(FakeAnalyst(), 5)
    assert session("lz-analyze maxmoves 1").count("info") == 1
    assert session("lz-analyze minmoves 3").count("info") == 3
    text = session("kata-analyze 50 rootInfo true ownership true movesOwnership true pvVisits true maxmoves 1")
    head, _, owners = text.strip().rpartition(" ownership ")
    assert [float(word) for word in owners.split()] == pytest.approx(OWNERS.tolist(), abs=1e-4)
    head, _, root = head.partition(" rootInfo ")
    assert root.startswith("visits 30 utility 0.200000 winrate 0.600000 scoreMean 1.500000 ")
    assert head.endswith(" pv C3 B2 pass"), "the line of a move comes last"
    assert " pvVisits 20 9 2 movesOwnership -1.0000 " in head


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", {"color": None, "interval": 1.0}),
        ("w 100", {"color": go.WHITE, "interval": 1.0}),
        ("B interval 5", {"color": go.BLACK, "interval": 0.05}),
        ("0", {"interval": 0.01}),
        ("black 50 minmoves 2 maxmoves 7", {"interval": 0.5, "min_moves": 2, "max_moves": 7}),
        ("ownership true rootInfo 1 pvVisits false", {"ownership": True, "root_info": True, "pv_visits": False}),
        ("avoid b A1,pass 3 avoid B B2 1", {"avoid": {go.BLACK: frozenset({20, PASS, 16})}}),
        ("allow w A1,B1 1", {"avoid": {go.WHITE: frozenset({PASS, *range(20), 22, 23, 24})}}),
    ],
)
def test_what_a_controller_asks_for(words: str, expected: dict[str, Any]) -> None:
    request = parse_request(tuple(words.split()), 5)
    assert {name: getattr(request, name) for name in expected} == expected


@pytest.mark.parametrize(
    "words", ["10 20", "-1", "maxmoves -1", "maxmoves", "ownership maybe", "avoid b A1", "avoid b A9 1", "fast yes"]
)
def test_what_is_no_request_is_refused(words: str) -> None:
    session = Session(FakeAnalyst(), 5)
    assert session.fails(f"kata-analyze {words}") in ("syntax error", "invalid color or coordinate")


def test_moves_of_the_other_colour_are_not_avoided_and_some_must_be_left() -> None:
    agent = FakeAnalyst()
    Session(agent, 5)("lz-analyze avoid b A1 1 avoid w B1 1")
    assert agent.asked[0][1]["avoid"] == {20}
    every = ",".join([*(f"{x}{y}" for x in "ABCDE" for y in range(1, 6)), "pass"])
    assert "no legal move is left" in Session(load_agent("zero:go5"), 5).fails(f"lz-analyze avoid b {every} 1")


@pytest.mark.parametrize("spec", ["zero:go5", "uct:playouts=100", "mcts:playouts=100"])
def test_avoided_moves_are_not_searched_and_known_again_afterwards(spec: str) -> None:
    session = Session(load_agent(spec, seed=1), 5)
    assert "move C3" in session("lz-analyze minmoves 30")
    for word in ("lz-analyze avoid b C3 1 minmoves 30", "kata-analyze avoid b C3 1 minmoves 30"):
        assert "move C3" not in session(word)
    assert "move C3" in session("lz-analyze minmoves 30")


# ------------------------------------------------------------------------------------------- when it ends


@pytest.mark.parametrize("ends_by", ["name", "", "# a comment"])
def test_an_analysis_ends_at_the_next_line(ends_by: str) -> None:
    agent = FakeAnalyst()
    talk = Conversation(agent)
    talk.send("7 kata-analyze 10")
    assert talk.line() == "=7"
    assert talk.line().startswith("info move C3 visits 20 ")
    assert not agent.stopped.is_set()
    talk.send(ends_by)
    assert talk.answer() == [], "nothing is said once it has ended"
    assert talk.ask("8 protocol_version") == ["=8 2"] if ends_by != "name" else talk.answer() == ["= Tengen"]
    talk.end()


def test_an_analysis_ends_with_the_input() -> None:
    agent = FakeAnalyst()
    talk = Conversation(agent)
    talk.send("lz-analyze")
    assert (talk.line(), talk.line()[:9]) == ("=", "info move")
    assert talk.end() == ["", ""]


def test_an_analysis_at_its_limit_waits_for_the_next_line() -> None:
    talk = Conversation(load_agent("zero:go5"))
    talk.ask("kata-set-param maxVisits 50")
    assert talk.ask("kata-get-param maxVisits") == ["= 50"]
    talk.send("kata-analyze b 1 rootInfo true")
    assert talk.line() == "="
    while " rootInfo visits 50 " not in talk.line():
        pass
    assert talk.ask("") == []
    talk.end()


def test_every_command_is_answered_when_all_come_at_once() -> None:
    talk = Conversation(load_agent("zero:go5,sims=20", seed=1))
    for line in ("1 lz-analyze 1", "2 genmove b", "3 kata-analyze 1", "4 lz-genmove_analyze w 1", "5 quit"):
        talk.send(line)
    answers = [talk.answer() for _ in range(5)]
    assert [lines[0].split()[0] for lines in answers] == ["=1", "=2", "=3", "=4", "=5"]
    assert len(answers[1][0].split()) == 2
    assert re.fullmatch("play [A-E][1-5]", answers[3][-1])
    talk.end()


# ------------------------------------------------------------------------------------------------ moves


@pytest.mark.parametrize("spec", ["zero:go5,sims=50", "uct:playouts=500"])
def test_a_move_with_analysis_is_that_of_genmove_and_played(spec: str) -> None:
    plain, session = Session(load_agent(spec, seed=1), 5), Session(load_agent(spec, seed=1), 5)
    move = plain.ok("genmove b")
    *infos, last = session.ok("kata-genmove_analyze b 1").split("\n")
    assert last == f"play {move}"
    assert infos
    assert all(info.startswith("info move ") for info in infos)
    assert infos[-1].startswith(f"info move {move} ")
    assert session.server.state.stones.sum() == 1


def test_a_search_does_not_play() -> None:
    session = Session(load_agent("zero:go5,sims=50", seed=1), 5)
    move = session.ok("kata-search b")
    assert session.ok("kata-search_analyze b 1").endswith(f"play {move}")
    assert session.server.state.move_number == 0


def test_pondering_begins_after_a_move_and_ends_at_the_next_line() -> None:
    agent = FakeAnalyst()
    talk = Conversation(agent, ponder=True)
    assert talk.ask("play b C3") == ["="]
    assert agent.asked == []
    assert len(talk.ask("genmove w")) == 1
    assert talk.ask("kata-get-param ponderingEnabled") == ["= true"]
    (state, limits), *others = agent.asked
    assert state.move_number == 2
    assert limits["seconds"] == math.inf
    assert others == []
    talk.ask("kata-set-param ponderingEnabled false")
    talk.ask("genmove b")
    talk.end()
    assert len(agent.asked) == 1


def test_what_was_found_while_pondering_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, begun = load_agent("zero:go5,sims=20", seed=1), threading.Event()
    analyse = agent.analyse  # type: ignore[attr-defined]

    def watched(state: go.State, **limits: Any) -> Iterator[Analysis]:
        for analysis in analyse(state, **{**limits, "interval": 0.0}):
            begun.set()
            yield analysis

    monkeypatch.setattr(agent, "analyse", watched)
    talk = Conversation(agent, ponder=True)
    talk.ask("genmove b")
    begun.wait()
    talk.ask("name")
    assert next(analyse(talk.server.state, visits=1)).visits > 1
    talk.end()


# ------------------------------------------------------------------------------------------------- others


def test_the_network_alone() -> None:
    session = Session(load_agent("zero:go5"), 5)
    session.all("komi 3.5;play b C3")
    lines = session.ok("kata-raw-nn 0").split("\n")
    assert lines[0] == "symmetry 0"
    fields = dict(line.split(" ", 1) for line in lines if re.match("(white|noResult|policyPass)[A-Za-z]* ", line))
    assert float(fields["whiteWin"]) + float(fields["whiteLoss"]) == pytest.approx(1, abs=1e-5)
    assert float(fields["whiteWin"]) < 0.5
    assert float(fields["whiteLead"]) < 0, "the centre wins on 5x5"
    start = lines.index("policy") + 1
    policy = " ".join(lines[start : start + 5]).split()
    assert policy[12] == "NAN"
    shares = [float(share) for share in policy if share != "NAN"]
    assert len(shares) == 24
    assert sum(shares) + float(fields["policyPass"]) == pytest.approx(1, abs=1e-4)
    owners = " ".join(lines[lines.index("whiteOwnership") + 1 :]).split()
    assert len(owners) == 25
    assert sum(map(float, owners)) < 0
    assert "symmetry 0" in session.fails("kata-raw-nn 3")
    assert "no network" in Session(load_agent("uct"), 5).fails("kata-raw-nn 0")


def test_only_agents_that_search_a_tree_offer_analysis() -> None:
    plain, searching = Session(load_agent("random"), 5), Session(load_agent("uct"), 5)
    listed = searching.ok("list_commands").split("\n")
    assert set(ANALYSIS_COMMANDS) <= set(listed)
    assert "analyze" not in listed
    assert "genmove_analyze" not in listed
    assert not set(ANALYSIS_COMMANDS) & set(plain.ok("list_commands").split("\n"))
    assert searching.ok("known_command kata-analyze") == "true"
    assert plain.ok("known_command kata-analyze") == "false"
    assert plain.fails("kata-analyze") == "unknown command"


@pytest.mark.parametrize("line", ["kata-get-param playoutDoublingAdvantage", "kata-set-param maxVisits 0"])
def test_parameters_that_there_are_not(line: str) -> None:
    assert Session(FakeAnalyst(), 5).fails(line).startswith("Invalid ")


def test_a_game_that_ended_is_analysed_as_if_it_went_on() -> None:
    session = Session(load_agent("zero:go5"), 5)
    session.all("play b C3;play w pass;play b pass")
    assert session("kata-analyze w 1").startswith("=\ninfo move ")


@pytest.mark.parametrize("stones", ["B2 D4", "A1 A3 A5 B2 B4 C1 C3 C5 D2 D4 E1 E3"])
def test_any_handicap_that_a_controller_places_can_be_played_and_analysed(stones: str) -> None:
    session = Session(load_agent("zero:go5,sims=10", seed=1), 5)
    session.ok(f"set_free_handicap {stones}")
    assert "info move" in session("kata-analyze w 10")
    assert session.ok("genmove w")


def test_a_board_that_the_agent_cannot_play_is_an_error() -> None:
    session = Session(load_agent("zero:go5"), 9)
    assert "plays on 5x5 only" in session.fails("kata-analyze")
    talk = Conversation(load_agent("zero:go5"), 9, ponder=True)
    assert talk.ask("genmove b")[0].startswith("? ")
    assert talk.ask("name") == ["= Tengen"]
    talk.end()


@pytest.mark.parametrize("name", sorted(ANALYSIS_COMMANDS))
def test_anything_may_follow_a_command(name: str) -> None:
    session = Session(FakeAnalyst(), 5)
    for words in ("", "x", "b b", "b 10 20", "1e9999", "-", "\x00", "avoid", "allow b , 1", "interval nan", "b " * 500):
        command = parse_line(f"{name} {words}".encode())
        assert command is not None
        assert session.server.respond(command)[:1] in b"=?"


# ---------------------------------------------------------------------------- the programs of other people


def sabaki_variations(line: str, size: int) -> tuple[list[dict[str, Any]], list[float] | None]:
    """What Sabaki 0.52 reads from a line (`parseAnalysis` of its engine syncer)."""
    ownership = None
    if match := re.search(r"ownership\s+(.+)", line):
        ownership = [float(word) for word in match[1].split()]
        line = line[: match.start()]
        assert len(ownership) == size * size
    variations = []
    for part in re.split(r"\s*info\s+", line)[1:]:
        pv = re.search(r"(pass|[A-Za-z]\d+)(\s+(pass|[A-Za-z]\d+))*$", part.strip())
        assert pv is not None, "a move's part ends with its line"
        words = part.strip()[: pv.start()].split()[:-1]
        fields: dict[str, Any] = dict(zip(words[::2], words[1::2]))
        if re.fullmatch(r"[A-Za-z]\d+", fields["move"]):
            rate = fields["winrate"]
            fields["winrate"] = float(rate) * 100 if "." in rate else float(rate) / 100
            variations.append({**fields, "pv": pv[0].split("pass")[0].split()})
    return variations, ownership


def test_sabaki() -> None:
    """Starting, a first analysis, a move of the user's, a second one with ownership, a generated move, the end."""
    talk = Conversation(load_agent("zero:go5,sims=30", seed=1))
    for line in ("name", "version", "protocol_version", "list_commands"):
        talk.send(line)
    assert talk.answer() == ["= Tengen"]
    assert len(talk.answer()) == 1
    assert talk.answer() == ["= 2"]
    commands = [line.removeprefix("= ") for line in talk.answer()]
    wanted = next(each for each in ("analyze", "kata-analyze", "lz-analyze") if each in commands)
    assert wanted == "kata-analyze"
    for line in ("boardsize 5", "komi 3.5", "clear_board"):
        assert talk.ask(line) == ["="]
    talk.send("kata-analyze B 50")
    assert talk.line() == "="
    variations, _ = sabaki_variations(talk.line(), 5)
    assert variations[0]["move"] == variations[0]["pv"][0] == "C3"
    assert variations[0]["winrate"] > 50
    assert float(variations[0]["scoreLead"]) > 0
    talk.send("protocol_version")
    while talk.line():  # to the empty line that ends the analysis
        pass
    assert talk.answer() == ["= 2"]
    assert talk.ask("play B C3") == ["="]
    talk.send("kata-analyze W 50 ownership true")
    assert talk.line() == "="
    variations, ownership = sabaki_variations(talk.line(), 5)
    assert ownership is not None
    assert sum(ownership) < 0, "as White sees it"
    assert variations[0]["winrate"] < 50
    talk.send("protocol_version")
    while talk.line():
        pass
    assert talk.answer() == ["= 2"]
    generated = next(x for x in ("genmove_analyze", "kata-genmove_analyze", "lz-genmove_analyze") if x in commands)
    *infos, play = talk.ask(f"{generated} W 50")
    assert infos[0] == "="
    assert infos[-1].startswith("info ")
    assert play.startswith("play ")
    assert talk.ask("quit") == ["="]
    talk.end()


def lizzie_moves(line: str) -> list[dict[str, Any]]:
    """What Lizzie reads from a line of `lz-analyze` (`MoveData.fromInfo`)."""
    moves = []
    for part in line.removeprefix("info ").split(" info "):
        words, move = part.split(), {}
        while words[0] != "pv":
            name, value, *words = words
            move[name] = value
        moves.append({"move": move["move"], "visits": int(move["visits"]), "winrate": int(move["winrate"]) / 100,
                      "pv": words[1:]})  # fmt: skip
    return moves


def test_lizzie() -> None:
    """Numbered commands; it analyses by lz-analyze unless the name begins with KataGo, and stops that by `name`."""
    talk = Conversation(load_agent("zero:go5,sims=30", seed=1))
    talk.send("1 name")
    talk.send("2 version")
    talk.send("3 boardsize 5")
    talk.send("4 komi 3.5")
    assert talk.answer() == ["=1 Tengen"]
    version = talk.answer()[0].split()[1].split(".")
    assert version[1].isdigit()
    assert [talk.answer(), talk.answer()] == [["=3"], ["=4"]]
    talk.send("5 lz-analyze 10")
    assert talk.line() == "=5", "what follows belongs to this number"
    best = lizzie_moves(talk.line())[0]
    assert best["move"] == best["pv"][0] == "C3"
    talk.send("6 play B C3")
    while talk.line():
        pass
    assert talk.answer() == ["=6"]
    talk.send("7 lz-analyze 10")
    assert talk.line() == "=7"
    assert lizzie_moves(talk.line())[0]["winrate"] < 50
    talk.send("8 lz-analyze 10 avoid w B2,D4 1")
    while talk.line():
        pass
    assert talk.line() == "=8"
    assert not {"B2", "D4"} & {move["move"] for move in lizzie_moves(talk.line())}
    talk.send("9 name")
    while talk.line():
        pass
    assert talk.answer() == ["=9 Tengen"]
    assert talk.ask("10 time_settings 0 1 1") == ["=10"]
    *lines, play = talk.ask("11 lz-genmove_analyze W 10")
    assert lines[0] == "=11"
    assert lizzie_moves(lines[-1])[0]["move"] == play.removeprefix("play ")
    assert talk.ask("12 undo") == ["=12"]
    assert talk.ask("13 genmove W")[0].startswith("=13 ")
    assert talk.ask("14 quit") == ["=14"]
    talk.end()
