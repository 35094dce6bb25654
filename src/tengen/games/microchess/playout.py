"""Playouts: random games to the end, by all rules, repetition and the counting of moves included."""

import numpy as np

from tengen._kernel import kernel
from tengen.games.microchess.board import play_move
from tengen.games.microchess.ending import RUNNING, ending, winner
from tengen.games.microchess.moves import legal_moves
from tengen.games.xorshift import next_random, random_below


@kernel(inline=True)
def run_playout(board, moves, state):  # type: ignore[no-untyped-def]
    """Play `board` to its end in place, every legal move as likely as any other.

    moves: int16[MAX_MOVES], scratch; state: the random numbers', a non-zero uint64.
    Returns (state, the winner or 0 for a draw).
    """
    while True:
        count, in_check = legal_moves(board, moves)
        reason = ending(board, count, in_check)
        if reason != RUNNING:
            return state, winner(board, reason)
        state = next_random(state)
        play_move(board, np.int64(moves[np.uint64(random_below(state, count))]))
