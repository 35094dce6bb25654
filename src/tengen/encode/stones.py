"""`stones`: what stands on each point and nothing else, one-hot, as in the Simple-Go lecture; and `oneplane`.

| plane | 1 where                                                                    |
|-------|----------------------------------------------------------------------------|
| 0     | a black stone stands                                                       |
| 1     | a white stone stands                                                       |
| 2     | the point is empty                                                         |
| 3     | everywhere, if Black is to play (`stones-player` only)                     |

Colours are not turned to those of the player to move: a network that reads `stones` is meant for positions in which it
is always the same player's turn. `stones-player` is for one network for both.
"""

import numpy as np

from tengen._kernel import kernel
from tengen.games.go.board import BLACK, EMPTY, SIZE, TO_PLAY, WHITE

STONES_MEANINGS = ("black stones", "white stones", "empty points")
STONES_MEANINGS_WITH_PLAYER = (*STONES_MEANINGS, "ones if Black is to play")
_STONES_PLAYER_PLANE = len(STONES_MEANINGS)


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
        if out.shape[1] > _STONES_PLAYER_PLANE:
            out[i, _STONES_PLAYER_PLANE] = positions.boards.info[i, TO_PLAY] == BLACK


# -------------------------------------------------------------------------------------------- oneplane
# The same in a single plane.
#
# | point                          | value |
# |--------------------------------|-------|
# | a stone of the player to move  | 2     |
# | empty                          | 1     |
# | a stone of the opponent        | 0     |
#
# The usual way to write this is +1, 0, -1. Planes are unsigned, so one is added: a constant that the bias of a
# network's first layer takes off again. (With 1 and 2 for the two colours, an enemy stone would look like two stones of
# one's own.) There is no ko, no colour and no liberty in here: the plane is meant for comparison and for first steps.

ONEPLANE_MEANINGS = ("2 for stones of the player to move, 1 for empty points, 0 for stones of the opponent",)


@kernel
def encode_oneplane(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 1, N * N]."""
    for i in range(out.shape[0]):
        own = positions.boards.info[i, TO_PLAY]
        for point in range(out.shape[2]):
            stone = positions.past[i, 0, point]
            out[i, 0, point] = np.uint8(1) if stone == EMPTY else np.uint8(2) * np.uint8(stone == own)
