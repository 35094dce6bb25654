"""`tengen match` from the outside: its table, its mistakes, and what `kill -9` does to it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.games.go.sgf import read_sgf

from ..program import COMMAND

runner = CliRunner()


def start(arguments: list[str], folder: Path) -> "subprocess.Popen[str]":
    """`tengen match` in a process of its own, working in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "match", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def lines(folder: Path) -> int:
    """How many results the match under `folder` has so far."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("matches/*/results.jsonl"))


def wait_for_lines(process: "subprocess.Popen[str]", folder: Path, count: int) -> None:
    """Until the match has so many results, or has ended."""
    while process.poll() is None and lines(folder) < count:
        try:
            process.wait(timeout=0.02)
        except subprocess.TimeoutExpired:
            continue


def test_the_table_tells_the_score(tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "report.json"
    arguments = ["random", "random", "--size", "5", "--games", "4", "--komi", "7"]
    result = runner.invoke(app, ["match", *arguments, "--out", str(out), "--json-file", str(report)])
    assert result.exit_code == 0, result.output
    assert "5x5, chinese rules, komi 7" in result.stdout
    conditions = "2 random opening moves, at most 200 moves a game, no time limit, A and B move first in turn, seed 1"
    assert conditions in result.stdout
    for text in ("won", "as Black", "Score of A", "Elo A over B", "moves on average", str(out / "games")):
        assert text in " ".join(result.stdout.split()), text
    summary = json.loads(report.read_text())
    assert summary["games"] == summary["games_wanted"] == 4
    assert summary["a"]["wins"] + summary["a"]["draws"] + summary["b"]["wins"] == 4
    assert summary["settings"]["komi"] == 7.0


def test_a_match_of_microchess(tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "report.json"
    arguments = ["random", "alphabeta:depth=2", "--game", "microchess", "--rules", "ncsoft", "--no-double-step"]
    result = runner.invoke(app, ["match", *arguments, "-n", "4", "--out", str(out), "--json-file", str(report)])
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "Microchess, ncsoft rules, no double step" in text
    assert text.index("as White") < text.index("as Black")
    settings = json.loads(report.read_text())["settings"]
    assert (settings["game"], settings["double_step"], settings["opening_moves"]) == ("microchess", False, 4)
    assert sorted(path.name for path in (out / "games").iterdir()) == [f"000{game}.pgn" for game in (1, 2, 3, 4)]


def test_the_match_follows_the_model_and_warns_outside_of_what_it_learned(tmp_path: Path) -> None:
    arguments = ["match", "random", "zero:go5,sims=1", "-n", "1"]
    output = runner.invoke(app, [*arguments, "--out", str(tmp_path / "a")]).stdout
    assert "5x5, chinese rules, komi 3.5" in output and "was trained" not in output
    output = runner.invoke(app, [*arguments, "--komi", "9.5", "--out", str(tmp_path / "b")]).stdout
    assert "zero:go5,sims=1 was trained with komi 3.5, and this game has komi 9.5" in output


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["random", "nobody"], "no agent is called 'nobody'"),
        (
            ["random", "random", "--game", "microchess", "--size", "9"],
            "size is not an option of microchess: it has rules, double-step",
        ),
        (["random", "random", "--double-step"], "double-step is not an option of go: it has size, rules, komi"),
        (["random", "fast-policy", "--game", "microchess"], "plays Go, and this is a game of Microchess"),
        (["random", "uci:no-such-program", "--game", "microchess"], "no-such-program isn't installed"),
        (["random", "gtp:no-such-program"], "no-such-program"),
        (["random", "random", "--size", "30"], "board size 30"),
        (["random", "random", "--rules", "gomoku"], "no rule set is called 'gomoku'"),
        (["random", "random", "--komi", "nan"], "komi nan is not possible"),
        (["random", "random", "--option", "size"], "--option size is not possible: write NAME=VALUE"),
        (["random", "random", "--option", "size=big"], "size=big is not possible: give a whole number"),
        (["random", "random", "--game", "chess"], "no game is called 'chess'"),
        (["random", "random", "--workers", "0"], "workers 0 is not possible"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    arguments: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["match", *arguments])
    assert result.exit_code == 2
    assert line in result.stderr
    lines = [each for each in result.stderr.splitlines() if not each.startswith("compiling")]  # where nothing is yet
    assert len(lines) == 1
    assert list(tmp_path.iterdir()) == []


def test_another_match_in_the_folder_is_told_with_the_remedy(tmp_path: Path) -> None:
    arguments = ["match", "random", "random", "--size", "5", "--games", "2", "--out", str(tmp_path)]
    assert runner.invoke(app, arguments).exit_code == 0
    result = runner.invoke(app, [*arguments, "--seed", "2"])
    assert result.exit_code == 2
    assert "seed 1 where you ask for 2: choose another --out" in result.stderr


def test_forfeits_are_told_with_their_games(tmp_path: Path) -> None:
    engine = tmp_path / "engine.py"
    engine.write_text(
        "import sys\n"
        "for line in sys.stdin:\n"
        "    if line.startswith('genmove'):\n"
        "        sys.exit(3)\n"
        "    print('=\\n', flush=True)\n"
    )
    spec = f"gtp:{sys.executable} {engine}"
    result = runner.invoke(app, ["match", "random", spec, "-n", "2", "--size", "5", "--out", str(tmp_path / "m")])
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "Forfeited" in text
    assert "exit code 3" in text
    assert "(game 1, 2)" in text


def test_a_match_killed_again_and_again_loses_no_finished_game(tmp_path: Path) -> None:
    arguments = ["random", "random", "--games", "60", "--workers", "2"]
    for count in (3, 12):
        process = start(arguments, tmp_path)
        wait_for_lines(process, tmp_path, count)
        process.kill()
        process.communicate()
        assert lines(tmp_path) >= count
    (folder,) = (tmp_path / "matches").iterdir()
    before = (folder / "results.jsonl").read_bytes()
    kept = [line for line in before.splitlines(keepends=True) if line.endswith(b"\n")]
    with open(folder / "results.jsonl", "ab") as file:
        file.write(b'{"game": 61, "bla')
    process = start(arguments, tmp_path)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    after = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert after[: len(kept)] == kept
    results = [json.loads(line) for line in after]
    assert sorted(result["game"] for result in results) == list(range(1, 61))
    for result in results:
        sgf = (folder / "games" / f"{result['game']:04d}.sgf").read_bytes()
        assert read_sgf(sgf).result == result["result"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_shows_the_table_so_far_and_how_to_resume(tmp_path: Path) -> None:
    process = start(["random", "random", "--games", "2000", "--workers", "1"], tmp_path)
    wait_for_lines(process, tmp_path, 2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert process.returncode == 130, errors
    assert "Score of A" in output
    assert f"Stopped after {lines(tmp_path)} of 2000 games: run the same command to resume." in output
    assert "Traceback" not in errors
