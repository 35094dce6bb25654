"""No move with a clock waits for a kernel: what a move calls was called before, when the controller set up the game."""

import json
import subprocess
import sys

import pytest

import tengen
from tengen.agents.registry import load_agent
from tengen.agents.rehearsal import rehearse

LOADED_BY_MOVES = """
import gc, io, json, sys
from numba.core.dispatcher import Dispatcher
from tengen.agents.registry import load_agent
from tengen.serve.gtp import GtpServer
from tengen.serve.gtp_protocol import parse_line

server = GtpServer(load_agent(sys.argv[1], 1), io.BytesIO(), io.BytesIO(), log=io.StringIO())

def obey(line):
    answer = server.respond(parse_line(line.encode())).decode()
    assert answer.startswith("="), (line, answer)

def loaded():
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {(each.py_func.__module__, each.py_func.__name__, str(kind)) for each in kernels for kind in each.overloads}

for line in ("boardsize 5", "clear_board", "time_settings 60 0 0"):
    obey(line)
before = loaded()
for line in ("genmove b", "play w a1", "genmove b", "genmove w", "play b pass", "genmove w"):
    obey(line)
print(json.dumps(sorted(f"{module}.{name}" for module, name, _ in loaded() - before)))
"""


LOADED_AFTER_WARMING_UP = """
import gc, io, json
from numba.core.dispatcher import Dispatcher
from tengen.agents.registry import load_agent, load_analyst
from tengen.cli.engines import ANALYSTS, warm_up
from tengen.serve.gtp import GtpServer
from tengen.serve.gtp_protocol import parse_line
from tengen.serve.kata import KataServer

def loaded():
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {(each.py_func.__module__, each.py_func.__name__, str(kind)) for each in kernels for kind in each.overloads}

warm_up(None)
before = loaded()
game = {"rules": "chinese", "moves": [["B", "C3"]], "analyzeTurns": [0, 1], "maxVisits": 4, "includeOwnership": True}
sizes = [{"boardXSize": size, "boardYSize": size} for size in (5, 9, 13, 19)]
lines = [json.dumps({"id": str(number), **game, **size}) for number, size in enumerate(sizes)]
answers = io.BytesIO()
agents = [lambda spec=spec: load_analyst(spec, 1) for spec in ANALYSTS]
KataServer(agents, io.BytesIO("\\n".join(lines).encode()), answers, log=io.StringIO()).run()
assert answers.getvalue().count(b"moveInfos") == 8, answers.getvalue()
for spec in ("uct:playouts=20", "alphago:alphago9,sims=4", "fast-policy"):
    server = GtpServer(load_agent(spec, 1), io.BytesIO(), io.BytesIO(), log=io.StringIO())
    for line in ("genmove b", "play w a1", "genmove b", "play w pass", "genmove b"):
        answer = server.respond(parse_line(line.encode())).decode()
        assert answer.startswith("="), (spec, line, answer)
print(json.dumps(sorted(f"{module}.{name}" for module, name, _ in loaded() - before)))
"""


def test_warm_up_leaves_nothing_to_compile_for_games_and_analysis() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_AFTER_WARMING_UP], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize(
    "spec", ["random", "uct:playouts=50", "zero:go5,sims=16", "gumbel:go5,sims=16", "alphabeta:depth=2", "fast-policy"]
)
def test_moves_by_the_clock_call_only_what_was_called_before(spec: str) -> None:
    command = [sys.executable, "-c", LOADED_BY_MOVES, spec]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize(
    "spec", ["uct:playouts=50", "zero:go5,sims=16", "alphabeta:depth=2", "fast-policy:temperature=1"]
)
def test_getting_ready_changes_no_move(spec: str) -> None:
    state, ready, fresh = tengen.go.State.new(size=5), load_agent(spec, 7), load_agent(spec, 7)
    ready.check(state)  # type: ignore[attr-defined]
    for _ in range(3):
        moves = [agent.choose(state).move for agent in (ready, fresh)]
        assert moves[0] == moves[1]
        state = state.play(moves[0])


def test_an_agent_rehearses_once_for_each_game() -> None:
    class Counting:
        name = "counting"
        asked = 0

        def choose(self, state: tengen.go.State, seconds: float | None = None) -> tengen.Decision:
            self.asked += 1
            return tengen.Decision(state.legal_moves()[0])

        def close(self) -> None:
            pass

    agent = Counting()
    for state in (tengen.go.State.new(size=5), tengen.go.State.new(size=9), tengen.microchess.State.new()):
        rehearse(agent, state)  # type: ignore[arg-type]
    assert agent.asked == 5 + 4  # four moves of each, and in Go one after a pass
