"""Foreign UCI engines as agents: Fairy-Stockfish, ourselves, and little scripts that fail in every way there is."""

import os
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.agents.agent import AgentError
from tengen.agents.registry import load_agent
from tengen.agents.uci import UciConnection, UciEngine, UciSettings, centipawns, chance_behind
from tengen.games import go, microchess
from tengen.games.microchess import variants_path

# A well-behaved engine that notes every command in a file and plays the moves it was given; each test changes
# how it answers one command.
ENGINE = """
import sys, os
notes = open({notes!r}, "a")
moves = {moves!r}
def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    print(line.strip(), file=notes, flush=True)
    name = (line.split() or [""])[0]
{special}
    if name == "quit":
        break
    elif name == "uci":
        say("id name Fake\\noption name Threads type spin default 1 min 1 max 4")
        say("option name UCI_Variant type combo default chess var chess var {variants}")
        say("{options}\\nuciok")
    elif name == "isready":
        say("readyok")
    elif name == "go":
        say("info depth 1 score cp 0 pv a1a2\\nbestmove " + (moves.pop(0) if moves else "a1a2"))
"""


class Fake:
    """A fake engine of a test's: what it was told, and the agent that speaks to it."""

    def __init__(self, folder: Path, engines: list[UciEngine]) -> None:
        self.folder, self.engines = folder, engines
        self.notes = folder / "notes"

    def engine(
        self,
        special: str = "",
        moves: str = "",
        variants: str = "microchess var microchessds",
        options: str = "",
        timeout: float = 20.0,
        **settings: int,
    ) -> UciEngine:
        """`special`: Python for the engine's loop, before it looks at the command `name` itself."""
        script = self.folder / "engine.py"
        body = "".join(f"    {line}\n" for line in special.splitlines())
        script.write_text(
            ENGINE.format(notes=str(self.notes), special=body, moves=moves.split(), variants=variants, options=options)
        )
        program = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
        return self.track(UciEngine(UciSettings(program, **settings), timeout))

    def track(self, engine: UciEngine) -> UciEngine:
        self.engines.append(engine)
        return engine

    def heard(self) -> list[str]:
        """The commands since the last look, but for the greeting."""
        lines = self.notes.read_text().splitlines()
        self.notes.write_text("")
        return [line for line in lines if line not in ("uci", "isready")]


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    engines: list[UciEngine] = []
    yield Fake(tmp_path, engines)
    for engine in engines:
        engine.close()


def played(state: microchess.State, *names: str) -> microchess.State:
    for name in names:
        state = state.play(state.parse_move(name))
    return state


START = "position fen knbr/p3/4/3P/RBNK w Qk - 0 1"


# ------------------------------------------------------------------------------------------- in peace


def test_the_engine_hears_the_whole_game_and_when_a_new_one_begins(fake: Fake) -> None:
    engine = fake.engine(moves="a1a2 a2a3")
    state = microchess.State.new()
    state = state.play(engine.choose(state).move)
    assert fake.heard() == [
        "setoption name Threads value 1",
        "setoption name UCI_Variant value microchessds",
        "ucinewgame",
        START,
        "go movetime 100",
    ]
    state = played(state, "d5d3")
    state = state.play(engine.choose(state).move)
    assert fake.heard() == [f"{START} moves a1a2 d5d3", "go movetime 100"]
    engine.choose(microchess.State.new())
    assert fake.heard()[:2] == ["ucinewgame", START]


def test_the_variant_follows_the_double_step(fake: Fake) -> None:
    engine = fake.engine()
    engine.choose(microchess.State.new(double_step=False))
    assert "setoption name UCI_Variant value microchess" in fake.heard()
    engine.choose(microchess.State.new(double_step=True))
    assert fake.heard()[:2] == ["setoption name UCI_Variant value microchessds", "ucinewgame"]


def test_the_rules_are_told_to_an_engine_that_asks_for_them(fake: Fake) -> None:
    engine = fake.engine(options="option name Rules type combo default standard var standard var ncsoft")
    engine.choose(microchess.State.new("ncsoft"))
    assert "setoption name Rules value ncsoft" in fake.heard()
    engine.choose(microchess.State.new("standard"))
    assert fake.heard()[:2] == ["setoption name Rules value standard", "ucinewgame"]


def test_a_game_from_a_position_is_told_by_its_fen(fake: Fake) -> None:
    state = microchess.State.from_fen("1k2/4/4/4/R2K w - - 3 9")
    fake.engine().choose(played(state, "d1c1", "b5c5"))
    assert "position fen 1k2/4/4/4/R2K w - - 3 9 moves d1c1 b5c5" in fake.heard()


