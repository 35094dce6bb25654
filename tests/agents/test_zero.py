"""The AlphaGo Zero player: limits, tree reuse, what it refuses, and what it tells."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tengen.agents import network_search, search_agent
from tengen.agents.agent import AgentError, Decision
from tengen.agents.network_search import NetworkSearchAgent
from tengen.agents.registry import load_agent
from tengen.agents.zero import GumbelSettings, ZeroSettings, zero_agent
from tengen.encode.game_spec import GameSpec
from tengen.games import go
from tengen.games.game import game_of
from tengen.games.go import BLACK, PASS, RESIGN, WHITE
from tengen.games.go.rules import GoOptions
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network
from tengen.search.gumbel import GumbelParameters
from tengen.search.puct import PuctParameters

from ..games.go.positions import state_from
from ..search.networks import searcher_of

KINDS = {"zero": ZeroSettings, "gumbel": GumbelSettings}
both_kinds = pytest.mark.parametrize("kind", KINDS)
START = go.State.new(5, "chinese", 3.5)


def new_model(folder: Path, size: int, value: bool = True, encoder: str = "compact", planes: int = 10) -> Path:
    """A network that has learned nothing."""
    path = folder / f"naive{size}-{value}.safetensors"
    network = build_network("residual", planes, size, seed=1, blocks=1, filters=8, value=value)
    save_model(path, network, ModelCard.of(network, encoder=encoder))
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def model(models: Path) -> Path:
    """For 5x5."""
    return new_model(models, 5)


def agent_of(kind: str, model: Path, **settings: Any) -> NetworkSearchAgent:
    clock = settings.pop("clock", None)
    made = KINDS[kind](str(model), **({"seed": 1, "backend": "openvino"} | settings))
    return zero_agent(made) if clock is None else zero_agent(made, clock)


def simulations_of(decision: Decision) -> int:
    """How many there were, by the note."""
    return int(decision.note.split(" simulations")[0])


def told(decision: Decision) -> tuple[Any, ...]:
    """All but the note, which tells the time."""
    return decision.move, decision.value, decision.visits, decision.values, decision.pv


# ---------------------------------------------------------------------------------------------- playing


@both_kinds
@pytest.mark.parametrize("rules", ["chinese", "tromp-taylor", "aga", "new-zealand", "simple-go"])
def test_plays_whole_legal_games(model: Path, kind: str, rules: str) -> None:
    state = go.State.new(5, rules, 3.5)
    players = {BLACK: agent_of(kind, model, sims=8), WHITE: agent_of(kind, model, sims=8, seed=2)}
    while not state.is_over and state.move_number < 160:
        state = state.play(players[state.to_play].choose(state).move)
    assert state.is_over
    assert players[BLACK].choose(state).move == PASS


@both_kinds
def test_a_decision_tells_its_reasons(model: Path, kind: str) -> None:
    decision = agent_of(kind, model, sims=100).choose(START)
    assert simulations_of(decision) == 100
    assert decision.pv[0] == decision.move
    assert set(decision.visits) == set(decision.priors) <= set(START.legal_moves())
    assert decision.visits[decision.move] == max(decision.visits.values())
    assert decision.value is not None and 0 <= decision.value <= 1
    assert all(0 <= chance <= 1 for chance in decision.values.values())
    state = START
    for move in decision.pv:
        state = state.play(move)


@both_kinds
def test_the_seed_repeats_a_game_and_temperature_draws_others(model: Path, kind: str) -> None:
    def moves(seed: int, temperature: float) -> list[int]:
        agent, state = agent_of(kind, model, sims=12, seed=seed, temperature=temperature), START
        while not state.is_over and state.move_number < 8:
            state = state.play(agent.choose(state).move)
        return [move for _, move in state.moves]

    assert moves(1, 0.0) == moves(2, 0.0)
    assert moves(1, 1.0) == moves(1, 1.0)
    assert len({tuple(moves(seed, 1.0)) for seed in range(4)}) > 1


def test_a_temperature_next_to_nothing_plays_the_most_visited_move(model: Path) -> None:
    best = agent_of("zero", model, sims=50).choose(START)
    cold = agent_of("zero", model, sims=50, temperature=1e-4).choose(START)
    assert cold.visits[cold.move] == best.visits[best.move]


def test_specs_give_agents(model: Path) -> None:
    assert load_agent(f"zero:{model},sims=5,backend=openvino").name == f"zero:{model},sims=5"
    assert load_agent(f"gumbel:{model},sims=5,seconds=2,backend=torch").name == f"gumbel:{model},sims=5,seconds=2.0"
    assert load_agent(f"zero:{model}").name == f"zero:{model},sims=64"
    assert load_agent(f"zero:{model},seconds=0.5").name == f"zero:{model},seconds=0.5"


# ----------------------------------------------------------------------------------------------- limits


@both_kinds
def test_simulations_limit_the_search(model: Path, kind: str) -> None:
    for sims in (1, 2, 33):  # and as many again if the first ones want to pass, which would lose
        assert simulations_of(agent_of(kind, model, sims=sims).choose(START)) in (sims, 2 * sims)
    assert simulations_of(agent_of(kind, model).choose(START)) == 64


class Remembering:
    """A network that remembers the sizes of its batches."""

    def __init__(self, network: Any) -> None:
        self._network, self.architecture = network, network.architecture
        self.sizes: list[int] = []

    def evaluate(self, planes: np.ndarray) -> Any:
        self.sizes.append(len(planes))
        return self._network.evaluate(planes)


@both_kinds
def test_an_agent_that_is_ready_needs_nothing_new(model: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_search, "load_evaluator", _loading(Remembering))
    agent, fresh = (agent_of(kind, model, sims=100, batch=7) for _ in range(2))
    agent.check(START)
    prepared = list(agent.policy.evaluator.sizes)
    assert set(prepared) == set(range(1, 8))
    agent.check(START.play(0))
    assert agent.policy.evaluator.sizes == prepared  # once is enough
    assert told(agent.choose(START)) == told(fresh.choose(START))
    assert agent.choose(START.play(0)).move in START.play(0).legal_moves()
    assert set(agent.policy.evaluator.sizes) == set(prepared)


def test_a_game_is_opened_once_for_all_moves(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, made = list[object](), search_agent.open_batch

    def counting(*given: Any) -> Any:
        opened.append(given)
        return made(*given)

    monkeypatch.setattr(search_agent, "open_batch", counting)
    agent, state = agent_of("zero", model, sims=5), START
    for _ in range(4):
        state = state.play(agent.choose(state).move)
    assert len(opened) == 1


def ticking(step: float = 0.5) -> Iterator[float]:
    """A clock of our own: it jumps at each look."""
    return iter(np.arange(0, 10_000, step).tolist())


def test_time_limits_the_search(model: Path) -> None:
    now = ticking()
    agent = agent_of("zero", model, seconds=3.0, clock=lambda: next(now))
    decision = agent.choose(START)
    assert next(now) <= 3.5  # with the looks before and after
    assert simulations_of(decision) >= 3
    before = next(now)
    assert agent.choose(START.play(0), seconds=1.5).move in START.play(0).legal_moves()
    assert next(now) - before <= 2.5


@both_kinds
def test_a_clock_that_runs_cuts_a_search_short(model: Path, kind: str) -> None:
    now = ticking()
    agent = agent_of(kind, model, sims=100_000, clock=lambda: next(now))
    assert simulations_of(agent.choose(START, seconds=5.0)) < 1000


@both_kinds
def test_without_time_for_any_simulation_the_network_s_favourite_is_played(model: Path, kind: str) -> None:
    now = ticking(100.0)
    decision = agent_of(kind, model, sims=1000, clock=lambda: next(now)).choose(START, seconds=0.01)
    assert simulations_of(decision) == 0
    assert decision.priors[decision.move] == max(decision.priors.values())


@both_kinds
def test_stop_ends_a_search_in_another_thread(model: Path, kind: str) -> None:
    agent, found = agent_of(kind, model, sims=3_000_000 if kind == "zero" else 200_000), []
    thread = threading.Thread(target=lambda: found.append(agent.choose(START)))
    thread.start()
    while thread.is_alive():
        agent.stop()
        thread.join(0.01)
    assert found[0].move in START.legal_moves()
    assert simulations_of(found[0]) < 200_000


def test_a_stop_of_the_past_does_not_count(model: Path) -> None:
    agent = agent_of("zero", model, sims=20)
    agent.stop()
    assert simulations_of(agent.choose(START)) == 20


# ------------------------------------------------------------------------------------------- its tree


@both_kinds
def test_the_tree_is_kept_from_move_to_move(model: Path, kind: str) -> None:
    """A game with an agent is the same as a search that is advanced by hand."""
    parameters = PuctParameters() if kind == "zero" else GumbelParameters()
    spec = GameSpec(GoOptions(5, "chinese", 3.5, limit=100), "compact")
    searcher, game = searcher_of(spec, load_evaluator(model, "openvino")[0], parameters, nodes=1_000_000), spec.batch
    agent, state, roots = agent_of(kind, model, sims=150, batch=1), START, game.allocate(1)
    kept = 0
    for _ in range(4):
        decision = agent.choose(state)
        result = searcher.search(roots, np.array([0]), 150)
        assert state.action_of(decision.move) == result.chosen[0]
        for move, visits in decision.visits.items():
            assert result.visits[0, state.action_of(move)] == visits
        kept += int(result.visits.sum()) > 150
        replies = [move for move in decision.pv[1:2] if move != PASS]
        reply = replies[0] if replies else state.play(decision.move).legal_moves()[0]
        for move in (decision.move, reply):
            action = np.array([state.action_of(move)])
            game.play(roots, action)
            searcher.advance(action)
            state = state.play(move)
    assert kept >= 1


SEARCHED = START.play(12).play(7)
ELSEWHERE = {
    "another game": START.play(0).play(1),
    "a game of the same moves": go.State.new(5, "chinese", 3.5).play(12).play(7).play(8),
    "an undone move": START.play(12),
    "the other colour": SEARCHED.with_to_play(WHITE),
    "a move out of turn": SEARCHED.play(6, WHITE),
    "two moves of one colour": SEARCHED.play(6, WHITE).with_to_play(WHITE),
    "a turn given back": SEARCHED.play(6).with_to_play(BLACK),
    "another komi": SEARCHED.with_komi(0.5),
    "other rules": go.State.new(5, "tromp-taylor", 3.5).play(12).play(7),
}


@both_kinds
@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_tree_is_dropped_for(model: Path, kind: str, name: str) -> None:
    agent, state = agent_of(kind, model, sims=60), ELSEWHERE[name]
    agent.choose(SEARCHED)
    assert told(agent.choose(state)) == told(agent_of(kind, model, sims=60).choose(state))


def test_the_same_position_again_is_searched_further(model: Path) -> None:
    agent = agent_of("zero", model, sims=40)
    agent.choose(START)
    again = agent.choose(START)
    assert simulations_of(again) == 40
    whole = agent_of("zero", model, sims=80, batch=1).choose(START)
    assert again.visits == whole.visits


def test_an_agent_can_be_closed_and_used_again(model: Path) -> None:
    agent = agent_of("zero", model, sims=10)
    first = agent.choose(START)
    agent.close()
    agent.close()
    assert told(agent.choose(START)) == told(first)


def test_a_long_game_finds_room(model: Path) -> None:
    """More moves than four times the points: the arrays grow with the game."""
    agent, state = agent_of("zero", model, sims=4), START
    rng = np.random.default_rng(1)
    while state.move_number < 130:
        moves = [move for move in state.legal_moves() if move != PASS] or [PASS]
        state = state.play(int(rng.choice(moves)))
        if state.is_over:
            pytest.fail("the game was meant to be long")
        if state.move_number % 7 == 0:
            assert agent.choose(state).move in state.legal_moves()


# --------------------------------------------------------------------------- passing, resigning, solving

SETTLED = """
    . X X O .
    X . X O O
    . X X O .
    X X X O O
    . X . X O
