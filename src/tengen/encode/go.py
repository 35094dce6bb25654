"""The encoders of Go.

| name         | planes | shows                                                                            |
|--------------|--------|----------------------------------------------------------------------------------|
| `oneplane`   | 1      | whose stone stands where, as one number a point                                  |
| `sevenplane` | 7      | the liberties of own and enemy stones, and the ko                                |
| `simple`     | 11     | the liberties of black and white stones, who is to play, and the ko              |
| `alphago`    | 48     | tactics: what AlphaGo's policy network saw (Silver et al., Nature 2016)          |
| `alphago49`  | 49     | the same and the player's colour, as AlphaGo's value network had it              |
| `zero`       | 17     | the stones of the last eight positions: AlphaGo Zero (Silver et al., Nature 2017) |
| `compact`    | 10     | short liberties, ko, colour, pass: for self-play on small boards                  |
| `compact-komi` | 25   | the same, and the komi as the player to move sees it                              |
| `stones`     | 3      | black stones, white stones, empty points: the Simple-Go lecture                   |
| `stones-player` | 4   | the same, and who is to play                                                      |

Every encoder works on any board size, and uses of the rules only what all rule sets share: stones without liberties
come off, suicide is not played, a ko is not retaken at once. Planes hold small unsigned integers, nearly always 0 and
1; networks turn them into floats. Row 0 is the top row of the board, column 0 the leftmost.

Beside the meaning of its planes each encoder has one kernel for a whole batch. A kernel works in the calling
thread, holds no lock and no state: call it from as many threads as there are cores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.encode import alphago, liberties
from tengen.encode.encoder import Encoder, EncoderError
from tengen.games import go
from tengen.games.go.batch import GoGames
from tengen.games.go.board import BLACK, EMPTY, SIZE, TO_PLAY, WHITE
from tengen.games.go.positions import OLDEST, PAST, Positions, positions_of
from tengen.games.state import AnyState


@dataclass(frozen=True)
class GoEncoder(Encoder):
    """A way to show positions of Go to a network."""

    game: ClassVar[str] = "go"

    kernel: Callable[[Positions, NDArray[np.uint8]], None]
    """Writes B positions to uint8[B, planes, N * N]."""

    def encode(self, states: Sequence[AnyState]) -> NDArray[np.uint8]:
        """uint8[B, planes, N, N]: the planes of B states, all of one board size N."""
        boards = [state for state in states if isinstance(state, go.State)]
        if len(boards) != len(states):
            raise EncoderError(f"the encoder {self.name} shows positions of {self.game} only")
        sizes = {state.size for state in boards}
        if len(sizes) != 1:
            found = f"sizes {sorted(sizes)}" if sizes else "no state"
            raise EncoderError(f"states to encode have to be of one board size, and there is {found}")
        size = sizes.pop()
        out = np.empty((len(states), self.planes, size, size), np.uint8)
        self.encode_positions(positions_of(boards), out)
        return out

    def encode_positions(self, positions: Positions, out: NDArray[np.uint8]) -> None:
        """Write the planes of B positions to out: uint8[B, planes, N, N], in C order. For loops that never stop."""
        batch, points = positions.age.shape
        size = round(points**0.5)
        shape = (batch, self.planes, size, size)
        if out.shape != shape or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise EncoderError(
                f"{self.name} writes {batch} positions to a C-contiguous uint8 array of shape {shape}, "
                f"not to one of {out.dtype} and shape {out.shape}"
            )
        self.kernel(positions, out.reshape(batch, self.planes, points))

    def encode_games(self, games: GoGames, count: int, out: NDArray[np.uint8]) -> None:
        """Write the first `count` games to the first rows of out: uint8[n, planes, N, N], in C order."""
        ages = np.minimum(OLDEST, games.length[:count, None] - games.placed[:count]).astype(np.int16)
        if self.ages and not ages.size:
            raise EncoderError(f"{self.name} shows how old stones are, and these games do not keep it: ask for ages")
        positions = Positions(games.boards, games.past, ages, games.komi)
        self.kernel(positions, out[:count].reshape(count, self.planes, -1))


# ----------------------------------------------------------------------------------------------- stones
# `stones`: what stands on each point and nothing else, one-hot, as in the Simple-Go lecture; and `oneplane`.
#
# | plane | 1 where                                                                    |
# |-------|----------------------------------------------------------------------------|
# | 0     | a black stone stands                                                       |
# | 1     | a white stone stands                                                       |
# | 2     | the point is empty                                                         |
# | 3     | everywhere, if Black is to play (`stones-player` only)                     |
#
# Colours are not turned to those of the player to move: a network that reads `stones` is meant for positions in which
# it is always the same player's turn. `stones-player` is for one network for both.

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


# ------------------------------------------------------------------------------------------------- zero
# `zero`: AlphaGo Zero's planes, the stones of the last eight positions and the colour to play.
#
# In Silver et al., "Mastering the game of Go without human knowledge" (Nature 550, 2017), they are written
# s = [X0, Y0, X1, Y1, ..., X7, Y7, C]:
#
# | plane     | 1 where                                                                        |
# |-----------|--------------------------------------------------------------------------------|
# | 2 * t     | Xt: the player to move now had a stone t moves ago                             |
# | 2 * t + 1 | Yt: the opponent had a stone t moves ago                                       |
# | 16        | C: everywhere, if Black is to play                                             |
#
# t runs from 0 to 7. A pass is a move too. Positions before the game began are empty, even where it began with set-up
# or handicap stones.

_ZERO_COLOR_PLANE = 2 * PAST

ZERO_MEANINGS = (
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
        out[i, _ZERO_COLOR_PLANE] = own == BLACK


# ------------------------------------------------------------------------------------------ all of them

GO_ENCODERS = (
    GoEncoder("oneplane", ONEPLANE_MEANINGS, encode_oneplane, past=1, largest=2),
    GoEncoder("sevenplane", liberties.SEVENPLANE_MEANINGS, liberties.encode_sevenplane),
    GoEncoder("simple", liberties.SIMPLE_MEANINGS, liberties.encode_simple),
    GoEncoder("alphago", alphago.MEANINGS, alphago.encode_alphago, ages=True),
    GoEncoder("alphago49", alphago.MEANINGS_WITH_PLAYER, alphago.encode_alphago, ages=True),
    GoEncoder("zero", ZERO_MEANINGS, encode_zero, past=PAST),
    GoEncoder("compact", liberties.COMPACT_MEANINGS, liberties.encode_compact),
    GoEncoder("compact-komi", liberties.COMPACT_MEANINGS_WITH_KOMI, liberties.encode_compact_komi),
    GoEncoder("stones", STONES_MEANINGS, encode_stones),
    GoEncoder("stones-player", STONES_MEANINGS_WITH_PLAYER, encode_stones),
)


def get_go_encoder(name: str) -> GoEncoder:
    """The encoder of Go of this name."""
    for encoder in GO_ENCODERS:
        if encoder.name == name:
            return encoder
    raise EncoderError(f"there is no encoder {name[:40]!r} of Go: choose from {', '.join(e.name for e in GO_ENCODERS)}")
