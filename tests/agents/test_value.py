"""Agents over generations of value networks: what they choose is what a plain minimax over the networks chooses."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tengen.agents.agent import AgentError
from tengen.agents.registry import SpecError, load_agent, model_card
from tengen.arena.game import play_game
from tengen.encode.encoder import get_encoder
from tengen.games import go, microchess
from tengen.games.game import get_game
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.nets.model_file import ModelCard, ModelFileError, save_model
from tengen.nets.network import build_network
from tengen.search.generations import GenerationValues, ValueTreeSearch, find_generation, model_file
from tengen.search.minimax import Budget


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two generations that have learned nothing, but have strong opinions."""
    folder = tmp_path_factory.mktemp("generations") / "run"
    for number in (1, 2):
        for side, after in (("black", "first"), ("white", "second")):
            network = build_network("simple-go", 3, 3, seed=number, filters=(4,), hidden=8, after=after)
            for weight in network.parameters():
                weight.data *= 2
            about = {"encoder": "stones", "rules": "simple-go", "komi": 0.5, "recipe": {"rules": "simple-go"}}
            save_model(model_file(folder, side, number), network, ModelCard.of(network, **about))
    return folder


@cache
def network(path: Path) -> Evaluator:
    return load_evaluator(path)[0]


def slow_value(run: Path, state: go.State, depth: int) -> float:
    """Plain minimax to the player to move, one position at a time."""
    best = -np.inf
    side = "black" if state.to_play == 1 else "white"
    for move in get_game("go").sensible_moves(state):
        child = state.play(move)
        if child.is_over:
            value = 0.0 if not child.winner() else 1.0 if child.winner() == state.to_play else -1.0
        elif depth > 1:
            value = -slow_value(run, child, depth - 1)
        else:
            found = network(model_file(run, side, 2)).evaluate(get_encoder("stones").encode([child]))[1]
            assert found is not None
            value = -float(found[0])
        best = max(best, value)
    return best


def positions(count: int) -> list[go.State]:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(count):
        state = go.State.new(3, "simple-go", 0.5)
        for _ in range(int(rng.integers(5, 10))):
            if not state.is_over:
                state = state.play(int(rng.choice(state.legal_moves())))
        found += [] if state.is_over else [state]
    return found


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_value_is_that_of_plain_minimax(run: Path, depth: int) -> None:
    for state in positions(3):
        agent = load_agent(f"alphabeta:{run},depth={depth}" if depth > 1 else f"value:{run}")
        decision = agent.choose(state)
        assert decision.value is not None
        assert 2 * decision.value - 1 == pytest.approx(slow_value(run, state, depth), abs=1e-5)
        assert decision.move == decision.pv[0] and decision.value == max(decision.values.values())
        assert set(decision.values) == set(state.legal_moves())


def test_a_search_without_time_still_looks_one_ply_ahead(run: Path) -> None:
    (state, *_) = positions(2)
    batch = get_game("go").batch(get_game("go").options_of(state))
    search = ValueTreeSearch(batch, GenerationValues(find_generation(run)).evaluation(batch))
    assert search.run(state, 5, Budget(nodes=1)).depth == 1
    assert search.run(state, 2).depth == 2


def test_epsilon_plays_random_moves_so_often(run: Path) -> None:
    state = go.State.new(3, "simple-go", 0.5)
    greedy = load_agent(f"value:{run}").choose(state).move
    agent = load_agent(f"value:{run},epsilon=0.5", seed=1)
    others = sum(agent.choose(state).move != greedy for _ in range(300))
    assert 90 < others < 180  # 300 * 0.5 * 8 / 9 = 133
    with pytest.raises(ValueError, match=r"epsilon=2\.0 is not possible"):
        load_agent(f"value:{run},epsilon=2")


@pytest.mark.parametrize("spec", ["value:{run}", "alphabeta:{run},depth=2", "mcts:{run},playouts=20,seed=1"])
def test_they_play_whole_games(run: Path, spec: str) -> None:
    agent, random = load_agent(spec.format(run=run)), load_agent("random", seed=1)
    outcome = play_game(agent, random, go.State.new(3, "simple-go", 0.5), max_moves=100)
    assert outcome.state.is_over
    card = model_card(spec.format(run=run))
    assert card is not None and card.conditions["komi"] == (0.5, 0.5)
    assert "was trained with komi 0.5" in str(agent.warning(go.State.new(3, "simple-go", 2.5)))  # type: ignore[attr-defined]
    with pytest.raises(AgentError, match="plays on 3x3 only"):
        agent.check(go.State.new(5, "simple-go"))  # type: ignore[attr-defined]
    with pytest.raises(AgentError, match="plays Go, and this is a game of Microchess"):
        agent.choose(microchess.State.new())


def test_generations_are_named_in_specs(run: Path) -> None:
    state = positions(1)[0]
    by_run, by_file = (load_agent(f"value:{run},generation=1"), load_agent(f"value:{model_file(run, 'white', 1)}"))
    assert by_run.choose(state).values == by_file.choose(state).values
    assert by_run.choose(state).values != load_agent(f"value:{run}").choose(state).values
    assert model_card("mcts:playouts=10") is None and model_card("alphabeta") is None
    with pytest.raises(ModelFileError, match="holds no generation 9"):
        load_agent(f"value:{run},generation=9")
    with pytest.raises(SpecError, match="value needs a model"):
        load_agent("value")
    with pytest.raises(ValueError, match="a model and an evaluation"):
        load_agent(f"alphabeta:{run},evaluation=area")
