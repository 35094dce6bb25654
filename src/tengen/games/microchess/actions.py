"""Actions: the numbers 0 to 435 that a policy gives to moves, always as the player to move sees the board.

For Black the board is turned by half a circle (square s becomes 19 - s), which makes the start position the same for
both. In this view

* 0 to 399:   from * 20 + to; a pawn that reaches the last rank becomes a queen;
* 400 to 435: promotions to less, 400 + 9 * file + 3 * direction + piece: the pawn's file, 0 capturing towards the file
  before it, 1 straight on, 2 capturing towards the file after it; 0 knight, 1 bishop, 2 rook.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.microchess.board import BLACK, BLACK_PIECE, FILES, PAWN, SQUARES, TO_PLAY, WHITE

ACTIONS = 436
MOVES = 5 * SQUARES * SQUARES  # every move is less than this
_QUEEN = 4
_UNDER = SQUARES * SQUARES  # the first promotion to less than a queen
_SEVENTH = 3 * FILES  # a4: the rank from which pawns promote
_LAST = 4 * FILES


def _action_table() -> NDArray[np.int16]:
    """int16[2, MOVES]: the action of a move of White (row 0) and of Black (row 1)."""
    table = np.zeros((2, MOVES), np.int16)
    for move in range(MOVES):
        for row in range(2):
            source, target, promotion = move % SQUARES, move // SQUARES % SQUARES, move // (SQUARES * SQUARES)
            if row == 1:
                source, target = SQUARES - 1 - source, SQUARES - 1 - target
            file, direction = source % FILES, target % FILES - source % FILES + 1
            if promotion in (0, _QUEEN):
                table[row, move] = source * SQUARES + target
            elif 0 <= direction <= 2:
                table[row, move] = _UNDER + 9 * file + 3 * direction + promotion - 1
    return table


ACTION_TABLE: Final = _action_table()


@kernel(inline=True)
def action_of_move(move, color):  # type: ignore[no-untyped-def]
    """The action of a legal move of `color`."""
    return np.int64(ACTION_TABLE[np.uint64(color - WHITE), np.uint64(move)])


@kernel(inline=True)
def move_of_action(board, action):  # type: ignore[no-untyped-def]
    """The move that a legal action of the player to move stands for."""
    color = board.info[TO_PLAY]
    promotion = 0
    if action < _UNDER:
        source, target = action // SQUARES, action % SQUARES
    else:
        file, direction = (action - _UNDER) // 9, (action - _UNDER) // 3 % 3
        source, target = _SEVENTH + file, _LAST + file + direction - 1
        promotion = 1 + (action - _UNDER) % 3
    queens = promotion == 0 and target >= _LAST
    if color == BLACK:
        source, target = SQUARES - 1 - source, SQUARES - 1 - target
    if queens and board.squares[np.uint64(source)] == (PAWN if color == WHITE else PAWN + BLACK_PIECE):
        promotion = _QUEEN
    return source + SQUARES * target + SQUARES * SQUARES * promotion
