"""KataGo's analysis protocol: its documented examples, its errors, many queries at once, and KaTrain's queries."""

import io
import itertools
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tengen import __version__
from tengen.agents.batch_analysis import AnalysisTask, batch_analyser
from tengen.agents.registry import load_analyst
from tengen.cli.main import app
from tengen.games import go
from tengen.games.go import from_gtp
from tengen.serve.kata import KataServer

SMALL = {"rules": "tromp-taylor", "komi": 3.5, "boardXSize": 5, "boardYSize": 5, "maxVisits": 20}
DOCUMENTED = (
    '{"id":"foo","initialStones":[["B","Q4"],["B","C4"]],"moves":[["W","P5"],["B","P6"]],"rules":"tromp-taylor",'
    '"komi":7.5,"boardXSize":19,"boardYSize":19,"analyzeTurns":[0,1,2]}'
)
MOVE_FIELDS = {"lcb", "move", "order", "prior", "pv", "scoreLead", "scoreMean", "scoreSelfplay", "scoreStdev",
               "utility", "utilityLcb", "visits", "winrate"}  # fmt: skip
ROOT_FIELDS = {"lcb", "scoreLead", "scoreSelfplay", "scoreStdev", "symHash", "thisHash", "utility", "visits",
               "winrate"}  # fmt: skip


def ask(*queries: Any, spec: str = "zero:go5", **options: Any) -> list[dict[str, Any]]:
    """All answers to these queries, each a line or an object."""
    lines = [query if isinstance(query, (str, bytes)) else json.dumps(query) for query in queries]
    data = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    output = io.BytesIO()
    agents = [lambda one=one: load_analyst(one, seed=1) for one in spec.split(" ")]
    KataServer(agents, io.BytesIO(data), output, log=io.StringIO(), **options).run()
    return [json.loads(line) for line in output.getvalue().splitlines()]


def query(moves: str = "", **fields: Any) -> dict[str, Any]:
    """A query about a game on 5x5, Black beginning."""
    pairs = [["BW"[k % 2], word] for k, word in enumerate(moves.split())]
    return {"id": "q", "moves": pairs, **SMALL, **fields}


# ------------------------------------------------------------------------------------- KataGo's own examples


def test_the_documented_query() -> None:
    answers = ask(DOCUMENTED, spec="mcts:playouts=10", visits=30)
    assert sorted(answer["turnNumber"] for answer in answers) == [0, 1, 2]
    for answer in answers:
        assert answer.keys() == {"id", "isDuringSearch", "moveInfos", "rootInfo", "turnNumber"}
        assert (answer["id"], answer["isDuringSearch"]) == ("foo", False)
        assert ROOT_FIELDS <= answer["rootInfo"].keys()
        assert answer["rootInfo"]["visits"] == 30
        assert answer["rootInfo"]["currentPlayer"] == ("B" if answer["turnNumber"] == 1 else "W")
        for order, move in enumerate(answer["moveInfos"]):
            assert MOVE_FIELDS <= move.keys()
            assert move["order"] == order
            assert move["pv"][0] == move["move"]
            assert 0 <= move["winrate"] <= 1
        assert sum(move["visits"] for move in answer["moveInfos"]) == 29


def test_the_documented_actions() -> None:
    version, cleared, ended, every, models = ask(
        '{"id":"foo","action":"query_version"}',
        '{"id":"foo","action":"clear_cache"}',
        '{"id":"bar","action":"terminate","terminateId":"foo","turnNumbers":[1,2]}',
        '{"id":"bar","action":"terminate_all"}',
        '{"id":"foo","action":"query_models"}',
    )
    assert version == {"action": "query_version", "git_hash": "<omitted>", "id": "foo", "version": __version__}
    assert cleared == {"id": "foo", "action": "clear_cache"}
    assert ended == {"id": "bar", "action": "terminate", "terminateId": "foo", "turnNumbers": [1, 2]}
    assert every == {"id": "bar", "action": "terminate_all"}
    assert models["models"][0]["name"] == "zero:go5,sims=64"
    assert {"name", "internalName", "maxBatchSize", "usesHumanSLProfile", "version"} <= models["models"][0].keys()


def test_a_position_that_is_ended_before_it_began() -> None:
    *answers, ended = ask(query(maxVisits=10**6), {"id": "t", "action": "terminate", "terminateId": "q"})
    assert ended == {"id": "q", "isDuringSearch": False, "noResults": True, "turnNumber": 0}
    assert [answer["id"] for answer in answers] == ["t"]


