"""Tic-tac-toe, as the rest of Tengen sees it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tengen.games.board_game import BoardGame
from tengen.games.state import Options
from tengen.games.symmetry import square_symmetries
from tengen.games.tictactoe.rules import TicTacToeGames


@dataclass(frozen=True)
class TicTacToeOptions(Options):
    """There are none."""

    game: ClassVar[str] = "tictactoe"


class TicTacToe(BoardGame[TicTacToeOptions]):
    """Three in a row on 3x3."""

    name, title, players = "tictactoe", "Tic-tac-toe", ("X", "O")
    options = TicTacToeOptions
    opening_moves = 1  # of a match; after two the game may be decided

    def shape(self, options: TicTacToeOptions) -> tuple[int, int]:
        """3 rows of 3."""
        return 3, 3

    def arrays(self, options: TicTacToeOptions, count: int) -> TicTacToeGames:
        """Room for `count` games."""
        return TicTacToeGames(np.zeros((count, 9), np.int8), np.zeros(count, np.int64))

    def cells(self, games: TicTacToeGames) -> NDArray[np.int8]:
        """What is on each square."""
        return games.squares

    def symmetries(self, options: TicTacToeOptions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The eight of the square."""
        return square_symmetries(3)

    def most_opening_moves(self, options: TicTacToeOptions) -> int:
        """The fifth move may win."""
        return 4


GAME = TicTacToe()
