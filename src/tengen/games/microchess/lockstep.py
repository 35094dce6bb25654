"""Many games side by side: the kernels that tree search and self-play are made of.

`Board` arrays with a leading axis hold the games. Actions are those of `actions.py`.
"""

import numpy as np
from numba import njit

from tengen.games.microchess.actions import action_of_move, move_of_action
from tengen.games.microchess.board import START, TO_PLAY, WHITE, board_at, copy_board, play_move, set_up
from tengen.games.microchess.ending import RUNNING, ending, winner
from tengen.games.microchess.moves import MAX_MOVES, legal_moves

_ALL_RIGHTS = 3


@njit(cache=True, nogil=True)
def restart_games(boards, index, flags):  # type: ignore[no-untyped-def]
    """Set games index: int64[n] back to the start position, under rules with these flags."""
    for i in index:
        set_up(board_at(boards, i), START, WHITE, _ALL_RIGHTS, 0, 0, flags)


@njit(cache=True, nogil=True)
def copy_games(source, source_index, target, target_index):  # type: ignore[no-untyped-def]
    """Copy games source_index: int64[n] onto games target_index: int64[n] of other (or the same) arrays."""
    for i in range(source_index.shape[0]):
        copy_board(board_at(source, source_index[i]), board_at(target, target_index[i]))


@njit(cache=True, nogil=True)
def play_games(boards, actions):  # type: ignore[no-untyped-def]
    """Play one legal action in each of the first games; actions: int64[n], -1 leaves a game alone."""
    for i in range(actions.shape[0]):
        if actions[i] >= 0:
            board = board_at(boards, i)
            play_move(board, move_of_action(board, np.int64(actions[i])))


@njit(cache=True, nogil=True)
def follow_paths(roots, index, paths, lengths, leaves):  # type: ignore[no-untyped-def]
    """Make leaf l the game roots[index[l]] after the first lengths[l] actions of paths[l]; paths: int16[L, D]."""
    for leaf in range(index.shape[0]):
        board = board_at(leaves, leaf)
        copy_board(board_at(roots, index[leaf]), board)
        for step in range(lengths[leaf]):
            play_move(board, move_of_action(board, np.int64(paths[leaf, step])))


@njit(cache=True, nogil=True)
def judge_games(boards, count, legal, over, values):  # type: ignore[no-untyped-def]
    """Of the first `count` games: mark the legal actions in legal: bool[n, ACTIONS], those that are over in
    over: bool[n] (they have no legal actions), and write what these are worth to the player to move, 1, 0 or -1, to
    values: float32[n] (0 where the game goes on)."""
    moves = np.empty(MAX_MOVES, np.int16)
    for i in range(count):
        board = board_at(boards, i)
        color = board.info[TO_PLAY]
        legal[i] = False
        found, in_check = legal_moves(board, moves)
        reason = ending(board, found, in_check)
        over[i] = reason != RUNNING
        values[i] = 0
        if reason == RUNNING:
            for k in range(found):
                legal[i, np.uint64(action_of_move(moves[np.uint64(k)], color))] = True
        else:
            won = winner(board, reason)
            if won:
                values[i] = 1 if won == color else -1


@njit(cache=True, nogil=True)
def examine(board, moves):  # type: ignore[no-untyped-def]
    """Of one game: (number of moves written to moves: int16[MAX_MOVES], in check, why it is over, who has won)."""
    count, in_check = legal_moves(board, moves)
    reason = ending(board, count, in_check)
    return count, in_check, reason, winner(board, reason) if reason != RUNNING else 0