def test_terminate_is_confirmed_between_the_answers_of_a_batch() -> None:
    """Not after the estimates of all positions that were finished by the same round."""
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as queries, os.fdopen(theirs, "wb", buffering=0) as controller:
        answers: list[dict[str, Any]] = []

        class Output(io.BytesIO):
            def write(self, data: Any) -> int:
                answers.append(json.loads(bytes(data)))
                if len(answers) == 1:
                    controller.write(b'{"id":"t","action":"terminate_all"}\n')
                    while not server._lines.qsize():  # until the reader has it
                        pass
                    controller.close()
                return len(data)

        server = KataServer([lambda: load_analyst("zero:go5", seed=1)], queries, Output())
        moves = [["BW"[k % 2], word] for k, word in enumerate("C3 C2 B2 D2 D3 B3 E2 A2".split())]
        turns = list(range(9))
        controller.write(json.dumps({**query(), "moves": moves, "analyzeTurns": turns}).encode() + b"\n")
        server.run()
    assert answers[1] == {"id": "t", "action": "terminate_all"}
    assert [answer.get("noResults") for answer in answers[2:]] == [True] * 8


def test_the_first_agent_that_can_play_the_board_analyses() -> None:
    """KaTrain starts with 19x19 under Japanese rules."""
    fields = {"boardXSize": 7, "boardYSize": 7, "rules": "japanese", "komi": 6.5, "maxVisits": 4}
    (answer,) = ask({**query(), **fields}, spec="zero:go5 uct")
    assert answer["rootInfo"]["visits"] == 4
    warning, answer = ask({**query(), "rules": "japanese"}, spec="zero:go5 uct")
    assert warning["field"] == "rules"
    assert answer["rootInfo"]["visits"] > 4, "by the network, as if the rules were Chinese"


# ----------------------------------------------------------------------------------------------- what is said


@pytest.mark.parametrize("spec", ["zero:go5", "alphago:go5,threads=2", "mcts", "uct", "gumbel:go5"])
def test_every_agent_that_searches_a_tree(spec: str) -> None:
    (answer,) = ask(query("C3", includeOwnership=True, includePolicy=True, includePVVisits=True), spec=spec)
    assert answer["rootInfo"]["visits"] == 20
    assert answer["rootInfo"]["winrate"] > 0.5, "Black's, who has the centre"
    assert len(answer["ownership"]) == 25
    assert sum(answer["ownership"]) > 0
    assert answer["rootInfo"]["scoreLead"] == pytest.approx(sum(answer["ownership"]) - 3.5, abs=0.01)
    assert len(answer["policy"]) == 26
    assert answer["policy"][12] == -1
    assert sum(share for share in answer["policy"] if share >= 0) == pytest.approx(1, abs=1e-3)
    first = answer["moveInfos"][0]
    assert len(first["pvVisits"]) == len(first["pv"])
    assert first["pvVisits"][0] == first["visits"]


def test_whose_numbers_are_reported() -> None:
    def told(perspective: str) -> dict[str, Any]:
        settings = {"reportAnalysisWinratesAs": perspective}
        fields = {"includeOwnership": True, "includeMovesOwnership": True, "overrideSettings": settings}
        return ask(query("C3", **fields))[0]

    black, white, mover = told("BLACK"), told("WHITE"), told("SIDETOMOVE")
    assert white == {**mover}
    assert black["rootInfo"]["winrate"] == pytest.approx(1 - white["rootInfo"]["winrate"], abs=1e-5)
    assert black["rootInfo"]["scoreLead"] == pytest.approx(-white["rootInfo"]["scoreLead"])
    assert black["ownership"] == pytest.approx([-owner for owner in white["ownership"]])
    ours, theirs = black["moveInfos"][0], white["moveInfos"][0]
    assert ours["ownership"] == pytest.approx([-owner for owner in theirs["ownership"]])
    for name in ("utility", "scoreMean", "utilityLcb"):
        assert ours[name] == pytest.approx(-theirs[name])
    assert ours["lcb"] == pytest.approx(1 - theirs["lcb"], abs=1e-5)
    assert ours["prior"] == theirs["prior"]
    assert ask(query("C3"), perspective="WHITE")[0]["rootInfo"]["winrate"] < 0.5


