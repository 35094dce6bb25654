"""What the rules remember of the last moves, as one point of the board: the *mark* of a position, in kernels.

Superko forbids to bring back a position. The shortest ways to do so are known from the last moves alone, and a mark (0
or one bit) makes them part of the position. Of `own`, the player to move, and `opp`:

| mark | what opp has just done | what it means |
|---|---|---|
| K: empty, stones all around | taken a ko | own may not retake here |
| S: stone of opp, of a string of two in atari | sent a second stone | after the capture of both, C |
| C: empty, an empty point beside it | captured two stones that were sent | if own retakes here, F |
| F: single stone of opp | retaken one, which brought back all stones | after a pass, X |
| X: empty, stones all around, also of own | passed on that | own may not send again here |

Under positional superko C forbids to retake ("sending two, returning one"), so F and X do not come up. Under
situational superko to retake is legal, since the other player is to move then; but after a pass, to send once more is
not. Without superko there is K alone. `certificate.mark_of` is the same for states of a game, written slowly.
"""

import numpy as np

from tengen._kernel import kernel
from tengen.games.go.rules import POSITIONAL, SITUATIONAL
from tengen.solve.bitboard import connected, count, neighbours, play


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
