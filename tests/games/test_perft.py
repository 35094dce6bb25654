"""Perft by the batch kernels counts what the friendly states count."""

from typing import Any

import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.games.game import get_game


def count(state: Any, depth: int) -> int:
    """Perft, slow and obvious."""
    return sum(count(state.play(move), depth - 1) for move in state.legal_moves()) if depth else 1


@pytest.mark.parametrize(("size", "rules", "depth"), [(2, "tromp-taylor", 5), (3, "chinese", 3), (5, "simple-go", 2)])
def test_go(size: int, rules: str, depth: int) -> None:
    go = get_game("go")
    state = go.new(go.options.of({"size": size, "rules": rules}))
    for level in range(depth + 1):
        assert go.perft(state, level) == count(state, level)
        assert go.perft(state.play(0), level) == count(state.play(0), level)


def test_a_game_that_is_over_has_no_sequences() -> None:
    go = get_game("go")
    state = go.new(go.options.of({"size": 3}))
    over = state.play(state.parse_move("pass")).play(state.parse_move("pass"))
    assert [go.perft(over, depth) for depth in (0, 1, 2)] == [1, 0, 0]


def test_the_command_shows_the_game_and_the_numbers() -> None:
    result = CliRunner().invoke(app, ["perft", "go", "--size", "3", "--depth", "2"])
    lines = result.output.splitlines()
    assert lines[0] == "3x3, chinese rules, komi 7.5, up to 2 moves from the start position"
    assert [line.split()[:2] for line in lines[1:]] == [["1", "10"], ["2", "91"]]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["go", "--fen", "k3/4/4/4/K3 w"], "Go has no notation of positions"),
        (["checkers"], "no game is called 'checkers'"),
        (["go", "--double-step"], "double-step is not an option of go"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], line: str) -> None:
    result = CliRunner().invoke(app, ["perft", *arguments])
    assert result.exit_code == 2
    assert line in result.output
