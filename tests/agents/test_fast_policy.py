"""The fast policy as a player: legal games to the end under all rules, no own eye filled, passes that win."""

from pathlib import Path

import numpy as np
import pytest

from tengen.agents.fast_policy import FastPolicyAgent, FastPolicySettings
from tengen.agents.registry import SpecError, load_agent
from tengen.games import go
from tengen.games.go import BLACK, PASS, RULES, WHITE
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye
from tengen.search.fast_model import FastPolicy, sections_of
from tengen.search.fast_policy import WEIGHTS


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy of random weights, which likes to pass after a pass."""
    path = tmp_path_factory.mktemp("model") / "random.safetensors"
    weights = np.random.default_rng(1).normal(scale=0.5, size=WEIGHTS).astype(np.float32)
    sections_of(weights)["pass"][:] = (-5.0, 0.0)
    FastPolicy(weights).save(path, size=9, training={})
    return path


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_plays_legal_games_to_the_end(model: Path, rules: str, temperature: float) -> None:
    agent = FastPolicyAgent(FastPolicySettings(str(model), temperature, seed=5))
    state = go.State.new(5, rules)
    while not state.is_over and state.move_number < 300:
        decision = agent.choose(state)
        if decision.move != PASS and len(state.legal_moves()) > 1:
            assert not is_eye(state.board, to_cell(decision.move, 5), state.to_play, state.rules.flags)
        state = state.play(decision.move)  # raises if it is illegal
    assert state.is_over
    agent.close()


def test_likeliest_moves_come_first_and_probabilities_are_told(model: Path) -> None:
    decision = FastPolicyAgent(FastPolicySettings(str(model))).choose(go.State.new(9))
    assert decision.move == max(decision.priors, key=lambda move: decision.priors[move])
    assert 0 < sum(decision.priors.values()) <= 1
    assert decision.pv == (decision.move,)


def test_temperature_varies_the_moves_and_the_seed_fixes_them(model: Path) -> None:
    def opening(seed: int) -> list[int]:
        agent = load_agent(f"fast-policy:model={model},temperature=1", seed)
        return [agent.choose(go.State.new(9)).move for _ in range(10)]

    assert opening(1) == opening(1) != opening(2)
    assert len(set(opening(1))) > 1


@pytest.mark.parametrize(("to_play", "wins"), [(BLACK, True), (WHITE, False)])
def test_answers_a_pass_with_a_pass_only_if_that_wins(model: Path, to_play: int, wins: bool) -> None:
    """Black owns the board but for one corner."""
    black = [5 * row + col for row in range(5) for col in (1, 3)]
    state = go.State.setup(5, "tromp-taylor", 2.5, black, [], 3 - to_play).play(PASS)
    decision = FastPolicyAgent(FastPolicySettings(str(model))).choose(state)
    assert (decision.move == PASS) == wins


def test_passes_when_only_eyes_are_left(model: Path) -> None:
    black = [move for move in range(25) if move not in (6, 18)]
    state = go.State.setup(5, "chinese", 100.0, black, [], BLACK)
    assert FastPolicyAgent(FastPolicySettings(str(model))).choose(state).move == PASS


def test_the_bundled_policy_opens_in_a_corner() -> None:
    agent = load_agent("fast-policy")
    row, col = divmod(agent.choose(go.State.new(19)).move, 19)
    assert min(row, 18 - row) in (2, 3) and min(col, 18 - col) in (2, 3)


def test_unknown_settings_are_refused(model: Path) -> None:
    with pytest.raises(SpecError, match="playouts"):
        load_agent("fast-policy:playouts=3")
    with pytest.raises(ValueError, match="temperature"):
        load_agent(f"fast-policy:model={model},temperature=-1")
