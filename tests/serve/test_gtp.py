"""Tengen as a GTP engine: every command, the protocol's letter, and controllers that send anything at all."""

import io
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from tengen import __version__
from tengen.agents.agent import Agent, AgentError, Decision
from tengen.agents.random import RandomAgent, RandomSettings
from tengen.agents.registry import load_agent
from tengen.cli.main import app
from tengen.games import go
from tengen.games.go import BLACK, EMPTY, PASS, RESIGN, RULES, WHITE, from_gtp
from tengen.games.go.rules import GoOptions, rules_as_json, rules_from_text
from tengen.serve.gtp import COMMANDS, GtpServer
from tengen.serve.gtp_protocol import LONGEST_LINE, handicap_places, parse_line

STANDARD = """protocol_version name version known_command list_commands quit boardsize clear_board komi play
genmove undo time_settings time_left fixed_handicap place_free_handicap set_free_handicap loadsgf final_score
final_status_list showboard list_stones get_komi query_boardsize printsgf cputime kgs-chat kgs-game_over
gogui-analyze_commands reg_genmove kata-get-rules kata-set-rules""".split()
ANSWERS = re.compile(rb"(?:[=?][0-9]*(?: [^\n]*)?\n(?:[^\n]+\n)*\n)*")


class Scripted:
    """An agent that plays what it is told to, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, moves: list[int] | None = None, error: Exception | None = None) -> None:
        self.moves, self.error = moves or [], error
        self.asked: list[tuple[go.State, float | None]] = []
        self.closed = False

    def choose(self, state: go.State, seconds: float | None = None) -> Decision:
        self.asked.append((state, seconds))
        if self.error:
            raise self.error
        return Decision(self.moves.pop(0) if self.moves else PASS, value=0.5, note="as told")

    def close(self) -> None:
        self.closed = True


class Session:
    """A server that is spoken to one line at a time."""

    def __init__(self, agent: Agent | None = None, size: int = 9, now: Callable[[], float] = time.monotonic) -> None:
        self.agent = agent or RandomAgent(RandomSettings(seed=1))
        self.log = io.StringIO()
        self.server = GtpServer(self.agent, io.BytesIO(), io.BytesIO(), options=GoOptions(size), log=self.log, now=now)

    def __call__(self, line: str) -> str:
        command = parse_line(line.encode())
        assert command is not None
        return self.server.respond(command).decode()

    def ok(self, line: str) -> str:
        """The text of an answer that must be a success."""
        answer = self(line)
        assert answer.startswith("="), f"{line}: {answer}"
        return answer[1:].strip(" \n")

    def fails(self, line: str) -> str:
        """The text of an answer that must be a failure."""
        answer = self(line)
        assert answer.startswith("?"), f"{line}: {answer}"
        return answer[1:].strip(" \n")

    def all(self, lines: str) -> None:
        """Lines separated by semicolons that must all succeed."""
        for line in lines.split(";"):
            self.ok(line)


@pytest.fixture
def session() -> Session:
    return Session()


def converse(data: bytes, agent: Scripted | None = None) -> bytes:
    """Everything that a server writes when it reads `data`."""
    output = io.BytesIO()
    GtpServer(agent or Scripted(), io.BytesIO(data), output, options=GoOptions(9), log=io.StringIO()).run()
    return output.getvalue()


# ------------------------------------------------------------------------------------------ the protocol


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"protocol_version\n", b"= 2\n\n"),
        (b"17 protocol_version\n", b"=17 2\n\n"),
        (b"  0017\tprotocol_version\t\r\n", b"=0017 2\n\n"),
        (b"protocol_version # with a comment\n", b"= 2\n\n"),
        (b"# only a comment\n\n   \n\t\n\r\n", b""),
        (b"pro\x00to\x07col_ver\x7fsion\n", b"= 2\n\n"),
        (b"clear_board\n", b"=\n\n"),
        (b"3 clear_board\n", b"=3\n\n"),
        (b"nonsense\n", b"? unknown command\n\n"),
        (b"4 nonsense\n", b"?4 unknown command\n\n"),
        (b"4\n", b"?4 unknown command\n\n"),
        (b"PROTOCOL_VERSION\n", b"? unknown command\n\n"),
        (b"\xff\xfe\x80\n", b"? unknown command\n\n"),
        (b"protocol_version", b"= 2\n\n"),
        (b"quit\nname\n", b"=\n\n"),
        (b"1 name\n2 quit\n", b"=1 Tengen\n\n=2\n\n"),
        (b"", b""),
    ],
)
def test_lines_are_read_and_answered_to_the_letter(sent: bytes, answered: bytes) -> None:
    assert converse(sent) == answered


def test_a_board_that_the_agent_cannot_play_on_is_refused() -> None:
    session = Session(load_agent("zero:go5,sims=2", seed=1), size=5)
    assert session.fails("boardsize 9") == "unacceptable size"
    assert session.ok("query_boardsize") == "5"
    session.ok("kgs-rules japanese")
    session.ok("boardsize 5")


def test_the_agent_is_ready_before_a_clock_runs() -> None:
    class Preparing(Scripted):
        sizes: list[int] = []  # noqa: RUF012

        def check(self, state: go.State) -> None:
            self.sizes.append(state.size)

    agent = Preparing()
    session = Session(agent)
    session.ok("time_settings 60 0 0")
    session.ok("boardsize 7")
    assert agent.sizes == [9, 7]
    assert not agent.asked


def test_what_board_programs_ask_about_the_game(session: Session) -> None:
    session.all("komi 6.5;play b D4;play w E5;play b C3")
    assert session.ok("list_stones black") == "D4 C3"
    assert session.ok("list_stones w") == "E5"
    assert (session.ok("get_komi"), session.ok("query_boardsize")) == ("6.5", "9")
    record = session.ok("printsgf")
    assert record.startswith("(;") and ";B[df];W[ee];B[cg]" in record.replace("\n", "")
    assert "no files" in session.fails("printsgf game.sgf")
    assert float(session.ok("cputime")) > 0
    assert "Tengen" in session.ok("kgs-chat game somebody hello there")
    assert session.ok("kgs-game_over") == ""
    for line in session.ok("gogui-analyze_commands").splitlines():
        kind, _, command = line.split("/")
        assert kind in ("string", "hstring", "plist")
        assert session.ok(f"known_command {command.split()[0]}") == "true"


def test_the_agent_is_closed_at_the_end() -> None:
    agent = Scripted()
    converse(b"name\n", agent)
    assert agent.closed


def test_a_reader_who_leaves_ends_the_conversation() -> None:
    class Gone(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

    agent = Scripted()
    GtpServer(agent, io.BytesIO(b"name\n" * 3), Gone()).run()
    assert agent.closed


@pytest.mark.parametrize("length", [LONGEST_LINE - 1, LONGEST_LINE, LONGEST_LINE + 1, 3 * LONGEST_LINE + 7])
def test_a_line_without_end_is_one_failed_command(length: int) -> None:
    assert converse(b"5 " + b"x" * (length - 2) + b"\nname\n") == b"?5 unknown command\n\n= Tengen\n\n"
    assert converse(b"6 name #" + b"x" * length + b"\nname\n") == b"=6 Tengen\n\n= Tengen\n\n"
    cut = converse(b"7 play b " + b"A1 " * (length // 3 + 4) + b"\nshowboard\n")
    assert cut.startswith((b"?7", b"=7"))
    assert ANSWERS.fullmatch(cut)


def test_a_fault_of_ours_is_an_answer_too() -> None:
    session = Session(Scripted(error=KeyError("oops")))
    assert session.fails("genmove b") == "internal error: KeyError: 'oops'"
    assert "Traceback" in session.log.getvalue()
    assert session.ok("name") == "Tengen"


def test_an_agent_that_fails_says_why() -> None:
    assert Session(Scripted(error=AgentError("gnugo died\nbadly"))).fails("genmove b") == "gnugo died badly"


# -------------------------------------------------------------------------------------- administration


def test_name_version_and_commands(session: Session) -> None:
    assert session.ok("name") == "Tengen"
    assert session.ok("version") == f"{__version__} (random)"
    listed = session.ok("list_commands").split("\n")
    assert set(STANDARD) <= set(listed) == set(COMMANDS)
    assert all(session.ok(f"known_command {command}") == "true" for command in listed)
    assert session.ok("known_command make_coffee") == "false"
    assert session.ok("known_command") == "false"


# ------------------------------------------------------------------------------------------------ set-up


@pytest.mark.parametrize("size", range(2, 26))
def test_every_size_can_be_played(size: int, session: Session) -> None:
    session.all(f"boardsize {size};genmove b;genmove w;showboard;undo")
    assert session.server.state.size == size


@pytest.mark.parametrize("size", ["1", "0", "26", "-9", "9999999999"])
def test_sizes_that_cannot_be(size: str, session: Session) -> None:
    assert session.fails(f"boardsize {size}") == "unacceptable size"
    assert session.server.state.size == 9


@pytest.mark.parametrize("words", ["", "x", "9.5", "9" * 100_000, "1_3", "٩", "nan"])
def test_sizes_that_are_no_numbers(words: str, session: Session) -> None:
    assert session.fails(f"boardsize {words}") == "syntax error"


def test_the_size_clears_the_board_and_keeps_komi_and_rules(session: Session) -> None:
    session.all("komi 5.5;kata-set-rules japanese;play b a1;boardsize 9")
    state = session.server.state
    assert (state.komi, state.rules.name, state.stones.any()) == (5.5, "japanese", False)
    session.all("play b a1;clear_board")
    state = session.server.state
    assert (state.komi, state.rules.name, state.stones.any(), state.size) == (5.5, "japanese", False, 9)
    assert session.fails("undo") == "cannot undo"


@pytest.mark.parametrize("komi", ["7.5", "-3", "0", "+6", "6.", ".5", "5e-1"])
def test_komi(komi: str, session: Session) -> None:
    session.ok(f"komi {komi}")
    assert session.server.state.komi == float(komi)


@pytest.mark.parametrize("komi", ["", "nan", "inf", "-inf", "x", "1e999", "1e99", "9" * 100_000, "1_0"])
def test_komi_that_cannot_be(komi: str, session: Session) -> None:
    session.fails(f"komi {komi}")
    assert session.server.state.komi == 7.5


def test_komi_in_the_middle_of_a_game_survives_undo(session: Session) -> None:
    session.all("play b a1;komi 3.5;play w b2;undo;undo")
    assert session.server.state.komi == 3.5


def test_fixed_handicap(session: Session) -> None:
    assert session.ok("fixed_handicap 5") == "C3 G7 G3 C7 E5"
    state = session.server.state
    assert (state.handicap, state.to_play, int(state.stones.sum())) == (5, WHITE, 5 * BLACK)
    assert session.fails("fixed_handicap 5") == "board not empty"
    assert session.fails("place_free_handicap 5") == "board not empty"
    assert session.fails("set_free_handicap A1 A2") == "board not empty"
    session.ok("clear_board")
    assert session.server.state.handicap == 0
    for stones in ("1", "10", "-2", "99999999"):
        assert session.fails(f"fixed_handicap {stones}") == "invalid number of stones"
    assert session.fails("fixed_handicap") == session.fails("fixed_handicap two") == "syntax error"
    session.ok("boardsize 5")
    assert session.fails("fixed_handicap 2") == "invalid number of stones"


@pytest.mark.parametrize("size", range(2, 26))
def test_handicap_of_our_own_choice_always_works(size: int, session: Session) -> None:
    session.ok(f"boardsize {size}")
    for stones in {2, 3, 9, size * size - 1} - {size * size}:
        session.ok("clear_board")
        if 2 <= stones < size * size:
            placed = session.ok(f"place_free_handicap {stones}").split()
            assert 2 <= len(set(placed)) == len(placed) <= stones
            assert session.server.state.handicap == len(placed)
        else:
            assert session.fails(f"place_free_handicap {stones}") == "invalid number of stones"
    session.ok("clear_board")
    for wrong in (1, 0, size * size):
        assert session.fails(f"place_free_handicap {wrong}") == "invalid number of stones"
    assert handicap_places(size, 2)


def test_free_handicap(session: Session) -> None:
    session.ok("set_free_handicap A1 b2 C3")
    assert session.server.state.handicap == 3
    session.ok("clear_board")
    assert session.fails("set_free_handicap A1") == "bad vertex list"
    assert session.fails("set_free_handicap") == "bad vertex list"
    assert session.fails("set_free_handicap A1 A1") == "bad vertex list"
    assert session.fails("set_free_handicap A1 pass") == "bad vertex list"
    assert session.fails("set_free_handicap A1 K1") == "invalid color or coordinate"
    session.ok("boardsize 2")
    assert session.fails("set_free_handicap A1 A2 B1 B2") == "bad vertex list"


def test_every_rule_set_survives_its_own_json(session: Session) -> None:
    for name, rules in RULES.items():
        session.ok(f"kata-set-rules {name}")
        assert session.server.state.rules == rules
        written = session.ok("kata-get-rules")
        assert written == rules_as_json(rules)
        assert set(json.loads(written)) >= {
            "ko",
            "scoring",
            "suicide",
            "tax",
            "whiteHandicapBonus",
            "hasButton",
        }
        session.ok("kata-set-rules tromp-taylor")
        session.ok(f"kata-set-rules {written}")
        assert session.server.state.rules == rules


@pytest.mark.parametrize(
    ("name", "rules"),
    [("korean", "japanese"), ("bga", "aga"), ("Chinese-OGS", "chinese"), ("new_zealand", "new-zealand")],
)
def test_other_names_of_rules(name: str, rules: str) -> None:
    assert rules_from_text(name).name == rules


def test_rules_may_leave_out_what_katago_added_late(session: Session) -> None:
    session.ok(
        'kata-set-rules {"hasButton":false,"ko":"POSITIONAL","scoring":"AREA","suicide":true,"tax":"NONE",'
        '"whiteHandicapBonus":"0"}'
    )
    assert session.server.state.rules.name == "tromp-taylor"


@pytest.mark.parametrize("text", ["", "calvinball", "{", "{}", '{"ko":"NEVER"}', '{"a":' * 50_000, '{"\\ud800":1}'])
def test_rules_that_we_do_not_have(text: str, session: Session) -> None:
    session.fails(f"kata-set-rules {text}")
    assert session.server.state.rules.name == "chinese"


def test_rules_change_under_a_game_unless_it_breaks_them(session: Session) -> None:
    session.all("kata-set-rules tromp-taylor;boardsize 2;play b a1;play w b2;kata-set-rules aga;undo;undo")
    session.all("kata-set-rules tromp-taylor;boardsize 3;play w a1;play b a2;play b b2;play b c1;play w b1")
    assert session.server.state.color_at(from_gtp("A1", 3)) == EMPTY  # suicide of two stones
    assert "breaks chinese rules at move 5" in session.fails("kata-set-rules chinese")
    assert session.server.state.rules.name == "tromp-taylor"


def test_rules_that_do_not_know_the_komi_bring_their_own(session: Session) -> None:
    session.all("komi -5;kata-set-rules simple-go")
    assert session.server.state.komi == RULES["simple-go"].komi


# ----------------------------------------------------------------------------------------------- playing


def test_play_and_undo(session: Session) -> None:
    session.all("play b D4;play white e5;play w F6;play B pass")
    state = session.server.state
    assert state.moves == [(BLACK, 48), (WHITE, 40), (WHITE, 32), (BLACK, PASS)]
    session.all("undo;undo;undo;undo")
    assert session.fails("undo") == "cannot undo"
    assert not session.server.state.stones.any()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "syntax error"),
        ("b", "syntax error"),
        ("purple a1", "invalid color or coordinate"),
        ("b i1", "invalid color or coordinate"),
        ("b k1", "invalid color or coordinate"),
        ("b a0", "invalid color or coordinate"),
        ("b a10", "invalid color or coordinate"),
        ("b a" + "9" * 100_000, "invalid color or coordinate"),
        ("b resign", "invalid color or coordinate"),
        ("b e5", "illegal move"),
    ],
)
def test_moves_that_cannot_be(words: str, message: str, session: Session) -> None:
    session.ok("play w e5")
    assert session.fails(f"play {words}") == message
    assert session.server.state.move_number == 1


def test_genmove_plays_and_reg_genmove_does_not() -> None:
    session = Session(Scripted([0, 1, RESIGN, 2]))
    assert session.ok("genmove white") == "A9"
    assert session.ok("reg_genmove white") == "B9"
    assert session.ok("genmove b") == "resign"
    assert session.ok("genmove b") == "C9"
    assert session.server.state.moves == [(WHITE, 0), (BLACK, 2)]
    assert session.fails("genmove") == "syntax error"
    assert session.fails("genmove x") == session.fails("reg_genmove x") == "invalid color or coordinate"
    assert "W A9, wins 50.0%, as told" in session.log.getvalue()


@pytest.mark.parametrize("move", [0, 81, -7])
def test_an_illegal_move_of_the_agents_is_not_played(move: int) -> None:
    session = Session(Scripted([move]))
    session.ok("play b a9")
    assert "not legal" in session.fails("genmove w")
    assert session.server.state.move_number == 1


def test_play_goes_on_after_two_passes() -> None:
    session = Session(Scripted([PASS, 5]))
    session.all("play b a1;play w b1;play b c1;play w pass;play b pass")
    assert session.server.state.is_over
    session.all("play b b2;genmove w;genmove w;kgs-genmove_cleanup b")
    assert session.server.state.captures == (1, 0)
    session.all("play w j9;play b a2")
    for _ in range(11):
        session.ok("undo")
    assert session.fails("undo") == "cannot undo"


def test_more_passes_than_two_are_taken_back_one_by_one(session: Session) -> None:
    session.all("play b a1;" + "play b pass;" * 4 + "play w pass;komi 5;undo;undo;undo;undo;undo")
    assert session.server.state.moves == [(BLACK, from_gtp("A1", 9))]
    assert session.server.state.komi == 5


def test_play_goes_on_after_a_void_game(session: Session) -> None:
    """By Japanese rules a position that stands for the third time has no result: here a ko, with passes."""
    session.all("boardsize 5;kata-set-rules japanese;play b a2;play w b2;play w c1;play w a1")
    session.all("play b b1;play w pass;play w a1;play b pass;play b b1;play w pass;play w a1")
    assert session.server.state.result() == "Void"
    session.all("play b e5;genmove w")


# -------------------------------------------------------------------------------------------------- time


class Watch:
    """A clock for tests: it moves when told to."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


