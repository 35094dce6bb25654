"""`tengen bench`: every measure runs and is reported; how fast it is, no test may ask."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tengen.cli import bench_engine
from tengen.cli.main import app

YARDSTICKS = Path(__file__).parents[2] / "benchmarks" / "yardsticks"


def test_engine_measures_everything_beside_its_yardsticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_engine, "SIZES", (5, 9))
    monkeypatch.setattr(bench_engine, "_PLAYOUTS", {5: 50, 9: 50})
    monkeypatch.setattr(bench_engine, "_SIMULATIONS", {5: 50, 9: 50})
    monkeypatch.setattr(bench_engine, "_LOCKSTEP_GAMES", 4)
    out = tmp_path / "engine.json"
    result = CliRunner().invoke(
        app, ["bench", "engine", "--rounds", "1", "--yardsticks", str(YARDSTICKS), "--json", str(out)]
    )
    assert result.exit_code == 0, result.output
    rows = json.loads(out.read_text())["engine"]
    measured = {(row["what"], row["size"]) for row in rows if row["tengen"] > 0}
    kinds = {"playouts", "batch moves", "API moves", "UCT, light", "UCT, guided"}
    assert measured >= {(what, size) for what in kinds for size in (5, 9)}
    for row in rows:
        for name, ratio in row["ratios"].items():
            if row["tengen"]:
                assert ratio == pytest.approx(row["tengen"] / row["yardsticks"][name])
    assert "playouts" in result.output


def test_engine_does_without_yardsticks(tmp_path: Path) -> None:
    assert bench_engine._rows({("playouts", 9, "tengen"): 3.0})[0].yardsticks == {}


def test_data_without_a_dataset_says_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "data", str(tmp_path)])
    assert result.exit_code == 2
    assert "tengen data build" in result.output + (result.stderr or "")
