"""The solution of a whole board: what both players force from every position, and the moves that do.

`solve.retrograde` makes it, and says what guarantees and ranks are.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.rules import POSITIONAL, TERRITORY_KEPT, RuleSet
from tengen.solve.bitboard import board_points, legal_points, margin, play
from tengen.solve.marks import forbidden, mark_after, mark_after_pass
from tengen.solve.symmetry import position_key

# States of a node: the claimant is to move, or its opponent; so many more if a pass came last.
OURS: Final = 0
THEIRS: Final = 1
AFTER_PASS: Final = 2
_SPREAD: Final = -7046029254386353131  # 2^64 / golden ratio: multiplicative hashing


class Position(NamedTuple):
    """Bit sets: the stones of the player to move and of the other one, the mark; and 1 if a pass came last, else 0."""

    own: int
    opp: int
    mark: int
    passes: int


class Choice(NamedTuple):
    """A move, and what the claimant is guaranteed after it."""

    bit: int
    """The point; 0 for a pass."""
    guarantee: int
    """The claimant's margin."""
    rank: int
    """Plies from there until the guarantee is safe."""
    after: Position | None
    """None if the game is over."""


@dataclass(frozen=True)
class Solution:
    """The guarantees of both players in all positions that can come up in a game, of n nodes."""

    size: int
    rules: RuleSet
    keys: NDArray[np.int64]
    """[n] the positions, by `position_key`."""
    places: NDArray[np.int32]
    """[a power of 2] the nodes by the hash of their keys, -1 where there is none."""
    guarantees: NDArray[np.int8]
    """[n, 4] by state."""
    ranks: NDArray[np.uint8]
    """[n, 4] by state."""

    def guarantee(self, position: Position, ours: bool) -> tuple[int, int]:
        """(guarantee, rank) of the player to move, if `ours`, or of its opponent."""
        own, opp, mark, passes = position
        node = self.places[place_of(self.places, self.keys, position_key(own, opp, mark, 0, 0, self.size))]
        if node < 0:
            raise ValueError("no game leads to this position: the solution does not have it")
        state = (OURS if ours else THEIRS) + AFTER_PASS * passes
        return int(self.guarantees[node, state]), int(self.ranks[node, state])

    def choices(self, position: Position, ours: bool) -> list[Choice]:
        """All moves of the player to move, who is the claimant if `ours`."""
        own, opp, mark, passes = position
        board, flags = board_points(self.size), self.rules.flags
        ko = forbidden(mark, own, opp, board, flags)
        found = []
        for bit in _bits(int(legal_points(own, opp, ko, board, flags | (POSITIONAL if passes else 0)))):
            mine, yours, new_ko = play(own, opp, bit, board)
            new_mark = mark_after(own, opp, mine, yours, bit, new_ko, mark, board, flags)
            after = Position(int(yours), int(mine), int(new_mark), 0)
            found.append(Choice(bit, *self.guarantee(after, not ours), after))
        if not found or not flags & TERRITORY_KEPT:
            if passes:
                points = int(margin(own, opp, board))
                found.append(Choice(0, points if ours else -points, 0, None))
            else:
                after = Position(opp, own, int(mark_after_pass(own, opp, mark, board, flags)), 1)
                found.append(Choice(0, *self.guarantee(after, not ours), after))
        return found


def _bits(points: int) -> list[int]:
    return [1 << p for p in range(points.bit_length()) if points >> p & 1]


@kernel(inline=True)
def place_of(places, keys, key):  # type: ignore[no-untyped-def]
    """Where a key is in the hash table `places`, or could be put."""
    last = places.shape[0] - 1
    place = ((key ^ key >> 29) * _SPREAD) >> 20 & last
    while places[place] >= 0 and keys[places[place]] != key:
        place = place + 1 & last
    return place
