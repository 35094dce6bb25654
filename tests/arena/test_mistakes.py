"""Mistakes, and games that are won, by the exact solver on 3x3."""

import numpy as np
import pytest

from tengen.agents.registry import load_agent
from tengen.arena.mistakes import find_mistakes, play_won_games
from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve.go_solver import Solver


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(3, get_rules("simple-go"), memory=0.05)


def test_a_random_player_throws_games_away_and_an_exact_one_does_not(solver: Solver) -> None:
    start = go.State.new(3, "simple-go", komi=3.5)
    random = find_mistakes(load_agent("random", 1), start, solver, 60, from_move=1, noise=0.5)
    assert random.sampled == 60
    assert 0.1 < random.share < 0.9
    low, high = random.interval
    assert low < random.share < high
    exact = find_mistakes(load_agent("exact"), start, solver, 30, from_move=1, noise=0.5)
    assert exact.won > 5
    assert exact.share == 0


def test_every_mistake_is_one(solver: Solver) -> None:
    start = go.State.new(3, "simple-go", komi=3.5)
    found = find_mistakes(load_agent("random", 2), start, solver, 40, from_move=1, noise=0.5, seed=2)
    for mistake in found.thrown_away:
        after = mistake.state.play(mistake.move)
        assert solver.verdict(mistake.state).winner == mistake.state.to_play
        assert (after.winner() if after.is_over else solver.verdict(after).winner) == after.to_play or after.is_over


def test_the_same_seed_gives_the_same_positions(solver: Solver) -> None:
    start = go.State.new(3, "simple-go", komi=3.5)
    twice = [find_mistakes(load_agent("random", 3), start, solver, 20, from_move=1, seed=3) for _ in range(2)]
    assert twice[0].won == twice[1].won
    moves = [np.array([mistake.move for mistake in found.thrown_away]) for found in twice]
    assert np.array_equal(*moves)


def test_exact_play_wins_what_is_won_and_random_play_does_not(solver: Solver) -> None:
    start = go.State.new(3, "simple-go", komi=3.5)
    exact = load_agent("exact")
    won = list(play_won_games(exact, exact, start, solver, 20, opening=(1, 3)))
    assert all(game.held for game in won)
    assert {game.player for game in won} == {go.BLACK, go.WHITE}
    lost = list(play_won_games(load_agent("random", 1), exact, start, solver, 20, opening=(1, 3)))
    assert sum(game.held for game in lost) < 20
    for game in lost:
        assert game.opening.move_number in (1, 2, 3)
        assert solver.verdict(game.opening).winner == game.player
        if game.mistake is not None:
            assert not game.held
            assert game.mistake.state.to_play == game.player
            assert solver.verdict(game.mistake.state).winner == game.player


def test_the_same_seed_gives_the_same_openings(solver: Solver) -> None:
    start, exact = go.State.new(3, "simple-go", komi=3.5), load_agent("exact")
    twice = [list(play_won_games(exact, exact, start, solver, 5, opening=(1, 3), seed=3)) for _ in range(2)]
    assert [str(game.opening) for game in twice[0]] == [str(game.opening) for game in twice[1]]
