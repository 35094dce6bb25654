"""Points that a player keeps whatever the opponent does, in kernels. docs/solver.md has the proofs, for each rule set.

A region is a connected set of points without stones of the player. It is *vital* to a string of the player if

* every point of the region, stones of the opponent included, is beside the string; or
* the region is empty and borders on no other string, every point of it but one is beside the string, and that one
  has two neighbours in the region.

Benson (1976) asks only that every *empty* point be beside the string. That suffices for a player who always passes and
takes dead stones off in the end; here the stones have to be captured, and Simple-Go may force its player to fill.

Strings are *alive* that have two vital regions each, whose borders are alive strings. Given those, a connected set of
other points is *safe* if at most one point of it is beside no alive string, and either this is no stone of the
player's, or the set has no stones of the opponent.
"""

import numpy as np

from tengen._kernel import kernel
from tengen.solve.bitboard import connected, count, neighbours


@kernel
def safe_points(own, opp, board):  # type: ignore[no-untyped-def]
    """The points that the player with the stones `own` keeps: alive strings, and what they enclose safely."""
    alive = _alive(own, opp, board)
    if alive == 0:
        return alive
    safe = alive
    beside = neighbours(alive)
    others = board & ~alive
    while others:
        part = connected(others & -others, others)
        others ^= part
        inner = part & ~beside
        if inner & (inner - 1) == 0 and (inner & own == 0 or part & opp == 0):
            safe |= part
    return safe


@kernel
def is_kept(a, b, turn, passes, board, need):  # type: ignore[no-untyped-def]
    """Whether safe points give player a margin of at least `need`; turn: 0 if a is to move, 1 if b is. If a has just
    passed, b could end the game at once: then there must be no stones to capture in them."""
    kept = safe_points(a, b, board)
    return 2 * count(kept) - count(board) >= need and not (passes and turn == 1 and kept & b)


@kernel
def _alive(own, opp, board):  # type: ignore[no-untyped-def]
    """The strings of `own` that cannot be captured: those that are left when all others have been dropped."""
    outside = board & ~own
    if connected(outside & -outside, outside) == outside:  # one region is not enough
        return np.int64(0)
    alive = own
    while True:
        kept = np.int64(0)
        strings = alive
        while strings:
            string = connected(strings & -strings, alive)
            strings ^= string
            if _has_two_vital_regions(string, own, opp, alive, board):
                kept |= string
        if kept == alive or kept == 0:
            return kept
        alive = kept


@kernel
def _has_two_vital_regions(string, own, opp, alive, board):  # type: ignore[no-untyped-def]
    beside = neighbours(string)
    outside = board & ~own
    regions = beside & outside
    found = 0
    while regions:
        region = connected(regions & -regions, outside)
        regions &= ~region
        border = neighbours(region) & own
        if border & ~alive:
            continue
        inner = region & ~beside
        vital = inner == 0
        if not vital and inner & (inner - 1) == 0:
            vital = region & opp == 0 and border & ~string == 0 and count(neighbours(inner) & region) >= 2
        if vital:
            found += 1
            if found == 2:
                return True
    return False
