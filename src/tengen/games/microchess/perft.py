"""Perft: how many sequences of legal moves there are, the usual check and speed measure of a move generator."""

import numpy as np

from tengen._kernel import kernel, stack_zeros
from tengen.games.microchess.board import Board, allocate, board_at, copy_board, play_move
from tengen.games.microchess.moves import MAX_MOVES, legal_moves


def perft(board: Board, depth: int) -> int:
    """How many sequences of `depth` legal moves the position has (games are not ended by draws)."""
    if depth <= 0:
        return 1
    return int(count_leaves(board, depth, allocate(depth), np.empty((depth, MAX_MOVES), np.int16)))


@kernel
def count_leaves(root, depth, boards, moves):  # type: ignore[no-untyped-def]
    """Perft with room for the way down: boards of batch `depth`, moves: int16[depth, MAX_MOVES]."""
    left = stack_zeros(depth, np.int64)
    copy_board(root, board_at(boards, 0))
    left[0], _ = legal_moves(root, moves[0])
    if depth == 1:
        return left[0]
    leaves = np.int64(0)
    level = 0
    while level >= 0:
        if left[level] == 0:
            level -= 1
            continue
        left[level] -= 1
        below = board_at(boards, level + 1)
        copy_board(board_at(boards, level), below)
        play_move(below, np.int64(moves[level, left[level]]))
        count, _ = legal_moves(below, moves[level + 1])
        if level + 2 == depth:
            leaves += count
        else:
            level += 1
            left[level] = count
    return leaves
