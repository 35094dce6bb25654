"""Tengen as a UCI engine: every command, thinking that can be stopped, and programs that send anything at all."""

import io
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tengen.agents.agent import Agent, AgentError, Decision, NeedsCheck
from tengen.agents.registry import load_agent
from tengen.cli.main import app
from tengen.games import microchess
from tengen.games.microchess import RESIGN, WHITE
from tengen.games.state import AnyState
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network
from tengen.serve.uci import COMMANDS, LONGEST_LINE, GoCommand, UciServer, parse_go, parse_option, parse_position

START = "knbr/p3/4/3P/RBNK w Qk - 0 1"


class Scripted:
    """An agent that does what it is told to, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, decision: Decision | None = None, error: Exception | None = None) -> None:
        self.decision, self.error = decision, error
        self.asked: list[tuple[AnyState, float | None]] = []
        self.closed = False

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        self.asked.append((state, seconds))
        if self.error:
            raise self.error
        return self.decision or Decision(state.legal_moves()[0])

    def close(self) -> None:
        self.closed = True


class Thinker(Scripted):
    """An agent that thinks until it is told to stop."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        self.asked.append((state, seconds))
        self.told.clear()
        self.told.wait()
        return Decision(state.legal_moves()[-1], value=0.64, pv=(state.legal_moves()[-1],))

    def stop(self) -> None:
        self.told.set()


class Pipe(io.RawIOBase):
    """What a server reads from, line by line as a test sends them; closing it is the end of the stream."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def send(self, line: str) -> None:
        self._lines.put(line.encode() + b"\n")

    def finish(self) -> None:
        self._lines.put(b"")

    def readline(self, limit: int | None = -1, /) -> bytes:
        return self._lines.get()


class Session:
    """A server in a thread, spoken to as a board program does."""

    def __init__(self, agent: Agent, spec: str = "scripted") -> None:
        self.pipe, self.agent = Pipe(), agent
        self.said: queue.Queue[str] = queue.Queue()
        self.server = UciServer(spec, self.pipe, self, load=lambda _: agent, log=io.StringIO())  # type: ignore[arg-type]
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()

    def write(self, data: bytes) -> None:
        for line in data.decode().splitlines():
            self.said.put(line)

    def flush(self) -> None:
        """Nothing waits."""

    def ask(self, *lines: str, last: str) -> list[str]:
        """Send lines, and read up to the line that begins with `last`."""
        for line in lines:
            self.pipe.send(line)
        answer = []
        while not answer or not answer[-1].startswith(last):
            answer.append(self.said.get(timeout=30))
        return answer

    def leave(self) -> None:
        self.pipe.send("quit")
        self.thread.join(30)
        assert not self.thread.is_alive()


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session(Scripted())
    yield session
    session.leave()


def converse(data: bytes, spec: str = "random:seed=1", agent: Agent | None = None) -> list[str]:
    """Everything that a server says when it reads `data`, its thoughts thought to the end."""
    output = io.BytesIO()
    load = load_agent if agent is None else lambda _: agent
    UciServer(spec, io.BytesIO(data), output, load=load, log=io.StringIO()).run()
    return output.getvalue().decode().splitlines()


# ------------------------------------------------------------------------------------------ the protocol


def test_the_greeting_offers_the_options() -> None:
    lines = converse(b"uci\n")
    assert lines[0].startswith("id name Tengen ")
    assert lines[-1] == "uciok"
    names = [line.split(" type ")[0] for line in lines if line.startswith("option")]
    assert names == [f"option name {name}" for name in OPTIONS]


OPTIONS = ("UCI_Variant", "Rules", "Agent", "Move Overhead", "MultiPV", "Threads", "Hash")


def test_the_greeting_does_not_wait_for_the_model() -> None:
    loaded: list[str] = []

    def load(spec: str) -> Agent:
        loaded.append(spec)
        return Scripted()

    output = io.BytesIO()
    UciServer("scripted", io.BytesIO(b"uci\nposition startpos\n"), output, load=load, log=io.StringIO()).run()
    assert output.getvalue().endswith(b"uciok\n")
    assert not loaded


def test_the_search_is_shown_while_it_goes_on() -> None:
    agent = load_agent("zero:microchess,seconds=86400", seed=1)
    assert isinstance(agent, NeedsCheck)
    agent.check(microchess.State.new())  # compiled before anybody waits for it
    session = Session(agent)
    session.ask("setoption name MultiPV value 3", "position startpos", "isready", last="readyok")
    lines = session.ask("go infinite", last="info depth") + session.ask(last="info depth")
    assert all(re.match(r"info depth \d+ multipv [123] score cp -?\d+ nodes \d+ nps \d+ time", line) for line in lines)
    lines = session.ask("stop", last="bestmove")
    lines = [line for line in lines if line.startswith("info depth")][-3:]
    assert [line.split()[4] for line in lines] == ["1", "2", "3"]
    assert len({line.split(" pv ")[1].split()[0] for line in lines}) == 3
    session.leave()


def test_lines_begin_with_the_moves_that_are_allowed() -> None:
    lines = converse(b"go searchmoves a1a2 b1a2 nodes 40\n", "zero:microchess,sims=40")
    assert all(line.split(" pv ")[1].split()[0] in ("a1a2", "b1a2") for line in lines if " pv " in line)
    assert lines[-1] in ("bestmove a1a2", "bestmove b1a2")
    assert len(lines) > 1


def test_threads_and_hash_reach_agents_that_know_them() -> None:
    loaded: list[str] = []

    def load(spec: str) -> Agent:
        loaded.append(spec)
        return Scripted()

    commands = b"setoption name Threads value 2\nsetoption name Hash value 1\ngo nodes 5\n"
    UciServer("alphago:microchess", io.BytesIO(commands), io.BytesIO(), load=load, log=io.StringIO()).run()
    (spec,) = loaded
    assert spec.startswith("alphago:microchess,threads=2,nodes=")
    assert ",sims=5" in spec


class Preparing(Scripted):
    """An agent that has to get ready, and cannot for Black's moves."""

    def __init__(self) -> None:
        super().__init__()
        self.ready_for: list[AnyState] = []

    def check(self, state: AnyState) -> None:
        if state.to_play != WHITE:
            raise AgentError("white only")
        self.ready_for.append(state)


