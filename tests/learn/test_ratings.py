"""Ratings: by hand where that is possible, and from games of players of known strength."""

import math
from pathlib import Path

import numpy as np
import pytest

from tengen.learn import round_robin as module
from tengen.learn.duel import DuelResult
from tengen.learn.ratings import fit_ratings, rating_against
from tengen.learn.round_robin import RoundRobin, round_robin
from tengen.learn.run_directory import RunDirectoryError
from tengen.learn.zero import learn_zero

from .zero_stand_ins import StandInWorkers, toy_config


def test_a_rating_against_one_player_is_elos_formula() -> None:
    """With the drawn game that is added, 29.5 to 9.5 becomes 30 to 10: 400 * log10(3)."""
    assert rating_against([(100.0, DuelResult(29, 1, 9))]) == pytest.approx(100 + 400 * math.log10(3))
    assert rating_against([(0.0, DuelResult(10, 3, 10))]) == pytest.approx(0.0, abs=1e-6)
    assert rating_against([(50.0, DuelResult(0, 0, 20))]) == pytest.approx(50 - 400 * math.log10(41))


def test_a_rating_against_many_lies_between_what_they_say() -> None:
    ratings = [rating_against([meeting]) for meeting in ((0.0, DuelResult(30, 0, 10)), (300.0, DuelResult(10, 0, 30)))]
    both = rating_against([(0.0, DuelResult(30, 0, 10)), (300.0, DuelResult(10, 0, 30))])
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
                duels[one, other] = DuelResult(int(wins), int(draws), int(losses))
    found = fit_ratings(duels, list(true))
    assert found[0].elo == 0
    for player, elo in true.items():
        # a fifth of draws, which say nothing here, draws ratings together
        assert 0.6 * elo - 10 < found[player].elo < elo + 3 * found[player].error + 1
    assert found[20].games == 1600
    assert found[40].score > found[0].score
    assert 5 < found[40].error < 40


def test_two_players_by_hand() -> None:
    found = fit_ratings({(3, 7): DuelResult(9, 1, 29)}, [3, 7])  # 10 to 30 with the added draw
    assert found[7].elo == pytest.approx(400 * math.log10(3), abs=0.1)
    assert found[7].error == pytest.approx(400 / math.log(10) / math.sqrt(40 * 0.25 * 0.75), rel=1e-3)
    assert (found[7].games, found[7].score) == (39, pytest.approx(29.5 / 39))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    learn_zero(toy_config(iterations=4, positions=40), tmp_path, hosts=StandInWorkers, report=False)
    monkeypatch.setattr(module, "LocalWorkers", StandInWorkers)
    return tmp_path


def test_a_sample_of_generations_is_rated_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contest = round_robin(run, generations=3, games=8)
    assert contest == RoundRobin(run, (0, 2, 4), 8, 4)
    reports: list[tuple[int, int]] = []
    ratings = contest.play(on_progress=lambda done, of: reports.append((done, of)))
    assert reports == [(1, 3), (2, 3), (3, 3)]
    assert list(ratings) == [0, 2, 4]
    assert ratings[0].elo == 0 > ratings[2].elo > ratings[4].elo  # the stand-in's first model wins, 6 to 2
    assert (run / "ratings.png").read_bytes().startswith(b"\x89PNG")
    reports.clear()
    monkeypatch.setattr(module, "LocalWorkers", None)  # nothing is left to play
    assert contest.play() == ratings
    with pytest.raises(TypeError):
        round_robin(run, generations=3, games=10).play()  # another contest


def test_a_round_robin_needs_generations(run: Path) -> None:
    with pytest.raises(RunDirectoryError, match="two generations at least, and not 1"):
        round_robin(run, generations=1)
    for path in (run / "models").iterdir():
        path.unlink()
    with pytest.raises(RunDirectoryError, match="two generations at least"):
        round_robin(run)