class Slow(Scripted):
    """Takes so many seconds for each move."""

    def __init__(self, watch: Watch, seconds: float) -> None:
        super().__init__()
        self.watch, self.seconds = watch, seconds

    def choose(self, state: go.State, seconds: float | None = None) -> Decision:
        self.watch.time += self.seconds
        return super().choose(state, seconds)


def budgets(lines: str, seconds: float = 0.0) -> list[float | None]:
    """What the agent is given for each genmove of these commands, when each takes it so many seconds."""
    watch = Watch()
    agent = Slow(watch, seconds)
    Session(agent, now=watch).all(lines)
    return [given for _, given in agent.asked]


@pytest.mark.parametrize("settings", ["", "time_settings 0 1 0;", "time_settings 0 0 0;", "kgs-time_settings none;"])
def test_without_a_clock_the_agent_may_think_as_it_likes(settings: str) -> None:
    assert budgets(settings + "genmove b") == [None]


def test_main_time_is_shared_out_over_the_game() -> None:
    [first] = budgets("time_settings 300 0 0;genmove b")
    assert first is not None and 300 / 81 < first < 300 / 12


@pytest.mark.parametrize("settings", ["time_settings 60 0 0", "kgs-time_settings absolute 60"])
def test_main_time_never_runs_out_for_one_who_keeps_to_it(settings: str) -> None:
    watch, spent = Watch(), 0.0
    agent = Slow(watch, 0.0)
    session = Session(agent, now=watch)
    session.ok(settings)
    for _ in range(300):
        session.ok("genmove b")
        given = agent.asked[-1][1]
        assert given is not None
        agent.seconds = given
        spent += given
    assert spent < 60 + 300 * 0.01


