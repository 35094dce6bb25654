"""PettingZoo's own tests pass for every game, and rewards are those of the rules."""

import subprocess
import sys
import warnings
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, max_cycles_test, render_test, seed_test

from tengen.envs import env, parallel_env
from tengen.games.game import game_names, get_game

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
