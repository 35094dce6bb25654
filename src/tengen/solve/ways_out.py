"""Moves that lead out of a region of a strategy for good, without coming to the same stones twice.

A region is some entries of a certificate, each with all the moves that it could have. Entries are freed one after the
other, from the ways out backwards. Each board after a move of the player's gets a height, and the height falls with
every move, so no line comes to such a board again; and where the player moves from a board that has a height itself,
it goes lower, so it does not come back to stones that the opponent left, either.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel


class Way(NamedTuple):
    """A move of an entry."""

    move: int
    after: int
    """The stones after it, up to symmetry; below 0 if the line ends there."""
    replies: list[int]
    """The entries that replies lead to."""


def ways_out(region: Mapping[int, list[Way]], board: Mapping[int, int], comes: NDArray[np.bool_]) -> dict[int, Way]:
    """A way for each entry of a region from which lines leave it for good. `board`: the stones of each entry up to
    symmetry; `comes`: bool[n], the entries from which lines come to the region, or which are in it."""
    heights, chosen = _Heights(), dict[int, Way]()
    open_ways = {place: sorted(ways, key=lambda way: int(comes[way.replies].sum())) for place, ways in region.items()}
    turn = 0
    while True:
        turn += 1
        freed = dict[int, Way]()
        for place, ways in open_ways.items():
            for way in ways:
                inside = [reply for reply in way.replies if comes[reply]]
                if all(reply in chosen for reply in inside) and heights.give(place, board[place], way, inside, turn):
                    freed[place] = way
                    break
        if not freed:
            return chosen
        chosen |= freed
        open_ways = {place: ways for place, ways in open_ways.items() if place not in chosen}


class _Heights:
    """Of boards after moves of the player's, and of entries: that of the board after the move."""

    def __init__(self) -> None:
        self._after, self._entry = dict[int, float](), dict[int, float]()
        self._highest_on = defaultdict[int, float](float)  # by board: of the entries on it

    def give(self, place: int, board: int, way: Way, inside: list[int], turn: int) -> bool:
        """Give an entry the height of a way, if that is higher than those of the entries inside that follow."""
        if way.after < 0:
            self._entry[place] = 0.0
            return True
        below = max((self._entry[reply] for reply in inside), default=0.0)
        above = self._after.get(board, turn + 1.0)  # none so far is higher than that
        height = self._after.get(way.after)
        if height is None:
            below = max(below, self._highest_on[way.after])
            height = float(turn) if below < turn < above else (below + above) / 2
        if not below < height < above or way.after == board:
            return False
        self._after[way.after] = self._entry[place] = height
        self._highest_on[board] = max(self._highest_on[board], height)
        return True


@kernel(allocates=True)
def turned_round(first, reply):  # type: ignore[no-untyped-def]
    """The steps of a strategy backwards: for `first`: int64[n + 1] and `reply`: int32[...] of Steps, where the entries
    that lead to each entry begin, int64[n + 1], and these entries, int32[...]."""
    count = first.shape[0] - 1
    begin = np.zeros(count + 1, np.int64)
    for to in reply:
        begin[to + 1] += 1
    for e in range(count):
        begin[e + 1] += begin[e]
    filled = begin[:-1].copy()
    before = np.empty(reply.shape[0], np.int32)
    for e in range(count):
        for k in range(first[e], first[e + 1]):
            to = reply[k]
            before[filled[to]] = e
            filled[to] += 1
    return begin, before


Backwards = tuple[NDArray[np.int64], NDArray[np.int32]]
"""What `turned_round` returns."""
