"""Supervised learning: it learns, resumes exactly, and refuses what cannot be."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import torch

from tengen.data import dataset
from tengen.data.dataset import Dataset, select
from tengen.encode.go import get_go_encoder
from tengen.games import go
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.optimizers import DivergedError
from tengen.learn.settings import OPTIMIZERS, SCHEDULES, SupervisedConfig
from tengen.learn.supervised import (
    choose_games,
    final_ownership,
    learn_supervised,
    ownership_loss,
    predictor,
    validation_batches,
    value_loss,
)
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import ModelCard, load_network, read_card, save_model
from tengen.nets.network import build_network
from tengen.nets.openvino_evaluator import agreement
from tengen.runs.folder import FolderError, read_metrics
from tengen.runs.progress import RunProgress

NETWORK = "residual:blocks=1,filters=8,dropout=0.1"
VALUE = {"network": f"{NETWORK},value=yes", "encoder": "compact-komi", "komi_spread": 2.0}


def make_config(tiny: Path, **settings: Any) -> SupervisedConfig:
    """A run of 20 steps with 4 validations and a checkpoint every 3 steps."""
    defaults: dict[str, Any] = {"network": NETWORK, "size": 5, "batch": 16, "positions": 320, "epoch": 80}
    defaults |= {"validate": 64, "checkpoint": 3, "bf16": False}
    return SupervisedConfig(data=str(tiny), **(defaults | settings))


def train(
    config: SupervisedConfig, out: Path, on_progress: Callable[[RunProgress], None] = lambda _: None
) -> dict[str, Any]:
    return learn_supervised(config, out, on_progress, report=False)


class Stopped(Exception):
    """Stands for a power cut."""


def stopping_at(*steps: int) -> Callable[[RunProgress], None]:
    def on_progress(now: RunProgress) -> None:
        if now.number in steps:
            raise Stopped

    return on_progress


def assert_same_run(one: Path, other: Path) -> None:
    """Weights, averages, optimiser, random numbers, models and metrics, to the last bit; but for the time."""
    for name in ("trainer.safetensors", "best.safetensors", "last.safetensors"):
        mine, its = (safetensors.numpy.load((run / name).read_bytes()) for run in (one, other))
        assert mine.keys() == its.keys()
        for key in mine:
            np.testing.assert_array_equal(mine[key], its[key], f"{name} {key}")
    lines, others = ([line | {"seconds": 0} for line in read_metrics(run)] for run in (one, other))
    assert lines == others


def test_it_learns(tiny: Path, tmp_path: Path) -> None:
    reports: list[RunProgress] = []
    config = make_config(tiny, batch=64, positions=10_000, epoch=2500, average=0.98)
    best = train(config, tmp_path, reports.append)
    metrics = read_metrics(tmp_path)
    assert [line["positions"] for line in metrics] == [2496, 4992, 7488, 9984]
    assert metrics[-1]["test_loss"] < metrics[0]["test_loss"] < np.log(26)
    assert metrics[-1]["train_loss"] < metrics[0]["train_loss"]
    assert best["loss"] == min(line["test_loss"] for line in metrics)
    assert best["top1"] > 3 / 26
    assert [now.number for now in reports] == list(range(1, 157))
    assert [now.number for now in reports if now.line] == [line["step"] for line in metrics]
    assert reports[-1].done == 1.0
    assert read_card(tmp_path / "best.safetensors").training["validation"]["top1"] == best["top1"]


@pytest.mark.parametrize(
    "settings", [{}, {"average": 0.9, "optimizer": "adam"}, {"bf16": True, "smoothing": 0.1}, VALUE]
)
def test_a_run_that_was_stopped_thrice_ends_as_one_that_was_not(
    settings: dict[str, Any], tiny: Path, tmp_path: Path
) -> None:
    config = make_config(tiny, **settings)
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    train(config, straight)
    for step in (2, 8, 15):  # before the first checkpoint, between two, at a validation
        with pytest.raises(Stopped):
            train(config, stopped, stopping_at(step))
    assert train(replace(config, loaders=3), stopped) == train(config, straight)
    assert_same_run(straight, stopped)


def test_going_on_begins_at_the_last_checkpoint(tiny: Path, tmp_path: Path) -> None:
    config = make_config(tiny)
    with pytest.raises(Stopped):
        train(config, tmp_path, stopping_at(8))
    reports: list[int] = []
    train(config, tmp_path, lambda now: reports.append(now.number))
    assert reports == list(range(7, 21))
    train(config, tmp_path, stopping_at(*range(100)))  # nothing is left to do


def test_ctrl_c_waits_for_the_step_and_saves(tiny: Path, tmp_path: Path) -> None:
    config = make_config(tiny)

    def interrupt(now: RunProgress) -> None:
        if now.number == 7:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    if before != signal.default_int_handler:  # ignored, as in a shell's background job
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "stopped", interrupt)
        assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    reports: list[int] = []
    train(config, tmp_path / "stopped", lambda now: reports.append(now.number))
    assert reports[0] == 9
    train(config, tmp_path / "straight")
    assert_same_run(tmp_path / "straight", tmp_path / "stopped")


def test_killed_at_any_moment_it_goes_on_with_nothing_lost_or_counted_twice(tiny: Path, tmp_path: Path) -> None:
    config = make_config(tiny, positions=960, epoch=64)
    code = (
        "import sys; from pathlib import Path; from tengen.learn.supervised import *\n"
        f"config, out = SupervisedConfig(**{asdict(config)!r}), Path(sys.argv[1])\n"
        "learn_supervised(config, out, lambda now: print(now.number, flush=True), report=False)"
    )
    killed = tmp_path / "killed"
    with subprocess.Popen([sys.executable, "-c", code, str(killed)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 13:
                process.kill()
    assert process.returncode == -signal.SIGKILL
    train(config, killed)
    train(config, tmp_path / "straight")
    assert_same_run(tmp_path / "straight", killed)
    assert [line["step"] for line in read_metrics(killed)] == list(range(4, 61, 4))


def test_patience_ends_a_run_that_gets_no_better(tiny: Path, tmp_path: Path) -> None:
    config = make_config(tiny, rate=1e-30, decay=0.0, positions=1600, patience=2, network="residual:blocks=1,filters=8")
    config = replace(config, schedule="constant")
    train(config, tmp_path)
    steps = [line["step"] for line in read_metrics(tmp_path)]
    assert len(steps) < 20
    best = min(read_metrics(tmp_path), key=lambda line: line["test_loss"])
    assert steps[-1] >= best["step"] + 2 * 5


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_optimiser_steps_on_every_schedule(optimizer: str, schedule: str, tiny: Path, tmp_path: Path) -> None:
    rates: list[float] = []
    config = make_config(
        tiny, optimizer=optimizer, schedule=schedule, positions=64, epoch=64, network="small:filters=4-4,dense=8"
    )
    train(config, tmp_path, lambda now: rates.append(now.figures["rate"]))
    assert len(rates) == 4
    assert rates[0] > 0
    assert (rates[-1] < rates[1]) == (schedule != "constant")
    assert np.isfinite(read_metrics(tmp_path)[-1]["test_loss"])


def test_the_average_is_what_is_validated_and_saved(tiny: Path, tmp_path: Path) -> None:
    config = make_config(tiny, average=0.9)
    train(config, tmp_path)
    tensors = safetensors.numpy.load((tmp_path / "trainer.safetensors").read_bytes())
    model = load_network(tmp_path / "last.safetensors")[0].state_dict()
    weights = [name for name in model if not name.endswith("num_batches_tracked")]
    for name in weights:
        np.testing.assert_array_equal(model[name].numpy(), tensors[f"average.{name}"])
    assert any((tensors[f"average.{name}"] != tensors[f"network.{name}"]).any() for name in weights)


def test_hours_end_a_run(tiny: Path, tmp_path: Path) -> None:
    train(make_config(tiny, hours=1e-9, positions=10**9), tmp_path)
    assert [line["step"] for line in read_metrics(tmp_path)] == [1]


def test_a_model_can_be_the_start_of_another_run(tiny: Path, tmp_path: Path) -> None:
    train(make_config(tiny), tmp_path / "one")
    model = tmp_path / "one" / "last.safetensors"
    loss = read_metrics(tmp_path / "one")[-1]["test_loss"]
    more = make_config(tiny, start_from=str(model), rate=1e-12, positions=16, epoch=16)
    train(more, tmp_path / "two")
    assert read_metrics(tmp_path / "two")[-1]["test_loss"] == pytest.approx(loss, abs=0.05)
    with pytest.raises(ValueError, match="cannot start a"):
        train(replace(more, encoder="oneplane"), tmp_path / "three")


def test_a_model_that_sees_and_says_less_can_be_the_start(tiny: Path, tmp_path: Path) -> None:
    """As a network of self-play can: new planes change nothing at first, and heads that records do not teach go."""
    encoders = get_go_encoder("compact"), get_go_encoder("compact-komi")
    old = build_network("residual", 10, 5, seed=1, blocks=1, filters=8, value=True, ownership=True)
    save_model(tmp_path / "old.safetensors", old, ModelCard.of(old, encoder="compact"))
    config = make_config(tiny, encoder="compact-komi", network="residual:blocks=1,filters=8,value=yes")
    config = replace(config, start_from=str(tmp_path / "old.safetensors"), rate=1e-12, positions=16, epoch=16)
    train(config, tmp_path / "run")
    new, _ = load_network(tmp_path / "run" / "last.safetensors")
    before, after = (torch.from_numpy(encoder.encode([go.State.new(5)])) for encoder in encoders)
    for expected, found in zip(old.train()(before, to_play=True)[:2], new.train()(after, to_play=True)[:2]):
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_a_model_without_global_pooling_can_be_the_start(tiny: Path, tmp_path: Path) -> None:
    """Its convolutions go where the pooled ones have theirs, and the shifts change nothing at first."""
    old = build_network("residual", 10, 5, seed=1, blocks=2, filters=8)
    save_model(tmp_path / "old.safetensors", old, ModelCard.of(old, encoder="compact"))
    config = make_config(tiny, encoder="compact", network="residual:blocks=2,filters=8,pool_every=2")
    config = replace(config, start_from=str(tmp_path / "old.safetensors"), rate=1e-12, positions=16, epoch=16)
    train(config, tmp_path / "run")
    new, _ = load_network(tmp_path / "run" / "last.safetensors")
    planes = torch.from_numpy(get_go_encoder("compact").encode([go.State.new(5)]))
    torch.testing.assert_close(new.train()(planes).policy, old.train()(planes).policy, atol=1e-4, rtol=1e-4)
    with pytest.raises(ValueError, match="cannot start a"):
        train(replace(config, network="residual:blocks=3,filters=8,pool_every=2"), tmp_path / "deeper")


def test_a_value_head_of_another_kind_begins_anew(tiny: Path, tmp_path: Path) -> None:
    old = build_network("residual", 10, 5, seed=1, blocks=1, filters=8, value=True, value_hidden=4)
    save_model(tmp_path / "old.safetensors", old, ModelCard.of(old, encoder="compact"))
    network = "residual:blocks=1,filters=8,value=yes,value_hidden=4,value_norm=yes"
    config = make_config(tiny, encoder="compact", network=network, start_from=str(tmp_path / "old.safetensors"))
    train(replace(config, rate=1e-12, positions=16, epoch=16), tmp_path / "run")
    new, _ = load_network(tmp_path / "run" / "last.safetensors")
    planes = torch.from_numpy(get_go_encoder("compact").encode([go.State.new(5)] * 2))
    torch.testing.assert_close(new.train()(planes).policy, old.train()(planes).policy, atol=1e-4, rtol=1e-4)


def test_a_value_head_learns_who_won(tiny: Path, tmp_path: Path) -> None:
    network = "residual:blocks=1,filters=16,value=yes"
    settings = {"network": network, "encoder": "compact-komi", "batch": 64, "positions": 20_000, "epoch": 5000}
    best = train(make_config(tiny, **settings, komi_spread=3.0, average=0.98), tmp_path)
    metrics = read_metrics(tmp_path)
    assert metrics[-1]["test_value_loss"] < 0.7  # always saying 0 has a loss of 1
    assert metrics[-1]["train_value_loss"] < metrics[0]["train_value_loss"]
    assert "value_loss" in best
    card = read_card(tmp_path / "best.safetensors")
    assert card.conditions == {"rules": "tromp-taylor", "komi": (4.5, 10.5), "double_step": None}
    config = make_config(tiny, **settings)
    planes = next(validation_batches(config, choose_games(config).test)).planes
    exact, rounded = (load_evaluator(tmp_path / "best.safetensors", name)[0] for name in ("openvino", "int8"))
    assert agreement(exact, rounded, planes)["value"] < 0.1


def test_an_ownership_head_learns_whose_points_are_whose(tiny: Path, tmp_path: Path) -> None:
    network = "residual:blocks=1,filters=16,value=yes,ownership=yes"
    settings = {"network": network, "encoder": "compact-komi", "batch": 64, "positions": 6400, "epoch": 6400}
    config = make_config(tiny, **settings, average=0.9)
    train(config, tmp_path)
    games = choose_games(config).train
    truth = final_ownership(games)
    assert np.array_equal(np.load(tmp_path / "ownership.npy"), truth)
    learned, _ = load_network(tmp_path / "last.safetensors")
    batch = PositionLoader(games, get_go_encoder("compact-komi"), batch=64, seed=5, ownership=truth).batch_at(0, 256)
    with torch.no_grad():
        found = learned.eval()(torch.from_numpy(batch.planes)).ownership
    assert ownership_loss(found, batch) < 0.8 * ownership_loss(torch.zeros_like(found), batch)


def test_games_without_a_count_teach_no_ownership() -> None:
    lengths, owners = np.array([2, 1, 4]), np.array([[1, -1], [0, 0], [1, 1]], np.int8)
    batch = RecordBatch(*[np.zeros(3)] * 4, lengths, *[np.zeros(3)] * 3, ownership=owners)  # type: ignore[arg-type]
    assert ownership_loss(torch.tensor([[1.0, -1.0], [0.3, 0.3], [1.0, 1.0]]), batch).item() == 0.0
    guess = torch.tensor([[1.0, 1.0], [0.3, 0.3], [1.0, 1.0]])  # wrong by 2 on one point of two
    assert ownership_loss(guess, batch).item() == pytest.approx((1 / 2) * 2 / (1 / 2 + 1 / 4))


def test_a_long_game_teaches_no_more_about_results_than_a_short_one() -> None:
    lengths, winner = np.array([2, 2, 1, 1]), np.array([1, 1, -1, 1], np.int8)
    known = np.array([True, True, True, False])
    batch = RecordBatch(*[np.zeros(4)] * 4, lengths=lengths, winner=winner, known=known, komi=np.zeros(4))  # type: ignore[arg-type]
    assert value_loss(torch.zeros(4), batch).item() == 1.0
    assert value_loss(torch.tensor([1.0, 1.0, 1.0, 0.0]), batch).item() == 2.0  # one game right, one quite wrong


def test_a_run_that_diverges_says_what_to_do(tiny: Path, tmp_path: Path) -> None:
    config = make_config(tiny, rate=1e30, clip=0.0, warm_up=0.0, network="small:filters=4-4,dense=8")
    with pytest.raises(DivergedError, match="lower --rate"):
        train(config, tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"optimizer": "rmsprop"}, "no optimizer is called 'rmsprop': choose from sgd"),
        ({"schedule": "up"}, "no schedule is called 'up'"),
        ({"handicap": "some"}, "no handicap is called 'some'"),
        ({"encoder": "none"}, "no encoder 'none'"),
        ({"network": "huge"}, "no network is called 'huge'"),
        ({"network": "alphago-value:layers=2"}, "has no policy to learn moves with: `tengen learn value` trains it"),
        ({"network": "residual:value=yes,score=yes"}, "records teach a value, ownership beside it, and no score"),
        ({"network": "residual:ownership=yes"}, "ownership beside it, and no score"),
        ({"komi_spread": 4.0}, "simple does not show the komi"),
        ({"komi_spread": -1.0}, "komi_spread is -1.0"),
        ({"batch": 0}, "batch is 0: give 1 or more"),
        ({"momentum": 1.0}, "momentum is 1.0"),
        ({"rate": float("nan")}, "rate is nan"),
        ({"size": 13}, "of that kind"),
        ({"games": 10**6}, "1000000 games are wanted"),
        ({"start_from": "nowhere.safetensors"}, "nowhere"),
        ({"data": "nowhere"}, "tengen data build"),
    ],
)
def test_mistakes_are_found_before_anything_is_written(
    settings: dict[str, Any], message: str, tiny: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        train(replace(make_config(tiny), **settings), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_belongs_to_one_run(tiny: Path, tmp_path: Path) -> None:
    train(make_config(tiny, positions=16), tmp_path)
    with pytest.raises(FolderError, match="seed 1 where you ask for 2"):
        train(make_config(tiny, positions=16, seed=2), tmp_path)


def test_the_name_of_a_run_is_that_of_its_settings(tiny: Path) -> None:
    config = make_config(tiny)
    assert config.run_name() == replace(config, threads=2).run_name()
    assert config.run_name() != replace(config, seed=2).run_name()
    assert config.run_name().startswith("simple-residual-blocks-1-filters-8-dropout-0.1-")


def test_a_predictor_is_the_network(tiny: Path, tmp_path: Path) -> None:
    train(make_config(tiny, positions=16), tmp_path)
    network, _ = load_network(tmp_path / "last.safetensors")
    planes = np.random.default_rng(1).integers(0, 2, (3, 11, 5, 5), np.uint8)
    with torch.no_grad():
        expected = network(torch.from_numpy(planes)).policy.numpy()
    np.testing.assert_array_equal(predictor(network)(planes)[0], expected)


def test_a_run_opens_its_dataset_once(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    checksum = dataset.file_checksum

    def counted(path: Path) -> str:
        opened.append(path)
        return checksum(path)

    monkeypatch.setattr(dataset, "file_checksum", counted)
    learn_supervised(make_config(tiny, positions=640, epoch=160, batch=16), tmp_path, report=False)
    assert len(read_metrics(tmp_path)) == 4
    assert len(opened) == 1


def end_of(dataset: Dataset, row: int) -> go.State:
    state = dataset.start_of(row)
    for turn in range(int(dataset.lengths[row])):
        color, move = dataset.move_of(row, turn)
        state = state.play(move, color)
    return state


def test_counted_games_end_as_their_states_do(tiny_dataset: Dataset) -> None:
    games = select(tiny_dataset, "train", size=5)
    found = final_ownership(games)
    chosen = set(games.rows.tolist())
    counted = 0
    for row in range(len(found)):
        state = end_of(tiny_dataset, row)
        if row not in chosen or np.isnan(games.game_moves.points[row]):
            assert not found[row].any()
            continue
        if found[row].any():  # else the rules of the game left dead stones on the board
            assert np.array_equal(found[row], np.array([0, 1, -1])[state.ownership().ravel()]), row
            counted += 1
    assert counted > 20


def test_games_whose_count_is_another_are_left_out(tiny_dataset: Dataset) -> None:
    games = select(tiny_dataset, "all", size=5)
    right = final_ownership(games).any(axis=1)
    points = games.game_moves.points.copy()
    points[::2] += 1.5
    wrong = final_ownership(replace(games, game_moves=games.game_moves._replace(points=points))).any(axis=1)
    assert right.sum() > 20 and not wrong[::2].any() and np.array_equal(wrong[1::2], right[1::2])