def test_canadian_overtime_is_shared_by_its_stones() -> None:
    assert budgets("time_settings 0 25 5;genmove b") == [pytest.approx(4.5)]
    assert budgets("time_settings 60 25 5;time_left b 20 2;genmove b") == [pytest.approx(9.5)]
    # Five stones of a period used slowly leave less for the rest; the next period is full again.
    five = budgets("time_settings 0 25 5;" + ";".join(["genmove b"] * 6), seconds=6.0)
    assert five == [pytest.approx(x) for x in (4.5, 19 / 4 * 0.9, 13 / 3 * 0.9, 7 / 2 * 0.9, 0.9, 4.5)]


def test_byo_yomi_gives_every_move_its_period() -> None:
    assert budgets("kgs-time_settings byoyomi 0 30 3;genmove b;genmove b", seconds=29) == [29.5, 29.5]
    assert budgets("kgs-time_settings byoyomi 600 30 3;time_left b 7 1;genmove b") == [pytest.approx(6.5)]


def test_overtime_begins_when_main_time_is_used_up() -> None:
    assert budgets("time_settings 10 25 5;genmove b;genmove b", seconds=20)[1] == pytest.approx((25 - 10) / 5 - 0.3)


def test_each_player_has_a_clock_and_a_new_game_resets_it() -> None:
    given = budgets("time_settings 10 0 0;genmove b;genmove w;clear_board;genmove b", seconds=9)
    assert given[0] == given[1] == given[2]


