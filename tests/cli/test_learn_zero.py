"""`tengen learn zero` from the outside: killed and resumed; and its display."""

import io
import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from typer.testing import CliRunner

from tengen.cli.learn_zero import ZeroDisplay, round_line
from tengen.cli.main import app
from tengen.cli.progress import Progress
from tengen.learn.zero_settings import ZeroConfig
from tengen.runs.folder import read_metrics, read_settings
from tengen.runs.progress import RunProgress

from ..program import COMMAND

runner = CliRunner()
NETWORK = "residual:blocks=1,filters=4,first_kernel=3,head_filters=4,value_hidden=4,value=yes"
TOY = ["--size", "3", "--komi", "0.5", "--network", NETWORK, "--simulations", "4", "--slots", "8", "--positions", "100"]
TOY += "--batch 32 --duel-games 4 --hours 0 --workers 1 --threads 1 --backend openvino".split()


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "learn", "zero", *arguments, "--out", "run"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(process: "subprocess.Popen[str]", word: str) -> str:
    assert process.stderr is not None
    said = ""
    while word not in said:
        said += (line := process.stderr.readline())
        assert line, said
    return said


def test_a_game_without_a_preset_gets_what_suits_it() -> None:
    config = ZeroConfig.of_game("tictactoe", {"hours": 0.5})
    assert (config.encoder, config.hours, config.preset) == ("tictactoe", 0.5, "")
    assert "value=yes" in config.network and "ownership" not in config.network
    done = config.completed()
    assert (done.size, done.komi, done.rules) == (3, 0.0, ""), "a run records no options that its game does not have"
    assert ZeroConfig.of_game("go").completed() == ZeroConfig()
    assert ZeroConfig.preset_config("microchess").completed() == ZeroConfig.preset_config("microchess")


def test_killed_and_stopped_it_goes_on(tmp_path: Path) -> None:
    """With real processes: kill -9, then Ctrl-C, then to the end; and ratings of what came out."""
    process = start(tmp_path, "--preset", "go5", *TOY, "--iterations", "1000000")
    read_until(process, "round 2 ")
    process.kill()
    process.wait()
    lines = read_metrics(tmp_path / "run")
    assert [line["iteration"] for line in lines][:2] == [1, 2]
    process = start(tmp_path)  # the settings are in the run
    said = read_until(process, f"round {len(lines) + 1} ")
    assert said.startswith("Resuming run")
    assert "3x3, chinese rules, komi " in said and "all settings: run/config.toml" in said
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.wait() == 130
    assert "everything is saved in run" in said
    assert "Traceback" not in said
    command = next(line.strip() for line in said.splitlines() if "tengen learn" in line)
    words = shlex.split(command)
    assert words[:5] == ["tengen", "learn", "zero", "--preset", "go5"]
    assert words[-2:] == ["--out", "run"]
    done = len(read_metrics(tmp_path / "run"))
    words = [*words[1:-1], str(tmp_path / "run"), "--iterations", str(done + 1)]
    result = runner.invoke(app, words)
    assert result.exit_code == 0, result.output
    metrics = read_metrics(tmp_path / "run")
    assert [line["iteration"] for line in metrics] == list(range(1, done + 2))
    assert f"Generation {done + 1}" in result.stdout
    assert read_settings(tmp_path / "run")["iterations"] == done + 1
    assert (tmp_path / "run" / "report.html").exists()

    arguments = ["learn", "ratings", str(tmp_path / "run"), "--generations", "2", "--games", "2", "--workers", "1"]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert f"g{done + 1}" in result.stdout
    found = json.loads((tmp_path / "run" / "ratings.json").read_text())
    assert [rating["generation"] for rating in found["ratings"]] == [0, done + 1]
    (tmp_path / "run" / "report.html").unlink()
    result = runner.invoke(app, ["learn", "report", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "run" / "report.html").exists()


LINE: dict[str, Any] = {"step": 700, "iteration": 3, "generation": 3, "positions": 61_234, "games": 2345}
LINE |= {"simulations": 10**6, "window": 60_000, "seconds": 3725.0, "rate": 0.05, "loss_policy": 1.25}
LINE |= {"loss_value": 0.5, "loss_ownership": 0.0, "loss_score": 0.0, "play_positions_per_second": 2345.6}
LINE |= {"play_simulations_per_second": 75_000.0, "play_length": 24.5, "play_first": 0.75, "elo": 812.4, "champion": 3}
LINE |= {"duels": [[2, 25, 2, 13], [0, 40, 0, 0]], "gate_score": 0.65, "gate_promoted": True}


def test_the_screen_shows_the_moment() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120, height=40)
    config = ZeroConfig.preset_config("go5", {"hours": 2.0})
    with Progress(console) as progress:
        screen = ZeroDisplay(progress, config)
        speeds = {"games_per_second": 31.4, "positions_per_second": 800.0, "simulations_per_second": 41_000.0}
        screen.show(RunProgress("self-play", 3, 0.5, 0.5, 3600.0, speeds))
        screen.show(RunProgress("duels", 3, 1.0, 0.5, 3725.0, {}, LINE))
        losses = {"policy": 1.2, "value": 0.4, "ownership": 0.3, "score": 0.1, "rate": 0.05}
        screen.show(RunProgress("training", 4, 0.25, 0.55, 3800.0, losses))
    file = console.file
    assert isinstance(file, io.StringIO)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    for words in ("round 4", "31.4", "41,000", "1.2000", "Elo", "812", "65%, promoted", "against g2", "26-14"):
        assert words in shown
    assert "1:03:20 of 2:00:00, 0:56:40 left" in shown


def test_without_a_terminal_there_are_only_lines() -> None:
    console = Console(file=io.StringIO(), width=80)
    with Progress(console) as progress:
        screen = ZeroDisplay(progress, ZeroConfig.preset_config("go5"))
        screen.show(RunProgress("self-play", 3, 0.5, 0.5, 3600.0, {"games_per_second": 31.4}))
        screen.show(RunProgress("duels", 3, 1.0, 0.5, 3725.0, {}, LINE))
    file = console.file
    assert isinstance(file, io.StringIO)
    assert file.getvalue().splitlines() == [round_line(LINE, None)]