def test_a_whole_game_in_one_batch() -> None:
    moves = "C3 C2 D2 C4 D4 B3 B2 D3 E3 B4 E4 A2 B1"
    answers = ask(query(moves, analyzeTurns=list(range(14)), maxVisits=40), positions=14)
    assert sorted(answer["turnNumber"] for answer in answers) == list(range(14))
    assert all(answer["rootInfo"]["visits"] == 40 or answer["rootInfo"]["winrate"] in (0, 1) for answer in answers)
    again = ask(query(moves, analyzeTurns=[3], maxVisits=40))[0]
    (same,) = (answer for answer in answers if answer["turnNumber"] == 3)
    assert same["moveInfos"][0]["move"] == again["moveInfos"][0]["move"]


def test_higher_priorities_come_first() -> None:
    low, high = query(priority=-5), {**query("C3"), "id": "high", "priority": 7}
    assert [answer["id"] for answer in ask(low, high, positions=1)] == ["high", "q"]
    turns = query("C3 C2", analyzeTurns=[0, 1, 2], priorities=[1, 3, 2])
    assert [answer["turnNumber"] for answer in ask(turns, positions=1)] == [1, 2, 0]


def test_reports_during_the_search() -> None:
    now = iter(range(10**9))
    answers = ask(query(maxVisits=200, reportDuringSearchEvery=5.0), now=lambda: float(next(now)))
    assert [answer["isDuringSearch"] for answer in answers] == [True] * (len(answers) - 1) + [False]
    assert len(answers) > 2
    visits = [answer["rootInfo"]["visits"] for answer in answers]
    assert visits == sorted(visits)
    assert visits[-1] == 200


def test_moves_that_are_avoided_or_allowed() -> None:
    avoided = [{"player": "B", "moves": ["C3"], "untilDepth": 1}]
    (answer,) = ask(query(avoidMoves=avoided, includePolicy=True))
    assert "C3" not in {move["move"] for move in answer["moveInfos"]}
    allowed = [{"player": "B", "moves": ["A1", "B1"], "untilDepth": 1}]
    (answer,) = ask(query(allowMoves=allowed, maxVisits=60))
    assert {move["move"] for move in answer["moveInfos"]} <= {"A1", "B1"}
    warning, answer = ask(query(allowMoves=[{**allowed[0], "untilDepth": 9}]))
    assert warning["field"] == "allowMoves"


def test_handicap_setup_out_of_turn_and_play_after_the_end() -> None:
    stones = [["B", "B2"], ["B", "D4"]]
    (answer,) = ask(query(initialStones=stones))
    assert answer["rootInfo"]["currentPlayer"] == "W", "after a handicap"
    for bonus, points in (("0", 3.5), ("N-1", 4.5), ("N", 5.5)):
        (answer,) = ask(query(initialStones=stones, whiteHandicapBonus=bonus, includeOwnership=True))
        assert sum(answer["ownership"]) - answer["rootInfo"]["scoreLead"] == pytest.approx(points, abs=0.01)
    every = [["B", f"{column}{row}"] for column in "ABCDE" for row in (1, 3, 5)]
    assert ask(query(initialStones=every))[0]["rootInfo"]["currentPlayer"] == "W"
    (answer,) = ask(query(initialStones=stones, initialPlayer="B"))
    assert answer["rootInfo"]["currentPlayer"] == "B"
    (answer,) = ask({**query(includePolicy=True), "moves": [["B", "C3"], ["B", "(1,0)"]]})
    assert answer["rootInfo"]["currentPlayer"] == "W", "after two moves of Black's"
    assert [k for k, share in enumerate(answer["policy"]) if share < 0] == [1, 12]
    (answer,) = ask(query("C3 pass pass", includePolicy=True))
    assert answer["moveInfos"], "as if the game went on"
    assert ask(query("C3 pass pass B2"))[0]["moveInfos"]


def test_hashes_know_positions_and_their_symmetries() -> None:
    here, turned, other = (ask(query(word))[0]["rootInfo"] for word in ("B2", "D4", "B3"))
    assert here["symHash"] == turned["symHash"] != other["symHash"]
    assert len({root["thisHash"] for root in (here, turned, other)}) == 3