@pytest.mark.parametrize(
    ("settings", "seconds", "go"),
    [
        ({}, None, "go movetime 100"),
        ({}, 0.05, "go movetime 50"),
        ({}, 5.0, "go movetime 100"),
        ({"movetime": 250}, None, "go movetime 250"),
        ({"nodes": 5000}, None, "go nodes 5000"),
        ({"nodes": 5000, "depth": 3}, 0.5, "go nodes 5000 depth 3 movetime 500"),
        ({"depth": 3}, 0.0, "go depth 3 movetime 1"),
    ],
)
def test_limits_are_told(fake: Fake, settings: dict[str, int], seconds: float | None, go: str) -> None:
    fake.engine(**settings).choose(microchess.State.new(), seconds)
    assert fake.heard()[-1] == go


def test_options_are_set_where_they_exist(fake: Fake) -> None:
    options = "option name Skill Level type spin default 20 min -20 max 20\\noption name Hash type spin min 1 max 64"
    fake.engine(options=options, skill=-5, threads=3, hash=32).choose(microchess.State.new())
    told = [line for line in fake.heard() if "UCI_Variant" not in line and line.startswith("setoption")]
    assert told == [
        "setoption name Threads value 3",
        "setoption name Hash value 32",
        "setoption name Skill Level value -5",
    ]


def test_a_decision_tells_what_the_engine_found(fake: Fake) -> None:
    special = (
        "if name == 'go':\n"
        "    say('info string hello')\n"
        "    say('info depth 3 nodes 77 score mate 2 pv a1a3 d5d3')\n"
        "    say('info depth 4 seldepth 9 multipv 1 score cp 120 nodes 345 nps 1 time 3 pv a1a3 d5d3 x1x2')\n"
        "    say('info currmove a1a2')\n"
        "    say('bestmove a1a3 ponder d5d3'); continue"
    )
    state = microchess.State.new()
    decision = fake.engine(special).choose(state)
    assert state.move_name(decision.move) == "a1a3"
    assert decision.value == pytest.approx(0.666, abs=1e-3)
    assert (len(decision.pv), decision.note) == (2, "depth 4, 345 nodes")


@pytest.mark.parametrize(
    ("score", "value"), [("mate 1", 1.0), ("mate -3", 0.0), ("cp -99999999", 0.0), ("cp", None), ("lots 7", None)]
)
def test_scores_of_every_kind(fake: Fake, score: str, value: float | None) -> None:
    special = f"if name == 'go': say('info depth 1 score {score} pv a1a2'); say('bestmove a1a2'); continue"
    decision = fake.engine(special).choose(microchess.State.new())
    assert decision.value == (None if value is None else pytest.approx(value, abs=1e-9))


def test_an_engine_that_floods_is_not_stuck(fake: Fake) -> None:
    special = (
        "sys.stderr.write('x' * 300_000 + '\\n' * 1000)\n"
        "if name == 'go':\n"
        "    for i in range(30_000): sys.stdout.write('info string ' + 'y' * 60 + '\\n')\n"
        "elif name == 'isready':\n"
        "    for i in range(9_000): sys.stdout.write('bestmove a1a3\\n')\n"
    )
    state = microchess.State.new()
    assert state.move_name(fake.engine(special, moves="b1a2").choose(state).move) == "b1a2"


# ---------------------------------------------------------------------------------------------- in war


FAILURES = {
    "dies": ("sys.exit('no licence')", "ended with exit code 1; its last words: no licence"),
    "dies by a signal": ("os.kill(os.getpid(), 9)", "ended with exit code -9"),
    "leaves without a word": ("os._exit(0)", "ended with exit code 0"),
    "has no move": ("say('bestmove (none)'); continue", "answered go with '(none)'"),
    "says nothing": ("say('bestmove'); continue", "answered go with ''"),
    "answers with garbage": ("say('bestmove banana split'); continue", "answered go with 'banana'"),
    "plays off the board": ("say('bestmove e7e8q'); continue", "answered go with 'e7e8q'"),
    "plays an illegal move": ("say('bestmove a1d5'); continue", "played a1d5, which is not legal: "),
    "takes its own piece": ("say('bestmove a1b1'); continue", "played a1b1, which is not legal: "),
}


