"""What an encoder is, and all of them by name.

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

Every encoder works on any board size, and knows of the rules only what all rule sets share: stones without liberties
come off, suicide is not played, a ko is not retaken at once. Planes hold small unsigned integers, nearly always 0 and
1; networks turn them into floats. Row 0 is the top row of the board, column 0 the leftmost.

Each encoder's file holds the meaning of its planes and one kernel for a whole batch. A kernel works in the calling
thread, holds no lock and no state: call it from as many threads as there are cores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tengen.encode import alphago, compact, oneplane, sevenplane, simple, zero
from tengen.games.go.coordinates import PASS, from_policy, to_policy
from tengen.games.go.positions import Positions, positions_of
from tengen.games.go.state import GameState


class EncoderError(ValueError):
    """An encoder that does not exist, or arrays and moves that do not fit it."""


@dataclass(frozen=True)
class Encoder:
    """A way to show positions to a network."""

    name: str
    meanings: tuple[str, ...]
    """What each plane shows, in words."""
    kernel: Callable[[Positions, NDArray[np.uint8]], None]
    """Writes B positions to uint8[B, planes, N * N]."""

    @property
    def planes(self) -> int:
        """How many feature planes a position has."""
        return len(self.meanings)

    def encode(self, states: Sequence[GameState]) -> NDArray[np.uint8]:
        """uint8[B, planes, N, N]: the planes of B states, all of one board size N."""
        sizes = {state.size for state in states}
        if len(sizes) != 1:
            found = f"sizes {sorted(sizes)}" if sizes else "no state"
            raise EncoderError(f"states to encode have to be of one board size, and there is {found}")
        size = sizes.pop()
        out = np.empty((len(states), self.planes, size, size), np.uint8)
        self.encode_positions(positions_of(states), out)
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

    @staticmethod
    def move_to_index(move: int, size: int) -> int:
        """Where a network's policy of size * size + 1 entries has a move: points in order, then PASS."""
        if move != PASS and not 0 <= move < size * size:
            raise EncoderError(f"move {move} has no place in a policy for {size}x{size}: give a point or PASS ({PASS})")
        return to_policy(move, size)

    @staticmethod
    def index_to_move(index: int, size: int) -> int:
        """The move that stands at this index of a policy."""
        if not 0 <= index <= size * size:
            raise EncoderError(f"index {index} is not in a policy for {size}x{size}: give 0 to {size * size}")
        return from_policy(index, size)


_ENCODERS = {
    encoder.name: encoder
    for encoder in (
        Encoder("oneplane", oneplane.MEANINGS, oneplane.encode_oneplane),
        Encoder("sevenplane", sevenplane.MEANINGS, sevenplane.encode_sevenplane),
        Encoder("simple", simple.MEANINGS, simple.encode_simple),
        Encoder("alphago", alphago.MEANINGS, alphago.encode_alphago),
        Encoder("alphago49", alphago.MEANINGS_WITH_PLAYER, alphago.encode_alphago),
        Encoder("zero", zero.MEANINGS, zero.encode_zero),
        Encoder("compact", compact.MEANINGS, compact.encode_compact),
        Encoder("compact-komi", compact.MEANINGS_WITH_KOMI, compact.encode_compact_komi),
    )
}


def encoder_names() -> tuple[str, ...]:
    """The names of all encoders."""
    return tuple(_ENCODERS)


def get_encoder(name: str) -> Encoder:
    """The encoder of this name."""
    if name not in _ENCODERS:
        raise EncoderError(f"there is no encoder {name!r}: choose from {', '.join(_ENCODERS)}")
    return _ENCODERS[name]
