"""`tengen bench`: every measure runs and is reported; how fast it is, no test may ask."""

import json
import os
import sys
from pathlib import Path

import pytest
import typer
from benchmarks import alphago, engine, generations, zero
from typer.testing import CliRunner

from tengen.cli import bench
from tengen.cli.main import ErrorsInOneLine, app, tengen

YARDSTICKS = Path(__file__).parents[1] / "benchmarks" / "yardsticks"


def test_engine_measures_everything_beside_its_yardsticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SIZES", (5, 9))
    monkeypatch.setattr(engine, "_PLAYOUTS", {5: 50, 9: 50})
    monkeypatch.setattr(engine, "_SIMULATIONS", {5: 50, 9: 50})
    monkeypatch.setattr(engine, "_LOCKSTEP_GAMES", 4)
    out = tmp_path / "engine.json"
    result = CliRunner().invoke(
        app, ["bench", "engine", "--rounds", "1", "--yardsticks", str(YARDSTICKS), "--json-file", str(out)]
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
    assert engine._rows({("playouts", 9, "tengen"): 3.0})[0].yardsticks == {}


def test_data_without_a_dataset_says_what_to_do(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["bench", "data", str(tmp_path)])
    assert result.exit_code == 2
    assert "tengen data build" in result.output + (result.stderr or "")


ANSWERING = """
import json, sys
assert "--size=3" in sys.argv and "--simulations=4" in sys.argv
print("a library says hello")
print(json.dumps({"ready": "yes"}), flush=True)
for line in sys.stdin:
    print(json.dumps({"simulations": 100, "seconds": 2 * float(line), "cpu": float(line)}), flush=True)
"""


def test_zero_measures_self_play_beside_its_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zero, "CONTESTS", (zero.Contest(3, 1, 8, slots=4, komi=0.5),))
    monkeypatch.setattr(zero, "_SIMULATIONS", 4)
    monkeypatch.setattr(zero, "_EVALUATED_AT_ONCE", 8)
    monkeypatch.setattr(zero, "_CALIBRATION", 16)
    (tmp_path / "mctx_pgx.py").write_text(ANSWERING)
    (tmp_path / "openspiel_alphazero.py").write_text("import a_module_that_is_not_there")
    affinity = getattr(os, "sched_getaffinity", lambda process: None)  # Linux has it
    out, cores = tmp_path / "zero.json", affinity(0)
    options = ["--rounds", "2", "--seconds", "0.1", "--yardsticks", str(tmp_path), "--json-file", str(out)]
    result = CliRunner().invoke(app, ["bench", "zero", *options])
    assert result.exit_code == 0, result.output
    assert affinity(0) == cores
    report = json.loads(out.read_text())["zero"]
    play, alone = report["rows"]
    assert set(play["rates"]) == {"Tengen", "mctx + pgx"} and set(alone["rates"]) == {"int8", "openvino", "torch"}
    assert play["rates"]["mctx + pgx"] == {"per_core": 1000.0, "per_second": 500.0}
    assert all(rate["per_core"] > 0 for row in (play, alone) for rate in row["rates"].values())
    assert 0 < play["evaluated"] <= 1.5
    assert len(report["absent"]) == 1 and sys.executable in report["absent"][0]
    assert "Not measured: OpenSpiel AlphaZero" in result.output


def test_a_peer_without_a_script_or_an_interpreter_is_told_of(tmp_path: Path) -> None:
    contest = zero.CONTESTS[0]
    assert "there is no" in str(zero.Peer(sys.executable, tmp_path / "none.py", contest).trouble)
    (tmp_path / "one.py").write_text("")
    assert "does not run" in str(zero.Peer(str(tmp_path / "python"), tmp_path / "one.py", contest).trouble)


def test_alphago_measures_parts_and_their_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alphago, "BOARDS", (alphago.Board(5, ("a-model-to-come", "go5"), 4),))
    monkeypatch.setattr(alphago, "_NODES", 100_000)
    out = tmp_path / "alphago.json"
    result = CliRunner().invoke(app, ["bench", "alphago", "--rounds", "2", "--seconds", "0.1", "--json-file", str(out)])
    assert result.exit_code == 0, result.output
    (board,) = json.loads(out.read_text())["alphago"]["boards"]
    assert board["model"] == "go5" and board["has_value"]
    assert board["rollout_microseconds"] > 0 and board["evaluations"]["per_core"] > 0
    assert 10 < board["rollout_moves"] < 75
    assert [row["threads"] for row in board["searches"]] == [1, 2]
    for row in board["searches"]:
        assert row["rate"]["per_second"] > 0 and 0 < row["fill"] <= 1
        assert sum(row["shares"].values()) == pytest.approx(1) and min(row["shares"].values()) > -0.1
    assert "filled" in result.output


def test_generations_measures_three_kinds_of_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generations, "RANDOM_GAMES", 50)
    monkeypatch.setattr(generations, "TRIALS", 4)
    out = tmp_path / "generations.json"
    sizes = ["--games", "6", "--searched", "3", "--threads", "2"]
    result = CliRunner().invoke(app, ["bench", "generations", *sizes, "--json-file", str(out)])
    assert result.exit_code == 0, result.output
    rows = json.loads(out.read_text())["generations"]["rows"]
    assert [row["games"] for row in rows] == [50, 6, 3] and [row["stated"] for row in rows] == [100_000, 250_000, 1]
    for row in rows:
        assert row["seconds"] > 0 and 20 < row["moves"] < 100
        assert row["scaled"] == pytest.approx(row["seconds"] * row["stated"] / row["games"])
    assert "untrained" in result.output


def test_without_a_checkout_one_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "_CHECKOUT", tmp_path)
    installed = typer.Typer(cls=ErrorsInOneLine)
    installed.callback()(tengen)
    installed.add_typer(bench._commands())
    for arguments in (["refuse"], ["refuse", "engine", "--rounds", "1"]):
        result = CliRunner().invoke(installed, arguments)
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "benchmarks need a checkout" in result.stderr
