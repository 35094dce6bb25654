"""Go on boards up to 5x5 as bit sets, in kernels.

A set of points is an int64 whose bit 5 * row + column stands for a point, on every board size, so that neighbours are
two shifts by 1 and two by 5. A position is (own, opp, ko): the stones of the player to move, those of the other one,
and the point that the simple ko forbids (0 or one bit). `board` is the set of all points.

Superko is not in here: it needs the moves behind. All else is as in `games.go.legality`, which tests hold this against.
"""

from typing import Final

import numpy as np
from numba import types
from numba.extending import intrinsic

from tengen._kernel import kernel
from tengen.games.go.rules import POSITIONAL, SUICIDE, TERRITORY_KEPT

WIDTH: Final = 5
MAX_SIZE: Final = 5
_NOT_FIRST = sum(1 << p for p in range(25) if p % 5 != 0)  # columns that have a left neighbour
_NOT_LAST = sum(1 << p for p in range(25) if p % 5 != 4)


def board_points(size: int) -> int:
    """The set of all points of a board; ValueError for sizes that do not fit."""
    if not 2 <= size <= MAX_SIZE:
        raise ValueError(f"size {size} is not possible: the solver works on boards from 2x2 to {MAX_SIZE}x{MAX_SIZE}")
    return sum(1 << WIDTH * row + col for row in range(size) for col in range(size))


@intrinsic
def _population(typing_context, bits):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@kernel(inline=True)
def count(points):  # type: ignore[no-untyped-def]
    """How many points a set has."""
    return _population(np.int64(points))  # type: ignore[call-arg]


@kernel(inline=True)
def neighbours(points):  # type: ignore[no-untyped-def]
    """All points beside those of a set, some of which may be in it or off the board."""
    return (points & _NOT_LAST) << 1 | (points & _NOT_FIRST) >> 1 | points << WIDTH | points >> WIDTH


@kernel(inline=True)
def connected(seeds, within):  # type: ignore[no-untyped-def]
    """All points of `within` that are connected inside it to some point of `seeds`."""
    found = seeds & within
    while True:
        larger = (found | neighbours(found)) & within
        if larger == found:
            return found
        found = larger


@kernel
def legal_points(own, opp, ko, board, flags):  # type: ignore[no-untyped-def]
    """The points where the player to move may play, by all rules but superko; `flags` as in `RuleSet.flags`."""
    empty = board & ~(own | opp)
    legal = empty & neighbours(empty)  # a stone with an empty point beside it has a liberty and fills no eye
    others = empty & ~legal
    while others:
        p = others & -others
        others ^= p
        if _is_legal_without_room(p, own, opp, empty, flags):
            legal |= p
    return legal & ~ko


@kernel
def _is_legal_without_room(p, own, opp, empty, flags):  # type: ignore[no-untyped-def]
    """Whether a move is legal on an empty point with stones or the edge all around."""
    beside = neighbours(p)
    strings = beside & opp
    while strings:
        string = connected(strings & -strings, opp)
        strings &= ~string
        if neighbours(string) & empty == p:
            return True  # captures
    strings = beside & own
    if strings == 0:  # the suicide of one stone changes nothing: a repetition by position
        return flags & SUICIDE != 0 and flags & POSITIONAL == 0
    saves, breathes = False, False
    while strings:
        string = connected(strings & -strings, own)
        strings &= ~string
        if neighbours(string) & empty == p:
            saves = True
        else:
            breathes = True
    if not breathes:
        return flags & SUICIDE != 0
    return flags & TERRITORY_KEPT == 0 or saves or beside & opp != 0


@kernel
def play(own, opp, p, board):  # type: ignore[no-untyped-def]
    """(own, opp, ko) after a legal move on the point p, still as the player who moved sees it."""
    own |= p
    empty = board & ~(own | opp)
    captured = np.int64(0)
    beside = neighbours(p)
    if beside & opp:
        near = connected(beside & opp, opp)
        captured = near & ~connected(neighbours(empty), near)
        opp &= ~captured
    ko = np.int64(0)
    if captured:
        if captured & (captured - 1) == 0 and beside & own == 0 and beside & board & ~opp == captured:
            ko = captured
    elif beside & empty == 0:
        string = connected(p, own)
        if neighbours(string) & empty == 0:
            own &= ~string
    return own, opp, ko


@kernel
def margin(own, opp, board):  # type: ignore[no-untyped-def]
    """The area of `own` minus that of `opp`, all stones being alive."""
    empty = board & ~(own | opp)
    near_own = connected(neighbours(own), empty)
    near_opp = connected(neighbours(opp), empty)
    return count(own | near_own & ~near_opp) - count(opp | near_opp & ~near_own)
