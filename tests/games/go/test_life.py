"""Unconditional life agrees with a slow reading of Benson's definitions, and truly cannot be killed."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go.board import BLACK, EMPTY, TO_PLAY, WHITE, Board, allocate, copy_board
from tengen.games.go.legality import legal_points, play_move
from tengen.games.go.rules import SUICIDE
from tengen.games.go.score import mark_unconditional_life, unconditional_life

from .diagrams import NO_HISTORY, Point, board_from, random_boards, stones_of
from .slow_life import slow_life


def found_life(board: Board, color: int, suicide: bool = False) -> tuple[set[Point], set[Point]]:
    alive, territory = unconditional_life(board, color, suicide)
    return {(int(r), int(c)) for r, c in np.argwhere(alive)}, {(int(r), int(c)) for r, c in np.argwhere(territory)}


@pytest.mark.parametrize(("size", "games", "every"), [(2, 6, 1), (3, 40, 1), (5, 12, 1), (7, 6, 7), (9, 2, 9)])
def test_kernel_agrees_with_the_slow_reading(size: int, games: int, every: int) -> None:
    living = 0
    for board in random_boards(size, games, seed=size, every=every):
        stones = stones_of(board)
        for color in (BLACK, WHITE):
            for suicide in (False, True):
                found = found_life(board, color, suicide)
                assert found == slow_life(stones, size, color, suicide)
                living += len(found[0])
    assert living > 0


@pytest.mark.parametrize("suicide", [False, True])
def test_no_sequence_of_enemy_moves_takes_a_living_stone(suicide: bool) -> None:
    """The owner passes all the time, the enemy plays at random, and suicides where that is allowed."""
    rng = np.random.default_rng(11)
    legal = np.empty(25, np.bool_)
    attacked = 0
    for board in random_boards(5, games=40, seed=3, every=10):
        for color in (BLACK, WHITE):
            alive, territory = np.empty((2, *board.color.shape), np.bool_)
            if mark_unconditional_life(board, color, suicide, alive, territory) == 0:
                continue
            attacked += 1
            position = allocate(5)
            copy_board(board, position)
            for _ in range(60):
                position.info[TO_PLAY] = 3 - color
                if legal_points(position, 3 - color, SUICIDE if suicide else 0, NO_HISTORY, legal) == 0:
                    break
                move = int(rng.choice(np.flatnonzero(legal)))
                play_move(position, move + move // 5 + 7, 3 - color)
                assert (position.color[alive] == color).all()
    assert attacked > 100


def verdict(alive: NDArray[np.bool_], territory: NDArray[np.bool_]) -> str:
    """One row a line: # living stone, + territory, . neither."""
    shown = np.where(alive, "#", np.where(territory, "+", "."))
    return "\n".join(" ".join(row) for row in shown)


LIVING = {
    "two eyes in the corner": (
        """
        . X . X .
        X X X X .
        . . . . .
        . . O . .
        . . . . .
        """,
        """
        + # + # .
        # # # # .
        . . . . .
        . . . . .
        . . . . .
        """,
    ),
    "two strings that share both of their eyes": (
        """
        X X X X .
        X . . . X
        X . O . X
        X . . . X
        . X X X X
        """,
        """
        # # # # +
        # . . . #
        # . . . #
        # . . . #
        + # # # #
        """,
    ),
    "two eyes with enemy stones inside, and a helpless neighbour": (
        """
        O . X . X .
        . . X X X .
        X X X O . X
        . . . . . .
        . . . . . .
        . . . . . .
        """,
        """
        + + # + # .
        + + # # # .
        # # # . . .
        . . . . . .
        . . . . . .
        . . . . . .
        """,
    ),
}

NOT_LIVING = {
    "one eye": """
        . X . O .
        X X O O .
        O O . . .
        . . . . .
        . . . . .
        """,
    "one eye of four points in a row, which lives in play": """
        . . . . X .
        X X X X X .
        . . . . . .
        . . . . . .
        . . . . . .
        . . . . . .
        """,
    "two eyes, one of them with a point in the middle that is no liberty": """
        . . . X . X .
        . . . X X X .
        . . . X . . .
        X X X X . . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
    "an eye shared with a single stone that has no other: it is false": """
        . X . X O .
        X X X O O .
        O O O O . .
        . . . . . .
        . . . . . .
        . . . . . .
        """,
    "seki": """
        . X O . O X .
        . X O X O X .
        . X O X O X .
        . X O X O X .
        . X O X O X .
        . X O X O X .
        . X O . O X .
        """,
}


@pytest.mark.parametrize("shape", LIVING)
def test_it_lives(shape: str) -> None:
    diagram, expected = LIVING[shape]
    assert verdict(*unconditional_life(board_from(diagram), BLACK)).split() == expected.split()


@pytest.mark.parametrize("shape", NOT_LIVING)
def test_it_does_not_live_unconditionally(shape: str) -> None:
    alive, territory = unconditional_life(board_from(NOT_LIVING[shape]), BLACK)
    assert not alive.any() and not territory.any()


def test_suicide_opens_an_eye_with_enemy_stones_out_of_reach() -> None:
    """White takes its own four stones off the corner, then fills it again around a liberty of its own."""
    diagram = LIVING["two eyes with enemy stones inside, and a helpless neighbour"][0]
    assert unconditional_life(board_from(diagram), BLACK, suicide=False)[0].any()
    assert not unconditional_life(board_from(diagram), BLACK, suicide=True)[0].any()


def test_a_state_brings_its_own_rule_of_suicide() -> None:
    board = board_from(LIVING["two eyes with enemy stones inside, and a helpless neighbour"][0])
    stones = {color: [6 * r + c for (r, c), s in stones_of(board).items() if s == color] for color in (1, 2)}
    for rules, lives in (("chinese", True), ("tromp-taylor", False)):
        state = go.State.setup(6, rules, black=stones[BLACK], white=stones[WHITE])
        assert unconditional_life(state, BLACK)[0].any() == lives


def test_only_colours_can_live() -> None:
    with pytest.raises(ValueError, match="colour 0"):
        unconditional_life(board_from("..\n.."), EMPTY)
