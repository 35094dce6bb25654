"""How a game ends, as kernels: mate, stalemate, the draws, and who has won."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.microchess.attacks import piece_sets
from tengen.games.microchess.board import (
    BLACK,
    FIFTY_MOVES,
    HALFMOVE,
    HASH,
    NCSOFT,
    NCSOFT_PLIES,
    PLY,
    RULES,
    SQUARES,
    TO_PLAY,
    WHITE,
)

RUNNING, CHECKMATE, STALEMATE, INSUFFICIENT, THREEFOLD, FIFTY, EIGHTY_PLIES = range(7)
END_REASONS: Final = (
    "",
    "checkmate",
    "stalemate",
    "insufficient material",
    "threefold repetition",
    "fifty moves",
    "80 plies",
)

_DARK_SQUARES = 0x5A5A5  # a1, c1, b2, d2, ...
_NCSOFT_VALUES = (1, 3, 3, 5, 10, 4)  # P N B R Q K, as NCSOFT's platform counts


def _balance() -> NDArray[np.int64]:
    """int64[13]: what a piece adds to White's material less Black's."""
    return np.array([0, *_NCSOFT_VALUES, *(-value for value in _NCSOFT_VALUES)], np.int64)


BALANCE: Final = _balance()


@kernel(inline=True)
def ending(board, move_count, in_check):  # type: ignore[no-untyped-def]
    """RUNNING, or by which rule the game is over; `move_count` and `in_check` as `legal_moves` gives them.

    Mate comes before all draws: a mate on the last ply of the fifty moves or of the eighty plies counts.
    """
    info = board.info
    if move_count == 0:
        return CHECKMATE if in_check else STALEMATE
    if is_dead(board):
        return INSUFFICIENT
    if info[HALFMOVE] >= 8 and earlier_occurrences(board) >= 2:
        return THREEFOLD
    if info[HALFMOVE] >= FIFTY_MOVES:
        return FIFTY
    if info[RULES] & NCSOFT and info[PLY] >= NCSOFT_PLIES:
        return EIGHTY_PLIES
    return RUNNING


@kernel(inline=True)
def winner(board, reason):  # type: ignore[no-untyped-def]
    """WHITE, BLACK, or 0 for a draw, of a game that ended for this reason: under ncsoft rules material decides."""
    if reason == CHECKMATE:
        return 3 - board.info[TO_PLAY]
    if board.info[RULES] & NCSOFT:
        balance = material_balance(board)
        if balance != 0:
            return np.int64(WHITE if balance > 0 else BLACK)
    return np.int64(0)


@kernel(inline=True)
def is_dead(board):  # type: ignore[no-untyped-def]
    """Whether the material cannot give any mate: bare kings, one knight, or bishops on squares of one colour only."""
    _, _, pawns, knights, diagonals, straights = piece_sets(board.squares)
    if pawns | straights:
        return False
    if knights:
        return diagonals == 0 and knights & (knights - 1) == 0
    return diagonals & _DARK_SQUARES == 0 or diagonals & ~_DARK_SQUARES == 0


@kernel(inline=True)
def earlier_occurrences(board):  # type: ignore[no-untyped-def]
    """How often the present position, turn and castling rights included, stood on the board before."""
    key = board.info[HASH]
    count = 0
    k = board.info[HALFMOVE] - 4  # sooner than after two moves of each side nothing comes back
    while k >= 0:
        count += board.keys[np.uint64(k)] == key
        k -= 2
    return count


@kernel(inline=True)
def material_balance(board):  # type: ignore[no-untyped-def]
    """White's material less Black's, by the ncsoft values."""
    balance = np.int64(0)
    for s in range(SQUARES):
        balance += BALANCE[np.uint64(board.squares[s])]
    return balance
