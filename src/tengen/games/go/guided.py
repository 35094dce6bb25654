"""Guided playouts: random games in which both players see simple tactics near the last move.

In order, each with some probability: capture the string just played if it stands in atari; save a string
that the last move put in atari, by capturing an attacker or by running where that gains liberties; play
where a 3x3 pattern fits next to the last two moves; otherwise anywhere, shunning self-atari. After MoGo
(Gelly et al., 2006) and its successors. Packed liberties answer every question here in constant time.
"""

import numpy as np

from tengen._kernel import kernel
from tengen.games.go.board import (
    BORDER,
    EMPTY,
    EMPTY_COUNT,
    KO,
    NO_CELL,
    SIZE,
    TO_PLAY,
    atari_cell,
    is_only_liberty,
    place,
    weight,
)
from tengen.games.go.legality import is_breathing
from tengen.games.go.patterns import fits_pattern
from tengen.games.go.playout import is_eye
from tengen.games.xorshift import next_random, random_below

CANDIDATES = 64  # room for the moves that one tactic may propose

# Probabilities in 1/256: how often each tactic is looked at, and how often self-atari is refused.
# A lone stone in atari is often right: a throw-in, or the way into a big eye.
_P_TACTICS, _P_PATTERN, _P_REFUSE, _P_REFUSE_LONE = 240, 240, 230, 100


@kernel(inline=True)
def is_playable(board, p, color, flags):  # type: ignore[no-untyped-def]
    """Whether the empty cell p is a legal move in a playout: no simple ko, no suicide, no eye filled."""
    return p != board.info[KO] and not is_eye(board, p, color, flags) and is_breathing(board, p, color)


@kernel(inline=True)
def is_self_atari(board, p, color):  # type: ignore[no-untyped-def]
    """Whether a stone of `color` on the empty cell p would stand, with its string, in atari.

    A move that captures is not counted as one.
    """
    u = np.uint64
    cells, head, liberties = board.color, board.head, board.liberties
    stride = board.info[SIZE] + 1
    w = weight(p)
    total = 0
    room = 0
    h0 = h1 = h2 = np.int64(-1)
    for q in (p - 1, p + 1, p - stride, p + stride):
        c = cells[u(q)]
        if c == EMPTY:
            room += 1
            if room == 2:
                return False
            total += weight(q)
        elif c == color:
            h = np.int64(head[u(q)])
            total -= w
            if h != h0 and h != h1 and h != h2:
                total += liberties[u(h)]
                h2, h1, h0 = h1, h0, h
        elif c != BORDER:
            if is_only_liberty(liberties[head[u(q)]], p):
                return False
    return atari_cell(total) != NO_CELL


@kernel(inline=True)
def _propose(found, count, p):  # type: ignore[no-untyped-def]
    if count < CANDIDATES:
        found[count] = p
        count += 1
    return count


@kernel
def find_tactics(board, last, color, flags, found):  # type: ignore[no-untyped-def]
    """Captures and escapes that answer the opponent's stone on `last`; fills found, returns how many."""
    u = np.uint64
    cells, head, liberties = board.color, board.head, board.liberties
    stride = board.info[SIZE] + 1
    opponent = 3 - color
    count = 0
    if cells[u(last)] == opponent:
        a = atari_cell(liberties[head[u(last)]])
        if a != NO_CELL and is_playable(board, a, color, flags):
            count = _propose(found, count, a)
    for q in (last - 1, last + 1, last - stride, last + stride):
        if cells[u(q)] == color:
            a = atari_cell(liberties[head[u(q)]])
            if a != NO_CELL:
                count = _find_escapes(board, q, a, color, flags, found, count)
    return count


