"""`compact`: few planes for small boards and self-play: stones by their liberties, the ko, the colour, a pass.

| planes  | 1 where                                                                               |
|---------|---------------------------------------------------------------------------------------|
| 0, 1, 2 | an own stone is in a string with 1, 2, 3 or more liberties                            |
| 3, 4, 5 | an enemy stone is in a string with 1, 2, 3 or more liberties                          |
| 6       | the ko forbids the player to move to play at once                                     |
| 7       | everywhere: shows a network that pads with zeros where the board ends                 |
| 8       | everywhere, if Black is to play (komi makes the colours differ)                       |
| 9       | everywhere, if the opponent has just passed, so that one more pass ends the game      |

`compact-komi` adds the komi c as the player to move sees it: White's compensation if White is to play, else its
negative.

| planes   | 1 everywhere, if                                                                            |
|----------|---------------------------------------------------------------------------------------------|
| 10 to 23 | c is greater than -15, -11, -9, -7, ... 9, 11, 15                                           |
| 24       | c is a whole number, even or odd as the number of points is, so that the game can be drawn  |
"""

from typing import Final

import numpy as np

from tengen._kernel import kernel, stack_array
from tengen.encode.liberties import count_strings, mark_ko, mark_liberties
from tengen.games.go.board import BLACK, PASSES, TO_PLAY, WHITE, board_at

_LIBERTIES = 3  # as many and more share the last plane
_KO_PLANE = 2 * _LIBERTIES
KOMI_MARKS: Final = (-15, -11, -9, -7, -5, -3, -1, 1, 3, 5, 7, 9, 11, 15)

MEANINGS = (
    *(f"{whose} stones with {n} liberties" for whose in ("own", "enemy") for n in ("1", "2", "3 or more")),
    "points that the ko forbids",
    "ones",
    "ones if Black is to play",
    "ones if the opponent has just passed",
)
_KOMI_PLANE = len(MEANINGS)
MEANINGS_WITH_KOMI = (
    *MEANINGS,
    *(f"ones if the komi is worth more than {mark} points to the player to move" for mark in KOMI_MARKS),
    "ones if the komi makes a draw possible",
)


@kernel
def encode_compact(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 10 or more, N * N]; planes beyond the tenth are left empty."""
    cells = positions.boards.color.shape[1]
    stones, liberties = stack_array(cells, np.int64), stack_array(cells, np.int64)
    for i in range(out.shape[0]):
        board = board_at(positions.boards, i)
        count_strings(board, stones, liberties)
        out[i] = 0
        mark_liberties(board, liberties, _LIBERTIES, board.info[TO_PLAY], out[i])
        mark_ko(board, out[i, _KO_PLANE])
        out[i, _KO_PLANE + 1] = 1
        out[i, _KO_PLANE + 2] = board.info[TO_PLAY] == BLACK
        out[i, _KO_PLANE + 3] = board.info[PASSES] > 0


@kernel
def encode_compact_komi(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 25, N * N]."""
    encode_compact(positions, out)
    for i in range(out.shape[0]):
        komi = positions.komi[i]
        own = komi if positions.boards.info[i, TO_PLAY] == WHITE else -komi
        for k in range(len(KOMI_MARKS)):
            out[i, _KOMI_PLANE + k] = own > KOMI_MARKS[k]
        out[i, _KOMI_PLANE + len(KOMI_MARKS)] = (komi - out.shape[2]) % 2 == 0
