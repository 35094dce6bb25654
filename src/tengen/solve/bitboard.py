"""Go on boards up to 5x5 as bit sets, in kernels.

A set of points is an int64 whose bit 5 * row + column stands for a point, on every board size, so that neighbours are
two shifts by 1 and two by 5. A position is (own, opp, ko): the stones of the player to move, those of the other one,
and the point that the simple ko forbids (0 or one bit). `board` is the set of all points.

Of superko there is what the last moves alone forbid, the *mark* of a position; the rest needs the moves behind. All
else is as in `games.go.legality`, which tests hold this against. Further down: exact keys up to symmetry, marks, and
the points that a player keeps whatever the opponent does.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numba import types
from numba.extending import intrinsic

from tengen._kernel import kernel
from tengen.games.go.rules import POSITIONAL, SITUATIONAL, SUICIDE, TERRITORY_KEPT

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


# -------------------------------------------------- positions up to symmetry, as exact keys of 57 bits
# A pair of point sets is one int64, the second set 32 bits above the first, so that both are turned and mirrored by the
# same few shifts. The key of a position is the least of its eight images; nothing is hashed, so two positions share a
# key only if one is an image of the other.
#
#     bits 0-24 a's stones | 25-49 b's | 50-54 mark (0: none) | 55 whether b is to move | 56 whether a pass came last

_PAIR: Final = 1 | 1 << 32
_POINTS: Final = (1 << 25) - 1


def _both(points: Iterable[tuple[int, int]]) -> int:
    """A set of points (row, column), in both halves of a pair."""
    return sum(1 << WIDTH * row + col for row, col in points) * _PAIR


def _diagonal(k: int) -> int:
    """Where the column is the row plus k."""
    return _both((row, row + k) for row in range(5) if 0 <= row + k < 5)


_R0, _R1, _R2, _R3, _R4 = (_both((k, col) for col in range(5)) for k in range(5))
_C0, _C1, _C2, _C3, _C4 = (_both((row, k) for row in range(5)) for k in range(5))
_D0, _D1, _D2, _D3, _D4 = (_diagonal(k) for k in range(5))
_E1, _E2, _E3, _E4 = (_diagonal(-k) for k in range(1, 5))


@kernel(inline=True)
def upside_down(pair, size):  # type: ignore[no-untyped-def]
    """The pair with its rows in reverse order."""
    turned = (pair & _R0) << 20 | (pair & _R1) << 10 | pair & _R2 | (pair & _R3) >> 10 | (pair & _R4) >> 20
    return turned >> WIDTH * (WIDTH - size)


@kernel(inline=True)
def mirrored(pair, size):  # type: ignore[no-untyped-def]
    """The pair with its columns in reverse order."""
    turned = (pair & _C0) << 4 | (pair & _C1) << 2 | pair & _C2 | (pair & _C3) >> 2 | (pair & _C4) >> 4
    return turned >> (WIDTH - size)


@kernel(inline=True)
def transposed(pair):  # type: ignore[no-untyped-def]
    """The pair with rows and columns exchanged."""
    above = (pair & _D1) << 4 | (pair & _D2) << 8 | (pair & _D3) << 12 | (pair & _D4) << 16
    below = (pair & _E1) >> 4 | (pair & _E2) >> 8 | (pair & _E3) >> 12 | (pair & _E4) >> 16
    return pair & _D0 | above | below


@kernel(inline=True)
def _least(pair, size):  # type: ignore[no-untyped-def]
    """The least of the four images that need no transposition."""
    turned = upside_down(pair, size)
    best = min(pair, turned)
    return min(best, min(mirrored(pair, size), mirrored(turned, size)))


@kernel
def image(pair, size, symmetry):  # type: ignore[no-untyped-def]
    """The image of a pair under symmetry 0 to 7: bit 2 transposes, then bit 0 reverses rows, bit 1 columns."""
    if symmetry & 4:
        pair = transposed(pair)
    if symmetry & 1:
        pair = upside_down(pair, size)
    return mirrored(pair, size) if symmetry & 2 else pair


@kernel
def position_key(a, b, ko, turn, passes, size):  # type: ignore[no-untyped-def]
    """The key of a position; turn: 0 if a is to move, 1 if b is; passes: 1 if the last move was a pass."""
    pair = a | b << 32
    if ko == 0:
        best = min(_least(pair, size), _least(transposed(pair), size))
        return best & _POINTS | (best >> 32) << 25 | turn << 55 | passes << 56
    best, best_ko = np.int64(1) << 62, np.int64(0)
    for symmetry in range(8):
        turned, turned_ko = image(pair, size, symmetry), image(ko, size, symmetry)
        if turned < best or (turned == best and turned_ko < best_ko):
            best, best_ko = turned, turned_ko
    return best & _POINTS | (best >> 32) << 25 | (count(best_ko - 1) + 1) << 50 | turn << 55 | passes << 56


# ------------------------- marks: what the rules remember of the last moves, as one point of the board
# Superko forbids to bring back a position. The shortest ways to do so are known from the last moves alone, and a mark
# (0 or one bit) makes them part of the position. Of `own`, the player to move, and `opp`:
#
# | mark | what opp has just done | what it means |
# |---|---|---|
# | K: empty, stones all around | taken a ko | own may not retake here |
# | S: stone of opp, of a string of two in atari | sent a second stone | after the capture of both, C |
# | C: empty, an empty point beside it | captured two stones that were sent | if own retakes here, F |
# | F: single stone of opp | retaken one, which brought back all stones | after a pass, X |
# | X: empty, stones all around, also of own | passed on that | own may not send again here |
#
# Under positional superko C forbids to retake ("sending two, returning one"), so F and X do not come up. Under
# situational superko to retake is legal, since the other player is to move then; but after a pass, to send once more is
# not. Without superko there is K alone. `certificate.mark_of` is the same for states of a game, written slowly.


@kernel(inline=True)
def forbidden(mark, own, opp, board, flags):  # type: ignore[no-untyped-def]
    """The point that a mark forbids to the player to move; 0 if there is none."""
    empty = board & ~(own | opp)
    if flags & POSITIONAL == 0 and neighbours(mark) & empty:
        return np.int64(0)
    return mark & empty


@kernel
def mark_after(own, opp, new_own, new_opp, p, ko, mark, board, flags):  # type: ignore[no-untyped-def]
    """The mark after own's move on p, which led to (new_own, new_opp) and, by simple ko, forbids `ko`."""
    if ko or flags & (POSITIONAL | SITUATIONAL) == 0:
        return ko
    captured = opp & ~new_opp
    if captured == 0:
        other = neighbours(p) & own
        if other and other & (other - 1) == 0 and neighbours(other) & own == 0:
            liberties = neighbours(p | other) & board & ~(new_own | new_opp)
            if liberties and liberties & (liberties - 1) == 0:
                return p
    elif mark & captured and count(captured) == 2:
        retaken = captured ^ mark
        back_opp, back_own, _ = play(new_opp, new_own, retaken, board)
        if back_opp == opp ^ mark and back_own == own:
            return retaken
    elif mark == p:  # only C is a point where own may play
        return p
    return np.int64(0)


