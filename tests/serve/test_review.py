"""A whole game analysed: its graph, its mistakes, its comments, and the command."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tengen.agents.analysis import Analysis, MoveAnalysis
from tengen.agents.registry import load_analyst
from tengen.cli import analyse as command
from tengen.cli.main import app
from tengen.games import go, microchess
from tengen.games.game import Record, get_game
from tengen.games.go import PASS, from_gtp
from tengen.games.go.sgf import read_sgf, write_sgf
from tengen.serve.review import Review, annotated, comments, graph, review

MOVES = "C3 C2 D2 B2 B3 A1 C4"  # White answers the centre, and then plays in the corner


def played(words: str = MOVES) -> go.State:
    state = go.State.new(5, "chinese", 3.5)
    for word in words.split():
        state = state.play(from_gtp(word, 5))
    return state


def reviewed(state: Any, visits: int = 40, spec: str = "zero:go5") -> Review:
    *_, found = review(load_analyst(spec, seed=1), state, visits)
    return found


def test_a_game_is_analysed_position_by_position() -> None:
    found = reviewed(played())
    assert sorted(found.analyses) == list(range(8))
    chances = found.chances()
    assert all(chance is not None and 0 <= chance <= 1 for chance in chances)
    assert chances[1] is not None
    assert chances[1] > 0.5, "Black has the centre"
    worst = found.mistakes()
    assert [mistake.loss for mistake in worst] == sorted((mistake.loss for mistake in worst), reverse=True)
    for mistake in worst:
        assert mistake.played != mistake.best_name
        assert 0 < mistake.loss <= 1


def test_a_mistake_is_what_the_positions_before_and_after_say() -> None:
    state, best = played("C3 A1"), from_gtp("B2", 5)
    found = Review(state)
    found.analyses[0] = Analysis(9, 0.6, (MoveAnalysis(12, 5, 0.6, 1, 0, (12,), (5,)),), 1.0)
    found.analyses[1] = Analysis(9, 0.4, (MoveAnalysis(best, 5, 0.4, 1, 0, (best,), (5,)),), -1.0)
    found.analyses[2] = Analysis(9, 0.9, (), 7.5)
    (mistake,) = found.mistakes()
    assert (mistake.number, mistake.player, mistake.played, mistake.best_name) == (2, go.WHITE, "A1", "B2")
    assert mistake.before == pytest.approx(0.4)
    assert mistake.after == pytest.approx(0.1)
    assert mistake.points == pytest.approx(6.5)
    assert found.chances() == pytest.approx([0.6, 0.6, 0.9])
    text = comments(found)
    assert text[2].startswith("Better was B2: A1 lost 30.0%, 6.5 points.\nBlack 90.0%, Black leads by 7.5")
    assert "B2 40.0%, 5 visits: B2" in text[1]


def test_a_graph_has_a_column_for_each_position_as_far_as_there_is_room() -> None:
    lines = graph([0.0, 0.5, 1.0, None], 80, 4)
    assert [line[6:] for line in lines] == ["  █ ", "  █ ", " ██ ", " ██ "]
    assert lines[0].startswith("100% ┤")
    assert lines[-1].startswith("  0% ┤")
    assert all(len(line) == 6 + 50 for line in graph([0.5] * 500, 50))
    assert graph([], 10)[0] == "100% ┤"


def test_comments_are_added_to_those_of_the_record() -> None:
    data = write_sgf(played(), black_name="Ann", white_name="Bob", comments={1: "the centre"}, result="B+R")
    about = get_game("go").about(data)
    assert about == Record("Ann", "Bob", "", "B+R", comments={1: "the centre"})
    again = read_sgf(annotated(reviewed(played(), 10), about))
    assert (again.black_name, again.white_name, again.result) == ("Ann", "Bob", "B+R")
    assert again.comments[1].startswith("the centre\nBlack ")
    assert sorted(again.comments) == list(range(8))
    assert again.state.moves == played().moves


@pytest.mark.parametrize("name", ["microchess", "tictactoe"])
def test_every_game_can_be_reviewed_and_its_file_be_read_again(name: str) -> None:
    game = get_game(name)
    state = game.new(game.options())
    for _ in range(3):
        state = state.play(state.legal_moves()[0])
    found = reviewed(state, 20, "mcts")
    assert len(found.analyses) == 4
    data = annotated(found, game.about(game.write(state, Record("Ann", "Bob"))))
    assert game.about(data).first == "Ann"
    assert game.read(data)[0].move_number == 3


def test_a_game_that_is_over_ends_with_its_result() -> None:
    state = played("C3").play(PASS).play(PASS)
    found = reviewed(state, 10)
    assert found.chances()[-1] == 1.0
    chess = microchess.State.new()
    assert reviewed(chess.play(-2), 10, "mcts").states == [chess]


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["analyse", *words], env={"COLUMNS": "100"})


def test_the_command(tmp_path: Path) -> None:
    record, target = tmp_path / "game.sgf", tmp_path / "annotated.sgf"
    record.write_bytes(write_sgf(played()))
    shown = run(str(record), "--agent", "zero:go5", "--visits", "40", "--out", str(target), "--seed", "1")
    assert shown.exit_code == 0, shown.output
    assert "The chance of Black to win" in shown.output
    assert "100% ┤" in shown.output
    assert "The biggest mistakes" in shown.output or "No move lost much" in shown.output
    assert read_sgf(target.read_bytes()).comments[3].startswith(("Black ", "Better was "))


def test_stopping_keeps_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record, target = tmp_path / "game.sgf", tmp_path / "annotated.sgf"
    record.write_bytes(write_sgf(played()))

    def stopped(agent: Any, last: Any, visits: int, positions: int) -> Any:
        for found in review(agent, last, visits, positions):
            yield found
            if len(found.analyses) >= 2:
                raise KeyboardInterrupt

    monkeypatch.setattr("tengen.serve.review.review", stopped)
    shown = run(str(record), "--agent", "zero:go5", "--visits", "20", "--positions", "1", "--out", str(target))
    assert shown.exit_code == 0, shown.output
    assert "Stopped after 2 of 8 positions." in shown.output
    assert sorted(read_sgf(target.read_bytes()).comments) == [0, 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--agent", "random"], "searches no tree"),
        (["--agent", "zero:go9"], "9x9 only"),
        (["--agent", "zero:go5", "--out", "/nowhere/x.sgf"], "no folder"),
        (["--agent", "zero:go5", "--rules", "japanese"], "take chinese"),
    ],
)
def test_what_cannot_be_analysed_is_said_in_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    record = tmp_path / "game.sgf"
    record.write_bytes(write_sgf(played()))
    shown = run(str(record), *words)
    assert shown.exit_code == 2
    assert message in shown.output
    assert len(shown.output.strip().split("\n")) == 1
    assert command.EPILOGS["analyse"]


def test_a_mistake_never_costs_less_than_no_points() -> None:
    best = from_gtp("B2", 5)
    found = Review(played("C3 A1"))
    found.analyses[1] = Analysis(9, 0.6, (MoveAnalysis(best, 5, 0.6, 1, 0, (best,), (5,)),), 1.0)
    found.analyses[2] = Analysis(9, 0.5, (), -3.0)
    (mistake,) = found.mistakes()
    assert mistake.loss == pytest.approx(0.1) and mistake.points == 0
    assert found.point_losses() == [pytest.approx(-2.0)]  # of whose mean the errors cancel out
