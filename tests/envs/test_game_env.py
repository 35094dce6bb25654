"""PettingZoo's own tests pass for every game, and rewards are those of the rules."""

import importlib.util
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, max_cycles_test, render_test, seed_test

from tengen import envs
from tengen.encode.encoder import encoder_names, get_encoder
from tengen.envs import env, parallel_env
from tengen.games.game import game_names, get_game
from tengen.games.state import RESIGN, AnyState

OPTIONS: dict[str, dict[str, Any]] = {"go": {"size": 5}}
"""Small boards, for speed."""

SEEDS = {"tictactoe": 8}

every_game = pytest.mark.parametrize("game", game_names())


@every_game
def test_api(game: str) -> None:
    with (
        warnings.catch_warnings()
    ):  # observations are dicts, as in PettingZoo's own board games, and empty boards zeros
        warnings.filterwarnings("ignore", "Observation (is not|space for each|numpy array is all zeros)", UserWarning)
        api_test(env(game, **OPTIONS.get(game, {})), num_cycles=200)


@every_game
def test_the_same_seed_gives_the_same_game(game: str) -> None:
    seed_test(lambda: env(game, **OPTIONS.get(game, {})), num_cycles=100)


@every_game
def test_max_cycles(game: str) -> None:
    """Random moves, from a random seed with which no game ends by itself in eight of them."""

    def seeded(make: Any, **arguments: Any) -> Any:
        made = make(game, **OPTIONS.get(game, {}), **arguments)
        for number, agent in enumerate(made.possible_agents):
            made.action_space(agent).seed(SEEDS.get(game, 1) + number)
        return made

    max_cycles_test(SimpleNamespace(env=partial(seeded, env), parallel_env=partial(seeded, parallel_env)))


@every_game
def test_rendering(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    render_test(partial(env, game, **OPTIONS.get(game, {})))
    assert capsys.readouterr().out


@every_game
def test_the_mask_is_what_the_rules_allow_and_the_reward_what_they_decide(game: str) -> None:
    made = env(game, **OPTIONS.get(game, {}))
    made.reset(seed=3)
    for agent in made.agent_iter():
        observation, reward, termination, _, _ = made.last()
        state = made.unwrapped.position
        if termination:
            first = agent == made.possible_agents[0]
            if not get_game(game).territory:  # where dead stones are not taken off
                assert reward == {0: 0, 1: 1, 2: -1}[state.winner()] * (1 if first else -1)
            assert observation["action_mask"].sum() == 0
            made.step(None)
            continue
        legal = sorted(state.action_of(move) for move in state.legal_moves())
        assert np.flatnonzero(observation["action_mask"]).tolist() == legal
        made.step(made.action_space(agent).sample())


def test_the_winner_of_go_is_rewarded() -> None:
    made = env("go", size=2, komi=0.5)
    made.reset()
    for action in (0, 4, 3, 4, 4):  # Black takes two corners, White passes: two passes end it
        made.step(action)
    assert made.rewards == {"black_0": 1.0, "white_0": -1.0}
    assert made.terminations == {"black_0": True, "white_0": True}


def test_an_illegal_action_loses() -> None:
    made = env("go", size=5)
    made.reset()
    made.step(12)
    made.step(12)
    assert made.rewards["white_0"] == -1


def test_handicap_stones_are_on_the_board() -> None:
    made = env("go", size=9, handicap=2)
    made.reset()
    assert made.agent_selection == "white_0"
    assert made.observe("white_0")["action_mask"].sum() == 81 - 2 + 1


def test_unknown_options_and_modes_are_refused() -> None:
    with pytest.raises(ValueError, match="komi is not an option of microchess"):
        env("microchess", komi=7)
    with pytest.raises(ValueError, match="choose from human, ansi"):
        env("go", render_mode="rgb_array")


def test_without_the_extra_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['pettingzoo'] = None; import tengen.envs as e; e.VectorEnv('go', 2); e.env('go')"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1] == "ImportError: tengen.envs.env needs PettingZoo: pip install 'tengen[rl]'"


# -------------------------------------------------------------------------------------------- one agent


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