def test_katrain() -> None:
    """The query that KaTrain 1.x sends for a node: Japanese rules, which networks here replace by area scoring."""
    fields = {
        "rules": "japanese", "priority": 1000, "analyzeTurns": [1], "maxVisits": 25, "komi": 3.5,
        "boardXSize": 5, "boardYSize": 5, "includeOwnership": True, "includeMovesOwnership": True,
        "includePolicy": True, "initialStones": [], "initialPlayer": "B", "moves": [["B", "C3"]],
        "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "maxTime": 8.0, "wideRootNoise": 0.04},
        "reportDuringSearchEvery": 1.0, "id": "QUERY:1",
    }  # fmt: skip
    *warnings, answer = ask(fields, {"action": "terminate", "terminateId": "QUERY:0", "id": "QUERY:2"})
    if answer["id"] == "QUERY:2":
        warnings, answer = warnings[:-1], warnings[-1]
    assert {warning["field"] for warning in warnings if "warning" in warning} == {"rules"}
    move, root = answer["moveInfos"][0], answer["rootInfo"]
    assert all(isinstance(move[name], float) for name in ("winrate", "scoreLead", "prior"))
    assert all(isinstance(root[name], float) for name in ("winrate", "scoreLead"))
    assert root["winrate"] > 0.5
    assert len(answer["policy"]) == 26
    assert len(answer["ownership"]) == len(move["ownership"]) == 25


# ----------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("changed", "field", "error"),
    [
        ({"moves": None}, "moves", "Must be an array of pairs"),
        ({"moves": [["B"]]}, "moves", "Must be an array of pairs"),
        ({"moves": [["G", "C3"]]}, "moves", "Could not parse player: G"),
        ({"moves": [["B", "Z9"]]}, "moves", "Could not parse board location: Z9"),
        ({"moves": [["B", "C3"], ["W", "C3"]]}, "moves", "Illegal move 1: C3"),
        ({"initialStones": [["B", "pass"]]}, "initialStones", "Could not parse board location: pass"),
        ({"initialPlayer": "G"}, "initialPlayer", 'Must be "b" or "w"'),
        ({"boardXSize": 1}, "boardXSize", "Must provide an integer from 2 to"),
        ({"boardYSize": "5"}, "boardYSize", "Must provide an integer from 2 to"),
        ({"boardYSize": 6}, "boardYSize", "only square boards"),
        ({"boardXSize": 9, "boardYSize": 9}, "boardXSize", "cannot play on 9x9"),
        ({"rules": 3}, "rules", "Must specify rules string"),
        ({"rules": "blitz"}, "rules", "Could not parse rules: blitz"),
        ({"komi": 0.3}, "komi", "Must be a integer or half-integer from -150.0 to 150.0"),
        ({"komi": 1e30}, "komi", "Must be a integer or half-integer"),
        ({"analyzeTurns": [1]}, "analyzeTurns", "Invalid turn number: 1"),
        ({"analyzeTurns": 0}, "analyzeTurns", "Must specify an array of integers"),
        ({"maxVisits": 0}, "maxVisits", "Must be an integer from 1 to 2^50"),
        ({"maxVisits": True}, "maxVisits", "Must be an integer from 1 to 2^50"),
        ({"includePolicy": 1}, "includePolicy", "Must be a boolean"),
        ({"reportDuringSearchEvery": 0}, "reportDuringSearchEvery", "Must be number of seconds"),
        ({"priority": 0.5}, "priority", "Must be a number between"),
        ({"priorities": [1]}, "priorities", "Can only specify when also specifying analyzeTurns"),
        ({"analyzeTurns": [0], "priorities": []}, "priorities", "Must be of matching length"),
        ({"analyzeTurns": [0], "priorities": [1], "priority": 1}, "priority", "Cannot specify both"),
        ({"overrideSettings": 3}, "overrideSettings", "Must be an object"),
        ({"overrideSettings": {"maxTime": "x"}}, "overrideSettings", "Could not set settings"),
        ({"whiteHandicapBonus": 2}, "whiteHandicapBonus", 'Must be "0", "N" or "N-1"'),
        ({"avoidMoves": [{}]}, "avoidMoves", "Must be a list of dicts"),
        ({"avoidMoves": [], "allowMoves": []}, "allowMoves", "Cannot specify both"),
    ],
)
def test_wrong_fields_are_named(changed: dict[str, Any], field: str, error: str) -> None:
    (answer,) = ask({**query(), **changed})
    assert answer.keys() == {"error", "field", "id"}
    assert (answer["field"], answer["id"]) == (field, "q")
    assert error in answer["error"]


