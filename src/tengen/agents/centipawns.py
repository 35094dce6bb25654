"""Chances to win, and the hundredths of a pawn in which chess programs report them: 0 is 0.5, 100 is 0.64."""

import math
from typing import Final

_MOST: Final = 9_999


def chance_behind(centipawns: float) -> float:
    """The chance to win behind an advantage, 0 to 1."""
    return float(1 / (1 + 10 ** (-max(-_MOST, min(_MOST, centipawns)) / 400)))


def centipawns(chance: float) -> int:
    """The advantage behind a chance to win, -9999 to 9999."""
    if not 0 < chance < 1:
        return _MOST if chance >= 1 else -_MOST
    return max(-_MOST, min(_MOST, round(400 * math.log10(chance / (1 - chance)))))
