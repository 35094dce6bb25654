"""`zero`: AlphaGo Zero's planes, the stones of the last eight positions and the colour to play.

In Silver et al., "Mastering the game of Go without human knowledge" (Nature 550, 2017), they are written
s = [X0, Y0, X1, Y1, ..., X7, Y7, C]:

| plane     | 1 where                                                                        |
|-----------|--------------------------------------------------------------------------------|
| 2 * t     | Xt: the player to move now had a stone t moves ago                             |
| 2 * t + 1 | Yt: the opponent had a stone t moves ago                                       |
| 16        | C: everywhere, if Black is to play                                             |

t runs from 0 to 7. A pass is a move too. Positions before the game began are empty, even where it began with set-up
or handicap stones.
"""

from tengen._kernel import kernel
from tengen.games.go.board import BLACK, TO_PLAY
from tengen.games.go.positions import PAST

_COLOR_PLANE = 2 * PAST

MEANINGS = (
    *(f"{whose} stones {t} moves ago" for t in range(PAST) for whose in ("own", "enemy")),
    "ones if Black is to play",
)


@kernel
def encode_zero(positions, out):  # type: ignore[no-untyped-def]
    """Write B positions to out: uint8[B, 17, N * N]."""
    for i in range(out.shape[0]):
        own = positions.boards.info[i, TO_PLAY]
        for t in range(PAST):
            for point in range(out.shape[2]):
                stone = positions.past[i, t, point]
                out[i, 2 * t, point] = stone == own
                out[i, 2 * t + 1, point] = stone == 3 - own
        out[i, _COLOR_PLANE] = own == BLACK