@pytest.mark.parametrize("how", FAILURES)
def test_an_engine_that_fails_says_why_and_starts_again(how: str, fake: Fake) -> None:
    special, message = FAILURES[how]
    # It fails on its first go only: a file remembers that across restarts.
    flag = repr(str(fake.folder / "failed"))
    first = f"if name == 'go' and not os.path.exists({flag}):\n    open({flag}, 'w').close()\n    {special}"
    engine, state = fake.engine(first, moves="c1b3"), microchess.State.new()
    with pytest.raises(AgentError, match=r"^python") as caught:
        engine.choose(state)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert state.move_name(engine.choose(state).move) == "c1b3"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thoughts must end within 0.3 s; everything else may take as long as a busy machine needs."""
    ask = UciConnection.ask

    def hurried(self: UciConnection, command: str, last_word: str, timeout: float) -> list[str]:
        return ask(self, command, last_word, 0.3 if command.startswith("go") else timeout)

    monkeypatch.setattr(UciConnection, "ask", hurried)


@pytest.mark.usefixtures("impatient")
def test_a_hanging_engine_is_found_out_and_killed(fake: Fake) -> None:
    pid_file = fake.folder / "pid"
    note_pid = f"if name == 'uci': open({str(pid_file)!r}, 'w').write(str(os.getpid()))"
    engine = fake.engine(f"{note_pid}\nif name == 'go': os.read(os.pipe()[0], 1)", movetime=100)
    with pytest.raises(AgentError, match=r"did not answer 'go movetime 100' within 0.3 s$"):
        engine.choose(microchess.State.new())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


@pytest.mark.usefixtures("impatient")
def test_an_engine_that_talks_for_ever_is_found_out(fake: Fake) -> None:
    engine = fake.engine("if name == 'go':\n    while True: print('info depth 1', flush=True)")
    with pytest.raises(AgentError, match=r"did not answer 'go movetime 100' within 0.3 s"):
        engine.choose(microchess.State.new())


def test_thinking_time_comes_on_top_of_the_timeout(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: dict[str, float] = {}
    ask = UciConnection.ask

    def watched(self: UciConnection, command: str, last_word: str, timeout: float) -> list[str]:
        allowed[command] = timeout
        return ask(self, command, last_word, timeout)

    monkeypatch.setattr(UciConnection, "ask", watched)
    fake.engine(movetime=7000).choose(microchess.State.new())
    assert (allowed["isready"], allowed["go movetime 7000"]) == (20, 27)


def test_what_does_not_speak_uci(fake: Fake) -> None:
    with pytest.raises(AgentError, match="ended with exit code 3"):
        fake.engine("sys.exit(3)").check(microchess.State.new())
    silent = fake.engine("if name == 'uci': say('Error: unknown command'); continue", timeout=1.0)
    with pytest.raises(AgentError, match="did not answer 'uci' within 1 s"):
        silent.check(microchess.State.new())


def test_an_engine_without_the_game(fake: Fake) -> None:
    with pytest.raises(AgentError, match="does not know the variant 'microchessds'"):
        fake.engine(variants="atomic").check(microchess.State.new())
    path = "option name VariantPath type string default <empty>"
    with pytest.raises(AgentError, match="does not know the variant 'microchessds'"):
        fake.engine(variants="atomic", options=path).check(microchess.State.new())
    assert f"setoption name VariantPath value {variants_path()}" in fake.heard()
    plain = fake.engine("if name == 'uci': say('id name Chess only\\nuciok'); continue")
    with pytest.raises(AgentError, match="plays no variants of chess: use one that does, such as fairy-stockfish"):
        plain.check(microchess.State.new())


def test_options_that_the_engine_does_not_have(fake: Fake) -> None:
    with pytest.raises(AgentError, match="has no option 'Skill Level': leave that setting out"):
        fake.engine(skill=3).check(microchess.State.new())
    with pytest.raises(AgentError, match="cannot set Threads to 5: it takes 1 to 4"):
        fake.engine(threads=5).check(microchess.State.new())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("uci:no-such-engine", "no-such-engine isn't installed.*apt install no-such-engine"),
        ("uci:/no/such/engine,skill=3", "/no/such/engine isn't installed.*check the path"),
        ("uci:'broken,skill=3", "cannot be read"),
        ("uci:fairy-stockfish,skill=21", "skill=21 is not possible: give -20 to 20"),
        ("uci:fairy-stockfish,movetime=0", "movetime=0 is not possible: give at least 1"),
        ("uci:fairy-stockfish,depth=-1", "depth=-1 is not possible"),
    ],
)
def test_specs_that_cannot_be(spec: str, message: str) -> None:
    with pytest.raises((AgentError, ValueError), match=message):
        load_agent(spec)


def test_go_is_not_its_game(fake: Fake) -> None:
    engine = fake.engine()
    for ask in (engine.choose, engine.check):
        with pytest.raises(AgentError, match=r"plays Microchess, and this is a game of Go$"):
            ask(go.State.new(5))


def test_close_is_final_and_may_be_repeated(fake: Fake) -> None:
    engine = fake.engine()
    engine.choose(microchess.State.new())
    engine.close()
    engine.close()
    assert fake.heard()[-1] == "quit"
    with pytest.raises(AgentError, match="has been closed"):
        engine.choose(microchess.State.new())
    fake.engine().close()


def test_close_ends_a_choose_in_another_thread(fake: Fake) -> None:
    fifo = str(fake.folder / "fifo")
    os.mkfifo(fifo)
    engine = fake.engine(f"if name == 'go': open({fifo!r}, 'w').close(); os.read(os.pipe()[0], 1)")
    errors: list[AgentError] = []

    def choose() -> None:
        try:
            engine.choose(microchess.State.new())
        except AgentError as error:
            errors.append(error)

    thread = threading.Thread(target=choose)
    thread.start()
    Path(fifo).read_bytes()  # waits until the engine thinks
    engine.close()
    thread.join(30)
    assert len(errors) == 1


# ---------------------------------------------------------------------------------------- real engines


@pytest.mark.parametrize("double_step", [True, False])
def test_fairy_stockfish_knows_the_game_as_we_do(fairy_stockfish: str, double_step: bool) -> None:
    """Perft 1 of Fairy-Stockfish names exactly our legal moves, all through random games."""
    engine = UciConnection([fairy_stockfish], "fairy-stockfish")
    try:
        engine.send(f"setoption name VariantPath value {variants_path()}")
        engine.send(f"setoption name UCI_Variant value {'microchessds' if double_step else 'microchess'}")
        rng, seen = np.random.default_rng(1), 0
        for _ in range(8):
            state = microchess.State.new(double_step=double_step)
            while not state.is_over:
                moves = " ".join(state.move_name(move) for _, move in state.moves)
                engine.send(f"position startpos moves {moves}" if moves else "position startpos")
                lines = engine.ask("go perft 1", "Nodes", 20)
                named = {line.split(":")[0] for line in lines[:-1] if line.endswith(": 1")}
                assert named == {state.move_name(move) for move in state.legal_moves()}, state.fen()
                seen += 1
                state = state.play(int(rng.choice(state.legal_moves())))
        assert seen > 100
    finally:
        engine.close()


def test_fairy_stockfish_plays_a_whole_game_with_itself(fairy_stockfish: str, fake: Fake) -> None:
    engine = fake.track(UciEngine(UciSettings(fairy_stockfish, nodes=300)))
    state = microchess.State.new()
    while not state.is_over and state.move_number < 60:
        decision = engine.choose(state)
        assert decision.value is not None
        assert decision.pv[0] == decision.move
        state = state.play(decision.move)
    assert state.move_number > 8


def test_fairy_stockfish_finds_a_mate_and_says_so(fairy_stockfish: str, fake: Fake) -> None:
    state = microchess.State.from_fen("k3/2Q1/1K2/4/4 w - - 0 1")
    decision = fake.track(UciEngine(UciSettings(fairy_stockfish, depth=4))).choose(state)
    assert state.play(decision.move).end_reason == "checkmate"
    assert decision.value == pytest.approx(1)


@pytest.mark.parametrize("agent", ["random", "alphabeta:depth=2"])
def test_tengen_plays_tengen_by_uci(agent: str, fake: Fake) -> None:
    code = shlex.quote("from tengen.cli.main import main; main()")
    program = f"{shlex.quote(sys.executable)} -c {code} uci --agent {agent} --seed 1"
    engine = fake.track(UciEngine(UciSettings(program, movetime=50), timeout=300))
    for double_step in (True, False):
        state = microchess.State.new(rules="ncsoft", double_step=double_step)
        while not state.is_over:
            state = state.play(engine.choose(state).move)
        assert state.move_number > 10


@given(st.floats(0, 1))
def test_centipawns_grow_with_the_chance(chance: float) -> None:
    assert -9999 <= centipawns(chance) == -centipawns(1 - chance) <= 9999 or chance < 1e-9 or chance > 1 - 1e-9
    assert centipawns(chance) <= centipawns(min(1.0, chance + 0.01))


@given(st.integers(-2000, 2000))
def test_the_chance_behind_centipawns_leads_back_to_them(advantage: int) -> None:
    assert centipawns(chance_behind(advantage)) == advantage


@pytest.mark.parametrize(("advantage", "chance"), [(0, 0.5), (100, 0.640065), (-400, 1 / 11), (10**9, 1.0)])
def test_known_chances(advantage: int, chance: float) -> None:
    assert chance_behind(advantage) == pytest.approx(chance, abs=1e-6)
    assert chance_behind(-advantage) == pytest.approx(1 - chance, abs=1e-6)
