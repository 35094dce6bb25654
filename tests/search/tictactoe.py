"""Tic-tac-toe as a `BatchedGame`, in plain NumPy, and its exact solution: proof that tree search knows no game.

A board is nine squares of 0 (empty), 1 (who began) and 2; actions are squares.
"""

from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import BatchedGame

Board = tuple[int, ...]
START: Board = (0,) * 9
LINES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])


class Games(NamedTuple):
    """B games of tic-tac-toe."""

    squares: NDArray[np.uint8]  # [B, 9]


class TicTacToe(BatchedGame):
    """Many games of tic-tac-toe, and their own encoder."""

    planes, height, width, actions, branching = 2, 3, 3, 9, 9

    game = SimpleNamespace(territory=False)
    options = SimpleNamespace(game="tictactoe")  # type: ignore[assignment]

    @property
    def batch(self) -> Self:
        return self

    @property
    def encoder(self) -> Any:
        return self

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.planes, self.height, self.width

    def allocate(self, count: int) -> Games:
        return Games(np.zeros((count, 9), np.uint8))

    def restart(self, games: Games, index: NDArray[np.int64]) -> None:
        games.squares[index] = 0

    def copy(self, source: Games, source_index: Any, target: Games, target_index: Any) -> None:
        target.squares[target_index] = source.squares[source_index]

    def play(self, games: Games, actions: NDArray[np.int64]) -> None:
        played = np.flatnonzero(actions >= 0)
        games.squares[played, actions[played]] = self.to_play(games)[played]

    def follow(self, roots: Games, index: Any, paths: Any, lengths: Any, leaves: Games) -> None:
        moved = Games(roots.squares[index])
        for ply in range(int(lengths.max(initial=0))):
            self.play(moved, np.where(lengths > ply, paths[: len(index), ply], -1))
        leaves.squares[: len(index)] = moved.squares

    def judge(self, games: Games, count: int, legal: Any, over: Any, values: Any) -> None:
        squares = games.squares[:count]
        rows = squares[:, LINES]
        won = (rows[:, :, 0] > 0) & (rows[:, :, 0] == rows[:, :, 1]) & (rows[:, :, 0] == rows[:, :, 2])
        over[:count] = won.any(axis=1) | (squares > 0).all(axis=1)
        values[:count] = -1.0 * won.any(axis=1)  # who has made a row is never to move
        legal[:count] = (squares == 0) & ~over[:count, None]

    def encode_games(self, games: Games, count: int, planes: NDArray[np.uint8]) -> None:
        player = self.to_play(games)[:count, None]
        planes[:count, 0] = (games.squares[:count] == player).reshape(count, 3, 3)
        planes[:count, 1] = (games.squares[:count] == 3 - player).reshape(count, 3, 3)

    def to_play(self, games: Games) -> NDArray[np.int8]:
        return (1 + (games.squares > 0).sum(axis=1) % 2).astype(np.int8)

    def load(self, games: Games, i: int, state: Board) -> None:
        games.squares[i] = state


def played(board: Board, square: int) -> Board:
    """The board after the player to move has taken a square."""
    player = 1 + sum(one > 0 for one in board) % 2
    return (*board[:square], player, *board[square + 1 :])


def is_over(board: Board) -> bool:
    """Whether there is a row of three, or no room."""
    return _has_row(board) or 0 not in board


def _has_row(board: Board) -> bool:
    return any(board[a] and board[a] == board[b] == board[c] for a, b, c in LINES.tolist())


@cache
def minimax(board: Board) -> int:
    """The exact value of a position for the player to move: 1 won, 0 drawn, -1 lost."""
    if is_over(board):
        return -1 if _has_row(board) else 0
    return max(-minimax(played(board, square)) for square in range(9) if board[square] == 0)


def best_squares(board: Board) -> set[int]:
    """The moves that keep a position's exact value."""
    return {q for q in range(9) if board[q] == 0 and -minimax(played(board, q)) == minimax(board)}


def all_positions() -> list[Board]:
    """Every position that can arise and is not over."""
    found, new = {START}, [START]
    while new:
        board = new.pop()
        for square in range(9):
            if board[square] == 0:
                after = played(board, square)
                if after not in found and not is_over(after):
                    found.add(after)
                    new.append(after)
    return sorted(found)
