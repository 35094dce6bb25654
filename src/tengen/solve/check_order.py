"""Sets of boards in which no line needs to be followed with its history, because the player's moves have an order.

Say that each board of a set gets a height, such that after a reply within the set the player's next move leads lower
than its last one did, and lower than the board it moves from. Then no board after a move of the player's stood before
on the line: not after one of its own moves, for those led higher, and not before one, for that board is higher than
what came after. There are such heights if, and only if, these steps have no circle.
"""

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from tengen.solve.check_circles import NOWHERE, Steps


def ordered_sets(
    steps: Steps, sets: NDArray[np.int32], is_circle: NDArray[np.bool_], may_end: NDArray[np.bool_]
) -> set[int]:
    """The sets with circles in which superko forbids no move of the player's, and leaves the opponent one.

    `sets`: int32[V] of `connected_sets`; `is_circle`: bool[sets]; `may_end`: bool[n], whether some reply to an entry
    ends the line."""
    higher = defaultdict[int, dict[int, set[int]]](lambda: defaultdict(set))  # by set: for boards, those above them
    short_of_moves = set[int]()
    for e in np.flatnonzero((steps.after != NOWHERE) & is_circle[sets[steps.after]]).tolist():
        board, after = int(steps.board[e]), int(steps.after[e])
        inside = int(sets[after])
        above = higher[inside]
        if sets[board] == inside and board != after:
            above[after].add(board)
        replies = steps.reply[steps.first[e] : steps.first[e + 1]]
        staying = replies[sets[steps.board[replies]] == inside]
        for lower in steps.after[staying].tolist():
            if lower != NOWHERE and sets[lower] == inside:
                above[lower].add(after)
        # A move that leaves the set repeats nothing, and a pass (the same board) is never forbidden.
        if not may_end[e] and len(staying) == len(replies) and not np.any(steps.board[staying] == after):
            short_of_moves.add(inside)
    return {number for number in higher.keys() - short_of_moves if _has_order(higher[number])}


def _has_order(above: dict[int, set[int]]) -> bool:
    try:
        TopologicalSorter(above).prepare()
    except CycleError:
        return False
    return True
