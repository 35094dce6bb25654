"""The numbers of move sequences are the known ones."""

import re
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.games import microchess
from tengen.games.microchess import variant_name, variants_path
from tengen.games.microchess.moves import perft

from .games import random_game

SINGLE_STEP = (11, 95, 805, 6877, 61635, 556650, 5099836)
DOUBLE_STEP = (12, 110, 967, 8450, 77380, 713703, 6695405)


@pytest.mark.parametrize("depth", range(1, 6))
def test_sequences_from_the_start(depth: int) -> None:
    assert perft(microchess.State.new(double_step=False).board, depth) == SINGLE_STEP[depth - 1]
    assert perft(microchess.State.new(double_step=True).board, depth) == DOUBLE_STEP[depth - 1]


@pytest.mark.long
@pytest.mark.parametrize("depth", (6, 7))
def test_longer_sequences_from_the_start(depth: int) -> None:
    assert perft(microchess.State.new(double_step=False).board, depth) == SINGLE_STEP[depth - 1]
    assert perft(microchess.State.new(double_step=True).board, depth) == DOUBLE_STEP[depth - 1]


def test_nothing_to_count() -> None:
    assert perft(microchess.State.new().board, 0) == 1


def test_the_command_prints_them() -> None:
    lines = CliRunner().invoke(app, ["perft", "microchess", "--depth", "4", "--no-double-step"]).output.splitlines()
    assert [int(line.split()[1]) for line in lines[1:]] == list(SINGLE_STEP[:4])
    assert lines[0] == "Microchess, standard rules, no double step, up to 4 moves from the start position"
    lines = CliRunner().invoke(app, ["perft", "microchess", "--depth", "3"]).output.splitlines()
    assert [int(line.split()[1]) for line in lines[1:]] == list(DOUBLE_STEP[:3])
    assert lines[0] == "Microchess, standard rules, with the double step, up to 3 moves from the start position"


@pytest.mark.parametrize("double_step", (False, True))
def test_fairy_stockfish_counts_the_same_from_any_position(fairy_stockfish: str, double_step: bool) -> None:
    rng = np.random.default_rng(5)
    states = [
        state for _ in range(12) for state in random_game(rng, double_step=double_step)[:40:3] if not state.is_over
    ]
    states = [state.from_fen(state.fen(), double_step=double_step) for state in [microchess.State.new(), *states]]
    lines = [
        f"setoption name VariantPath value {variants_path()}",
        f"setoption name UCI_Variant value {variant_name(double_step)}",
        *(f"position fen {state.fen()}\ngo perft 4" for state in states),
        "quit\n",
    ]
    ran = subprocess.run([fairy_stockfish], input="\n".join(lines), text=True, capture_output=True, timeout=300)
    counted = [int(number) for number in re.findall(r"Nodes searched: (\d+)", ran.stdout)]
    assert counted == [perft(state.board, 4) for state in states]