def test_isready_lets_the_agent_get_ready() -> None:
    agent = Preparing()
    lines = converse(b"isready\nposition startpos moves d2d4\nisready\n", "scripted", agent)
    assert lines == ["readyok", "info string white only", "readyok"]
    assert [state.fen() for state in agent.ready_for] == [microchess.State.new().fen()]
    assert not agent.asked


def test_a_whole_game_move_by_move() -> None:
    moves: list[str] = []
    session = Session(load_agent("random:seed=3"))
    state = microchess.State.new()
    session.ask("uci", "isready", last="readyok")
    while not state.is_over:
        position = f"position startpos moves {' '.join(moves)}" if moves else "position startpos"
        answer = session.ask(position, "go movetime 1", last="bestmove")
        assert re.fullmatch(r"info depth 1 time \d+", answer[0])
        moves.append(answer[-1].split()[1])
        state = state.play(state.parse_move(moves[-1]))
    session.leave()
    assert len(moves) > 4


def test_positions(session: Session) -> None:
    def fen() -> str:
        return next(line for line in session.ask("d", "isready", last="readyok") if line.startswith("Fen: "))[5:]

    assert fen() == START
    session.ask("position startpos moves d2d4 a4a3", "isready", last="readyok")
    assert fen() == "knbr/3P/p3/4/RBNK w Qk - 0 2"
    session.ask("position fen 1k2/4/4/4/R2K b - - 3 9", "isready", last="readyok")
    assert fen() == "1k2/4/4/4/R2K b - - 3 9"
    session.ask("position fen 1k2/4/4/4/R2K b moves b5c5", "isready", last="readyok")
    assert fen() == "2k1/4/4/4/R2K w - - 1 2"
    session.ask("ucinewgame", "isready", last="readyok")
    assert fen() == START


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("position", "a position is `startpos` or `fen FEN`"),
        ("position fen", "a position is"),
        ("position somewhere", "a position is"),
        ("position fen rubbish", "rubbish"),
        ("position fen knbr/p3/4/3P/RBNK x Qk - 0 1", "w or b"),
        ("position startpos moves d2d4 d2d4", "d2d4 is not legal"),
        ("position startpos moves e2e4", "e2e4"),
        ("setoption name UCI_Variant value chess", "no variant is called 'chess'"),
        ("setoption name Rules value fair", "'fair'"),
        ("setoption name Colour value red", "there is no option 'colour'"),
        ("setoption", "there is no option ''"),
        ("setoption name Move Overhead value much", "Move Overhead is a number"),
        ("make me a sandwich", "unknown command: make me a sandwich"),
        ("\x1b[2J", "unknown command: ?[2J"),
    ],
)
def test_what_cannot_be_done_is_told_and_does_no_harm(session: Session, line: str, told: str) -> None:
    answer = session.ask(line, "isready", last="readyok")
    assert answer[0].startswith("info string ")
    assert told in answer[0]
    assert session.ask("go", last="bestmove")[-1] != "bestmove (none)"


