"""The tree of UCT with RAVE in flat arrays.

A node is an index; node 0 is the root. The children of a node lie side by side, from `first_child` on.
Symbols follow the RAVE paper (Gelly and Silver, 2011): N visits, W wins, both counted for the player whose
move leads to the node; AMAF ("all moves as first") statistics beside them; a prior is a number of virtual
visits and wins that a node is born with.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel


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
        np.zeros(1, np.int64),
    )
    clear_tree(tree)
    return tree


@kernel
def clear_tree(tree):  # type: ignore[no-untyped-def]
    """Forget everything but an unvisited root."""
    add_node(tree, 0, 0, 0.0, 0.0)
    tree.used[0] = 1


@kernel(inline=True)
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


@kernel
def find_child(tree, node, move):  # type: ignore[no-untyped-def]
    """The child of a node that a move leads to, or -1."""
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if tree.move[child] == move:
            return child
    return -1


@kernel
def most_visited(tree, node):  # type: ignore[no-untyped-def]
    """The child with the most visits, or -1 if there is none."""
    best = -1
    first = tree.first_child[node]
    for child in range(first, first + tree.child_count[node]):
        if best < 0 or tree.visits[child] > tree.visits[best]:
            best = child
    return best


@kernel
def copy_subtree(source, root, target):  # type: ignore[no-untyped-def]
    """Make `target` the part of `source` below `root`, breadth first, as far as there is room."""
    _copy_node(source, root, target, 0)
    used = 1
    node = 0
    origin = target.first_child  # which node each is a copy of, until its children are there
    origin[0] = root
    while node < used:
        old = origin[node]
        target.first_child[node] = 0
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


@kernel(inline=True)
def _copy_node(source, old, target, new):  # type: ignore[no-untyped-def]
    add_node(target, new, source.move[old], source.prior_visits[old], source.prior_wins[old])
    target.visits[new] = source.visits[old]
    target.wins[new] = source.wins[old]
    target.amaf_visits[new] = source.amaf_visits[old]
    target.amaf_wins[new] = source.amaf_wins[old]
