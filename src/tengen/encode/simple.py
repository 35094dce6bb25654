"""`simple`: the liberties of stones by their colour, who is to play, and the ko.

| planes     | 1 where                                                                |
|------------|------------------------------------------------------------------------|
| 0, 1, 2, 3 | a black stone is in a string with 1, 2, 3, 4 or more liberties         |
| 4, 5, 6, 7 | a white stone is in a string with 1, 2, 3, 4 or more liberties         |
| 8          | everywhere, if Black is to play                                        |
| 9          | everywhere, if White is to play                                        |
| 10         | the ko forbids the player to move to play at once                      |
"""

import numpy as np

from tengen._kernel import kernel, stack_array
from tengen.encode.liberties import count_strings, mark_ko, mark_liberties
from tengen.games.go.board import BLACK, TO_PLAY, board_at

_LIBERTIES = 4  # as many and more share the last plane
_PLAYER_PLANES = 2 * _LIBERTIES
_KO_PLANE = _PLAYER_PLANES + 2

MEANINGS = (
    *(f"{color} stones with {n} liberties" for color in ("black", "white") for n in ("1", "2", "3", "4 or more")),
    "ones if Black is to play",
    "ones if White is to play",
    "points that the ko forbids",
)


@kernel
def encode_simple(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 11, N * N]."""
    cells = positions.boards.color.shape[1]
    stones, liberties = stack_array(cells, np.int64), stack_array(cells, np.int64)
    for i in range(out.shape[0]):
        board = board_at(positions.boards, i)
        count_strings(board, stones, liberties)
        out[i] = 0
        mark_liberties(board, liberties, _LIBERTIES, BLACK, out[i])
        out[i, _PLAYER_PLANES + board.info[TO_PLAY] - BLACK] = 1
        mark_ko(board, out[i, _KO_PLANE])
