"""A game against an opponent as a Gymnasium environment, and libraries that learn by it."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tengen import envs
from tengen.encode.registry import encoder_names, get_encoder
from tengen.games.state import RESIGN, AnyState

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("game", ["tictactoe", "microchess"])
def test_gymnasium_accepts_it(game: str) -> None:
    check_env(envs.solo_env(game), skip_render_check=True)


def test_both_sides_are_played_and_rewards_are_the_players() -> None:
    results = []
    for player in (1, 2):
        env = envs.solo_env("tictactoe", player=player)
        for seed in range(20):
            _, info = env.reset(seed=seed)
            done, reward = False, 0.0
            while not done:
                _, reward, done, _, info = env.step(int(info["action_mask"].argmax()))
            winner = env.position.winner()
            assert reward == (0 if not winner else 1 if winner == player else -1)
            results.append(reward)
    assert {-1.0, 1.0} <= set(results)


def test_an_illegal_action_loses_and_a_resignation_wins() -> None:
    env = envs.solo_env("tictactoe", player=2, opponent=lambda state: 4)
    env.reset()
    assert env.step(4)[1:3] == (-1.0, True)

    def resigns(state: AnyState) -> int:
        return RESIGN

    env = envs.solo_env("microchess", player=1, opponent=resigns)
    _, info = env.reset()
    assert env.step(int(info["action_mask"].argmax()))[1:3] == (1.0, True)


@pytest.mark.parametrize("name", [name for game in ("go", "microchess", "tictactoe") for name in encoder_names(game)])
def test_observations_are_within_their_space(name: str) -> None:
    game = get_encoder(name).game
    env = envs.env(game, encoder=name)
    env.reset(seed=1)
    box = env.observation_space(env.agents[0])["observation"]
    assert box.high.max() == (2 if name == "oneplane" else 1)
    for agent in env.agent_iter(max_iter=30):
        observation, _, terminated, truncated, _ = env.last()
        assert box.contains(observation["observation"])
        env.step(None if terminated or truncated else env.action_space(agent).sample())


@pytest.mark.long
def test_maskable_ppo_learns() -> None:
    pytest.importorskip("sb3_contrib")
    recipe = example("sb3_maskable_ppo")
    before = recipe.score("tictactoe", None, 200)
    after = recipe.score("tictactoe", recipe.train("tictactoe", 20_000), 200)
    assert after > before + 0.4


@pytest.mark.long
def test_tianshou_learns() -> None:
    pytest.importorskip("tianshou")
    before, after = example("tianshou_dqn").train("tictactoe", 15_000)
    assert after > before + 0.3


@pytest.mark.parametrize("name", ["analyse", "play", "own_network"])
def test_the_examples_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    example(name).main()
    assert capsys.readouterr().out


def test_the_planes_of_a_reset_are_zeros_and_ones() -> None:
    observation, _ = envs.solo_env("go", size=5).reset(seed=1)
    assert observation.dtype == np.uint8 and observation.max() <= 1
