"""Thousands of games a call: every board is the game that the friendly state plays."""

from typing import Any

import numpy as np
import pytest

from tengen.encode import get_encoder
from tengen.envs import VectorEnv
from tengen.games.game import game_names, get_game

OPTIONS: dict[str, dict[str, Any]] = {"go": {"size": 5, "limit": 30}}
every_game = pytest.mark.parametrize("game", game_names())


@every_game
def test_every_board_is_the_game_that_friendly_states_play(game: str) -> None:
    boards, kind = 8, get_game(game)
    env = VectorEnv(game, boards, **OPTIONS.get(game, {}))
    encoder, start = get_encoder(env.spec.encoder_name), kind.new(env.spec.options)
    states = [start] * boards
    observation, legal = env.reset(seed=5)
    ended = 0
    for _ in range(120):
        assert np.array_equal(observation, encoder.encode(states))
        for state, mask in zip(states, legal):
            assert sorted(map(state.action_of, state.legal_moves())) == np.flatnonzero(mask).tolist()
        assert env.to_play.tolist() == [state.to_play for state in states]
        actions, movers = env.sample(), env.to_play
        observation, reward, terminated, legal = env.step(actions)
        states = [state.play(state.move_of(int(action))) for state, action in zip(states, actions)]
        for b, state in enumerate(states):
            assert terminated[b] == (state.is_over or state.move_number == OPTIONS.get(game, {}).get("limit"))
            if not kind.territory:
                winner = state.winner() or 0
                assert reward[b] == (0 if not winner else 1 if winner == movers[b] else -1)
            if terminated[b]:
                states[b], ended = start, ended + 1
    assert ended >= boards


def test_rewards_of_go_are_from_the_view_of_who_moved() -> None:
    env = VectorEnv("go", 2, size=2, komi=-0.5)  # with a stone each, Black wins
    for actions in ([0, 0], [3, 3], [4, 1]):
        reward, terminated = env.step(np.array(actions))[1:3]
        assert reward.tolist() == [0.0, 0.0]
        assert terminated.tolist() == [False, False]
    _, reward, terminated, legal = env.step(np.array([4, 4]))  # White's pass ends the first game, which Black has won
    assert reward.tolist() == [-1.0, 0.0]
    assert terminated.tolist() == [True, False]
    assert legal[0].all()  # the next game
    reward, terminated = env.step(np.array([0, 4]))[1:3]  # Black's pass ends the second
    assert reward.tolist() == [0.0, 1.0]
    assert terminated.tolist() == [False, True]


def test_handicap_stones_are_there_in_every_game() -> None:
    env = VectorEnv("go", 3, size=9, handicap=2, limit=1)
    for _ in range(3):
        _, _, terminated, legal = env.step(env.sample())
        assert terminated.all()
        assert (env.to_play == 2).all()
        assert legal.sum(axis=1).tolist() == [80, 80, 80]


def test_an_illegal_action_is_refused_and_nothing_is_played() -> None:
    env = VectorEnv("go", 3, size=5)
    env.step(np.array([0, 1, 2]))
    before = env.reset(seed=1)[0].copy()
    for actions in ([3, 26, 5], [3, -1, 5]):
        with pytest.raises(ValueError, match="is not legal on board 1"):
            env.step(np.array(actions))
    observation, _, _, _ = env.step(np.array([25, 25, 25]))
    assert observation.shape == before.shape


def test_the_same_seed_draws_the_same_moves() -> None:
    env = VectorEnv("microchess", 16)
    drawn = []
    for _ in range(2):
        env.reset(seed=7)
        drawn.append([env.step(env.sample()).observation.copy() for _ in range(20)])
    assert np.array_equal(drawn[0], drawn[1])


def test_observations_by_any_encoder_or_none() -> None:
    assert VectorEnv("go", 4, size=7, encoder="compact").reset()[0].shape == (4, 10, 7, 7)
    env = VectorEnv("go", 4, size=7, encoder=None)
    assert env.reset()[0].shape == (4, 0, 7, 7)
    assert env.step(env.sample()).observation.shape == (4, 0, 7, 7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "go", "boards": 0}, "at least 1"),
        ({"game": "chess", "boards": 1}, "no game is called"),
        ({"game": "go", "boards": 1, "encoder": "microchess"}, "not of go"),
        ({"game": "microchess", "boards": 1, "size": 9}, "size is not an option of microchess"),
    ],
)
def test_mistakes_are_errors_with_a_remedy(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VectorEnv(**arguments)
