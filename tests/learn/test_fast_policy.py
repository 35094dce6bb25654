"""Learning a fast policy: the gradient is right, it learns, and a stopped run goes on as if it had not been stopped."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.data.dataset import Dataset, select
from tengen.games import go
from tengen.learn.fast_policy import (
    FastPolicyConfig,
    FastPolicyRunError,
    add_gradient,
    learn_games,
    measure_fast_policy,
    new_room,
    train_fast_policy,
)
from tengen.nets.model_file import read_card
from tengen.runs.progress import RunProgress
from tengen.search.fast_policy import WEIGHTS, FastPolicy, find_candidates, last_cells, score_candidates, survey

from ..encode.games import as_records, guided_game


class Stopped(Exception):
    """Stands for a power cut."""


def make_config(tiny: Path, **settings: Any) -> FastPolicyConfig:
    return FastPolicyConfig(str(tiny), **({"size": 5, "chunk": 20, "batch": 4, "validate": 0} | settings))


def log_likelihood(weights: np.ndarray[Any, Any], state: go.State, move: int) -> float:
    scores = FastPolicy(weights).scores(state)
    values = np.array(list(scores.values()), np.float64)
    return float(scores[move] - np.log(np.exp(values).sum()))


def test_gradient_is_that_of_the_log_likelihood() -> None:
    weights = np.random.default_rng(1).normal(scale=0.3, size=WEIGHTS).astype(np.float32)
    game = guided_game(5, 2)
    room = new_room(5, 1)
    for state, after in [(game[i], game[i + 1]) for i in (0, 1, 7, 15)]:
        move = after.last_move
        assert move is not None
        survey(state.board, room.scene)
        n = find_candidates(state.board, room.scene, room.tables, *last_cells(state), state.to_play, room.candidates)
        slot = list(FastPolicy(weights).scores(state)).index(move)
        log_total = score_candidates(weights, room.candidates, n, room.scores)
        touched = add_gradient(room, n, slot, log_total, 0)
        assert touched == len(set(room.touched[:touched]))
        for feature in room.touched[:touched]:
            shifted = weights.copy(), weights.copy()
            shifted[0][feature] += 0.05
            shifted[1][feature] -= 0.05
            slope = (log_likelihood(shifted[0], state, move) - log_likelihood(shifted[1], state, move)) / 0.1
            assert room.gradient[feature] == pytest.approx(slope, abs=2e-3)
        room.gradient[:], room.is_touched[:] = 0, False


def test_every_position_of_every_game_is_learned_from_once() -> None:
    games = as_records([guided_game(5, seed)[-1] for seed in range(7)])
    for batch in (1, 3, 16):
        weights, squares = np.zeros(WEIGHTS, np.float32), np.ones(WEIGHTS, np.float32)
        positions, loss = learn_games(games, np.arange(7), new_room(5, batch), weights, squares, 5, 0.1)
        assert positions == len(games.moves)
        assert 0 < loss / positions < np.log(26)
        assert squares.max() > 1 and np.isfinite(weights).all()


def test_it_learns(tiny: Path, tmp_path: Path) -> None:
    reports: list[RunProgress] = []
    validation = train_fast_policy(make_config(tiny, passes=4), tmp_path / "model.safetensors", reports.append)
    tests = select(Dataset.open(tiny), "test", size=5)
    ignorant = measure_fast_policy(FastPolicy(np.zeros(WEIGHTS, np.float32)), tests)
    policy = FastPolicy.load(tmp_path / "model.safetensors")
    learned = measure_fast_policy(policy, tests)
    assert learned.positions == tests.positions == validation["positions"]
    assert learned.loss == pytest.approx(validation["loss"], abs=0.01)  # 16-bit weights
    assert learned.loss < ignorant.loss - 0.3
    assert learned.top1 > ignorant.top1 + 0.1
    assert (
        reports[-1].number == reports[-1].figures["wanted"] == 4 * len(select(Dataset.open(tiny), "train", size=5).rows)
    )
    assert reports[-1].figures["loss"] < reports[0].figures["loss"]
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    assert read_card(tmp_path / "model.safetensors").training["positions"] == reports[-1].figures["positions"]


def test_a_stopped_run_goes_on_as_if_it_had_not_been(tiny: Path, tmp_path: Path) -> None:
    config = make_config(tiny, passes=2)
    train_fast_policy(config, tmp_path / "whole.safetensors")

    def stop(now: RunProgress) -> None:
        raise Stopped

    reports: list[RunProgress] = []
    for _ in range(3):
        with pytest.raises(Stopped):
            train_fast_policy(config, tmp_path / "stopped.safetensors", stop)
    train_fast_policy(config, tmp_path / "stopped.safetensors", reports.append)
    assert reports[0].number == 80
    one, other = (FastPolicy.load(tmp_path / f"{name}.safetensors") for name in ("whole", "stopped"))
    assert np.array_equal(one.weights, other.weights)


def test_a_finished_run_is_not_run_again(tiny: Path, tmp_path: Path) -> None:
    config, reports = make_config(tiny, games=20), list[RunProgress]()
    first = train_fast_policy(config, tmp_path / "model.safetensors", reports.append)
    again = train_fast_policy(config, tmp_path / "model.safetensors", reports.append)
    assert first == again and len(reports) == 1


def test_another_run_does_not_overwrite(tiny: Path, tmp_path: Path) -> None:
    config, out = make_config(tiny, games=20), tmp_path / "model.safetensors"
    train_fast_policy(config, out)
    with pytest.raises(FastPolicyRunError, match="another"):
        train_fast_policy(replace(config, rate=0.3), out)


def test_the_command_learns_and_says_how_well(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.safetensors"
    arguments = ["learn", "fast-policy", "--data", str(tiny), "--out", str(out), "--size", "5", "--games", "20"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "top-1" in result.stdout and str(out) in result.stdout
    assert FastPolicy.load(out).weights.any()


@pytest.mark.parametrize("settings", [{"rate": 0.0}, {"batch": 0}, {"chunk": 0}, {"passes": 0}])
def test_impossible_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        FastPolicyConfig("data", **settings)
