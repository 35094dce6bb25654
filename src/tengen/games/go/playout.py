"""Playouts: random games to the end, the Monte-Carlo in Monte-Carlo tree search.

A playout draws uniformly among legal moves that do not fill an eye of the player's own, passes only when it
has none, and ends after two passes or `3 * size * size` moves. Eyes may be false; single stones may not be
retaken at once (simple ko). Under Simple-Go's rules the one-point territories that may not be filled take
the place of eyes. Random numbers are xorshift64; the state is one uint64 kept in `rng: uint64[1]`.
"""

import numpy as np

from tengen._kernel import kernel
from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    KO,
    NO_CELL,
    SIZE,
    TO_PLAY,
    WHITE,
    copy_board,
    place,
)
from tengen.games.go.legality import is_breathing, is_last_liberty_of_neighbour, is_surrounded
from tengen.games.go.rules import TERRITORY_KEPT
from tengen.games.xorshift import next_random, random_below


@kernel(inline=True)
def is_eye(board, p, color, flags):  # type: ignore[no-untyped-def]
    """Whether a playout of `color` must keep out of the empty cell p.

    It looks like an eye: own stones (or edge) on all four sides, and the opponent on fewer than two
    diagonals, or on none at the edge. Under Simple-Go's rules (flags): it is one-point territory in peace.
    """
    u = np.uint64
    cells = board.color
    if not is_surrounded(board, p, color):
        return False
    if flags & TERRITORY_KEPT:
        return not is_last_liberty_of_neighbour(board, p)
    stride = board.info[SIZE] + 1
    opponent = 3 - color
    enemies = 0
    edge = 0
    for q in (p - stride - 1, p - stride + 1, p + stride - 1, p + stride + 1):
        c = cells[u(q)]
        if c == opponent:
            enemies += 1
        elif c == BORDER:
            edge = 1
    return enemies + edge < 2


@kernel(inline=True)
def is_sensible(board, p, color, flags):  # type: ignore[no-untyped-def]
    """Whether a move of `color` on the empty cell p, which no ko forbids, fills no eye and is no suicide."""
    return not is_eye(board, p, color, flags) and is_breathing(board, p, color)


@kernel(inline=True)
def random_move(board, color, flags, state):  # type: ignore[no-untyped-def]
    """A random move of `color` that is legal (simple ko, no suicide) and fills no eye, or NO_CELL."""
    u = np.uint64
    count = board.info[EMPTY_COUNT]
    ko = board.info[KO]
    i = random_below(state, count)
    for _ in range(count):
        p = np.int64(board.empties[u(i)])
        i += 1
        if i == count:
            i = 0
        if p != ko and is_sensible(board, p, color, flags):
            return p
    return NO_CELL


@kernel(inline=True)
def run_playout(board, flags, first_player, state):  # type: ignore[no-untyped-def]
    """Play `board` to its end at random, in place, noting who plays first on each cell.

    first_player: uint8[P] holds EMPTY where nobody has played yet. Returns (random state, moves played).
    """
    size = board.info[SIZE]
    limit = 3 * size * size
    color = board.info[TO_PLAY]
    passes = 0
    moves = 0
    while passes < 2 and moves < limit:
        state = next_random(state)
        p = random_move(board, color, flags, state)
        if p == NO_CELL:
            passes += 1
            board.info[KO] = NO_CELL
        else:
            passes = 0
            place(board, p, color)
            if first_player[np.uint64(p)] == EMPTY:
                first_player[np.uint64(p)] = color
        color = 3 - color
        moves += 1
    board.info[TO_PLAY] = color
    return state, moves


@kernel
def add_quick_owners(board, ownership):  # type: ignore[no-untyped-def]
    """Black's area minus White's at the end of a playout, where every empty region is one point.

    Adds +1 to ownership: int64[P] where Black owns a cell and -1 where White does.
    """
    u = np.uint64
    cells = board.color
    size = board.info[SIZE]
    stride = size + 1
    area = np.int64(0)
    for row in range(1, size + 1):
        for p in range(row * stride + 1, row * stride + 1 + size):
            c = cells[u(p)]
            if c == EMPTY:
                for q in (p - 1, p + 1, p - stride, p + stride):
                    if cells[u(q)] != BORDER:
                        c |= cells[u(q)]
            sign = np.int64(c == BLACK) - np.int64(c == WHITE)
            area += sign
            ownership[u(p)] += sign
    return area


@kernel
def playouts(board, scratch, flags, first_player, ownership, count, rng):  # type: ignore[no-untyped-def]
    """Play `count` playouts from `board`, adding up who owns what; returns (sum of area scores, moves played)."""
    state = rng[0]
    total = 0
    moves = 0
    for _ in range(count):
        copy_board(board, scratch)
        first_player[:] = EMPTY
        state, n = run_playout(scratch, flags, first_player, state)
        moves += n
        total += add_quick_owners(scratch, ownership)
    rng[0] = state
    return total, moves