def test_moves_before_an_illegal_one_stand(session: Session) -> None:
    session.ask("position startpos moves d2d4 d2d4", "isready", last="readyok")
    assert any("knbr/p2P/4/4/RBNK b Qk" in line for line in session.ask("d", "isready", last="readyok"))


def test_variant_and_rules_are_options(session: Session) -> None:
    def legal() -> str:
        return next(line for line in session.ask("d", "isready", last="readyok") if line.startswith("Legal"))

    assert "d2d4" in legal()
    session.ask("setoption name UCI_Variant value microchess", "isready", last="readyok")
    assert "d2d4" not in legal()
    session.ask("setoption name rules value ncsoft", "isready", last="readyok")
    assert session.server.state.rules == "ncsoft"
    assert not session.server.state.double_step


def test_states_are_kept_from_command_to_command(session: Session) -> None:
    """Agents that keep a tree recognise the game by its states."""
    agent = session.agent
    assert isinstance(agent, Scripted)
    session.ask("position startpos moves d2d4", "go", last="bestmove")
    session.ask("position startpos moves d2d4 a4a3 d1c2", "go", last="bestmove")
    session.ask("position startpos moves a1a2", "go", last="bestmove")
    (first, _), (second, _), (third, _) = agent.asked
    assert second.previous is not None and second.previous.previous is first
    assert third.previous is first.previous
    assert third.last_move != first.last_move


# ------------------------------------------------------------------------------------------- thinking


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("go", None),
        ("go depth 3 nodes 7", None),
        ("go movetime 1010", 1.0),
        ("go movetime 0", 0.001),
        ("go movetime -5 wtime x", 0.001),
        ("go wtime 25000 btime 1", 1.0),
        ("go wtime 25000 btime 1 winc 1000 binc 5", 1.8),
        ("go wtime 25000 btime 1 movestogo 5 ", 5.0),
        ("go wtime 100 btime 100 winc 9000 binc 9000", 0.08),
        ("go wtime 0 btime 0", 0.001),
        ("go movetime 100 wtime 100000", 0.09),
    ],
)
def test_the_time_for_a_move(session: Session, line: str, seconds: float | None) -> None:
    session.ask("position startpos", line, last="bestmove")
    assert isinstance(session.agent, Scripted)
    assert session.agent.asked[-1][1] == (None if seconds is None else pytest.approx(seconds))


def test_blacks_clock_is_blacks() -> None:
    assert parse_go("wtime 1000 btime 50000".split()).seconds(1, 0) == pytest.approx(2.0)


