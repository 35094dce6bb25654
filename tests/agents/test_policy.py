"""The player without search: a network's moves made sensible."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.agents.agent import AgentError
from tengen.agents.policy import Policy, PolicyAgent
from tengen.agents.registry import load_agent
from tengen.cli.main import app
from tengen.games import go
from tengen.games.game import game_of
from tengen.games.go import BLACK, PASS, WHITE
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network for 7x7 that has learned nothing."""
    path = tmp_path_factory.mktemp("models") / "naive.safetensors"
    network = build_network("residual", 11, 7, seed=1, blocks=1, filters=8)
    save_model(path, network, ModelCard.of(network, encoder="simple"))
    return path


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_plays_whole_games_of_legal_moves_and_fills_no_eye(model: Path, temperature: float) -> None:
    state = go.State.new(7, "tromp-taylor")
    agent = PolicyAgent(Policy(str(model), temperature, seed=1))
    while not state.is_over and state.move_number < 300:
        move = agent.choose(state).move
        assert state.is_legal(move)
        if move != PASS:
            assert not is_eye(state.board, to_cell(move, 7), state.to_play, 0)
        state = state.play(move)


@pytest.mark.parametrize("kind", ["policy", "zero", "gumbel"])
def test_a_value_network_proposes_no_moves(kind: str, tmp_path: Path) -> None:
    network = build_network("alphago-value", 10, 7, seed=1, layers=1, filters=4, hidden=4)
    save_model(tmp_path / "value.safetensors", network, ModelCard.of(network, encoder="compact"))
    with pytest.raises(AgentError, match="is a value network and proposes no moves: take a model with a policy"):
        load_agent(f"{kind}:{tmp_path / 'value.safetensors'}")


def test_the_greedy_player_plays_the_likeliest_move_and_says_how_likely(model: Path) -> None:
    state = go.State.new(7).play(24)
    decision = load_agent(f"policy:{model}").choose(state)
    assert decision.move == max(decision.priors, key=lambda move: decision.priors[move])
    assert 0 < sum(decision.priors.values()) <= 1 + 1e-6
    assert "likely" in decision.note


def test_temperature_draws_among_likely_moves_and_a_seed_repeats_them(model: Path) -> None:
    def opening(seed: int) -> list[int]:
        state, agent = go.State.new(7), PolicyAgent(Policy(str(model), 1.0, seed))
        for _ in range(8):
            state = state.play(agent.choose(state).move)
        return [move for _, move in state.moves]

    assert opening(1) == opening(1)
    assert len({tuple(opening(seed)) for seed in range(4)}) > 1


def test_passes_after_a_pass_when_the_count_is_won(model: Path) -> None:
    black = [row * 7 + col for row in range(7) for col in range(7) if (row + col) % 2 and row < 6] + [42, 44, 46, 48]
    state = go.State.setup(7, "chinese", 0.5, black=black, to_play=WHITE).play(PASS)
    assert PolicyAgent(Policy(str(model))).choose(state).move == PASS


def test_sensible_moves_are_legal_moves_without_own_eyes() -> None:
    state = go.State.setup(5, "chinese", 0.5, black=[1, 5, 6, 7, 3, 9, 8], to_play=BLACK)
    moves = game_of(state).sensible_moves(state)
    assert PASS in moves
    assert 0 not in moves, "the corner is an eye"
    assert set(moves) <= set(state.legal_moves())


def test_another_board_size_is_refused(model: Path) -> None:
    with pytest.raises(AgentError, match="7x7 only"):
        load_agent(f"policy:model={model}").choose(go.State.new(9))


def test_a_match_on_another_board_size_is_refused_before_it_begins(model: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["match", f"policy:{model}", "random", "--size", "9", "--games", "2", "--out", str(tmp_path / "match")]
    )
    assert result.exit_code == 2
    assert "7x7 only" in result.output + (result.stderr or "")


def test_a_game_against_a_network_starts(model: Path) -> None:
    result = CliRunner().invoke(app, ["play", "--size", "7", "--opponent", f"policy:{model}"], input="d4\nquit\n")
    assert result.exit_code == 0, result.output
    assert "D4" in result.output


def test_a_finished_game_is_passed(model: Path) -> None:
    over = go.State.new(7).play(PASS).play(PASS)
    for spec in (f"policy:{model}", "uct:playouts=10", "fast-policy", "random"):
        assert load_agent(spec).choose(over).move == PASS


@pytest.mark.parametrize("spec", ["policy:model=/no/such/file", "policy:temperature=-1", "policy:model=x,depth=2"])
def test_what_cannot_be_loaded_says_so(spec: str) -> None:
    with pytest.raises(ValueError, match=r"model|temperature|depth"):
        load_agent(spec)


def test_the_same_position_gives_the_same_answer(model: Path) -> None:
    state, agent = go.State.new(7), PolicyAgent(Policy(str(model)))
    first, second = agent.choose(state), agent.choose(state)
    assert first.move == second.move
    assert np.allclose(list(first.priors.values()), list(second.priors.values()))


def test_a_model_of_another_game_is_refused_by_the_name_of_that_game() -> None:
    with pytest.raises(
        AgentError, match=r"microchess plays Microchess, and policy: plays only Go: take zero:microchess"
    ):
        load_agent("policy:microchess")
