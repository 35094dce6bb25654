"""Many games of Go side by side: what tree search and self-play need of the rules, one kernel call for all games.

Games are counted by area as they stand: nothing is taken off the board, so bots play on until what is dead is
captured. A game ends with two passes, or at a limit of moves that its arrays have room for.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tengen.games.go.board import (
    BLACK,
    EMPTY,
    HASH,
    MOVES,
    NO_CELL,
    PASSES,
    SIZE,
    TO_PLAY,
    WHITE,
    Board,
    allocate,
    board_at,
    clear,
    copy_board,
)
from tengen.games.go.legality import legal_points, play_move, position_key
from tengen.games.go.rules import TERRITORY_KEPT
from tengen.games.go.score import area, owners


class GoGames(NamedTuple):
    """B games on boards of one size N, with room for histories of H positions and K snapshots of the past."""

    boards: Board  # fields [B, ...]
    history: NDArray[np.int64]  # [B, H] keys of all positions of the game, as `legality` has them
    length: NDArray[np.int64]  # [B] how many of them there are
    past: NDArray[np.uint8]  # [B, K, N * N] stones now and 1, 2, ... moves ago; EMPTY before the game began


def allocate_games(size: int, count: int, moves: int, past: int) -> GoGames:
    """Room for `count` games of up to `moves` moves, not yet valid; `past` snapshots are kept of each."""
    return GoGames(
        allocate(size, count),
        np.empty((count, moves + 1), np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, past, size * size), np.uint8),
    )


@njit(cache=True, nogil=True)
def restart_games(games, index, size, flags):  # type: ignore[no-untyped-def]
    """Set the games of index: int64[n] to the empty board."""
    for k in range(index.shape[0]):
        i = index[k]
        board = board_at(games.boards, i)
        clear(board, size)
        games.history[i, 0] = position_key(0, BLACK, flags)
        games.length[i] = 1
        games.past[i] = EMPTY


@njit(cache=True, nogil=True)
def copy_games(source, source_index, target, target_index):  # type: ignore[no-untyped-def]
    """Copy games from one array of them to another; both indices: int64[n]."""
    for k in range(source_index.shape[0]):
        copy_game(source, source_index[k], target, target_index[k])


@njit(cache=True, nogil=True)
def copy_game(source, i, target, j):  # type: ignore[no-untyped-def]
    """Copy one game with its history."""
    copy_board(board_at(source.boards, i), board_at(target.boards, j))
    length = source.length[i]
    for k in range(length):
        target.history[j, k] = source.history[i, k]
    target.length[j] = length
    for t in range(source.past.shape[1]):
        for point in range(source.past.shape[2]):
            target.past[j, t, point] = source.past[i, t, point]


@njit(cache=True, nogil=True)
def play_games(games, actions, flags):  # type: ignore[no-untyped-def]
    """Play one legal action in each of the first games; actions: int64[n], -1 to leave a game alone."""
    for i in range(actions.shape[0]):
        if actions[i] >= 0:
            play_action(games, i, actions[i], flags)


@njit(cache=True, nogil=True)
def play_action(games, i, action, flags):  # type: ignore[no-untyped-def]
    """Play a policy index in game i."""
    board = board_at(games.boards, i)
    size = board.info[SIZE]
    p = np.int64(NO_CELL)
    if action < size * size:
        p = action + action // size + size + 2
    play_move(board, p, board.info[TO_PLAY])
    games.history[i, games.length[i]] = position_key(board.info[HASH], board.info[TO_PLAY], flags)
    games.length[i] += 1
    _remember(games.past[i], board)


@njit(cache=True, nogil=True)
def _remember(past, board):  # type: ignore[no-untyped-def]
    """Push the stones of a board in front of past: uint8[K, N * N]."""
    size = board.info[SIZE]
    for t in range(past.shape[0] - 1, 0, -1):
        for point in range(past.shape[1]):
            past[t, point] = past[t - 1, point]
    if past.shape[0] > 0:
        for row in range(size):
            for col in range(size):
                past[0, row * size + col] = board.color[(row + 1) * (size + 1) + col + 1]


@njit(cache=True, nogil=True)
def follow_paths(roots, index, paths, lengths, leaves, flags):  # type: ignore[no-untyped-def]
    """Make leaf l the game roots[index[l]] after the first lengths[l] actions of paths[l].

    index, lengths: int64[L]; paths: int16[L, D].
    """
    for leaf in range(index.shape[0]):
        copy_game(roots, index[leaf], leaves, leaf)
        for k in range(lengths[leaf]):
            play_action(leaves, leaf, np.int64(paths[leaf, k]), flags)


@njit(cache=True, nogil=True)
def judge_games(games, count, flags, komi, limit, legal, over, values):  # type: ignore[no-untyped-def]
    """Of the first `count` games: the legal actions, whether they are over, and then their value.

    legal: bool[n, N * N + 1]; over: bool[n]; values: float32[n], 1, 0 or -1 as the player to move sees it, 0 if the
    game goes on. A finished game has no legal action.
    """
    points = legal.shape[1] - 1
    for i in range(count):
        board = board_at(games.boards, i)
        info = board.info
        over[i] = info[PASSES] >= 2 or info[MOVES] >= limit
        if over[i]:
            legal[i] = False
            margin = area(board) - komi
            if info[TO_PLAY] == WHITE:
                margin = -margin
            values[i] = np.sign(margin)
        else:
            keys = games.history[i, : games.length[i]]
            found = legal_points(board, info[TO_PLAY], flags, keys, legal[i, :points])
            legal[i, points] = flags & TERRITORY_KEPT == 0 or found == 0
            values[i] = 0.0


@njit(cache=True, nogil=True)
def count_games(games, index, komi, margins, ownership):  # type: ignore[no-untyped-def]
    """How the games of index: int64[n] stand: margins: float32[n], Black's points minus White's and komi;
    ownership: int8[n, N * N], 1 where a point is Black's and -1 where it is White's."""
    for k in range(index.shape[0]):
        board = board_at(games.boards, index[k])
        size = board.info[SIZE]
        owner = np.empty_like(board.color)
        owners(board.color, size, owner)
        total = np.int64(0)
        for row in range(size):
            for col in range(size):
                whose = owner[(row + 1) * (size + 1) + col + 1]
                sign = np.int64(whose == BLACK) - np.int64(whose == WHITE)
                ownership[k, row * size + col] = sign
                total += sign
        margins[k] = total - komi
