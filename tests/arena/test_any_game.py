"""A game that is not part of Tengen plays matches and in the terminal like any other."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tengen
from tengen import _plugins
from tengen.arena.match import Match, run_match
from tengen.cli.main import app
from tengen.games import game as registry

from ..tiny_game import Nim, NimOptions


@pytest.fixture(autouse=True)
def nim(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The registry has Nim for one test."""
    monkeypatch.setattr(registry, "_LOADED", dict(registry._LOADED))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setitem(_plugins._known, "game", dict(_plugins._known["game"]))
    tengen.register("game", "nim")(Nim())


def test_a_match(tmp_path: Path) -> None:
    match = Match("random", "random:seed=3", NimOptions(9), games=6)
    assert match.settings["matches"] == 9
    results = run_match(match, tmp_path)
    assert {result.ending for result in results} == {"last match"}
    for result in results:
        record = json.loads((tmp_path / "games" / f"{result.game:04d}.json").read_text())
        winner = {"a": "random", "b": "random:seed=3"}[result.winner or ""]
        assert record[{"Alice wins": "first", "Bob wins": "second"}[result.result]] == winner
        assert sum(map(int, record["moves"])) == 9


def test_the_command_line_of_a_match(tmp_path: Path) -> None:
    arguments = ["match", "random", "random", "--game", "nim", "--option", "matches=5", "-n", "2"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "m"), "--json", str(tmp_path / "j")])
    assert result.exit_code == 0, result.output
    assert "Nim, matches 5" in result.output and "as Alice" in result.output and "as Bob" in result.output
    assert json.loads((tmp_path / "j").read_text())["a"]["as_alice"]["wins"] in (0, 1)


def test_a_session_in_the_terminal(tmp_path: Path) -> None:
    def play(options: str, *lines: str) -> str:
        result = CliRunner().invoke(app, ["play", *options.split()], input="".join(f"{line}\n" for line in lines))
        assert result.exit_code == 0, result.output
        return result.output

    file = tmp_path / "game.json"
    output = play(
        "--game nim --opponent human --option matches=8", "2", "x", "9", "moves", "3", "undo", "hint", f"save {file}"
    )
    assert "||||||||" in output and "Alice > " in output and "Nim, matches 8" in output
    assert "'x' is not a number; type  moves  to see them" in output
    assert "9 is not legal" in output and "Legal moves: 1 2 3." in output and "random would play: " in output
    assert json.loads(file.read_text())["moves"] == ["2"]
    output = play(f"--load {file} --opponent human", "3", "3", "new", "resign")
    assert "Bob > " in output and "Alice wins: last match." in output
    assert "Bob wins: resignation." in output
    assert "Bob plays" in play("--game nim --opponent random --color alice", "3")
    assert "Alice plays" in play("--game nim --opponent random --color bob", "1")
