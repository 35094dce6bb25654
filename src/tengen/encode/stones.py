"""`stones`: what stands on each point and nothing else, one-hot, as in the Simple-Go lecture.

| plane | 1 where                                                                    |
|-------|----------------------------------------------------------------------------|
| 0     | a black stone stands                                                       |
| 1     | a white stone stands                                                       |
| 2     | the point is empty                                                         |
| 3     | everywhere, if Black is to play (`stones-player` only)                     |

Colours are not turned to those of the player to move: a network that reads `stones` is meant for positions in which it
is always the same player's turn. `stones-player` is for one network for both.
"""

from tengen._kernel import kernel
from tengen.games.go.board import BLACK, EMPTY, SIZE, TO_PLAY, WHITE

MEANINGS = ("black stones", "white stones", "empty points")
MEANINGS_WITH_PLAYER = (*MEANINGS, "ones if Black is to play")
_PLAYER_PLANE = len(MEANINGS)


@kernel
def encode_stones(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 3 or 4, N * N]."""
    for i in range(out.shape[0]):
        size = positions.boards.info[i, SIZE]
        for row in range(size):
            for col in range(size):
                stone = positions.boards.color[i, (row + 1) * (size + 1) + col + 1]
                point = row * size + col
                out[i, 0, point] = stone == BLACK
                out[i, 1, point] = stone == WHITE
                out[i, 2, point] = stone == EMPTY
        if out.shape[1] > _PLAYER_PLANE:
            out[i, _PLAYER_PLANE] = positions.boards.info[i, TO_PLAY] == BLACK