def test_time_that_cannot_be(session: Session) -> None:
    for words in (
        "",
        "1",
        "1 2",
        "x 1 1",
        "-1 0 0",
        "0 -1 0",
        "0 1 -1",
        "nan 0 0",
        "1e999 0 0",
        "9 9 " + "9" * 99_999,
    ):
        assert session.fails(f"time_settings {words}") == "syntax error"
    for words in ("", "b", "b 1", "b x 1", "b 1 x", "b 1 -1", "b inf 0"):
        assert session.fails(f"time_left {words}") == "syntax error"
    assert session.fails("time_left green 1 1") == "invalid color or coordinate"
    for words in ("", "hourglass", "absolute", "canadian 1 2", "byoyomi 1 2 x"):
        assert session.fails(f"kgs-time_settings {words}") == "syntax error"
    assert session.ok("time_left b -3 0") == ""


# ----------------------------------------------------------------------------------------------- looking


BLACK_WALL = [f"play b {c}{r}" for c in "AB" for r in range(1, 6) if f"{c}{r}" not in ("A1", "A3", "A5")]
WHITE_WALL = [f"play w {c}{r}" for c in "CD" for r in range(1, 6)]
FINISHED = ";".join(["boardsize 5", "komi 0.5", *BLACK_WALL, *WHITE_WALL])


