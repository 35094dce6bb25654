"""`tengen tournament` from the outside: its table, its mistakes, and what `kill -9` does to it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tengen.cli.main import app

from ..program import COMMAND

runner = CliRunner()
AGENTS = ["random", "flat=minimax:depth=1", "deep=alphabeta:depth=3"]


def test_the_table_has_ratings_and_all_pairs(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["tournament", *AGENTS, "--game", "tictactoe", "--games", "4", "--out", str(out)]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "Tic-tac-toe: 12 games, Elo over random" in text
    for word in ("deep", "flat", "random", "colours alternate", "time/move", str(out / "tournament.html")):
        assert word in text, word
    assert "Round 2 of 2: " in result.stderr
    before = {path: path.read_bytes() for path in out.glob("matches/*/*.jsonl")}
    again = runner.invoke(app, arguments)
    assert again.exit_code == 0 and {path: path.read_bytes() for path in before} == before


def test_of_many_agents_the_terminal_shows_ratings_alone(tmp_path: Path) -> None:
    agents = [f"a{number:02}=random:seed={number}" for number in range(15)]
    result = runner.invoke(
        app, ["tournament", *agents, "--game", "tictactoe", "-n", "2", "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    heading = next(line for line in result.stdout.splitlines() if "time/move" in line)
    assert "Elo" in heading and " 1 " not in heading
    assert all(f"a{number:02}" in result.stdout for number in range(15))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["random"], "a tournament of 1 agent is not possible: give at least two"),
        (["random", "nobody"], "no agent is called 'nobody'"),
        (["random", "x=nobody:depth=1"], "no agent is called 'nobody'"),
        (["x=random", "x=minimax"], "two agents have the name 'x'"),
        (["random", "minimax", "--anchor", "uct"], "no agent is called 'uct' in this tournament"),
        (["random", "minimax", "--games", "5"], "give an even number"),
        (["random", "gtp:no-such-program"], "no-such-program"),
        (["random", "minimax", "--workers", "0"], "workers 0 is not possible"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    arguments: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["tournament", *arguments])
    assert result.exit_code == 2
    assert line in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_tournament_killed_again_and_again_loses_no_finished_game(tmp_path: Path) -> None:
    def saved() -> dict[Path, list[bytes]]:
        found = tmp_path.glob("tournaments/*/matches/*/results.jsonl")
        return {path: [line for line in path.read_bytes().splitlines(True) if line.endswith(b"\n")] for path in found}

    arguments = ["tournament", "random", "mcts:playouts=1", "mcts:playouts=2", "--size", "5", "-n", "10", "-w", "2"]
    for count in (3, 12):
        process = subprocess.Popen([sys.executable, "-c", COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.DEVNULL)
        while process.poll() is None and sum(map(len, saved().values())) < count:
            try:
                process.wait(timeout=0.02)
            except subprocess.TimeoutExpired:
                continue
        process.kill()
        process.communicate()
        assert sum(map(len, saved().values())) >= count
    kept = saved()
    done = subprocess.run([sys.executable, "-c", COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for path, lines in saved().items():
        assert lines[: len(kept.get(path, []))] == kept.get(path, [])
        assert sorted(json.loads(line)["game"] for line in lines) == list(range(1, 11))
    (folder,) = (tmp_path / "tournaments").iterdir()
    assert json.loads((folder / "tournament.json").read_text())["games"] == 30
