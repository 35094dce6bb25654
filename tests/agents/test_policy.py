"""The players without search: moves of a network made sensible, and those of the fast policy."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.agents.agent import AgentError
from tengen.agents.policy import FastPolicyAgent, FastPolicySettings, PolicyAgent, PolicySettings
from tengen.agents.registry import SpecError, load_agent
from tengen.cli.main import app
from tengen.games import go
from tengen.games.game import game_of
from tengen.games.go import BLACK, PASS, RULES, WHITE
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import build_network
from tengen.search.fast_policy import WEIGHTS, FastPolicy, sections_of


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
    agent = PolicyAgent(PolicySettings(str(model), temperature, seed=1))
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
        state, agent = go.State.new(7), PolicyAgent(PolicySettings(str(model), 1.0, seed))
        for _ in range(8):
            state = state.play(agent.choose(state).move)
        return [move for _, move in state.moves]

    assert opening(1) == opening(1)
    assert len({tuple(opening(seed)) for seed in range(4)}) > 1


def test_passes_after_a_pass_when_the_count_is_won(model: Path) -> None:
    black = [row * 7 + col for row in range(7) for col in range(7) if (row + col) % 2 and row < 6] + [42, 44, 46, 48]
    state = go.State.setup(7, "chinese", 0.5, black=black, to_play=WHITE).play(PASS)
    assert PolicyAgent(PolicySettings(str(model))).choose(state).move == PASS


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
    state, agent = go.State.new(7), PolicyAgent(PolicySettings(str(model)))
    first, second = agent.choose(state), agent.choose(state)
    assert first.move == second.move
    assert np.allclose(list(first.priors.values()), list(second.priors.values()))


def test_a_model_of_another_game_is_refused_by_the_name_of_that_game() -> None:
    with pytest.raises(
        AgentError, match=r"microchess plays Microchess, and policy: plays only Go: take zero:microchess"
    ):
        load_agent("policy:microchess")


@pytest.fixture(scope="module")
def fast_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy of random weights, which likes to pass after a pass."""
    path = tmp_path_factory.mktemp("model") / "random.safetensors"
    weights = np.random.default_rng(1).normal(scale=0.5, size=WEIGHTS).astype(np.float32)
    sections_of(weights)["pass"][:] = (-5.0, 0.0)
    FastPolicy(weights).save(path, size=9, training={})
    return path


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_plays_legal_games_to_the_end(fast_model: Path, rules: str, temperature: float) -> None:
    agent = FastPolicyAgent(FastPolicySettings(str(fast_model), temperature, seed=5))
    state = go.State.new(5, rules)
    while not state.is_over and state.move_number < 300:
        decision = agent.choose(state)
        if decision.move != PASS and len(state.legal_moves()) > 1:
            assert not is_eye(state.board, to_cell(decision.move, 5), state.to_play, state.rules.flags)
        state = state.play(decision.move)  # raises if it is illegal
    assert state.is_over
    agent.close()


def test_likeliest_moves_come_first_and_probabilities_are_told(fast_model: Path) -> None:
    decision = FastPolicyAgent(FastPolicySettings(str(fast_model))).choose(go.State.new(9))
    assert decision.move == max(decision.priors, key=lambda move: decision.priors[move])
    assert 0 < sum(decision.priors.values()) <= 1
    assert decision.pv == (decision.move,)


def test_temperature_varies_the_moves_and_the_seed_fixes_them(fast_model: Path) -> None:
    def opening(seed: int) -> list[int]:
        agent = load_agent(f"fast-policy:model={fast_model},temperature=1", seed)
        return [agent.choose(go.State.new(9)).move for _ in range(10)]

    assert opening(1) == opening(1) != opening(2)
    assert len(set(opening(1))) > 1


@pytest.mark.parametrize(("to_play", "wins"), [(BLACK, True), (WHITE, False)])
def test_answers_a_pass_with_a_pass_only_if_that_wins(fast_model: Path, to_play: int, wins: bool) -> None:
    """Black owns the board but for one corner."""
    black = [5 * row + col for row in range(5) for col in (1, 3)]
    state = go.State.setup(5, "tromp-taylor", 2.5, black, [], 3 - to_play).play(PASS)
    decision = FastPolicyAgent(FastPolicySettings(str(fast_model))).choose(state)
    assert (decision.move == PASS) == wins


def test_passes_when_only_eyes_are_left(fast_model: Path) -> None:
    black = [move for move in range(25) if move not in (6, 18)]
    state = go.State.setup(5, "chinese", 100.0, black, [], BLACK)
    assert FastPolicyAgent(FastPolicySettings(str(fast_model))).choose(state).move == PASS


def test_the_bundled_policy_opens_in_a_corner() -> None:
    agent = load_agent("fast-policy")
    row, col = divmod(agent.choose(go.State.new(19)).move, 19)
    assert min(row, 18 - row) in (2, 3) and min(col, 18 - col) in (2, 3)


def test_unknown_settings_are_refused(fast_model: Path) -> None:
    with pytest.raises(SpecError, match="playouts"):
        load_agent("fast-policy:playouts=3")
    with pytest.raises(ValueError, match="temperature"):
        load_agent(f"fast-policy:model={fast_model},temperature=-1")
