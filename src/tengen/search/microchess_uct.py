"""UCT for Microchess, plain: UCB1 in the tree, random games below it, no network and no knowledge but the rules.

One simulation walks the tree from the root to a leaf, gives it children if it has been seen before, plays the game to
its end at random and writes the result, 1, 1/2 or 0, back along the path. The way goes to the child with the highest
(Kocsis and Szepesvari, 2006)

    w / n + c * sqrt(ln N / n),    a child without a visit first.

A game that ends inside the tree is known for certain, and what follows from that is proved (`uct_tree.prove`; Winands
et al., 2008): proved losses are not visited again, and a proved root ends the search. Proofs hold under all rules: a
node has one way that leads to it, so repetition and the count of moves are part of what it is.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tengen.games.microchess.board import PLY, TO_PLAY, Board, allocate, copy_board, play_move
from tengen.games.microchess.moves import MAX_MOVES, legal_moves
from tengen.games.microchess.playout import run_playout
from tengen.games.xorshift import next_random, random_below
from tengen.search.uct_tree import LOSS, UNSOLVED, add_node, prove

EXPLORATION: Final = 0.3
"""c, unless told otherwise."""

_LONGEST = 512  # plies from the root that a path may have
_EXPAND_AFTER = 1.0  # visits before a leaf gets children


class MicrochessScratch(NamedTuple):
    """Memory that one search works in."""

    board: Board
    moves: NDArray[np.int16]  # [MAX_MOVES]
    path: NDArray[np.int32]  # [_LONGEST + 1] nodes from the root to the leaf


def new_microchess_scratch() -> MicrochessScratch:
    """Scratch memory for any number of searches, one at a time."""
    return MicrochessScratch(allocate(), np.empty(MAX_MOVES, np.int16), np.empty(_LONGEST + 1, np.int32))


# --------------------------------------------------------------------------------------------- kernels


@njit(cache=True, nogil=True)
def simulate_microchess(tree, root, scratch, exploration, count, rng):  # type: ignore[no-untyped-def]
    """Run up to `count` simulations from the board `root`, fewer if its value is proved; rng: uint64[1].

    Returns how many.
    """
    state = rng[0]
    board = scratch.board
    done = 0
    while done < count and tree.solved[0] == UNSOLVED:
        copy_board(root, board)
        state, depth = _descend(tree, scratch, exploration, state)
        leaf = scratch.path[depth]
        if tree.solved[leaf] == UNSOLVED:
            ply, opponent = board.info[PLY], 3 - board.info[TO_PLAY]
            state, won = run_playout(board, scratch.moves, state)
            points = 1 + (won == opponent) - (won != 0 and won != opponent)  # half points of who moved to the leaf
            if board.info[PLY] == ply:  # the game was over before the playout began
                tree.solved[leaf] = LOSS + points
        else:
            points = tree.solved[leaf] - LOSS
        _back_up(tree, scratch.path, depth, points)
        done += 1
    rng[0] = state
    return done


@njit(cache=True, nogil=True, forceinline=True)
def _descend(tree, scratch, exploration, state):  # type: ignore[no-untyped-def]
    """Walk from the root to a leaf, playing its moves on the scratch board; expand the leaf if it is ripe.

    Returns (state of the random numbers, depth of the leaf).
    """
    board = scratch.board
    node = 0
    depth = 0
    scratch.path[0] = 0
    while depth < _LONGEST and tree.solved[node] == UNSOLVED:
        if tree.child_count[node] == 0:
            if tree.visits[node] < _EXPAND_AFTER and node != 0:
                break
            state, expanded = _expand(tree, node, scratch, state)
            if not expanded:
                break
        node = _select(tree, node, exploration)
        play_move(board, np.int64(tree.move[node]))
        depth += 1
        scratch.path[depth] = node
    return state, depth


@njit(cache=True, nogil=True, forceinline=True)
def _select(tree, node, exploration):  # type: ignore[no-untyped-def]
    """The child with the highest upper bound. A proved one has its value and no more; lost ones are left out."""
    first = tree.first_child[node]
    explore = exploration * math.sqrt(math.log(max(tree.visits[node], np.float32(1.0))))
    best = first
    best_value = -1.0
    for child in range(first, first + tree.child_count[node]):
        n = tree.visits[child]
        solved = tree.solved[child]
        if solved == LOSS:
            continue
        if solved != UNSOLVED:
            value = 0.5 * (solved - LOSS)
        elif n == 0:
            return child
        else:
            value = tree.wins[child] / n + explore / math.sqrt(n)
        if value > best_value:
            best_value = value
            best = child
    return best


@njit(cache=True, nogil=True, forceinline=True)
def _expand(tree, node, scratch, state):  # type: ignore[no-untyped-def]
    """Give a node a child for every legal move, in random order, which is the order of their first visits.

    Returns (state of the random numbers, True; False when the tree is full).
    """
    moves = scratch.moves
    count, _ = legal_moves(scratch.board, moves)
    first = tree.used[0]
    if count == 0 or first + count > tree.move.shape[0]:
        return state, False
    for i in range(count):
        state = next_random(state)
        k = i + random_below(state, count - i)
        moves[i], moves[k] = moves[k], moves[i]
        add_node(tree, first + i, moves[i], 0.0, 0.0)
    tree.first_child[node] = first
    tree.child_count[node] = count
    tree.used[0] = first + count
    return state, True


@njit(cache=True, nogil=True, forceinline=True)
def _back_up(tree, path, depth, points):  # type: ignore[no-untyped-def]
    """Write a result along the path, in half points of the player who moved to the leaf; prove what follows."""
    for d in range(depth, -1, -1):
        node = path[d]
        if tree.solved[node] != UNSOLVED:
            points = tree.solved[node] - LOSS
            if d > 0:
                prove(tree, path[d - 1])
        tree.visits[node] += np.float32(1.0)
        tree.wins[node] += np.float32(0.5 * points)
        points = 2 - points