def test_a_decision_is_told_as_programs_read_it() -> None:
    state = microchess.State.new()
    first, second = (state.parse_move(name) for name in ("a1a2", "d5d3"))
    decision = Decision(first, 0.64, visits={first: 30, 41: 12}, pv=(first, second))
    lines = converse(b"position startpos\ngo\n", agent=Scripted(decision))
    assert re.fullmatch(r"info depth 2 score cp 100 nodes 42 nps \d+ time \d+ pv a1a2 d5d3", lines[0])
    assert lines[1] == "bestmove a1a2"


def test_only_the_moves_that_are_allowed() -> None:
    state = microchess.State.new()
    a1a2, b1a2, b1c2 = (state.parse_move(name) for name in ("a1a2", "b1a2", "b1c2"))
    agent = Scripted(Decision(a1a2, visits={a1a2: 9, b1a2: 3, b1c2: 5}))
    assert converse(b"go searchmoves b1a2 b1c2 movetime 5\n", agent=agent)[-1] == "bestmove b1c2"
    assert converse(b"go searchmoves a1a2\n", agent=agent)[-1] == "bestmove a1a2"
    assert converse(b"go searchmoves nonsense\n", agent=agent)[-1] == "bestmove a1a2"


def test_an_agent_that_resigns_plays_on() -> None:
    state = microchess.State.new()
    best = state.parse_move("b1c2")
    agent = Scripted(Decision(RESIGN, 0.01, visits={state.parse_move("a1a2"): 3, best: 8}, pv=(RESIGN,)))
    assert converse(b"go\n", agent=agent)[-1] == "bestmove b1c2"


@pytest.mark.parametrize(
    "agent",
    [
        Scripted(error=AgentError("the engine\nhas gone")),
        Scripted(error=KeyError("bug")),
        Scripted(Decision(19)),
        Scripted(Decision(-77)),
    ],
)
def test_an_agent_that_fails_is_told_and_the_program_need_not_wait(agent: Scripted) -> None:
    lines = converse(b"go\nisready\n", agent=agent)
    assert "bestmove (none)" in lines
    assert any(line.startswith("info string scripted failed: ") for line in lines)


@pytest.mark.parametrize("fen", ["k3/1Q2/1K2/4/4 b - - 0 1", "k3/2Q1/4/4/3K b - - 0 1", "k3/4/4/4/3K w - - 0 1"])
def test_when_the_game_is_over_there_is_no_move(fen: str) -> None:
    lines = converse(f"position fen {fen}\ngo movetime 10\n".encode())
    assert lines[-1] == "bestmove (none)"
    assert lines[-2] == ("info depth 0 score mate 0" if "1Q2" in fen else "info depth 0 score cp 0")


def test_a_program_may_play_on_after_a_draw_that_only_the_past_made() -> None:
    there_and_back = "c1d3 b5a3 d3c1 a3b5 " * 2
    lines = converse(f"position startpos moves {there_and_back} c1d3\ngo\n".encode())
    assert lines[-1] != "bestmove (none)"
    lines = converse(b"position fen k2r/4/4/4/R2K w - - 100 80 moves d1c1\ngo\n")
    assert lines[-1] != "bestmove (none)"


def test_endless_thinking_ends_with_stop_and_not_before() -> None:
    session = Session(Thinker())
    session.ask("go infinite", "isready", last="readyok")
    answer = session.ask("stop", last="bestmove")
    assert answer[0].startswith("info depth 1 score cp 100")
    session.ask("go infinite", "position startpos moves d2d4", last="bestmove")
    session.ask("go ponder", "isready", last="readyok")
    session.ask("ponderhit", last="bestmove")
    session.ask("go movetime 50", "stop", last="bestmove")
    session.ask("go infinite", "isready", last="readyok")
    session.leave()
    assert isinstance(session.agent, Thinker) and session.agent.closed


def test_an_agent_that_cannot_be_stopped_is_asked_in_slices_or_waits() -> None:
    session = Session(Scripted())
    session.ask("go infinite", "isready", last="readyok")
    assert session.said.empty()
    session.ask("stop", last="bestmove")
    session.leave()
    session = Session(Scripted(), "uct")  # a kind that could think for ever
    session.ask("go infinite", "isready", last="readyok")
    session.ask("stop", last="bestmove")
    assert isinstance(session.agent, Scripted)
    assert session.agent.asked[0][1] == 0.2
    session.leave()