"""


@both_kinds
def test_passes_when_the_opponent_passed_and_the_count_is_won(model: Path, kind: str) -> None:
    state = state_from(SETTLED, to_play=WHITE, komi=0.5).play(PASS)
    assert agent_of(kind, model, sims=20).choose(state).move == PASS


class Pessimist:
    """Thinks that the player to move has lost."""

    def __init__(self, network: Any) -> None:
        self.architecture = network.architecture

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((len(planes), self.architecture.actions), np.float32), np.full(len(planes), -0.9, np.float32)


class WhiteHasWon(Pessimist):
    """Thinks that White wins."""

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, values = super().evaluate(planes)
        return logits, np.where(planes[:, 8, 0, 0] > 0, values, -values)


@both_kinds
def test_resigns_only_when_lost_and_only_if_it_may(model: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_search, "load_evaluator", _loading(WhiteHasWon))
    assert agent_of(kind, model, sims=30, resign=0.2).choose(START).move == RESIGN
    assert agent_of(kind, model, sims=30).choose(START).move != RESIGN
    assert agent_of(kind, model, sims=30, resign=0.01).choose(START).move != RESIGN
    assert agent_of(kind, model, sims=30, resign=0.2).choose(START.play(12)).move != RESIGN


def _loading(network: type) -> Callable[..., tuple[Any, ModelCard]]:
    """`load_evaluator`, with this network around the one that is loaded."""

    def load(*given: Any, **settings: Any) -> tuple[Any, ModelCard]:
        evaluator, card = load_evaluator(*given, **settings)
        return network(evaluator), card

    return load


@both_kinds
def test_what_is_solved_is_certain_whatever_the_network_thinks(
    models: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fight on 3x3 that Black wins, as alpha-beta finds (see the tests of the searcher)."""
    monkeypatch.setattr(network_search, "load_evaluator", _loading(Pessimist))
    state = go.State.new(3, "tromp-taylor", 0.0)
    for move in [8, 3, 0, 5, 7, 6, 1, 2]:
        state = state.play(move)
    agent = agent_of(kind, new_model(models, 3), sims=50_000, resign=0.4)
    decision = agent.choose(state)
    assert decision.move != RESIGN
    assert decision.value == decision.values[decision.move] == 1.0
    assert simulations_of(decision) < 20_000, "a solved position needs no more simulations"


