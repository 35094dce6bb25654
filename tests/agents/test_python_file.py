# ruff: noqa: E501  (the code of players, each on one line)
"""Players in Python files: what they may return, what they may do wrong, and that each error names their line."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tengen
from tengen import _processes
from tengen._processes import end_all
from tengen.agents.agent import Agent, AgentError
from tengen.agents.analysis import Analyst
from tengen.agents.new_agent import starting_file
from tengen.agents.own import OwnAgent, decision_of
from tengen.agents.registry import SpecError, code_digest, load_agent, load_analyst, read_spec, spec_files
from tengen.arena.match import Match, run_match
from tengen.games import go
from tengen.web.inputs import safe_spec

START = go.State.new(size=5)
Write = Callable[[str], Path]
Load = Callable[..., Agent]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a player's file."""

    def write(code: str, name: str = "strategy.py") -> Path:
        file = tmp_path / name
        file.write_text(code)
        return file

    return write


@pytest.fixture
def load() -> Iterator[Load]:
    """A function that loads an agent, which is closed after the test."""
    agents: list[Agent] = []

    def load(spec: object, seed: int | None = None) -> Agent:
        agents.append(load_agent(str(spec), seed))
        return agents[-1]

    yield load
    for agent in agents:
        agent.close()


# ------------------------------------------------------------------------------------- what may be returned


@pytest.mark.parametrize(
    "answer",
    ["12", "'C3'", "('C3', {'C3': 0.75, 'A1': 0.25})", "tengen.Decision(12, value=0.75)", "numpy.int64(12)"],
)
def test_a_function_may_return_a_move_in_any_form(write: Write, load: Load, answer: str) -> None:
    agent = load(write(f"import numpy\nimport tengen\ndef choose(state):\n    return {answer}\n"))
    decision = agent.choose(START)
    assert decision.move == 12 == START.parse_move("C3")
    assert decision.value in (None, 0.75)
    assert agent.name == "strategy.py"


def test_a_class_plays_each_game_with_an_object_of_its_own(write: Write, load: Load) -> None:
    code = "class Careful:\n    name = 'careful one'\n    def __init__(self):\n        self.calls = 0\n"
    code += "    def choose(self, state, seconds=None):\n        self.calls += 1\n        return self.calls\n"
    file = write(code)
    for spec in (file, f"{file}:Careful", f"python:{file}:Careful", f"{file}:Careful,memory=500,limit=5"):
        agent = load(spec)
        assert [agent.choose(START).move for _ in range(2)] == [1, 2]
        assert agent.name == "careful one"


def test_the_state_is_the_same_in_the_other_process(write: Write, load: Load) -> None:
    code = "def choose(state):\n    print(repr(state.stones.tolist()), state.komi, state.rules.name, state.to_play)\n"
    code += "    return state.legal_moves()[-2:][0]\n"
    agent = load(write(code))
    state = go.State.new(size=5, komi=3.5, rules="simple-go")
    for _ in range(30):
        if state.is_over:
            break
        move = agent.choose(state).move
        assert move == state.legal_moves()[-2:][0]
        state = state.play(move)


@pytest.mark.parametrize("game", ["microchess", "tictactoe"])
def test_every_game_can_be_played(write: Write, load: Load, game: str) -> None:
    agent, state = load(write("def choose(state):\n    return state.legal_moves()[0]\n")), tengen.get_game(game).start()
    for _ in range(5):
        move = agent.choose(state).move
        assert move == state.legal_moves()[0]
        state = state.play(move)


def test_the_same_seed_gives_the_same_moves(write: Write, load: Load) -> None:
    file = write(
        "import random\nimport numpy\ndef choose(state):\n    return random.randrange(20) + numpy.random.randint(5)\n"
    )
    first, second, other = ([load(file, seed).choose(START).move for _ in range(1)] for seed in (1, 1, None))
    assert first == second
    assert len(other) == 1