def test_final_score_and_status(session: Session) -> None:
    session.all(FINISHED)
    assert session.ok("final_score") == "W+5.5"
    assert session.ok("final_status_list dead") == session.ok("final_status_list seki") == ""
    strings = session.ok("final_status_list alive").split("\n")
    assert sorted(len(string.split()) for string in strings) == [7, 10]
    session.ok("play b E3")
    assert session.ok("final_status_list dead") == "E3"
    assert session.ok("final_score") == "W+5.5"
    session.ok("kata-set-rules tromp-taylor")
    assert session.ok("final_status_list dead") == ""
    assert "E3" in session.ok("final_status_list alive")
    assert session.fails("final_status_list") == session.fails("final_status_list zombie") == "syntax error"


@pytest.mark.parametrize("spec", ["random:seed=1", "fast-policy", "uct:playouts=200,seed=1"])
def test_cleanup_captures_dead_stones_and_then_passes(spec: str) -> None:
    session = Session(load_agent(spec), size=5)
    session.all(FINISHED + ";play b E3;play w pass;play b pass")
    for _ in range(3):
        assert session.ok("final_status_list dead") == "E3"
        assert session.ok("kgs-genmove_cleanup w") != "pass"
        if not session.server.state.color_at(from_gtp("E3", 5)):
            break
        session.ok("play b pass")
    assert session.server.state.captures == (0, 1)
    assert session.ok("final_status_list dead") == ""


