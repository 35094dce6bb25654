"""`compact`: few planes for small boards and self-play: stones by their liberties, the ko, the colour, a pass.

| planes  | 1 where                                                                               |
|---------|---------------------------------------------------------------------------------------|
| 0, 1, 2 | an own stone is in a string with 1, 2, 3 or more liberties                            |
| 3, 4, 5 | an enemy stone is in a string with 1, 2, 3 or more liberties                          |
| 6       | the ko forbids the player to move to play at once                                     |
| 7       | everywhere: tells a network that pads with zeros where the board ends                 |
| 8       | everywhere, if Black is to play (komi makes the colours differ)                       |
| 9       | everywhere, if the opponent has just passed, so that one more pass ends the game      |
"""

import numpy as np
from numba import njit

from tengen.encode.liberties import count_strings, mark_ko, mark_liberties
from tengen.games.go.board import BLACK, PASSES, TO_PLAY, board_at

_LIBERTIES = 3  # as many and more share the last plane
_KO_PLANE = 2 * _LIBERTIES

MEANINGS = (
    *(f"{whose} stones with {n} liberties" for whose in ("own", "enemy") for n in ("1", "2", "3 or more")),
    "points that the ko forbids",
    "ones",
    "ones if Black is to play",
    "ones if the opponent has just passed",
)


@njit(cache=True, nogil=True)
def encode_compact(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 10, N * N]."""
    cells = positions.boards.color.shape[1]
    stones, liberties = np.empty(cells, np.int64), np.empty(cells, np.int64)
    for i in range(out.shape[0]):
        board = board_at(positions.boards, i)
        count_strings(board, stones, liberties)
        out[i] = 0
        mark_liberties(board, liberties, _LIBERTIES, board.info[TO_PLAY], out[i])
        mark_ko(board, out[i, _KO_PLANE])
        out[i, _KO_PLANE + 1] = 1
        out[i, _KO_PLANE + 2] = board.info[TO_PLAY] == BLACK
        out[i, _KO_PLANE + 3] = board.info[PASSES] > 0
