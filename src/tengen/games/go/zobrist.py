"""Zobrist keys: one random 64-bit number for each (colour, cell); a position's hash is the XOR of its stones'.

The empty board hashes to 0. The keys are drawn once from a fixed seed, so hashes mean the same in every
process and may be stored. `ZOBRIST` has shape int64[3, cells of a 25x25 board]; row 0 (no stone) is zero.
`WHITE_TO_PLAY` is XORed in where the player to move counts too (situational superko, search caches).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

_CELLS = 26 * 27 + 1


def _draw_keys() -> NDArray[np.int64]:
    rng = np.random.default_rng(0x7E46E4)
    keys = rng.integers(np.iinfo(np.int64).min, np.iinfo(np.int64).max, (3, _CELLS), np.int64, endpoint=True)
    keys[0] = 0
    return keys


ZOBRIST: Final = _draw_keys()
WHITE_TO_PLAY: Final = int(np.random.default_rng(0x7E46E5).integers(1, np.iinfo(np.int64).max))
