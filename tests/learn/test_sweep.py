"""Sweeps: which runs they make, and what they report of them."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tengen.learn.settings import SupervisedConfig
from tengen.learn.sweep import as_markdown, run_sweep, split_list, sweep_points
from tengen.runs.folder import read_metrics
from tengen.runs.progress import RunProgress

SMALL = "small:filters=4-4,dense=8"


def make_base(data: str = "data") -> SupervisedConfig:
    return SupervisedConfig(data=data, size=5, positions=320, epoch=160, validate=64, batch=16)


def test_one_thing_is_varied_at_a_time() -> None:
    points = sweep_points(make_base(), ["simple", "oneplane", "zero"], ["small"], ["sgd", "adam"], [16, 32])
    assert list(points) == [
        "simple, sgd, batch 16",
        "oneplane, sgd, batch 16",
        "zero, sgd, batch 16",
        "simple, adam, batch 16",
        "simple, sgd, batch 32",
    ]
    assert points["zero, sgd, batch 16"] == replace(make_base(), encoder="zero", optimizer="sgd")
    assert points["simple, sgd, batch 32"].batch == 32


def test_a_grid_has_all_combinations() -> None:
    points = sweep_points(make_base(), ["simple", "oneplane"], ["small", "large"], ["sgd", "adam", "sgd"], grid=True)
    assert len(points) == 8
    assert len(set(points.values())) == 8


def test_an_optimiser_may_carry_its_rate() -> None:
    points = sweep_points(make_base(), ["simple"], ["small"], ["sgd", "sgd=0.5", "adam=0.01"])
    assert {name: (config.optimizer, config.rate) for name, config in points.items()} == {
        "sgd": ("sgd", 0.0),
        "sgd=0.5": ("sgd", 0.5),
        "adam=0.01": ("adam", 0.01),
    }


@pytest.mark.parametrize(
    ("encoders", "networks", "optimizers", "message"),
    [
        (["none"], ["small"], ["sgd"], "no encoder 'none'"),
        (["simple"], ["huge"], ["sgd"], "no network is called 'huge'"),
        (["simple"], ["small"], ["sgd=fast"], "write adam=0.003"),
        (["simple"], ["small"], ["nobody"], "no optimizer is called"),
        (["simple"], [], ["sgd"], "at least one network"),
    ],
)
def test_mistakes_are_found_before_the_first_run(
    encoders: list[str], networks: list[str], optimizers: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        sweep_points(make_base(), encoders, networks, optimizers)


def test_lists_of_specs_with_settings() -> None:
    assert split_list("small, residual:blocks=2,filters=32,large,") == [
        "small",
        "residual:blocks=2,filters=32",
        "large",
    ]
    assert split_list("sgd,sgd=0.1,adam") == ["sgd", "sgd=0.1", "adam"]
    assert split_list("") == []


def test_a_sweep_goes_on_and_tells_its_outcome(tiny: Path, tmp_path: Path) -> None:
    points = sweep_points(make_base(str(tiny)), ["simple", "oneplane"], [SMALL], ["sgd", "adam"])
    reports: list[tuple[str, int]] = []

    def stop_in_the_second(name: str, now: RunProgress) -> None:
        reports.append((name, now.number))
        if name == list(points)[1] and now.line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(points, tmp_path, stop_in_the_second)
    assert json.loads((tmp_path / "sweep.json").read_text())["title"].endswith("(1 of 3 runs so far)")
    outcomes = run_sweep(points, tmp_path, lambda name, now: reports.append((name, now.number)))
    assert len(reports) == len(set(reports)) == 3 * 20  # no step was made twice
    assert [outcome.top1 for outcome in outcomes] == sorted((outcome.top1 for outcome in outcomes), reverse=True)
    for outcome in outcomes:
        last = read_metrics(tmp_path / outcome.run)[-1]
        assert (outcome.top1, outcome.loss, outcome.positions) == (last["test_top1"], last["test_loss"], 320)
    assert {outcome.name: outcome.rate for outcome in outcomes} == {
        "simple, sgd": 0.05,
        "oneplane, sgd": 0.05,
        "simple, adam": 0.001,
    }
    found = json.loads((tmp_path / "sweep.json").read_text())
    assert [run["name"] for run in found["runs"]] == [outcome.name for outcome in outcomes]
    with (tmp_path / "sweep.csv").open() as file:
        assert [float(row["top1"]) for row in csv.DictReader(file)] == [outcome.top1 for outcome in outcomes]
    assert (tmp_path / "sweep.md").read_text() == as_markdown(outcomes)
    assert as_markdown(outcomes).count("\n") == 5
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
