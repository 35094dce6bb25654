"""The rules of tic-tac-toe, beside those of a slow obvious version, on every position."""

from pathlib import Path

import numpy as np

from tengen.games import tictactoe
from tengen.games.game import get_game

from ..search.tictactoe import all_positions, is_over, minimax, played


def test_every_position_is_judged_as_a_slow_version_does() -> None:
    game = get_game("tictactoe")
    going_on = all_positions()
    ends = {played(board, square) for board in going_on for square in range(9) if not board[square]} - set(going_on)
    boards = [*going_on, *sorted(ends)]
    assert (len(going_on), len(ends)) == (4520, 958)
    batch, count = game.batch(game.options()), len(boards)
    games = batch.allocate(count)
    games.squares[:] = boards
    games.moves[:] = (games.squares > 0).sum(axis=1)
    legal, over, values = np.ones((count, 9), np.bool_), np.ones(count, np.bool_), np.ones(count, np.float32)
    batch.judge(games, count, legal, over, values)
    assert over.tolist() == [is_over(board) for board in boards]
    assert legal[: len(going_on)].tolist() == [[not square for square in board] for board in going_on]
    assert not legal[len(going_on) :].any()
    assert values[len(going_on) :].tolist() == [minimax(board) for board in sorted(ends)]
    assert not values[: len(going_on)].any()


def test_a_game_as_people_see_it() -> None:
    game = get_game("tictactoe")
    state = game.new(game.options())
    for text in ("b2", "A3", "c3", "a1", "a2"):
        state = state.play(state.parse_move(text))
    assert str(state) == "3 O . X\n2 X X .\n1 O . .\n  a b c"
    assert state.why_illegal(state.parse_move("b2")) == "the rules do not allow it here"
    state = state.play(state.parse_move("c2")).play(state.parse_move("b1"))
    assert (state.is_over, state.result()) == (False, "?")
    won = state.previous.previous.play(state.parse_move("b3")).play(state.parse_move("c2"))
    assert (won.result(), won.winner(), won.end_reason) == ("X wins", 1, "rules")


def test_the_page_about_adding_a_game_shows_the_files_as_they_are() -> None:
    page = (Path(__file__).parents[2] / "docs" / "add-a-game.md").read_text()
    for name in ("rules.py", "game.py"):
        docstring, code = (Path(tictactoe.__file__).parent / name).read_text().split("\n\n", 1)
        assert docstring.endswith('"""')
        assert f"```python\n{code}```" in page, name
