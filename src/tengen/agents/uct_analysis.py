"""What the tree of UCT says of a position, as an `Analysis`."""

from collections.abc import Collection

import numpy as np

from tengen.agents.analysis import Analysis, MoveAnalysis, with_scores
from tengen.agents.territory import OwnershipEstimator
from tengen.games import go
from tengen.games.go import PASS
from tengen.games.go.board import NO_CELL
from tengen.games.go.coordinates import from_cell
from tengen.search.uct_tree import UctTree, most_visited

_CERTAIN = 1e9  # visits


def of_uct_tree(
    tree: UctTree,
    state: go.State,
    estimator: OwnershipEstimator | None,
    avoid: Collection[int] = (),
    *,
    final: bool = False,
) -> Analysis:
    """Of the root, `state`, with scores by `estimator`.

    Moves to avoid are left out. A move's prior is the share of its chance by simple tactics in that of all.
    """
    first, count = int(tree.first_child[0]), int(tree.child_count[0])
    children = np.arange(first, first + count)
    chance = 1 - float(tree.wins[0]) / max(1.0, float(tree.visits[0]))
    priors = tree.prior_wins[children] / np.maximum(tree.prior_visits[children], 1e-6)
    priors = priors / max(float(priors.sum()), 1e-6)
    shown = [k for k in range(count) if _move(tree, first + k, state.size) not in avoid]
    order = sorted(shown, key=lambda k: (-tree.visits[first + k], -priors[k]))
    moves = []
    for place, k in enumerate(order):
        child, visits = first + k, int(tree.visits[first + k])
        pv, counts = uct_line(tree, child, state.size) if visits else ((_move(tree, child, state.size),), (0,))
        won = float(tree.wins[child]) / visits if visits else chance
        moves.append(MoveAnalysis(pv[0], visits, won, float(priors[k]), place, pv, counts))
    return with_scores(Analysis(int(tree.visits[0]), chance, tuple(moves), final=final), estimator)


def avoid_moves(tree: UctTree, size: int, avoid: Collection[int]) -> None:
    """Let no simulation go through these moves of the root, which has children: they look lost for certain."""
    first = int(tree.first_child[0])
    for child in range(first, first + int(tree.child_count[0])):
        if _move(tree, child, size) in avoid:
            tree.prior_visits[child], tree.prior_wins[child] = _CERTAIN, 0.0
            tree.visits[child] = tree.wins[child] = 0.0


def uct_line(tree: UctTree, node: int, size: int, longest: int = 12) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The line of most visits that begins with the move to this node, and the visits of its moves."""
    line: list[int] = []
    visits: list[int] = []
    while node >= 0 and tree.visits[node] > 0 and len(line) < longest:
        line.append(_move(tree, node, size))
        visits.append(int(tree.visits[node]))
        node = int(most_visited(tree, node))
    return tuple(line), tuple(visits)


def move_at(cell: int, size: int) -> int:
    """The move to a cell of the padded grid; NO_CELL is the pass."""
    return PASS if cell == NO_CELL else from_cell(cell, size)


def _move(tree: UctTree, node: int, size: int) -> int:
    return move_at(int(tree.move[node]), size)
