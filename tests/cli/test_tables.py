"""`tengen tables` from the outside: made, checked, asked, interrupted."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tengen.cli.main import app

from ..program import COMMAND

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of three pieces."""
    folder = tmp_path_factory.mktemp("tables")
    result = runner.invoke(app, ["tables", "build", "microchess", "--pieces", "3", "--out", str(folder), "-w", "1"])
    assert result.exit_code == 0, result.output
    assert "7 tables solved" in result.output
    assert "21 plies, KPK" in result.output
    assert "Microchess, standard rules, with the double step" in result.output
    return folder


def test_building_again_builds_nothing(folder: Path) -> None:
    result = runner.invoke(app, ["tables", "build", "--pieces", "3", "--folder", str(folder)])
    assert result.exit_code == 0, result.output
    assert "7 of 7 tables were there already" in result.output


def test_check_passes_and_shows_the_longest_mates(folder: Path) -> None:
    result = runner.invoke(app, ["tables", "check", "--folder", str(folder), "-w", "1"])
    assert result.exit_code == 0, result.output
    assert "All 11,292 values follow" in result.output
    assert "KRK-Q" in result.output


def test_check_of_more_than_is_there_tells_what_to_do(folder: Path) -> None:
    result = runner.invoke(app, ["tables", "check", "--pieces", "4", "--folder", str(folder)])
    assert result.exit_code == 2
    assert "tengen tables build microchess" in result.output + (result.stderr or "")


def test_check_of_a_build_that_hardly_began_tells_what_to_do(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "KQK.mct").write_bytes((folder / "KQK.mct").read_bytes())
    result = runner.invoke(app, ["tables", "check", "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "KK.mct is missing" in result.output + (result.stderr or "")


def test_show_values_a_position_and_its_moves(folder: Path) -> None:
    result = runner.invoke(app, ["tables", "show", "k3/4/1K2/4/3R w", "--folder", str(folder)])
    assert result.exit_code == 0, result.output
    assert "White is to move: wins in 1" in result.output
    assert "with the double step" in result.output
    assert "Rd5#    wins in 1" in result.output
    unquoted = runner.invoke(app, ["tables", "show", "k3/4/1K2/4/3R", "w", "--folder", str(folder)])
    assert unquoted.output == result.output


def test_show_sums_up_materials_and_folders(folder: Path) -> None:
    result = runner.invoke(app, ["tables", "show", "KKR", "--folder", str(folder)])
    assert result.exit_code == 0, result.output
    assert "KRK with the colours swapped" in result.output
    assert "Longest mate: 18 plies" in result.output
    assert "21 plies, KPK" in runner.invoke(app, ["tables", "show", "--folder", str(folder)]).output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "knbr/p3/4/3P/RBNK w"], "it has 10 pieces"),
        (["show", "k3/4/1K2/1N2/3R w"], "build microchess --pieces 4"),
        (["show", "KXK"], "no material"),
        (["show", "k3/4/x w"], "ranks"),
        (["show", "KRKR"], "no table of KRKR"),
        (["build", "go"], "only of microchess"),
        (["check", "go"], "only of microchess"),
    ],
)
def test_mistakes_are_told_in_one_line(folder: Path, arguments: list[str], told: str) -> None:
    place = ["--out" if arguments[0] == "build" else "--folder", str(folder)]
    result = runner.invoke(app, ["tables", *arguments, *place])
    assert result.exit_code == 2
    assert told in result.output + (result.stderr or "")


def test_without_tables_the_command_that_makes_them_is_named(tmp_path: Path) -> None:
    result = runner.invoke(app, ["tables", "show", "--folder", str(tmp_path)])
    assert result.exit_code == 2
    assert "tengen tables build microchess" in result.output + (result.stderr or "")


def test_a_build_that_was_interrupted_leaves_whole_tables(tmp_path: Path) -> None:
    arguments = ["tables", "build", "--pieces", "5", "--out", str(tmp_path), "-w", "1"]
    process = subprocess.Popen([sys.executable, "-c", COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = ""
        while "up to 3 pieces" not in said:
            said = process.stderr.readline()
            assert said, "the command ended by itself"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".mct"]
    result = runner.invoke(app, ["tables", "build", "--pieces", "3", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "7 of 7 tables were there already" in result.output


def test_judge_counts_who_threw_away_what(folder: Path, tmp_path: Path) -> None:
    game = '[White "rook"]\n[Black "king"]\n[FEN "4/1k2/4/2R1/K3 w - - 0 1"]\n\n1. Rc4+ Kxc4 1/2-1/2\n'
    (tmp_path / "game.pgn").write_text(game)
    (tmp_path / "other.pgn").write_text(game.replace("[FEN", '[Rules "ncsoft"]\n[FEN'))
    result = runner.invoke(app, ["tables", "judge", str(tmp_path), "--folder", str(folder)])
    assert result.exit_code == 0, result.output
    rows = {row[1]: row[2:6] for row in (line.split("│") for line in result.output.splitlines()) if len(row) == 8}
    cells = {name.strip(): [cell.strip() for cell in row] for name, row in rows.items()}
    assert cells["rook"][:3] == ["1", "1", "0"]  # a won rook, given to the king
    assert cells["king"][:3] == ["1", "0", "0"]
    assert "rook: 4/1k2/4/2R1/K3 w - - 0 1  c2c4" in result.output
    assert "Games  1" in result.output


def test_judge_says_what_is_missing(folder: Path, tmp_path: Path) -> None:
    result = runner.invoke(app, ["tables", "judge", str(tmp_path), "--folder", str(folder)])
    assert result.exit_code == 2
    assert "no game under standard rules" in result.output
