"""`tengen learn` from the outside: a run from games to report, its mistakes, and Ctrl-C."""

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.data.build import build_dataset
from tengen.runs.folder import read_metrics, read_settings

from ..data.packed_games import record
from ..program import COMMAND

runner = CliRunner()
SMALL = ["--size", "5", "--network", "small:filters=4-4,dense=8", "--batch", "16", "--positions", "160"]
SMALL += ["--epoch", "80", "--validate", "32"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of random games on 5x5."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "games").mkdir()
    for seed in range(60):
        (folder / "games" / f"{seed}.sgf").write_bytes(record(seed, 5, 20))
    build_dataset([folder / "games"], folder / "built", workers=1)
    return folder / "built"


def test_from_games_to_a_measured_model(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["learn", "supervised", "--data", str(data), *SMALL, "--no-bf16"])
    assert result.exit_code == 0, result.output
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name.startswith("simple-small-filters-4-4-dense-8-")
    assert read_settings(run)["bf16"] is False
    assert "Best validation: top-1" in result.stdout
    assert (run / "report.html").exists()
    assert result.stderr.count("positions/s") == len(read_metrics(run)) == 2

    report = tmp_path / "figures.json"
    model = run / "best.safetensors"
    arguments = ["learn", "evaluate", str(model), "--data", str(data), "--positions", "32", "--json-file", str(report)]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "moves 1-20" in result.stdout
    figures = json.loads(report.read_text())
    best = min(read_metrics(run), key=lambda line: line["test_loss"])
    assert (figures["positions"], figures["split"], figures["encoder"]) == (32, "test", "simple")
    assert figures["loss"] == pytest.approx(best["test_loss"], abs=0.01)  # the very positions of the validation

    (run / "report.html").unlink()
    result = runner.invoke(app, ["learn", "report", str(run)])
    assert result.exit_code == 0, result.output
    assert (run / "report.html").exists()


def test_a_sweep_ends_in_a_table(data: Path, tmp_path: Path) -> None:
    small = [word for word in SMALL if word not in ("--network", "small:filters=4-4,dense=8", "--batch", "16")]
    arguments = ["learn", "sweep", "--data", str(data), *small, "--networks", "small:filters=4-4,dense=8"]
    arguments += ["--encoders", "simple,oneplane", "--optimizers", "sgd=0.1", "--batches", "16"]
    result = runner.invoke(app, [*arguments, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert re.search(r"^ ?oneplane +[\d,]+ +[\d.]+% ±", result.stdout, re.MULTILINE)
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "sweep.json", "sweep.csv", "sweep.md", "sweep.png"}
    assert [run["rate"] for run in json.loads((tmp_path / "sweep.json").read_text())["runs"]] == [0.1, 0.1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["supervised", "--data", "nowhere"], "nowhere holds no dataset: make one with `tengen data build`"),
        (["supervised", "--data", "DATA", "--optimizer", "best"], "no optimizer is called 'best': choose from sgd"),
        (["supervised", "--data", "DATA", "--encoder", "best"], "there is no encoder 'best'"),
        (["supervised", "--data", "DATA"], "is of that kind"),  # there are no games on 19x19
        (["evaluate", "nobody", "--data", "DATA"], "no model is called 'nobody'"),
        (["sweep", "--data", "DATA", "--batches", "many"], "batches 'many' are no numbers"),
        (["sweep", "--data", "nowhere"], "nowhere holds no dataset: make one with `tengen data build`"),
        (["sweep", "--data", "DATA"], "is of that kind"),
        (["value", "--data", "DATA", "--out", "runs/value"], "holds no positions"),
        (["value", "--policy", "go5", "--network", "small", "--out", "runs/value"], "small has no value head"),
        (["zero"], "which game? Give --preset, one of go5, go7, go9, microchess"),
        (["zero", "--out", "nowhere"], "which game?"),
        (["zero", "--preset", "go99"], "no preset is called 'go99'"),
        (["zero", "--preset", "go5", "--reuse", "-1"], "reuse is -1.0: give 0 or more"),
        (["zero", "--preset", "go5", "--network", "small"], "no value head"),
        (["zero", "--preset", "go5", "--encoder", "best"], "there is no encoder 'best'"),
        (["ratings", "nowhere"], "nowhere is no directory of a run"),
        (["report", "nowhere"], "nowhere is no directory of a run"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    arguments: list[str], line: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["learn", *(str(data) if word == "DATA" else word for word in arguments)])
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.splitlines()[-1].startswith("tengen: ")
    assert "Run runs/" not in result.stderr
    assert "runs in runs/" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_saves_and_tells_how_to_go_on(data: Path, tmp_path: Path) -> None:
    arguments = ["--data", str(data), *SMALL, "--positions", "100000000", "--checkpoint", "100000000"]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "learn", "supervised", *arguments, "--out", "run"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = ""
    while "positions/s" not in said:  # until the first validation
        said += (line := process.stderr.readline())
        assert line, said
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    assert process.wait() == 130
    assert "everything is saved in run" in said
    command = next(line.strip() for line in said.splitlines() if "tengen learn" in line)
    assert shlex.split(command)[3:5] == ["--data", str(data)]
    assert shlex.split(command)[-2:] == ["--out", "run"]
    assert "Traceback" not in said
    assert (tmp_path / "run" / "trainer.safetensors").exists()
    assert (tmp_path / "run" / "report.html").exists()


def test_learn_value_plays_its_games_on_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def learn(config: object, out: Path, on_progress: object, hosts: object) -> dict[str, float]:
        seen.append(hosts)
        return dict.fromkeys(("value_loss", "value_loss_standard_error", "train_value_loss"), 1.0) | {"step": 1}

    monkeypatch.setattr("tengen.learn.value.learn_value", learn)
    monkeypatch.setattr("tengen.cli.learn_alphago.cluster_hosts", lambda address: address and f"hosts at {address}")
    for given in ([], ["--cluster", "auto"]):
        result = runner.invoke(app, ["learn", "value", "--policy", "go5", *given, "--out", str(tmp_path)])
        assert result.exit_code == 0, result.output
    assert seen == [None, "hosts at auto"]