def test_what_it_thinks_is_an_analysis(write: Write) -> None:
    file = write(
        "class Thinker:\n    def choose(self, state):\n        return 'C3'\n    def analyse(self, state):\n        return {'A1': 0.2, 'C3': 0.9}\n"
    )
    analyst = load_analyst(str(file))
    assert isinstance(analyst, Analyst)
    *_, last = analyst.analyse(START)
    analyst.close()
    assert [START.move_name(move.move) for move in last.moves[:2]] == ["C3", "A1"]
    assert last.chance == 0.9 and last.final


def test_what_it_prints_is_shown_and_is_no_answer(write: Write, load: Load, capfd: pytest.CaptureFixture[str]) -> None:
    file = write("print('loaded \\x1b[31m')\ndef choose(state):\n    print('{\"move\": 3}')\n    return 12\n")
    agent = load(file)
    assert agent.choose(START).move == 12
    agent.close()
    shown = capfd.readouterr()
    assert shown.err == 'strategy.py: loaded ?[31m\nstrategy.py: {"move": 3}\n'
    assert not shown.out


# ---------------------------------------------------------------------------------------- what may go wrong

HOSTILE = {
    "exception at import": ("x = 1\nraise RuntimeError('no')\n", "line 2: RuntimeError: no"),
    "syntax": ("def choose(state):\n    return (\n", "line 2: SyntaxError"),
    "no player": ("x = 1\n", "has no player"),
    "exits at import": ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3"),
    "exception": ("def choose(state):\n    return 1 / 0\n", "line 2, in choose: ZeroDivisionError"),
    "deep exception": ("def inner(x):\n    return x['a']\n\ndef choose(state):\n    return inner({})\n", "line 2, in inner: KeyError"),
    "endless loop": ("def choose(state):\n    while True:\n        pass\n", "in choose: no move within 1 s"),
    "endless loop that catches all": (
        "def choose(state):\n    while True:\n        try:\n            [1].index(2)\n        except BaseException:\n            continue\n",
        "in choose: no move within 1 s",
    ),
    "sleeps": ("import time\ndef choose(state):\n    time.sleep(1000)\n", "line 3, in choose: no move within 1 s"),
    "10 GB": ("import numpy\ndef choose(state):\n    return numpy.ones(10**10 // 8).sum()\n", "line 3, in choose: "),
    "10 GB in steps": ("def choose(state):\n    held = []\n    while True:\n        held.append(bytearray(10**7))\n", "line 4, in choose: MemoryError"),
    "endless recursion": ("def choose(state):\n    return choose(state)\n", "in choose: RecursionError"),
    "illegal move": ("def choose(state):\n    return 99\n", "line 1, in choose: returned 99, which is not legal"),
    "no move": ("def choose(state):\n    pass\n", "line 1, in choose: returned None, which is no move"),
    "garbage": ("def choose(state):\n    return {'move': [state] * 3}\n", "line 1, in choose: returned {"),
    "bad thoughts": ("def choose(state):\n    return 12, {12: 7}\n", "line 1, in choose: returned 7 as a chance"),
    "wrong signature": ("def choose():\n    return 12\n", "line 1, in choose: choose() takes 0"),
    "forks": ("import os\ndef choose(state):\n    while True:\n        os.fork()\n", "line 4, in choose: PermissionError"),
    "starts programs": ("import subprocess\ndef choose(state):\n    subprocess.run(['sleep', '100'])\n", "line 3, in choose: PermissionError"),
    "kills": ("import os\ndef choose(state):\n    os.kill(os.getppid(), 9)\n", "line 3, in choose: PermissionError"),
    "exits": ("import sys\ndef choose(state):\n    sys.exit(0)\n", "line 3, in choose: SystemExit: 0"),
    "exits at once": ("import os\ndef choose(state):\n    os._exit(0)\n", "line 3, in choose: SystemExit"),
    "crashes": ("import ctypes\ndef choose(state):\n    ctypes.string_at(0)\n", "in choose: Segmentation fault"),
    "deletes its file": ("import os\ndef choose(state):\n    os.remove(__file__)\n", "line 3, in choose: PermissionError"),
    "rewrites its file": ("def choose(state):\n    open(__file__, 'w').write('')\n", "line 2, in choose: PermissionError"),
    "asks the keyboard": ("def choose(state):\n    return input('move? ')\n", "line 2, in choose: EOFError"),
    "changes global state": (
        "import json, sys\ndef choose(state):\n    json.dumps = json.loads = None\n    sys.stdout = None\n    return 1 / 0\n",
        "line 5, in choose: ZeroDivisionError",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_goes_wrong_is_reported_with_the_files_own_line(write: Write, load: Load, what: str) -> None:
    code, expected = HOSTILE[what]
    file = write(code)
    agent = load(f"{file},limit={1 if 'no move within' in expected else 60},memory=300")
    with pytest.raises(AgentError) as error:
        agent.choose(START)
    assert str(error.value).startswith("strategy.py") and expected in str(error.value)
    assert "\n" not in str(error.value)
    assert file.read_text() == code
    agent.close()


def test_an_error_after_some_moves_leaves_the_agent_usable(write: Write, load: Load) -> None:
    agent = load(write("moves = [3, 4, 'Z99', 5]\ndef choose(state):\n    return moves.pop(0)\n"))
    assert [agent.choose(START).move for _ in range(2)] == [3, 4]
    with pytest.raises(AgentError, match="'Z99', which is no move"):
        agent.choose(START)
    assert agent.choose(START).move == 3  # a process of its own, begun afresh


def test_a_host_that_was_ended_while_it_waited_is_replaced(write: Write) -> None:
    file = write("def choose(state):\n    return 12\n")
    for _ in range(2):
        agent = load_agent(str(file))
        assert agent.choose(START).move == 12
        agent.close()
        end_all()  # as Ctrl-C in a match does
        for process in tuple(_processes._started):
            process.wait()


def test_megabytes_of_output_are_not_shown(write: Write, load: Load, capfd: pytest.CaptureFixture[str]) -> None:
    agent = load(
        write(
            "def choose(state):\n    print('x' * 1000 + '\\n', end='' * 3)\n    print('y\\n' * 500000)\n    return 12\n"
        )
    )
    assert agent.choose(START).move == 12
    agent.close()
    shown = capfd.readouterr().err
    assert len(shown) < 10_000 and "prints more than 100 lines" in shown


def test_a_match_goes_on_after_forfeits(write: Write, tmp_path: Path) -> None:
    file = write(
        "def choose(state):\n    if state.move_number >= 4:\n        raise ValueError('after some moves')\n    return state.legal_moves()[0]\n"
    )
    match = Match(str(file), "random", tengen.get_game("tictactoe").options.of({}), games=2, opening_moves=0)
    results = run_match(match, tmp_path / "match", workers=1)
    assert [result.winner for result in results] == ["b", "b"]
    assert all(result.reason == "strategy.py, line 3, in choose: ValueError: after some moves" for result in results)


# ------------------------------------------------------------------------------------------- specs and hashes


def test_a_file_is_a_spec_on_the_command_line_only(write: Write) -> None:
    file = write("def choose(state):\n    return 0\n")
    assert read_spec(f"{file}:Careful,limit=3") == ("python", {"file": f"{file}:Careful", "limit": 3.0})
    for spec in (str(file), "strategy.py", f"python:{file}", "python:strategy.py"):
        with pytest.raises(SpecError):
            safe_spec(spec)
    with pytest.raises(SpecError, match="runs on this machine alone"):
        spec_files(str(file))
    assert read_spec("uct:playouts=3") == ("uct", {"playouts": 3})


def test_what_is_missing_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"tengen agents new strategy\.py"):
        load_agent(str(tmp_path / "strategy.py"))
    with pytest.raises(SpecError, match=r"name ends in \.py"):
        load_agent("strategy")


def test_a_changed_file_is_another_match(write: Write) -> None:
    options, file = tengen.get_game("tictactoe").options.of({}), write("def choose(state):\n    return 0\n")
    first, before = Match(str(file), "random", options), code_digest(str(file))
    write("def choose(state):\n    return 1\n")
    assert code_digest(str(file)) != before
    assert Match(str(file), "random", options).folder_name != first.folder_name
    assert "a_code" not in Match("uct", "random", options).settings


# ------------------------------------------------------------------------------------------------ in Python


def test_functions_classes_and_objects_play_matches() -> None:
    class First:
        def choose(self, state: tengen.AnyState) -> int:
            return state.legal_moves()[0]

    def last(state: tengen.AnyState) -> int:
        return state.legal_moves()[-1]

    for player in (First, First(), last, OwnAgent(last)):
        summary = tengen.play_match(player, "random", game="tictactoe", games=4, workers=2)
        assert summary.games == 4 and not summary.a.forfeits
    assert tengen.play_match(last, last, game="tictactoe", games=2).a.spec == "last"


def test_a_function_that_fails_forfeits_with_its_line() -> None:
    def broken(state: tengen.AnyState) -> int:
        raise KeyError("oh")

    summary = tengen.play_match(broken, "random", game="tictactoe", games=2)
    assert all("KeyError" in reason and "test_python_file.py" in reason for _, reason in summary.a.forfeits)
    assert len(summary.a.forfeits) == 2
    with pytest.raises(ValueError, match="cannot play"):
        tengen.play_match(3, "random", game="tictactoe", games=2)  # type: ignore[arg-type]


def test_decisions_are_checked() -> None:
    assert decision_of("resign", START).move == go.RESIGN
    for wrong in (True, None, 3.0, "", (12, 13, 14), tengen.Decision("C3", visits={1: "many"})):  # type: ignore[arg-type, dict-item]
        with pytest.raises(ValueError, match="returned"):
            decision_of(wrong, START)


# ----------------------------------------------------------------------------------------------- new files


@pytest.mark.parametrize("game", tengen.game_names())
def test_the_starting_file_plays_and_its_test_passes(tmp_path: Path, game: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(starting_file(tengen.get_game(game), "mine.py"))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=os.environ)
    assert done.stdout == "All moves of a game were legal.\n", done.stderr
    agent, state = load_agent(str(file)), tengen.get_game(game).start()
    assert agent.choose(state).move in state.legal_moves()
    agent.close()


def test_a_class_plays_a_tournament_and_a_changed_file_replaces_its_row(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    for name, code in {
        "anna": "def choose(state):\n    return state.legal_moves()[0]\n",
        "ben": "def choose(state):\n    raise ValueError('not yet')\n",
        "broken": "import nothing_of_this_name\n",
        "_ours": "raise SystemExit\n",
        "test_anna": "raise SystemExit\n",
    }.items():
        (folder / f"{name}.py").write_text(code)
    words = ["tournament", str(folder), "--game", "tictactoe", "-n", "2", "--baseline", "base=random", "--workers", "1"]

    def play() -> dict[str, dict[str, object]]:
        program = [sys.executable, "-c", "from tengen.cli.main import main; main()", *words]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
        assert done.returncode == 0, done.stderr
        [out] = (tmp_path / "tournaments").iterdir()
        assert out.name.startswith("class-")
        agents = json.loads((out / "tournament.json").read_text())["agents"]
        return {agent["name"]: agent for agent in agents}

    first = play()
    assert set(first) == {"anna", "ben", "broken", "base"}
    reasons = {name: {one["reason"] for one in agent["forfeits"]} for name, agent in first.items()}  # type: ignore[attr-defined]
    assert reasons["ben"] == {"ben.py, line 2, in choose: ValueError: not yet"}
    [why] = reasons["broken"]
    assert why.startswith("could not start: broken.py, line 1: ModuleNotFoundError") and not reasons["anna"]
    (folder / "ben.py").write_text("def choose(state):\n    return state.legal_moves()[-1]\n")
    second = play()
    assert not second["ben"]["forfeits"] and second["broken"]["forfeits"]