def test_the_end_of_the_input_waits_for_a_thought_but_not_for_an_endless_one() -> None:
    assert converse(b"position startpos\ngo movetime 20", "alphabeta:seed=1")[-1].startswith("bestmove")
    assert converse(b"go infinite", "alphabeta:seed=1")[-1].startswith("bestmove")


def test_limits_reach_an_agent_that_has_none_of_its_own() -> None:
    lines = converse(b"position startpos\ngo depth 3\n", "alphabeta:seed=1")
    assert len(lines[-2].split(" pv ")[1].split()) >= 3
    assert converse(b"setoption name Agent value random\ngo nodes 5\n", "alphabeta")[-1].startswith("bestmove")
    told = converse(b"setoption name Agent value nobody\ngo depth 1\n", "alphabeta")
    assert told[0].startswith("info string no agent is called 'nobody'")
    assert told[-1].startswith("bestmove")


def test_a_network_with_a_search_plays_by_time_by_nodes_and_until_it_is_stopped(tmp_path: Path) -> None:
    model, small = tmp_path / "tiny.safetensors", {"blocks": 1, "filters": 4, "head_filters": 2, "value_hidden": 4}
    network = build_network("residual", 21, 5, width=4, actions=436, value=True, seed=1, **small)
    save_model(model, network, ModelCard.of(network, encoder="microchess", game="microchess", rules="standard"))
    session = Session(load_agent(f"zero:{model},seconds=86400,seed=1"), f"zero:{model}")
    answer = session.ask("position startpos", "go movetime 100", last="bestmove")
    assert re.match(r"info depth \d+ score cp -?\d+ .*pv ", answer[-2])
    session.ask("go infinite", "isready", last="readyok")
    session.ask("stop", last="bestmove")
    session.leave()
    lines = converse(b"position startpos\ngo nodes 17\n", f"zero:{model}")
    found = re.search(r" nodes (\d+) ", lines[-2])
    assert found is not None and 5 <= int(found[1]) <= 17


def test_an_agent_that_cannot_be_loaded_any_more_is_told_and_the_program_need_not_wait() -> None:
    def load(spec: str) -> Agent:
        if spec != "alphabeta:seconds=86400":
            raise AgentError("out of licences")
        return Scripted()

    output = io.BytesIO()
    UciServer("alphabeta", io.BytesIO(b"go movetime 5\ngo depth 2\n"), output, load=load).run()
    lines = output.getvalue().decode().splitlines()
    assert lines[-2:] == ["info string out of licences", "bestmove (none)"]
    assert lines[1].startswith("bestmove ") and lines[1] != "bestmove (none)"


def test_an_engine_for_another_game_says_so() -> None:
    lines = converse(b"go\n", "fast-policy")
    failed = "info string fast-policy failed: AgentError: fast-policy plays Go, and this is a game of Microchess"
    assert lines == [failed, "bestmove (none)"]


# ------------------------------------------------------------------------------------------------ rubbish


def test_every_word_of_the_protocol_alone_does_no_harm() -> None:
    data = "\n".join([*COMMANDS, *(f"{name} {name}" for name in COMMANDS), "stop", "isready"])
    assert converse(data.encode()).count("readyok") == 3


def test_a_line_without_end_is_left_out() -> None:
    endless = b"position " + b"x" * (3 * LONGEST_LINE)
    assert converse(endless + b"\nisready\n") == ["readyok"]
    assert converse(endless) == []