def test_cleanup_fills_liberties_from_outside_first(session: Session) -> None:
    """White's two stones have one eye; Black, whose agent always passes, closes in and then captures."""
    session = Session(Scripted(), size=5)
    session.all("boardsize 5;play w A2;play w B2;play w B1")
    session.all("".join(f"play b {point};" for point in "A3 B3 D1 D2 D3 C4 E4 B5".split()) + "play w pass")
    played = []
    while session.server.state.captures[0] < 3:
        played.append(session.ok("kgs-genmove_cleanup b"))
        session.ok("play w pass")
    assert played == ["C1", "C2", "A1"] or played == ["C2", "C1", "A1"]
    assert session.ok("kgs-genmove_cleanup b") == "pass"


def test_cleanup_leaves_living_stones_alone() -> None:
    session = Session(Scripted(), size=5)
    session.all(FINISHED)
    assert session.ok("kgs-genmove_cleanup w") == session.ok("kgs-genmove_cleanup b") == "pass"


def test_a_draw_is_0(session: Session) -> None:
    session.ok("komi 0")
    assert session.ok("final_score") == "0"


def test_showboard_has_the_board_without_empty_lines(session: Session) -> None:
    session.ok("play b c3")
    answer = session("9 showboard")
    assert answer.startswith("=9\n") and answer.endswith("\n\n")
    assert "\n\n" not in answer[:-1]
    assert answer.count("X") >= 1


