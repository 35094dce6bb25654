"""Foreign engines as agents: GNU Go, ourselves, and little scripts that fail in every way an engine can."""

import os
import select
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tengen.agents.agent import AgentError
from tengen.agents.gtp import GtpConnection, GtpEngine, GtpRefusal
from tengen.games import go
from tengen.games.go import BLACK, PASS, RESIGN, RULES, WHITE, format_margin, from_gtp
from tengen.games.go.rules import rules_as_json

# A well-behaved engine that notes every command in a file and plays the moves it was given; each test changes
# how it answers one command. `say` ends an answer as GTP wants it.
ENGINE = """
import sys, os, time
notes = open({notes!r}, "a")
moves = {moves!r}
def say(text):
    sys.stdout.write(text + "\\n\\n")
    sys.stdout.flush()
for line in sys.stdin:
    print(line.strip(), file=notes, flush=True)
    name, *arguments = line.split()
{special}
    if name == "quit":
        say("=")
        break
    elif name == "list_commands":
        say("= boardsize\\n" + "\\n".join({commands!r}))
    elif name == "genmove":
        say("= " + (moves.pop(0) if moves else "pass"))
    else:
        say("=")
"""


class Fake:
    """A fake engine of a test's: what it was told, and the agent that speaks to it."""

    def __init__(self, folder: Path, engines: list[GtpEngine]) -> None:
        self.folder, self.engines = folder, engines
        self.notes = folder / "notes"

    def engine(self, special: str = "", moves: str = "", commands: str = "", timeout: float = 20.0) -> GtpEngine:
        """`special`: Python for the engine's loop, before it looks at the command `name` itself."""
        script = self.folder / "engine.py"
        body = "".join(f"    {line}\n" for line in special.splitlines())
        script.write_text(
            ENGINE.format(notes=str(self.notes), special=body, moves=moves.split(), commands=commands.split())
        )
        return self.track(GtpEngine(f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}", timeout))

    def track(self, engine: GtpEngine) -> GtpEngine:
        self.engines.append(engine)
        return engine

    def heard(self) -> list[str]:
        """The commands since the last look."""
        lines = self.notes.read_text().splitlines()
        self.notes.write_text("")
        return [line for line in lines if line != "list_commands"]


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    engines: list[GtpEngine] = []
    yield Fake(tmp_path, engines)
    for engine in engines:
        engine.close()


# ------------------------------------------------------------------------------------------- in peace


def test_the_engine_hears_only_what_is_new(fake: Fake) -> None:
    engine = fake.engine(moves="E5 c3 pass")
    state = go.State.new(9, komi=7)
    state = state.play(engine.choose(state).move)
    assert state.last_move == from_gtp("E5", 9)
    assert fake.heard() == ["boardsize 9", "clear_board", "komi 7", "genmove black"]
    state = state.play(from_gtp("D4", 9))
    state = state.play(engine.choose(state).move)
    assert fake.heard() == ["play white D4", "genmove black"]
    assert engine.choose(state).move == PASS
    assert fake.heard() == ["genmove white"]


def test_another_game_is_told_from_the_beginning(fake: Fake) -> None:
    engine = fake.engine(moves="A1 A2 A3 A4")
    first = go.State.new(9)
    engine.choose(first)
    fake.heard()
    other = first.play(40)
    engine.choose(other)
    assert fake.heard() == ["boardsize 9", "clear_board", "komi 7.5", "play black E5", "genmove white"]
    engine.choose(other.with_komi(3.5))
    assert fake.heard()[:3] == ["boardsize 9", "clear_board", "komi 3.5"]
    engine.choose(go.State.new(13))
    assert fake.heard()[:2] == ["boardsize 13", "clear_board"]


def test_after_undo_the_game_is_told_anew(fake: Fake) -> None:
    engine = fake.engine(moves="A1 A2")
    state = go.State.new(5).play(0).play(1)
    engine.choose(state)
    fake.heard()
    assert state.previous is not None
    engine.choose(state.previous)
    assert fake.heard() == ["boardsize 5", "clear_board", "komi 7.5", "play black A5", "genmove white"]


def test_a_move_that_was_not_played_is_taken_back(fake: Fake) -> None:
    """The caller judges legality: what it did not play, the engine must forget."""
    engine = fake.engine(moves="A1 A1")
    state = go.State.new(9).play(from_gtp("A1", 9))
    assert engine.choose(state).move == from_gtp("A1", 9)
    fake.heard()
    engine.choose(state)
    assert "clear_board" in fake.heard()


def test_handicap(fake: Fake) -> None:
    state = go.State.new(9, handicap=2)
    fake.engine(commands="set_free_handicap").choose(state)
    assert fake.heard()[3:] == ["set_free_handicap G7 C3", "genmove white"]
    fake.engine().choose(state)
    assert fake.heard()[3:] == ["play black G7", "play black C3", "genmove white"]
    refusing = fake.engine("if name == 'set_free_handicap': say('? no'); continue", commands="set_free_handicap")
    refusing.choose(state)
    assert fake.heard()[4:] == ["clear_board", "play black G7", "play black C3", "genmove white"]


def test_stones_that_are_no_handicap_are_played(fake: Fake) -> None:
    state = go.State.setup(5, black=[0, 1], white=[12], to_play=WHITE)
    fake.engine(commands="set_free_handicap").choose(state)
    assert fake.heard()[3:] == ["play black A5", "play black B5", "play white C3", "genmove white"]


def test_rules_are_told_where_they_can_be(fake: Fake) -> None:
    fake.engine(commands="kata-set-rules").choose(go.State.new(rules="aga"))
    [told] = [line for line in fake.heard() if line.startswith("kata-set-rules")]
    assert '"ko":"SITUATIONAL"' in told
    stubborn = fake.engine("if name == 'kata-set-rules': say('? no'); continue", commands="kata-set-rules")
    stubborn.choose(go.State.new(rules="simple-go"))
    assert "kata-set-rules simple-go" in fake.heard()


def test_thinking_time_is_told_where_it_can_be(fake: Fake) -> None:
    engine = fake.engine(commands="time_settings")
    state = go.State.new(5)
    for seconds in (3.7, 3.2, 0.2, None, None):
        engine.choose(state, seconds)
    told = [line for line in fake.heard() if line.startswith("time")]
    assert told == ["time_settings 0 3 1", "time_settings 0 1 1", "time_settings 0 1 0"]


def test_resignation_and_sloppy_answers(fake: Fake) -> None:
    answers = "['=RESIGN', '=d4', '=\\t Pass \\r']"
    engine = fake.engine(f"if name == 'genmove': say({answers}[len(moves)]); moves.append(1); continue")
    state = go.State.new(9)
    assert engine.choose(state).move == RESIGN
    assert engine.choose(state).move == from_gtp("D4", 9)
    assert engine.choose(state).move == PASS


def test_questions(fake: Fake) -> None:
    engine = fake.engine(
        "if name == 'showboard': say('=\\n X O\\n O X'); continue\nif name == 'no': say('? never'); continue"
    )
    engine.sync(go.State.new(9))
    assert engine.ask("showboard") == " X O\n O X"
    with pytest.raises(GtpRefusal, match="refused 'no': never"):
        engine.ask("no")
    assert engine.ask("final_score", timeout=20) == ""


def test_an_engine_that_floods_its_stderr_is_not_stuck(fake: Fake) -> None:
    engine = fake.engine("sys.stderr.write('x' * 300_000 + '\\n' * 1000)", moves="C3")
    assert engine.choose(go.State.new(5)).move == from_gtp("C3", 5)


# ---------------------------------------------------------------------------------------------- in war


FAILURES = {
    "dies": ("sys.exit('no licence')", "ended with exit code 1; its last words: no licence"),
    "dies by a signal": ("os.kill(os.getpid(), 9)", "ended with exit code -9"),
    "leaves without a word": ("os._exit(0)", "ended with exit code 0"),
    "says no": ("say('? too hard'); continue", "refused 'genmove black': too hard"),
    "answers with garbage": ("say('= banana'); continue", "answered genmove with 'banana'"),
    "answers with nothing": ("say('='); continue", "answered genmove with ''"),
    "names a point off the board": ("say('= Q16'); continue", "answered genmove with 'Q16'"),
    "does not speak GTP": ("say('Hello, World!'); continue", "does not speak GTP: it said 'Hello, World!'"),
    "sends binary": ("os.write(1, bytes(range(128, 256)) * 9 + b'\\n'); continue", "does not speak GTP"),
    "never ends its answer": ("\nwhile True: print('= x', flush=True)", "an answer without end"),
}


@pytest.mark.parametrize("how", FAILURES)
def test_an_engine_that_fails_says_why_and_starts_again(how: str, fake: Fake) -> None:
    special, message = FAILURES[how]
    body = "\n".join(f"    {line}" for line in special.splitlines())
    # It fails on its first genmove only: a file remembers that across restarts.
    flag = repr(str(fake.folder / "failed"))
    first = f"if name == 'genmove' and not os.path.exists({flag}):\n    open({flag}, 'w').close()\n"
    engine = fake.engine(first + body, moves="C3")
    state = go.State.new(9).play(PASS).play(PASS).previous
    assert state is not None
    state = state.with_to_play(BLACK)
    with pytest.raises(AgentError, match=r"^python") as caught:
        engine.choose(state)
    assert message in str(caught.value)
    assert engine.choose(state).move == from_gtp("C3", 9)


def test_a_hanging_engine_is_found_out_and_killed(fake: Fake) -> None:
    pid_file = fake.folder / "pid"
    special = f"if name == 'genmove': open({str(pid_file)!r}, 'w').write(str(os.getpid())); threading_forever()"
    special = special.replace("threading_forever()", "os.read(os.pipe()[0], 1)")
    engine = fake.engine(special, timeout=20)
    engine.sync(go.State.new(9))
    engine.timeout = 0.3
    with pytest.raises(AgentError, match=r"did not answer 'genmove black' within 0.3 s"):
        engine.choose(go.State.new(9))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_seconds_for_thinking_come_on_top_of_the_timeout(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: dict[str, float] = {}
    ask = GtpConnection.ask

    def watched(self: GtpConnection, command: str, timeout: float) -> str:
        allowed[command] = timeout
        return ask(self, command, timeout)

    monkeypatch.setattr(GtpConnection, "ask", watched)
    fake.engine(timeout=20).choose(go.State.new(9), seconds=7)
    assert (allowed["boardsize 9"], allowed["genmove black"]) == (20, 27)


def test_an_engine_that_speaks_unasked_is_not_believed(fake: Fake) -> None:
    engine = fake.engine("if name == 'komi': say('='); say('= C3'); say('= D4'); continue", moves="A1")
    # Which of the two is noticed depends on whether the surplus has arrived when the next command is sent.
    with pytest.raises(AgentError, match=r"spoke without being asked|no move"):
        for _ in range(50):
            engine.choose(go.State.new(9))


def test_a_child_of_the_engines_dies_with_it(fake: Fake) -> None:
    fifo = str(fake.folder / "fifo")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    child = f"import os; fifo = open({fifo!r}, 'wb', 0); fifo.write(b'x'); os.read(os.pipe()[0], 1)"
    special = f"if name == 'boardsize': import subprocess; subprocess.Popen([sys.executable, '-c', {child!r}])"
    engine = fake.engine(special)
    engine.choose(go.State.new(9))
    with open(reader, "rb", buffering=0) as stream:
        assert select.select([stream], [], [], 60)[0] and stream.read(9) == b"x"  # the child is there
        engine.close()
        assert select.select([stream], [], [], 60)[0] and stream.read(9) == b""  # and no longer


def test_close_is_final_and_may_be_repeated(fake: Fake) -> None:
    engine = fake.engine()
    engine.choose(go.State.new(9))
    engine.close()
    engine.close()
    assert fake.heard()[-1] == "quit"
    with pytest.raises(AgentError, match="has been closed"):
        engine.choose(go.State.new(9))
    unused = fake.engine()
    unused.close()


def test_close_ends_a_choose_in_another_thread(fake: Fake) -> None:
    fifo = str(fake.folder / "fifo")
    os.mkfifo(fifo)
    engine = fake.engine(f"if name == 'genmove': open({fifo!r}, 'w').close(); os.read(os.pipe()[0], 1)")
    errors: list[AgentError] = []

    def choose() -> None:
        try:
            engine.choose(go.State.new(9))
        except AgentError as error:
            errors.append(error)

    thread = threading.Thread(target=choose)
    thread.start()
    Path(fifo).read_bytes()  # waits until the engine thinks
    engine.close()
    thread.join(30)
    assert len(errors) == 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "needs a command line"),
        ("   ", "needs a command line"),
        ("gnugo '--mode", "cannot be read"),
        ("no-such-engine --mode gtp", "no-such-engine isn't installed.*apt install no-such-engine"),
        ("/no/such/engine", "/no/such/engine isn't installed.*check the path"),
    ],
)
def test_command_lines_that_cannot_be(command: str, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        GtpEngine(command)


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    script = tmp_path / "engine"
    script.write_text("\x7fELF junk")
    script.chmod(0o755)
    with pytest.raises(AgentError, match="engine did not start"):
        GtpEngine(str(script)).choose(go.State.new(9))


# ---------------------------------------------------------------------------------------- real engines


def test_gnu_go_plays_a_handicap_game(gnugo: str, fake: Fake) -> None:
    engine = fake.track(GtpEngine(f"{gnugo} --mode gtp --level 1"))
    assert engine.name == "gnugo"
    state = go.State.new(7, handicap=2)
    while not state.is_over and state.move_number < 30:
        state = state.play(engine.choose(state).move)
    engine.sync(state)
    shown = [word for line in engine.ask("showboard").splitlines() for word in line.split()[1:8]]
    stones = [{"X": BLACK, "O": WHITE}.get(word.strip("()"), 0) for word in shown]
    assert sum(1 for stone in stones if stone) >= int((state.stones > 0).sum())


def test_gnu_go_knows_the_position_it_is_given(gnugo: str, fake: Fake) -> None:
    engine = fake.track(GtpEngine(f"{gnugo} --mode gtp --level 1"))
    state = go.State.setup(9, black=[0, 40], white=[80]).play(30).play(50).play(PASS)
    engine.sync(state)
    for color, name in ((BLACK, "black"), (WHITE, "white")):
        points = sorted(from_gtp(word, 9) for word in engine.ask(f"list_stones {name}").split())
        assert points == [p for p in range(81) if state.color_at(p) == color]


def test_several_engines_play_at_once(gnugo: str, fake: Fake) -> None:
    games: list[list[tuple[int, int]]] = []

    def play() -> None:
        engine = fake.track(GtpEngine(f"{gnugo} --mode gtp --level 1 --seed 1"))
        state = go.State.new(5)
        while not state.is_over and state.move_number < 12:
            state = state.play(engine.choose(state).move)
        games.append(state.moves)

    threads = [threading.Thread(target=play) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(games) == 3
    assert games[0] == games[1] == games[2]


def test_tengen_plays_tengen_by_all_rules(fake: Fake) -> None:
    code = shlex.quote("from tengen.cli.main import main; main()")
    python = shlex.quote(sys.executable)
    engine = fake.track(GtpEngine(f"{python} -c {code} gtp --agent random --seed 1", timeout=300))
    for rules in RULES:
        state = go.State.new(5, rules=rules, komi=4.5)
        while not state.is_over and state.move_number < 40:
            state = state.play(engine.choose(state).move)
        engine.sync(state)
        assert engine.ask("kata-get-rules") == rules_as_json(state.rules)
        assert engine.ask("final_score") == format_margin(state.score())
