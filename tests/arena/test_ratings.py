"""Ratings: by hand where that is possible, and from games of players of known strength."""

import math

import numpy as np
import pytest

from tengen.arena.ratings import fit_ratings, rating_against
from tengen.arena.statistics import Score


def test_a_rating_against_one_player_is_elos_formula() -> None:
    """With the drawn game that is added, 29.5 to 9.5 becomes 30 to 10: 400 * log10(3)."""
    assert rating_against([(100.0, Score(29, 9, 1))]) == pytest.approx(100 + 400 * math.log10(3))
    assert rating_against([(0.0, Score(10, 10, 3))]) == pytest.approx(0.0, abs=1e-6)
    assert rating_against([(50.0, Score(0, 20, 0))]) == pytest.approx(50 - 400 * math.log10(41))


def test_a_rating_against_many_lies_between_what_they_say() -> None:
    ratings = [rating_against([meeting]) for meeting in ((0.0, Score(30, 10, 0)), (300.0, Score(10, 30, 0)))]
    both = rating_against([(0.0, Score(30, 10, 0)), (300.0, Score(10, 30, 0))])
    assert min(ratings) < both < max(ratings)
    with pytest.raises(ValueError, match="at least one duel"):
        rating_against([])


def test_a_round_robin_finds_the_strengths_that_made_its_games() -> None:
    rng = np.random.default_rng(1)
    true = {0: 0.0, 10: 150.0, 20: 260.0, 30: 300.0, 40: 520.0}
    duels = {}
    for one in true:
        for other in true:
            if one < other:
                chance = 1 / (1 + 10 ** ((true[other] - true[one]) / 400))
                wins, draws, losses = rng.multinomial(400, [0.8 * chance, 0.2, 0.8 * (1 - chance)])
                duels[one, other] = Score(int(wins), int(losses), int(draws))
    found = fit_ratings(duels, list(true))
    assert found[0].elo == 0
    for player, elo in true.items():
        # a fifth of draws, which say nothing here, draws ratings together
        assert 0.6 * elo - 10 < found[player].elo < elo + 3 * found[player].error + 1
    assert found[20].games == 1600
    assert found[40].score > found[0].score
    assert 5 < found[40].error < 40


def test_two_players_by_hand() -> None:
    found = fit_ratings({(3, 7): Score(9, 29, 1)}, [3, 7])  # 10 to 30 with the added draw
    assert found[7].elo == pytest.approx(400 * math.log10(3), abs=0.1)
    assert found[7].error == pytest.approx(400 / math.log(10) / math.sqrt(40 * 0.25 * 0.75), rel=1e-3)
    assert (found[7].games, found[7].score) == (39, pytest.approx(29.5 / 39))
