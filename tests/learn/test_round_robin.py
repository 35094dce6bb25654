"""A round robin among generations of a run: played once, written down, rated."""

from pathlib import Path

import pytest

from tengen.learn import round_robin as module
from tengen.learn.round_robin import RoundRobin, round_robin
from tengen.learn.zero import learn_zero
from tengen.runs.folder import FolderError

from .zero_stand_ins import StandInWorkers, toy_config


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
    with pytest.raises(FolderError, match="two generations at least, and not 1"):
        round_robin(run, generations=1)
    for path in (run / "models").iterdir():
        path.unlink()
    with pytest.raises(FolderError, match="two generations at least"):
        round_robin(run)
