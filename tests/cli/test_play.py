"""`tengen play` from its command line: options, files, and lines that come through a pipe."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.games.go.sgf import read_sgf
from tengen.games.microchess import from_pgn


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games that are left go to this test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "100")


def play(options: str, lines: str = "") -> tuple[int, str]:
    """Exit code and output of `tengen play` with these options, these lines typed."""
    result = CliRunner().invoke(app, ["play", *options.split()], input=lines)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_a_piped_game_against_the_random_bot() -> None:
    code, output = play("--opponent random --seed 1 --size 5", "c3\nquit\n")
    assert code == 0
    assert "White plays" in output
    assert "The game is kept: tengen play --load" in output


def test_the_seed_gives_the_same_game() -> None:
    options = "--opponent random --seed 7 --size 5 --color none"
    assert play(options) == play(options)


def test_the_end_of_the_input_leaves_cleanly_and_the_game_can_go_on(tmp_path: Path) -> None:
    code, _ = play("--opponent human --rules japanese", "e5\nd4")
    assert code == 0
    kept = tmp_path / "state" / "tengen" / "last-game.sgf"
    assert [move for _, move in read_sgf(kept.read_bytes()).state.moves] == [40, 48]
    code, output = play(f"--opponent human --load {kept}", "c3\n")
    assert code == 0
    assert "9x9, japanese rules" in output


def test_save_keeps_the_game_in_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.sgf"
    assert play(f"--opponent human --save {file}", "e5\n")[0] == 0
    assert read_sgf(file.read_bytes()).state.move_number == 1
    code, output = play(f"--opponent human --save {file}", "c3\n")
    assert code == 2
    assert "is there already" in output
    assert play(f"--opponent human --load {file} --save {file}", "c3\n")[0] == 0
    assert read_sgf(file.read_bytes()).state.move_number == 2


def test_a_narrow_terminal_shows_rules_and_komi_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert "9x9, chinese rules, komi 7.5" in play("--opponent human")[1]
    assert "no double step" in play("--game microchess --no-double-step --opponent human")[1]


def test_handicap_and_komi() -> None:
    output = play("--opponent human --handicap 3")[1]
    assert "3 handicap stones" in output
    assert "komi 0.5" in output
    assert "White >" in output
    assert "komi 3.5" in play("--opponent human --handicap 3 --komi 3.5")[1]


def test_white_may_be_played_and_simple_go_is_5x5() -> None:
    output = play("--opponent random --seed 1 --color white --rules simple-go")[1]
    assert "5x5, simple-go rules, komi 3.5" in output
    assert "Black plays" in output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--size 99", "board size 99 is not possible"),
        ("--size nine", "--size"),
        ("--color green", "green"),
        ("--rules checkers", "no rule set is called 'checkers'"),
        ("--komi 5000", "komi 5000.0 is not possible"),
        ("--komi nan", "komi nan is not possible"),
        ("--handicap 12", "12 fixed handicap stones on 9x9 are not possible"),
        ("--handicap -1", "fixed handicap"),
        ("--opponent wizard", "no agent is called 'wizard'"),
        ("--opponent random:iq=200", "'iq=200' is not a setting of random"),
        ("--load /nowhere/at.sgf", "/nowhere/at.sgf: No such file or directory"),
        ("--load . --opponent human", "Is a directory"),
        ("--load x.sgf --size 9", "--size cannot be changed in a game from a file"),
        ("--delay -1", "delay"),
    ],
)
def test_a_bad_option_is_one_line_and_no_traceback(options: str, message: str) -> None:
    code, output = play(options)
    assert code == 2
    assert message in output
    assert "Traceback" not in output


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "bad.sgf"
    file.write_bytes(b"no game at all")
    code, output = play(f"--load {file}")
    assert (code, output) == (2, f"tengen: {file}: not an SGF file: no SGF in it\n")


def test_a_bad_hint_spec_is_told_when_it_is_needed() -> None:
    code, output = play("--opponent human --hint wizard", "hint\ne5\n")
    assert code == 0
    assert "no agent is called 'wizard'" in output


def test_the_first_use_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tengen._kernel_cache.is_cold", lambda: True)
    code, output = play("--opponent random --size 5", "c3\n")
    assert code == 0
    assert "compiling the rules engine, once" in output


def test_help_teaches() -> None:
    output = play("--help")[1]
    assert all(word in output for word in ("--opponent", "simple-go", "gnugo", "undo"))


def test_binary_junk_through_a_real_pipe_in_ascii() -> None:
    junk = b"\xff\xfe\x00\x1b[2J\ne5\n\x80\x81\n\nhelp\n" + bytes(range(256)) + b"\nscore\nundo\nundo\nquit\n"
    code = "from tengen.cli.main import main; main()"
    command = [sys.executable, "-c", code, "play", "--opponent", "random"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = subprocess.run(command, input=junk, capture_output=True, env=environment, check=False)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b" 5 . . . .(X). . . . 5" in result.stdout


# ------------------------------------------------------------------------------------------- microchess


def test_microchess_against_a_bot_and_on_with_the_same_game(tmp_path: Path) -> None:
    file = tmp_path / "kept.pgn"
    code, output = play(f"--game microchess --opponent alphabeta:depth=2 --seed 1 --save {file}", "d4\nquit\n")
    assert code == 0
    assert "Black plays" in output
    assert f"The game is kept: tengen play --load {file}" in " ".join(output.split())
    state, tags = from_pgn(file.read_text())
    assert (state.move_number, tags["White"], tags["Black"]) == (2, "you", "alphabeta")
    code, output = play(f"--load {file} --opponent human", "moves\nquit\n")
    assert code == 0
    assert "Legal moves: " in output


def test_a_game_that_is_over_can_be_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "lost.pgn"
    code, _ = play("--game microchess --opponent random --seed 1", f"resign\nsave {file}\nquit\n")
    assert code == 0
    code, output = play(f"--load {file} --opponent random", "quit\n")
    assert code == 0
    assert "Black wins (0-1): resignation." in output


def test_microchess_as_black_and_by_other_rules() -> None:
    code, output = play(
        "--game microchess --color black --opponent random --seed 3 --rules ncsoft --no-double-step", "moves\nquit\n"
    )
    assert code == 0
    assert "Black > " in output
    assert "White plays" in output
    assert "Microchess, ncsoft rules" in output
    assert "no double step" in output


def test_watching_two_bots_play_microchess() -> None:
    code, output = play("--game microchess --color none --opponent random --seed 5")
    assert code == 0
    assert "The game is over" in output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--game microchess --size 9", "size is not an option of microchess: it has rules, double-step"),
        ("--game microchess --handicap 2", "handicap is not an option of microchess"),
        ("--no-double-step", "double-step is not an option of go"),
        ("--game checkers", "no game is called 'checkers': choose from go, microchess"),
        ("--game microchess --rules chinese", "'chinese'"),
        ("--game microchess --opponent fast-policy", "plays Go, and this is a game of Microchess"),
        ("--load nowhere.pgn", "nowhere.pgn: No such file or directory"),
        ("--game microchess --load game.sgf", "game.sgf is a game of Go"),
    ],
)
def test_mistakes_with_microchess_are_one_line(options: str, told: str) -> None:
    code, output = play(options)
    assert code == 2
    assert told in output


# ------------------------------------------------------------------------------- what a model was trained on


def test_the_game_follows_the_model_that_plays() -> None:
    code, output = play("--opponent zero:go5,sims=1", "quit\n")
    assert code == 0
    assert "5x5, chinese rules, komi 3.5" in output
    assert "was trained with" not in output
    output = " ".join(play("--opponent zero:go5,sims=1 --komi 9.5", "quit\n")[1].split())
    assert "was trained with komi 3.5, and this game has komi 9.5: it may misjudge it." in output
    assert "Microchess, standard rules" in play("--opponent zero:microchess,sims=1", "quit\n")[1]
