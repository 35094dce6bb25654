"""`sevenplane`: the liberties of stones, and the ko.

| planes  | 1 where                                                                       |
|---------|-------------------------------------------------------------------------------|
| 0, 1, 2 | a stone of the player to move is in a string with 1, 2, 3 or more liberties   |
| 3, 4, 5 | a stone of the opponent is in a string with 1, 2, 3 or more liberties         |
| 6       | the ko forbids the player to move to play at once                             |
"""

import numpy as np

from tengen._kernel import kernel, stack_array
from tengen.encode.liberties import count_strings, mark_ko, mark_liberties
from tengen.games.go.board import TO_PLAY, board_at

_LIBERTIES = 3  # as many and more share the last plane
_KO_PLANE = 2 * _LIBERTIES

MEANINGS = (
    *(f"{whose} stones with {n} liberties" for whose in ("own", "enemy") for n in ("1", "2", "3 or more")),
    "points that the ko forbids",
)


@kernel
def encode_sevenplane(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 7, N * N]."""
    cells = positions.boards.color.shape[1]
    stones, liberties = stack_array(cells, np.int64), stack_array(cells, np.int64)
    for i in range(out.shape[0]):
        board = board_at(positions.boards, i)
        count_strings(board, stones, liberties)
        out[i] = 0
        mark_liberties(board, liberties, _LIBERTIES, board.info[TO_PLAY], out[i])
        mark_ko(board, out[i, _KO_PLANE])