WORDS = st.sampled_from(
    [*COMMANDS, "startpos", "fen", "moves", START, "name", "value", "UCI_Variant", "microchess", "Agent", "random",
     "movetime", "wtime", "infinite", "searchmoves", "d2d4", "a4a3", "e9e9", "0", "-1", "9" * 400, "1e9", "\x00", "…"]
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=12))
def test_no_sequence_of_words_ends_the_conversation(lines: list[str]) -> None:
    lines = [line for line in lines if line.strip() != "quit"]
    said = converse("\n".join([*lines, "stop", "isready"]).encode())
    assert "readyok" in said
    went = sum(line.split()[:1] == ["go"] for line in lines)
    assert sum(line.startswith("bestmove") for line in said) == went


@settings(max_examples=60)
@given(st.binary(max_size=400))
def test_no_bytes_end_the_conversation(data: bytes) -> None:
    if b"quit" not in data:
        assert converse(data + b"\nisready\n")[-1] == "readyok"


@given(st.lists(st.text(max_size=12), max_size=12))
def test_parsers_take_any_words(words: list[str]) -> None:
    assert isinstance(parse_go(words), GoCommand)
    assert isinstance(parse_option(words), tuple)
    try:
        fen, moves = parse_position(words)
    except ValueError:
        return
    assert fen is None or isinstance(moves, list)


# -------------------------------------------------------------------------------------- the real process


class Program:
    """A board program of the plainest kind: `tengen uci` in a process of its own."""

    def __init__(self, *options: str) -> None:
        code = "from tengen.cli.main import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "uci", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, *lines: str, last: str) -> list[str]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()
        answer: list[str] = []
        while not answer or not answer[-1].startswith(last):
            line = self.process.stdout.readline()
            assert line, f"the engine left; it said {answer}"
            answer.append(line.rstrip("\n"))
        return answer


def test_the_real_process_plays_stops_and_leaves() -> None:
    program = Program("--agent", "alphabeta", "--seed", "1", "--no-double-step")
    assert program.ask("uci", last="uciok")[2].startswith("option name UCI_Variant type combo default microchess ")
    program.ask("isready", "ucinewgame", "isready", last="readyok")
    answer = program.ask("position startpos moves d2d3", "go movetime 200", last="bestmove")
    assert re.match(r"info depth \d+ score cp -?\d+ nodes \d+ nps \d+ time \d+ pv [a-d][1-5]", answer[-2])
    program.ask("go infinite", "isready", last="readyok")
    state = microchess.State.new(double_step=False)
    state = state.play(state.parse_move("d2d3"))
    best = program.ask("stop", last="bestmove")[-1].split()[1]
    assert state.why_illegal(state.parse_move(best)) is None
    out, err = program.process.communicate("rubbish\nquit\n", timeout=60)
    assert program.process.returncode == 0
    assert "info string unknown command: rubbish" in out
    assert "Traceback" not in err


def test_quit_right_behind_go_still_gets_its_move() -> None:
    program = Program("--agent", "alphabeta")
    out, _ = program.process.communicate("position startpos\ngo depth 3\nquit\n", timeout=120)
    assert "bestmove" in out


def test_quit_while_thinking_leaves_at_once() -> None:
    program = Program("--agent", "alphabeta")
    program.ask("go infinite", "isready", last="readyok")
    program.process.communicate("quit\n", timeout=60)
    assert program.process.returncode == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--agent", "nobody"], "no agent is called 'nobody'"),
        (["--agent", "random", "--rules", "fair"], "'fair'"),
    ],
)
def test_mistakes_of_the_command_line_are_one_line(options: list[str], told: str) -> None:
    result = CliRunner().invoke(app, ["uci", *options])
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


class TrainedAgent(Scripted):
    """An agent whose model was trained with the double step."""

    def warning(self, state: AnyState) -> str | None:
        assert isinstance(state, microchess.State)
        return None if state.double_step else "trained with double step"


def test_a_game_that_the_model_was_not_trained_on_is_warned_about_once() -> None:
    lines = converse(
        b"go\nsetoption name UCI_Variant value microchess\ngo\nposition startpos\ngo\n", agent=TrainedAgent()
    )
    assert lines.count("info string trained with double step") == 1
    assert [line.split()[0] for line in lines].index("bestmove") < lines.index("info string trained with double step")
