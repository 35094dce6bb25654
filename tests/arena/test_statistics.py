"""Scores, intervals, Elo and ratings against known values, their own properties, and games of known strengths."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.arena.statistics import (
    Score,
    describe_elo,
    elo_difference,
    expected_score,
    fit_ratings,
    rating_against,
    wilson_interval,
)

counts = st.integers(0, 500)
scores = st.builds(Score, counts, counts, counts)


@pytest.mark.parametrize(
    ("points", "games", "low", "high"),
    [
        # R: binom::binom.wilson(x, n); also Brown, Cai and DasGupta (2001)
        (8, 10, 0.4901625, 0.9433178),
        (0, 10, 0.0, 0.2775328),
        (10, 10, 0.7224672, 1.0),
        (50, 100, 0.4038315, 0.5961685),
        (1, 1, 0.2065493, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_interval_is_the_published_one(points: float, games: int, low: float, high: float) -> None:
    assert wilson_interval(points, games) == pytest.approx((low, high), abs=1e-6)


@given(scores)
def test_the_ends_of_the_interval_solve_wilsons_equation(score: Score) -> None:
    """At an end q of the interval the mean p is z standard errors away: (p - q)² = z² q(1-q)/n."""
    for end in score.interval:
        if score.games and 0 < end < 1:
            squared = (score.mean - end) ** 2
            assert squared == pytest.approx(1.959964**2 * end * (1 - end) / score.games, rel=1e-4, abs=1e-12)


def test_points_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="not possible"):
        wilson_interval(3, 2)


@pytest.mark.parametrize(("score", "elo"), [(0.5, 0.0), (0.75, 190.8485), (10 / 11, 400.0), (0.01, -798.2541)])
def test_elo_of_known_scores(score: float, elo: float) -> None:
    assert elo_difference(score) == pytest.approx(elo, abs=1e-3)


@given(st.floats(-1500, 1500))
def test_elo_and_expected_score_are_inverse(difference: float) -> None:
    assert elo_difference(expected_score(difference)) == pytest.approx(difference, abs=1e-6)


@given(scores)
def test_the_opponent_sees_the_mirror_image(score: Score) -> None:
    low, high = score.interval
    assert score.reversed.interval == pytest.approx((1 - high, 1 - low), abs=1e-12)
    if score.games:
        assert low <= score.mean <= high
        assert score.mean + score.reversed.mean == pytest.approx(1)
    if 0 < score.points < score.games:
        assert score.reversed.elo == pytest.approx(-score.elo, abs=1e-6)


def test_a_draw_is_half_a_win_and_half_a_loss() -> None:
    assert Score(1, 1, 2).mean == 0.5
    assert Score(3, 0, 2).interval == wilson_interval(4, 5)
    assert Score(1, 2, 3) + Score(1, 0, 0) == Score(2, 2, 3)


def test_one_sided_scores_are_told_by_the_bound_that_is_known() -> None:
    assert Score(10, 0).elo == math.inf
    assert Score(0, 10).elo == -math.inf
    assert describe_elo(Score(10, 0)) == "> +166 (95%)"
    assert describe_elo(Score(0, 10)) == "< -166 (95%)"
    assert describe_elo(Score(0, 0)) == "unknown"
    assert describe_elo(Score(2, 2)) == "+0 (95%: -301 to +301)"
    assert describe_elo(Score(3, 1)) == "+191 (95%: -147 to +528)"


def test_a_score_prints_with_its_interval() -> None:
    assert str(Score(22, 18)) == "55.0% (95%: 39.8% to 69.3%)"
    assert str(Score(0, 0)) == "no games"


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