def test_lines_that_are_no_query() -> None:
    missing = {name: value for name, value in query().items() if name != "moves"}
    answers = ask("{", "[]", '{"id":3}', b"\xff\xfe", {"id": "a", "action": "sing"}, missing, "", "  ")
    assert [set(answer) for answer in answers] == [{"error"}] * 5 + [{"error", "field", "id"}]
    assert "could not parse input line as json" in answers[0]["error"]
    assert "was not an object" in answers[1]["error"]
    assert answers[2]["error"] == 'Request must have a string "id" field'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | st.sampled_from(["B", "w", "C3", "pass", "q", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*SMALL, "moves"]), inner, max_size=3),
    max_leaves=6,
)


FIELDS = [*query(), *"analyzeTurns avoidMoves overrideSettings action initialStones priorities terminateId".split()]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_whatever_is_asked_there_is_an_answer(changed: dict[str, Any]) -> None:
    answers = ask({**query(), **changed, "maxVisits": 1}, spec="mcts")
    assert answers or changed.get("analyzeTurns") == []  # no turn is asked about, as in KataGo
    assert all("internal error" not in answer.get("error", "") for answer in answers)


# ------------------------------------------------------------------------------------------------ side by side


def test_batches_are_filled_and_visits_exact() -> None:
    agent = load_analyst("zero:go5", seed=1)
    search, state = batch_analyser(agent, 8, now=lambda: 0.0), go.State.new(5, komi=3.5)
    states = [state.play(from_gtp(word, 5)) for word in ("C3", "B2", "A1", "C2", "D3", "B3")]
    found = dict(_all(search, [AnalysisTask(each, 64) for each in states]))
    assert [found[k].visits for k in range(6)] == [64] * 6
    assert search.stats.share > 0.5
    assert search.stats.positions == 6


def test_slow_rounds_take_fewer_positions() -> None:
    """So that nobody waits long to be heard: every round takes a second by this clock."""
    ticks = itertools.count()
    agent = load_analyst("zero:go5", seed=1)
    search, state = batch_analyser(agent, 8, now=lambda: float(next(ticks))), go.State.new(5, komi=3.5)
    for key, word in enumerate(("C3", "B2", "A1", "C2", "D3", "B3")):
        assert search.start(key, AnalysisTask(state.play(from_gtp(word, 5)), 6))
    leaves, found = [], {}
    while len(found) < 6:
        before = search.stats.leaves
        found |= dict(search.step())
        leaves.append(search.stats.leaves - before)
    assert leaves[0] == 6
    assert max(leaves[3:]) == 1
    assert all(analysis.visits == 6 for analysis in found.values())


def test_positions_of_different_games_have_batches_of_their_own() -> None:
    agent = load_analyst("mcts", seed=1)
    search = batch_analyser(agent, 4)
    states = [go.State.new(size, komi=komi) for size in (3, 5, 7) for komi in (0.5, 6.5)]
    found = dict(_all(search, [AnalysisTask(each, 20) for each in states]))
    assert [len(found[k].moves) for k in range(6)] == [10, 10, 26, 26, 50, 50]


def _all(search: Any, tasks: list[AnalysisTask]) -> Iterator[tuple[int, Any]]:
    waiting, under_way = list(enumerate(tasks)), 0
    while waiting or under_way:
        for key, task in list(waiting):
            if search.start(key, task):
                waiting.remove((key, task))
                under_way += 1
        for key, analysis in search.step():
            under_way -= 1
            yield key, analysis


# ------------------------------------------------------------------------------------------------- the command


def test_the_command_answers_on_standard_output_and_reports_on_standard_error() -> None:
    shown = CliRunner().invoke(app, ["analysis", "--agent", "zero:go5", "--report-as", "sidetomove"],
                               input=json.dumps(query("C3")) + "\n")  # fmt: skip
    assert shown.exit_code == 0, shown.output
    (answer,) = (json.loads(line) for line in shown.stdout.splitlines())
    assert answer["rootInfo"]["winrate"] < 0.5, "White's"
    assert "1 positions, " in shown.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--agent", "random"], "searches no tree"), (["--report-as", "me"], "choose from BLACK, WHITE, SIDETOMOVE")],
)
def test_what_cannot_analyse_is_refused_in_one_line(words: list[str], message: str) -> None:
    shown = CliRunner().invoke(app, ["analysis", "--agent", "zero:go5", *words], input="")
    assert shown.exit_code == 2
    assert message in shown.stderr