def test_a_handicap_s_bonus_counts() -> None:
    for state, komi in ((go.State.new(9, "chinese", 0.5, handicap=3), 3.5), (go.State.new(9, "chinese", 6.5), 6.5)):
        batch = GameSpec(game_of(state).options_of(state), "compact").batch
        games = batch.allocate(1)
        assert games.komi[0] == komi
        batch.load(games, 0, state)
        assert games.komi[0] == komi


# ------------------------------------------------------------------------------------- what it refuses


@both_kinds
def test_states_it_cannot_play_are_refused_in_one_line(model: Path, kind: str) -> None:
    agent = agent_of(kind, model, sims=4)
    for ask in (agent.check, agent.choose):
        with pytest.raises(AgentError, match="plays on 5x5 only, and this board is 9x9"):
            ask(go.State.new(9))
        with pytest.raises(AgentError, match="counted by area here, which japanese rules do not"):
            ask(go.State.new(5, "japanese"))
        with pytest.raises(AgentError, match="plays Go, and this is a game of Microchess"):
            ask(SimpleNamespace(game="microchess"))  # type: ignore[arg-type]
    agent.check(START)


def test_models_that_cannot_search_are_refused(models: Path) -> None:
    with pytest.raises(AgentError, match="no value head"):
        agent_of("zero", new_model(models, 5, value=False))
    with pytest.raises(ValueError, match="no model is called"):
        load_agent("zero:nonsense")


@pytest.mark.parametrize(
    "spec",
    [
        "zero:sims=0",
        "zero:sims=many",
        "zero:seconds=-1",
        "zero:seconds=nan",
        "zero:exploration=-1",
        "zero:batch=-2",
        "zero:temperature=-0.5",
        "zero:resign=0.7",
        "zero:nodes=10",
        "zero:considered=4",
        "gumbel:sims=0",
        "gumbel:seconds=1",
        "gumbel:considered=0",
        "gumbel:temperature=nan",
        "gumbel:exploration=2",
    ],
)
def test_settings_that_cannot_be_are_refused(spec: str) -> None:
    with pytest.raises(ValueError, match=spec.split(":")[1].split("=")[0]):
        load_agent(spec)
