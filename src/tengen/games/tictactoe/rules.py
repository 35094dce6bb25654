"""The rules of tic-tac-toe, as kernels over many games: three in a row wins, a full board is a draw."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.games.kernels import implement, kernel

ROWS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


class TicTacToeGames(NamedTuple):
    """B games of tic-tac-toe."""

    squares: NDArray[np.int8]  # [B, 9] 0 empty, 1 the first player's, 2 the second's
    moves: NDArray[np.int64]  # [B] how many have been played


@kernel
def restart(games, i):  # type: ignore[no-untyped-def]
    """Set game i back to the start position."""
    games.squares[i, :] = 0
    games.moves[i] = 0


@kernel
def copy(source, i, target, j):  # type: ignore[no-untyped-def]
    """Copy game i of `source` to game j of `target`."""
    for square in range(9):
        target.squares[j, square] = source.squares[i, square]
    target.moves[j] = source.moves[i]


@kernel
def player(games, i):  # type: ignore[no-untyped-def]
    """Whose turn it is: 1 or 2."""
    return 1 + games.moves[i] % 2


@kernel
def play(games, i, action):  # type: ignore[no-untyped-def]
    """Take a square."""
    games.squares[i, action] = player(games, i)
    games.moves[i] += 1


@kernel
def judge(games, i, legal):  # type: ignore[no-untyped-def]
    """Which squares are free, to legal: bool[9], none if the game is over; returns (over, value)."""
    squares = games.squares[i]
    legal[:] = False
    for a, b, c in ROWS:
        if squares[a] != 0 and squares[a] == squares[b] and squares[b] == squares[c]:
            return True, np.float32(-1.0)  # whoever is to move has just seen the opponent complete a row
    for square in range(9):
        legal[square] = squares[square] == 0
    return games.moves[i] == 9, np.float32(0.0)


@kernel
def key(games, i):  # type: ignore[no-untyped-def]
    """The squares as a number to base 3. Whose turn it is follows from them."""
    number = np.int64(0)
    for square in range(9):
        number = 3 * number + games.squares[i, square]
    return number


implement(TicTacToeGames, restart=restart, copy=copy, play=play, judge=judge, player=player, key=key)