# ---------------------------------------------------------------------------------------------- records


SGF = b"(;GM[1]FF[4]SZ[9]KM[5.5];B[ee];W[cc];B[gg];W[])"


def test_loadsgf(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "a game.sgf"
    file.write_bytes(SGF)
    session.ok(f"loadsgf {file}")
    state = session.server.state
    assert (state.komi, state.moves) == (5.5, [(BLACK, 40), (WHITE, 20), (BLACK, 60), (WHITE, PASS)])
    session.all("undo;undo;undo;undo")
    assert session.fails("undo") == "cannot undo"
    for before, moves in ((1, 0), (2, 1), (4, 3), (5, 4), (99, 4), (0, 0)):
        session.ok(f"loadsgf {file} {before}")
        assert session.server.state.move_number == moves


@pytest.mark.parametrize("content", [b"", b"junk", b"(;GM[1]SZ[99])", b"(;GM[1]SZ[9];B[ee];B[ee])", b"\x00\xff" * 99])
def test_a_file_that_is_no_game_changes_nothing(content: bytes, session: Session, tmp_path: Path) -> None:
    file = tmp_path / "a.sgf"
    file.write_bytes(content)
    session.ok("play b a1")
    assert session.fails(f"loadsgf {file}").startswith("cannot load file")
    assert session.server.state.move_number == 1


def test_files_that_cannot_be_read(session: Session, tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "nothing.sgf", "/dev/zero", "/dev/stdin", "x" * 5000, "\udcff\udcfe"):
        command = parse_line(b"loadsgf " + str(name).encode("utf-8", "surrogateescape"))
        assert command is not None
        assert session.server.respond(command).startswith(b"? cannot load file")
    assert session.fails("loadsgf") == "syntax error"


# ------------------------------------------------------------------------------------ anything at all


def a_thousand_commands(rng: random.Random, count: int) -> tuple[bytes, int]:
    """Random lines, sensible and not, and how many answers they should get."""
    vertices = [f"{c}{r}" for c in "ABCDEFGHJKLMNOPQRSTUVWXYZabz" for r in range(-1, 27)]
    vertices += ["pass", "PASS", "resign"]
    words = [
        *vertices[:60],
        *"0 1 2 5 9 13 19 25 26 -1 7.5 nan inf 1e400 x 0x10 b w black White".split(),
        "9" * 5000,
    ]
    words += (
        *"alive dead seki chinese japanese simple-go {} none byoyomi canadian / /dev/zero é # =".split(),
        "\t",
    )
    names = [*sorted(set(COMMANDS) - {"quit"}), "make_coffee", "=", "?", "GENMOVE"]
    expected = 0

    def line() -> bytes:
        kind = rng.random()
        if kind < 0.06:
            return rng.choice([b"", b"   ", b"# comment", b"\t\t", b"\r", b"\x00\x01"])
        if kind < 0.14:
            return bytes(rng.choice([c for c in range(256) if c != 10]) for _ in range(rng.randrange(1, 80)))
        if kind < 0.5:
            color, vertex = rng.choice("bw"), rng.choice(vertices)
            text = rng.choice([f"play {color} {vertex}", f"genmove {color}", "undo", "showboard"])
        else:
            text = " ".join([rng.choice(names), *rng.choices(words, k=rng.randrange(5))])
        number = rng.choice(["", "", f"{rng.randrange(10**6)} ", "007 ", "9" * 50 + " "])
        return (number + text + rng.choice(["", "", " # why not", "\r"])).encode()

    lines = []
    for _ in range(count):
        lines.append(line())
        expected += parse_line(lines[-1]) is not None
    return b"\n".join(lines) + b"\n", expected


def check_answers(output: bytes, expected: int) -> None:
    assert ANSWERS.fullmatch(output)
    assert b"internal error" not in output
    assert output.count(b"\n\n") == expected


def test_a_thousand_random_commands_never_end_the_real_engine() -> None:
    data, expected = a_thousand_commands(random.Random(20), 1500)
    data += (
        b"9" * 200_000 + b" boardsize " + b"9" * 100_000 + b"\nclear_board\nboardsize 9\n12345 genmove b\nquit\nname\n"
    )
    engine = [sys.executable, "-c", "from tengen.cli.main import main; main()", "gtp", "--agent", "random"]
    result = subprocess.run([*engine, "--seed", "1"], input=data, capture_output=True, check=False)
    assert result.returncode == 0
    check_answers(result.stdout, expected + 5)
    assert re.search(rb"\n\n=12345 [A-J][1-9]\n\n=\n\n$", result.stdout)


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_random_conversations_never_end_the_engine(seed: int) -> None:
    data, expected = a_thousand_commands(random.Random(seed), 60)
    output = io.BytesIO()
    GtpServer(RandomAgent(RandomSettings(seed=1)), io.BytesIO(data), output, log=io.StringIO()).run()
    check_answers(output.getvalue(), expected)


@given(st.lists(st.binary(max_size=40)))
def test_binary_junk_gets_answers_or_nothing(lines: list[bytes]) -> None:
    output = converse(b"\n".join(lines) + b"\n1 quit\n")
    assert ANSWERS.fullmatch(output)


COMMAND_WORDS = st.sampled_from(sorted(set(COMMANDS) - {"quit"}))


@settings(max_examples=200)
@given(COMMAND_WORDS, st.lists(st.text(st.characters(exclude_characters="\n#"), max_size=12), max_size=4))
def test_no_arguments_make_a_command_fail_inside(name: str, arguments: list[str]) -> None:
    session = Session(Scripted(), size=5)
    command = parse_line(" ".join([name, *arguments]).encode("utf-8", "surrogatepass"))
    assert command is not None
    assert b"internal error" not in session.server.respond(command)


# ----------------------------------------------------------------------------------------- command line


def tengen_gtp(*arguments: str, text: str = "") -> Result:
    """What `tengen gtp` does with these arguments and this input."""
    return CliRunner().invoke(app, ["gtp", *arguments], input=text)


def test_the_command_line_sets_the_first_game() -> None:
    options = ["--agent", "random", "--size", "7", "--rules", "aga", "--komi", "3"]
    result = tengen_gtp(*options, text="play b g7\nfinal_score\nkata-get-rules\n")
    assert result.exit_code == 0
    assert result.stdout.startswith("=\n\n= B+46\n\n")
    assert "random plays 7x7, aga rules, komi 3, until the program sets another game\n" in result.stderr
    assert "SITUATIONAL" in result.stdout


def test_the_same_seed_plays_the_same_game() -> None:
    games = {tengen_gtp("--agent", "random", "--seed", "5", text="genmove b\ngenmove w\n" * 5).stdout for _ in range(2)}
    assert len(games) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--agent", "nobody"], "no agent is called 'nobody'"),
        (["--agent", "random", "--size", "40"], "board size 40"),
        (["--agent", "random", "--rules", "mine"], "no rule set"),
        (["--agent", "random", "--komi", "nan"], "komi nan"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(arguments: list[str], words: str) -> None:
    result = tengen_gtp(*arguments, text="name\n")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("tengen: ") and words in result.stderr and result.stderr.count("\n") == 1


def test_the_help_teaches() -> None:
    shown = tengen_gtp("--help").stdout
    assert all(word in shown for word in ("Sabaki", "GoGui", "--agent", "genmove"))


def test_the_first_answer_does_not_wait_for_kernels() -> None:
    """`name` and the like are answered before any kernel is loaded or compiled, which takes a while."""
    session = Session(Scripted())
    for line in ("name", "version", "protocol_version", "list_commands", "known_command play", "quit"):
        session.ok(line)
    assert session.server._positions == []


def test_the_first_game_is_the_one_that_the_model_knows_and_others_are_warned_about() -> None:
    result = tengen_gtp("--agent", "zero:go5,sims=1", text="genmove b\nkomi 9.5\ngenmove w\ngenmove b\n")
    assert result.exit_code == 0
    assert "5x5, chinese rules, komi 3.5" in result.stderr
    assert result.stderr.count("was trained with komi 3.5, and this game has komi 9.5") == 1
