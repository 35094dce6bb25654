"""Life and death read by search, on shapes whose fate every player knows."""

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go import BLACK, PASS, WHITE, from_gtp
from tengen.search.life_and_death import dead_stones, is_settled, search_ownership, settle


def state_of(diagram: str, to_play: int = BLACK, rules: str = "chinese") -> go.State:
    glyphs = diagram.split()
    size = int(len(glyphs) ** 0.5)
    black = [i for i, glyph in enumerate(glyphs) if glyph == "X"]
    white = [i for i, glyph in enumerate(glyphs) if glyph == "O"]
    return go.State.setup(size, rules, 0.5, black, white, to_play)


# White's corner has one eye of two points and is dead; its right side has two eyes.
ONE_EYE = """
    . . O X X O . O .
    O O O X X O O O O
    X X X X . X X O .
    . . . X X . X O O
    X . . . . . X X O
    . . X . . . . X X
    . . . . . . . . .
    . . . . . . . . .
    . . . . . . . . .
"""


@pytest.mark.parametrize("to_play", [BLACK, WHITE])
def test_a_group_with_one_eye_is_dead_and_one_with_two_is_alive(to_play: int) -> None:
    state = state_of(ONE_EYE, to_play)
    assert dead_stones(state) == {from_gtp(vertex, 9) for vertex in ("C9", "A8", "B8", "C8")}


def test_rules_that_take_nothing_off_know_no_dead_stones() -> None:
    assert dead_stones(state_of(ONE_EYE, rules="tromp-taylor")) == frozenset()


def test_settled_games_are_counted_by_what_was_read() -> None:
    state = state_of(ONE_EYE).play(PASS).play(PASS)
    settled = settle(state)
    alive = {from_gtp(v, 9) for v in ("F9", "H9", "F8", "G8", "H8", "J8", "H7", "H6", "J6", "J5")}
    white = len(alive) + 3  # the stones, and the eyes at G9, J9 and J7
    assert settled.score() == (81 - white) - white - 0.5
    assert settled.winner() == BLACK
    assert settled.result().startswith("B+")


def test_ownership_is_sure_inside_and_open_on_an_empty_board() -> None:
    state = state_of(ONE_EYE)
    ownership = search_ownership(state, 1000)
    square = ownership[: 10 * 11].reshape(11, 10)[1:-1, 1:]
    assert square[8].min() > 300, "the bottom is mostly Black's"
    assert square[0, 8] < -800, "the right corner is White's"
    assert not is_settled(go.State.new(9), search_ownership(go.State.new(9), 400), 400)
    assert is_settled(state, np.full(len(state.board.color), 1000), 1000)
