"""Zobrist keys: a position's hash is the XOR of a random number for each piece on its square, for the castling rights
and, when Black is to move, for the turn.

They are drawn once from a fixed seed, so hashes mean the same in every process and may be stored. `ZOBRIST` has shape
int64[13, 20], and row 0 (no piece) is zero. `CASTLING_KEYS` has one for each set of castling rights; none hashes to 0.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray


def _draw(seed: int, *shape: int) -> NDArray[np.int64]:
    keys = np.random.default_rng(seed).integers(1, np.iinfo(np.int64).max, shape, np.int64)
    keys[0] = 0
    return keys


ZOBRIST: Final = _draw(0x41C0C4E5, 13, 20)
CASTLING_KEYS: Final = _draw(0x41C0C4E6, 4)
TURN_KEY: Final = int(_draw(0x41C0C4E7, 2)[1])
