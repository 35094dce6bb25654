"""`oneplane`: the stones and nothing else, in a single plane.

| point                          | value |
|--------------------------------|-------|
| a stone of the player to move  | 2     |
| empty                          | 1     |
| a stone of the opponent        | 0     |

The usual way to write this is +1, 0, -1. Planes are unsigned, so one is added: a constant that the bias of a network's
first layer takes off again. (With 1 and 2 for the two colours, an enemy stone would look like two stones of one's own.)
There is no ko, no colour and no liberty in here: the plane is meant for comparison and for first steps.
"""

import numpy as np

from tengen._kernel import kernel
from tengen.games.go.board import EMPTY, TO_PLAY

MEANINGS = ("2 for stones of the player to move, 1 for empty points, 0 for stones of the opponent",)


@kernel
def encode_oneplane(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 1, N * N]."""
    for i in range(out.shape[0]):
        own = positions.boards.info[i, TO_PLAY]
        for point in range(out.shape[2]):
            stone = positions.past[i, 0, point]
            out[i, 0, point] = np.uint8(1) if stone == EMPTY else np.uint8(2) * np.uint8(stone == own)