@kernel
def _find_escapes(board, stone, last_liberty, color, flags, found, count):  # type: ignore[no-untyped-def]
    """Ways to save the string in atari: capture a string beside it, or extend to more liberties."""
    u = np.uint64
    cells, head, liberties = board.color, board.head, board.liberties
    stride = board.info[SIZE] + 1
    opponent = 3 - color
    first = head[u(stone)]
    s = first
    while True:
        p = np.int64(s)
        for q in (p - 1, p + 1, p - stride, p + stride):
            if cells[u(q)] == opponent:
                a = atari_cell(liberties[head[u(q)]])
                if a != NO_CELL and is_playable(board, a, color, flags):
                    count = _propose(found, count, a)
        s = board.next[s]
        if s == first:
            break
    if is_playable(board, last_liberty, color, flags) and not is_self_atari(board, last_liberty, color):
        count = _propose(found, count, last_liberty)
    return count


@kernel(inline=True)
def _find_patterns(board, last, color, flags, found, count):  # type: ignore[no-untyped-def]
    """Cells around `last` where a 3x3 pattern fits."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    for q in (
        last - stride - 1,
        last - stride,
        last - stride + 1,
        last - 1,
        last + 1,
        last + stride - 1,
        last + stride,
        last + stride + 1,
    ):
        if board.color[u(q)] == EMPTY and fits_pattern(board, q) and is_playable(board, q, color, flags):
            if not is_self_atari(board, q, color):
                count = _propose(found, count, q)
    return count


@kernel
def guided_move(board, color, last, before, flags, found, state):  # type: ignore[no-untyped-def]
    """A playout move of `color`, the moves before having been `last` (the opponent's) and `before` (its own).

    found: int64[CANDIDATES] is scratch room. Returns (cell or NO_CELL for a pass, random state).
    """
    u = np.uint64
    state = next_random(state)
    dice = np.int64(state >> u(40))
    if last != NO_CELL:
        if dice & 255 < _P_TACTICS:
            count = find_tactics(board, last, color, flags, found)
            if count > 0:
                return found[random_below(state, count)], state
        if (dice >> 8) & 255 < _P_PATTERN:
            count = _find_patterns(board, last, color, flags, found, 0)
            if before != NO_CELL:
                count = _find_patterns(board, before, color, flags, found, count)
            if count > 0:
                state = next_random(state)
                return found[random_below(state, count)], state
    state = next_random(state)
    return _anywhere(board, color, flags, state), state


@kernel(inline=True)
def _anywhere(board, color, flags, state):  # type: ignore[no-untyped-def]
    """A random playable cell, mostly not self-atari, or NO_CELL."""
    u = np.uint64
    count = board.info[EMPTY_COUNT]
    i = random_below(state, count)
    dice = np.int64(state & u(255))
    for _ in range(count):
        p = np.int64(board.empties[u(i)])
        i += 1
        if i == count:
            i = 0
        if is_playable(board, p, color, flags):
            if dice >= _P_REFUSE or not is_self_atari(board, p, color):
                return p
            if dice >= _P_REFUSE_LONE and not _touches(board, p, color):
                return p
    return NO_CELL


@kernel(inline=True)
def _touches(board, p, color):  # type: ignore[no-untyped-def]
    """Whether a stone of `color` stands beside p."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    beside = cells[u(p - 1)] == color or cells[u(p + 1)] == color
    return beside or cells[u(p - stride)] == color or cells[u(p + stride)] == color


@kernel
def run_guided_playout(board, last, before, flags, found, first_player, state):  # type: ignore[no-untyped-def]
    """Play `board` to its end with guided moves, in place, noting who plays first on each cell.

    first_player: uint8[P] holds EMPTY where nobody has played yet. Returns (random state, moves played).
    """
    size = board.info[SIZE]
    limit = 3 * size * size
    color = board.info[TO_PLAY]
    passes = 0
    moves = 0
    while passes < 2 and moves < limit:
        p, state = guided_move(board, color, last, before, flags, found, state)
        if p == NO_CELL:
            passes += 1
            board.info[KO] = NO_CELL
        else:
            passes = 0
            place(board, p, color)
            if first_player[p] == EMPTY:
                first_player[p] = color
        before, last = last, p
        color = 3 - color
        moves += 1
    board.info[TO_PLAY] = color
    return state, moves