@kernel
def mark_after_pass(own, opp, mark, board, flags):  # type: ignore[no-untyped-def]
    """The mark after own has passed: for F the point where the second stone was sent, which has no other stone of opp
    beside it."""
    if flags & SITUATIONAL == 0 or mark & opp == 0 or connected(mark, opp) != mark:
        return np.int64(0)
    liberties = neighbours(mark) & board & ~(own | opp)
    while liberties:
        sent = liberties & -liberties
        liberties ^= sent
        if neighbours(sent) & opp == mark and neighbours(sent) & board & ~(own | opp) == 0:
            return sent
    return np.int64(0)


# ----------------------------------------- safe points: what a player keeps whatever the opponent does
# docs/solver.md has the proofs, for each rule set.
#
# A region is a connected set of points without stones of the player. It is *vital* to a string of the player if
#
# * every point of the region, stones of the opponent included, is beside the string; or
# * the region is empty and borders on no other string, every point of it but one is beside the string, and that one
#   has two neighbours in the region.
#
# Benson (1976) asks only that every *empty* point be beside the string. That suffices for a player who always passes
# and takes dead stones off in the end; here the stones have to be captured, and Simple-Go may force its player to fill.
#
# Strings are *alive* that have two vital regions each, whose borders are alive strings. Given those, a connected set of
# other points is *safe* if at most one point of it is beside no alive string, and either this is no stone of the
# player's, or the set has no stones of the opponent.


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
