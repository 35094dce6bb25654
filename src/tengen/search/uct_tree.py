"""The tree of UCT in flat arrays, free of any game.

A node is an index; node 0 is the root. The children of a node lie side by side, from `first_child` on.
Symbols follow the RAVE paper (Gelly and Silver, 2011): N visits, W wins, both counted for the player whose
move leads to the node; AMAF ("all moves as first") statistics beside them; a prior is a number of virtual
visits and wins that a node is born with. What is known for certain of a node is counted for the same player.
"""

from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

UNSOLVED: Final = 0
LOSS: Final = 1
DRAW: Final = 2
WIN: Final = 3


class UctTree(NamedTuple):
    """A tree with room for M nodes."""

    move: NDArray[np.uint16]  # [M] the move that leads here, as the game numbers it
    first_child: NDArray[np.int32]  # [M]
    child_count: NDArray[np.int32]  # [M] 0 until the node is expanded
    visits: NDArray[np.float32]  # [M] N
    wins: NDArray[np.float32]  # [M] W
    amaf_visits: NDArray[np.float32]  # [M]
    amaf_wins: NDArray[np.float32]  # [M]
    prior_visits: NDArray[np.float32]  # [M]
    prior_wins: NDArray[np.float32]  # [M]
    solved: NDArray[np.int8]  # [M] UNSOLVED, or the proved result: LOSS, DRAW, WIN
    used: NDArray[np.int64]  # [1] how many nodes there are


def new_tree(capacity: int) -> UctTree:
    """A tree with a root alone."""
    tree = UctTree(
        np.empty(capacity, np.uint16),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.float32),
        np.empty(capacity, np.int8),
        np.zeros(1, np.int64),
    )
    clear_tree(tree)
    return tree


@njit(cache=True, nogil=True)
def clear_tree(tree):  # type: ignore[no-untyped-def]
    """Forget everything but an unvisited root."""
    add_node(tree, 0, 0, 0.0, 0.0)
    tree.used[0] = 1


@njit(cache=True, nogil=True, forceinline=True)
def add_node(tree, node, move, prior_visits, prior_wins):  # type: ignore[no-untyped-def]
    """Write a fresh node at this index."""
    tree.move[node] = move
    tree.first_child[node] = 0
    tree.child_count[node] = 0
    tree.visits[node] = 0.0
    tree.wins[node] = 0.0
    tree.amaf_visits[node] = 0.0
    tree.amaf_wins[node] = 0.0
    tree.prior_visits[node] = prior_visits
    tree.prior_wins[node] = prior_wins
    tree.solved[node] = UNSOLVED


@njit(cache=True, nogil=True)
def find_child(tree, node, move):  # type: ignore[no-untyped-def]
    """The child of a node that a move leads to, or -1."""
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if tree.move[child] == move:
            return child
    return -1


@njit(cache=True, nogil=True)
def most_visited(tree, node):  # type: ignore[no-untyped-def]
    """The child with the most visits, or -1 if there is none."""
    best = -1
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if best < 0 or tree.visits[child] > tree.visits[best]:
            best = child
    return best


@njit(cache=True, nogil=True)
def best_child(tree, node):  # type: ignore[no-untyped-def]
    """The child to play, or -1 if there is none: a proved win, or the most visited of those not proved lost.

    A proved draw is taken where that one wins less than half of its games. Where nothing is proved, this is
    `most_visited`.
    """
    best, draw = -1, -1
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        solved = tree.solved[child]
        if solved == WIN:
            return child
        if solved == DRAW:
            draw = child
        if solved != LOSS and (best < 0 or tree.visits[child] > tree.visits[best]):
            best = child
    if draw >= 0 and 2.0 * tree.wins[best] < tree.visits[best]:
        return draw
    return best if best >= 0 else most_visited(tree, node)


@njit(cache=True, nogil=True)
def prove(tree, node):  # type: ignore[no-untyped-def]
    """Mark a node as solved if its children prove it: one of them wins, or all are solved."""
    best, complete = LOSS, True
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        solved = tree.solved[child]
        best = max(best, solved)
        complete = complete and solved != UNSOLVED
    if best == WIN or complete:
        tree.solved[node] = LOSS + WIN - best


@njit(cache=True, nogil=True)
def copy_subtree(source, root, target):  # type: ignore[no-untyped-def]
    """Make `target` the part of `source` below `root`, breadth first, as far as there is room."""
    _copy_node(source, root, target, 0)
    used = 1
    node = 0
    origin = np.empty(target.move.shape[0], np.int32)
    origin[0] = root
    while node < used:
        old = origin[node]
        count = source.child_count[old]
        if count > 0 and used + count <= target.move.shape[0]:
            target.first_child[node] = used
            target.child_count[node] = count
            for i in range(count):
                child = source.first_child[old] + i
                _copy_node(source, child, target, used)
                origin[used] = child
                used += 1
        node += 1
    target.used[0] = used


@njit(cache=True, nogil=True, forceinline=True)
def _copy_node(source, old, target, new):  # type: ignore[no-untyped-def]
    add_node(target, new, source.move[old], source.prior_visits[old], source.prior_wins[old])
    target.visits[new] = source.visits[old]
    target.wins[new] = source.wins[old]
    target.amaf_visits[new] = source.amaf_visits[old]
    target.amaf_wins[new] = source.amaf_wins[old]
    target.solved[new] = source.solved[old]
