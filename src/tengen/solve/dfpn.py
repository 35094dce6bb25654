"""Depth-first proof-number search (Nagai 2002) for one question: does player a force a margin of at least `need`?

phi(n) is how much work it seems to be that the player to move at n gets its way (a: to prove, b: to refute), delta(n)
the same for the other player. With children c of n,

    phi(n) = min over c of delta(c)        delta(n) = sum over c of phi(c)

A node is searched until phi or delta reaches a threshold that is given by its parent: that of the second-best child,
widened by a quarter (Pawlewicz and Lew 2007). Numbers count in quarters of a position, so that first guesses can be
fine.

**Repetition counts against a**: a move, whoever makes it, that brings back a position of the line counts as refuted.
Only the repetitions that the last moves alone tell are simply illegal; these are part of a position (the column MARK,
`solve.bitboard`). So what is proven is proven (docs/solver.md); what is refuted may be so
because of the line that led there, and proves nothing. To show that a cannot force the margin, ask the question for b.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.rules import POSITIONAL, TERRITORY_KEPT
from tengen.solve.bitboard import (
    connected,
    count,
    forbidden,
    is_kept,
    legal_points,
    margin,
    mark_after,
    mark_after_pass,
    neighbours,
    play,
    position_key,
)
from tengen.solve.transposition_table import HIGHEST_RANK, INFINITY, probe, store

LONGEST: Final = 300  # plies in a line
_MOST_MOVES: Final = 26
_UNIT: Final = 4  # the least guess at a number
_POINT: Final = 16  # what a point less is worth in numbers
_TO_MOVE: Final = 6  # points that it is worth to be to move
_LIKELY: Final = 1 << 20  # a proof number
_NOWHERE: Final = LONGEST  # no position of the line is repeated

# Columns of Workspace.nodes and Workspace.children.
A, B, MARK, TURN, PASSES, KEY, PHI, DELTA, COUNT, CHOICE, WORK, LIMIT_PHI, LIMIT_DELTA, PLACE, LOOP, RANK = range(16)
MOVE = CHOICE  # of a child: the point played, 0 for a pass
NODES, POSITIONS, DEEPEST = range(3)


class Workspace(NamedTuple):
    """Memory for one line of play."""

    nodes: NDArray[np.int64]  # [LONGEST, 16] the positions of the line, with their numbers
    children: NDArray[np.int64]  # [LONGEST, 26, 16] their children
    counts: NDArray[np.int64]  # [3] nodes expanded, positions made, longest line


def new_workspace() -> Workspace:
    """Room for a search."""
    return Workspace(
        np.zeros((LONGEST, 16), np.int64),
        np.zeros((LONGEST, _MOST_MOVES, 16), np.int64),
        np.zeros(3, np.int64),
    )


class Question(NamedTuple):
    """What is asked: whether player a forces a margin of at least `need` under these rules."""

    need: int
    size: int
    board: int
    flags: int


@kernel
def search(work, table, question, nodes):  # type: ignore[no-untyped-def]
    """Search the position work.nodes[0] for so many nodes; returns (phi, delta), one of which is 0 if it is solved."""
    line = work.nodes
    limit = work.counts[NODES] + nodes
    depth = 0
    line[0, LIMIT_PHI], line[0, LIMIT_DELTA] = INFINITY, INFINITY
    expand(work, table, question, 0)
    while True:
        node = line[depth]
        best, second = _sum_up(work, depth)
        stop = work.counts[NODES] >= limit or depth + 1 >= LONGEST
        if stop or node[PHI] >= node[LIMIT_PHI] or node[DELTA] >= node[LIMIT_DELTA]:
            _keep(table, node, depth)
            if depth == 0:
                return node[PHI], node[DELTA]
            depth -= 1
            child = work.children[depth, line[depth, CHOICE]]
            child[PHI], child[DELTA], child[LOOP], child[RANK] = node[PHI], node[DELTA], node[LOOP], node[RANK]
            line[depth, WORK] += node[WORK]
            if depth + 2 >= LONGEST and child[PHI] > 0 and child[DELTA] > 0:  # too long a line counts against a
                child[PHI], child[DELTA] = _numbers(False, child[TURN])
                child[LOOP] = -1
            continue
        child = work.children[depth, best]
        node[CHOICE] = best
        limit_phi = node[LIMIT_DELTA] - (node[DELTA] - child[PHI])
        limit_delta = min(node[LIMIT_PHI], second + _UNIT + second // 4)
        depth += 1
        below = line[depth]
        for column in (A, B, MARK, TURN, PASSES, KEY):
            below[column] = child[column]
        below[LIMIT_PHI], below[LIMIT_DELTA] = limit_phi, limit_delta
        expand(work, table, question, depth)


@kernel
def _keep(table, node, depth):  # type: ignore[no-untyped-def]
    """Store the numbers of a node. A refutation by repetition of a position above it holds for this line alone, and is
    stored as very likely but not certain."""
    phi, delta = node[PHI], node[DELTA]
    if node[LOOP] < depth:
        if delta == 0:
            phi, delta = np.int64(_LIKELY), np.int64(1)
        elif phi == 0:
            phi, delta = np.int64(1), np.int64(_LIKELY)
    store(table, node[KEY], phi, delta, node[WORK], node[RANK])


@kernel
def _sum_up(work, depth):  # type: ignore[no-untyped-def]
    """Set phi and delta of a node by those of its children; returns the best child and the second-best delta."""
    node = work.nodes[depth]
    best, phi, second = 0, np.int64(INFINITY) + 1, np.int64(INFINITY)
    total = np.int64(0)
    loop_of_all, loop_of_one = np.int64(_NOWHERE), np.int64(-1)
    longest, shortest = np.int64(0), np.int64(HIGHEST_RANK)
    for k in range(node[COUNT]):
        child = work.children[depth, k]
        if child[PHI] == 0:
            loop_of_all = min(loop_of_all, child[LOOP])
            longest = max(longest, child[RANK])
        elif child[DELTA] == 0:
            loop_of_one = max(loop_of_one, child[LOOP])
            shortest = min(shortest, child[RANK])
        if child[DELTA] < phi:
            best, phi, second = k, child[DELTA], min(phi, np.int64(INFINITY))
        elif child[DELTA] < second:
            second = child[DELTA]
        total += child[PHI]
    node[PHI] = min(phi, np.int64(INFINITY))
    node[LOOP] = loop_of_one if phi == 0 else loop_of_all
    node[RANK] = 1 + (shortest if phi == 0 else longest)
    if phi == 0:
        node[DELTA] = INFINITY
    elif total == 0:
        node[PHI], node[DELTA] = INFINITY, 0
    else:
        node[DELTA] = min(np.int64(INFINITY) - 1, total)
    return best, second


@kernel(inline=True)
def _numbers(a_wins, turn):  # type: ignore[no-untyped-def]
    """(phi, delta) of a solved position."""
    if a_wins == (turn == 0):
        return np.int64(0), np.int64(INFINITY)
    return np.int64(INFINITY), np.int64(0)


@kernel
def expand(work, table, question, depth):  # type: ignore[no-untyped-def]
    """Make the children of the node at this depth, with their numbers."""
    node = work.nodes[depth]
    a, b, turn = node[A], node[B], node[TURN]
    own, opp = (a, b) if turn == 0 else (b, a)
    node[PLACE] = a | b << 32
    if question.flags & POSITIONAL == 0:
        node[PLACE] |= turn << 60
    node[COUNT], node[WORK] = 0, 1
    work.counts[NODES] += 1
    work.counts[DEEPEST] = max(work.counts[DEEPEST], depth)
    # After a pass, the suicide of one stone brings back the position before it, whose turn it is included.
    ko = forbidden(node[MARK], own, opp, question.board, question.flags)
    legal = legal_points(own, opp, ko, question.board, question.flags | (POSITIONAL if node[PASSES] else 0))
    if legal == 0 or question.flags & TERRITORY_KEPT == 0:
        _add_pass(work, table, question, depth)
    while legal:
        p = legal & -legal
        legal ^= p
        new_own, new_opp, ko = play(own, opp, p, question.board)
        child = work.children[depth, node[COUNT]]
        child[A], child[B] = (new_own, new_opp) if turn == 0 else (new_opp, new_own)
        mark = mark_after(own, opp, new_own, new_opp, p, ko, node[MARK], question.board, question.flags)
        child[MARK], child[TURN], child[PASSES], child[MOVE] = mark, 1 - turn, 0, p
        child[KEY] = position_key(child[A], child[B], mark, 1 - turn, 0, question.size)
        if depth < 8 and _is_known(work, depth, child[KEY]):  # the same by symmetry
            continue
        node[COUNT] += 1
        child[LOOP] = _repeated(work, depth, child, question.flags)
        if child[LOOP] != _NOWHERE:
            child[PHI], child[DELTA] = _numbers(False, child[TURN])
        else:
            _assess(table, question, child)
    work.counts[POSITIONS] += node[COUNT]


@kernel
def _add_pass(work, table, question, depth):  # type: ignore[no-untyped-def]
    node = work.nodes[depth]
    child = work.children[depth, node[COUNT]]
    node[COUNT] += 1
    own, opp = (node[A], node[B]) if node[TURN] == 0 else (node[B], node[A])
    mark = mark_after_pass(own, opp, node[MARK], question.board, question.flags)
    child[A], child[B], child[MARK] = node[A], node[B], mark
    child[TURN], child[PASSES], child[MOVE], child[LOOP] = 1 - node[TURN], 1, 0, _NOWHERE
    if node[PASSES]:
        child[RANK] = 0
        won = margin(node[A], node[B], question.board) >= question.need
        child[PHI], child[DELTA] = _numbers(won, child[TURN])
        child[KEY] = -1
    else:
        child[KEY] = position_key(node[A], node[B], mark, 1 - node[TURN], 1, question.size)
        _assess(table, question, child)


@kernel
def _is_known(work, depth, key):  # type: ignore[no-untyped-def]
    for k in range(work.nodes[depth, COUNT]):
        if work.children[depth, k, KEY] == key:
            return True
    return False


@kernel
def _repeated(work, depth, child, flags):  # type: ignore[no-untyped-def]
    """Where on the line the position of a child stood before, or _NOWHERE."""
    place = child[A] | child[B] << 32
    if flags & POSITIONAL == 0:
        place |= child[TURN] << 60
    for k in range(depth, -1, -1):
        if work.nodes[k, PLACE] == place:
            return k
    return _NOWHERE


@kernel
def _assess(table, question, child):  # type: ignore[no-untyped-def]
    """Set phi and delta of a new child: from the table, by safe points, or by a guess."""
    phi, delta, rank = probe(table, child[KEY])
    if phi | delta:
        child[PHI], child[DELTA], child[RANK] = phi, delta, rank
        return
    child[RANK] = 0
    a, b, turn = child[A], child[B], child[TURN]
    if is_kept(a, b, turn, child[PASSES], question.board, question.need):
        child[PHI], child[DELTA] = _numbers(True, turn)
        return
    if is_kept(b, a, 1 - turn, child[PASSES], question.board, 1 - question.need):
        child[PHI], child[DELTA] = _numbers(False, turn)
        return
    ahead = _estimate(a, b, turn, question.board) - 2 * question.need + 2 * (_TO_MOVE if turn == 0 else -_TO_MOVE)
    to_prove, to_refute = _UNIT + _POINT * max(0, -ahead) // 2, _UNIT + _POINT * max(0, ahead) // 2
    child[PHI], child[DELTA] = (to_prove, to_refute) if turn == 0 else (to_refute, to_prove)


@kernel
def _estimate(a, b, turn, board):  # type: ignore[no-untyped-def]
    """A guess at twice the margin: whose stones are nearer, within two steps, and half a point for each liberty.
    Strings that the next move captures, or cannot save, are left out."""
    empty = board & ~(a | b)
    liberties = count(neighbours(a) & empty) - count(neighbours(b) & empty)
    own, opp = _after_captures(a, b, empty) if turn == 0 else _after_captures(b, a, empty)
    a, b = (own, opp) if turn == 0 else (opp, own)
    for _ in range(2):
        empty = board & ~(a | b)
        near_a, near_b = neighbours(a) & empty, neighbours(b) & empty
        a |= near_a & ~near_b
        b |= near_b & ~near_a
    return 2 * (count(a) - count(b)) + liberties


@kernel
def _after_captures(own, opp, empty):  # type: ignore[no-untyped-def]
    """(own, opp), own being to move, without the largest string of opp's that is in atari; if there is none, without
    all strings of own that are and stay so."""
    largest = np.int64(0)
    left = opp & neighbours(empty)
    while left:
        string = connected(left & -left, opp)
        left &= ~string
        liberties = neighbours(string) & empty
        if liberties & (liberties - 1) == 0 and count(string) > count(largest):
            largest = string
    if largest:
        return own, opp & ~largest
    saved = own
    left = own & neighbours(empty)
    while left:
        string = connected(left & -left, own)
        left &= ~string
        last = neighbours(string) & empty
        if last & (last - 1) == 0:
            beside = neighbours(last)
            liberties = (beside | neighbours(beside & own & ~string)) & empty & ~last
            if liberties & (liberties - 1) == 0:
                saved &= ~string
    return saved, opp
