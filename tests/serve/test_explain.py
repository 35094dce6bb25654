"""`tengen explain`: which boards an agent has, what is drawn on them, and mistakes in one line."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tengen.agents.agent import AgentError
from tengen.agents.explanation import Panel, best_moves, explain_position
from tengen.agents.registry import load_agent
from tengen.cli.main import app
from tengen.games.game import Record, get_game
from tengen.games.go import PASS
from tengen.serve.explain_picture import draw_explanation, explanation_figure

runner = CliRunner()


def position(game: str, moves: int, **options: Any) -> Any:
    """A position after random moves."""
    state, rng = get_game(game).start(**options), np.random.default_rng(3)
    for _ in range(moves):
        state = state.play(int(rng.choice([move for move in state.legal_moves() if move != PASS])))
    return state


def all_panels(state: Any) -> list[Panel]:
    """Six boards of made-up numbers."""
    moves = state.legal_moves()
    rising = {move: (place + 1) / len(moves) for place, move in enumerate(moves)}
    shares = {move: number / sum(rising.values()) for move, number in rising.items()}
    line, here = list[int](), state
    while not here.is_over and len(line) < 8:
        line.append(here.legal_moves()[0])
        here = here.play(line[-1])
    chances = [Panel(title, title, rising) for title in ("Value of each move", "Q from values", "Q from rollouts")]
    shared = [Panel(title, title, shares, is_share=True) for title in ("Prior", "Visits")]
    return [*chances, *shared, Panel("Principal variation", "line", line=tuple(line))]


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


# ------------------------------------------------------------------------------------------- the boards


@pytest.mark.parametrize(
    ("spec", "game", "options", "titles"),
    [
        (
            "zero:go5,sims=16",
            "go",
            {"size": 5, "komi": 3.5},
            ["Value of each move", "Q from values", "Prior", "Visits", "Principal variation"],
        ),
        (
            "alphago:go5,sims=16",
            "go",
            {"size": 5, "komi": 3.5},
            ["Value of each move", "Q from values", "Q from rollouts", "Prior", "Visits", "Principal variation"],
        ),
        ("mcts:playouts=64", "tictactoe", {}, ["Q from rollouts", "Visits", "Principal variation"]),
        ("uct:playouts=64", "go", {"size": 5}, ["Chance to win, by search", "Visits", "Principal variation"]),
        ("fast-policy", "go", {"size": 9}, ["Prior"]),
    ],
)
def test_an_agent_has_the_boards_that_apply(spec: str, game: str, options: Any, titles: list[str]) -> None:
    state = position(game, 2, **options)
    decision, panels = explain_position(load_agent(spec, 1), state)
    assert [panel.title for panel in panels] == titles
    assert state.is_legal(decision.move) if game == "go" else decision.move in state.legal_moves()
    for panel in panels:
        assert all(0 <= number <= 1 for number in panel.numbers.values())
        assert set(panel.numbers) <= set(state.legal_moves())
        if panel.title == "Visits":
            assert sum(panel.numbers.values()) == pytest.approx(1)
    if "Visits" in titles:
        visits = next(panel.numbers for panel in panels if panel.title == "Visits")
        assert best_moves(panels)[0] == max(visits, key=lambda move: visits[move])


def test_who_knows_nothing_of_moves_explains_nothing() -> None:
    with pytest.raises(AgentError, match="random explains nothing here"):
        explain_position(load_agent("random"), position("go", 0, size=5))


@pytest.mark.parametrize(
    ("game", "moves", "options"),
    [
        ("go", 0, {"size": 2}),
        ("go", 6, {"size": 5}),
        ("go", 30, {"size": 9}),
        ("go", 100, {"size": 19}),
        ("microchess", 6, {}),
        ("tictactoe", 2, {}),
    ],
)
def test_every_board_is_drawn_with_its_heading_and_the_numbers_of_its_moves(
    game: str, moves: int, options: Any
) -> None:
    state = position(game, moves, **options)
    panels = all_panels(state)
    figure = explanation_figure(state, panels, "a title", "a subtitle")
    boards = [axes for axes in figure.axes if any(panel.title in " ".join(texts(axes)) for panel in panels)]
    assert len(boards) == 6
    for board, panel in zip(boards, panels):
        assert any(text.endswith(panel.title) for text in texts(board))
    assert [text.get_text() for text in figure.texts] == ["a title", "a subtitle"]
    best = max(panels[0].numbers, key=lambda move: panels[0].numbers[move])
    written = " ".join(texts(boards[0]))
    assert "100" in written
    if game == "microchess":
        assert f"{state.move_san(best)}  100%" in texts(boards[0])
    elif game == "go":
        assert best == PASS and "pass 100%" in written
    numbers = {str(number) for number in range(1, min(7, len(panels[5].line) + 1))}
    assert numbers <= set(" ".join(texts(boards[5])).replace(",", "").split())


def test_pictures_are_png_and_svg() -> None:
    state = position("go", 6, size=5)
    picture = draw_explanation(state, all_panels(state), "a $title$", "b", ".png")
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    assert width > height > 1000
    assert b"<svg" in draw_explanation(state, all_panels(state)[:1], "a", "b", ".svg")[:1000]


def test_a_line_that_plays_twice_at_a_point_or_passes_says_so_beneath_the_board() -> None:
    state = position("go", 0, size=5)
    figure = explanation_figure(state, [Panel("line", "line", line=(7, PASS, 7))], "", "")
    assert "2 pass, 3 at 1" in texts(figure.axes[0])


# ------------------------------------------------------------------------------------------ the command


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "game.sgf"
    path.write_bytes(get_game("go").write(position("go", 8, size=5, komi=3.5), Record()))
    return path


def test_the_picture_is_beside_the_record_and_the_table_on_the_screen(record: Path) -> None:
    result = runner.invoke(app, ["explain", str(record), "--move", "4", "--agent", "zero:go5,sims=16"])
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    for words in ("game.sgf, after move 4: Black to play", "zero:go5,sims=16; ", "in the record: ", "move value Q"):
        assert words in text, words
    assert str(record.with_name("game-move4.png")) in text
    assert record.with_name("game-move4.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_alone_and_the_last_position(record: Path) -> None:
    result = runner.invoke(app, ["explain", str(record), "--text", "--agent", "uct:playouts=32"])
    assert result.exit_code == 0, result.output
    assert "after move 8: Black to play" in result.stdout and "Picture" not in result.stdout
    assert [path.name for path in record.parent.iterdir()] == ["game.sgf"]


def test_microchess_by_record_and_by_fen(tmp_path: Path) -> None:
    state = position("microchess", 4)
    path = tmp_path / "game.pgn"
    path.write_bytes(get_game("microchess").write(state, Record(result="*")))
    agent = ["--agent", "zero:microchess,sims=8"]
    out = tmp_path / "out.svg"
    result = runner.invoke(app, ["explain", str(path), "-m", "3", *agent, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "after move 3: Black to play" in result.stdout and b"<svg" in out.read_bytes()[:1000]
    result = runner.invoke(app, ["explain", "--fen", state.fen(), *agent, "--text"])
    assert result.exit_code == 0, result.output
    assert f"{state.fen()}: White to play" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["{record}", "--move", "9"], "--move 9 is not possible: {record} has moves 0 to 8"),
        (["{record}", "--move", "-1"], "--move -1 is not possible"),
        (["{folder}/none.sgf"], "none.sgf: No such file or directory"),
        (["{folder}/bad.sgf"], "bad.sgf: "),
        (["{record}", "--agent", "random"], "random explains nothing here"),
        (["{record}", "--agent", "nobody"], "no agent is called 'nobody'"),
        (["{record}", "--agent", "zero:go9,sims=2"], "plays on 9x9 only, and this board is 5x5"),
        (["{record}", "--agent", "zero:microchess,sims=2"], "plays Microchess, and this is a game of Go"),
        (["{record}", "--out", "{folder}/a.pdf"], "its name should end in .png or .svg"),
        (["{record}", "--out", "{folder}/no/a.png"], "there is no folder"),
        ([], "give one position: a file with a record, or --fen"),
        (["{record}", "--fen", "knbr/p3/4/3P/RBNK w Qk - 0 1"], "give one position"),
        (["--fen", "nonsense"], "nonsense"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(arguments: list[str], line: str, record: Path) -> None:
    (record.parent / "bad.sgf").write_text("this is no record")
    places = {"record": str(record), "folder": str(record.parent)}
    result = runner.invoke(app, ["explain", *(argument.format(**places) for argument in arguments)])
    assert result.exit_code == 2, result.output
    assert line.format(**places) in result.stderr
    assert result.stderr.count("\n") == 1
    assert sorted(path.name for path in record.parent.iterdir()) == ["bad.sgf", "game.sgf"]


def test_a_finished_game_has_nothing_to_explain(tmp_path: Path) -> None:
    state = get_game("go").start(size=5).play(PASS).play(PASS)
    path = tmp_path / "over.sgf"
    path.write_bytes(get_game("go").write(state, Record()))
    result = runner.invoke(app, ["explain", str(path), "--text"])
    assert result.exit_code == 2 and "the game is over after 2 moves: give a smaller --move" in result.stderr
