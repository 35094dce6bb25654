"""Playouts: random games to the end, the Monte-Carlo in Monte-Carlo tree search.

A playout draws uniformly among legal moves that do not fill an eye of the player's own, passes only when it
has none, and ends after two passes or `3 * size * size` moves. Eyes may be false; single stones may not be
retaken at once (simple ko). Under Simple-Go's rules the one-point territories that may not be filled take
the place of eyes. Random numbers are xorshift64; the state is one uint64 kept in `rng: uint64[1]`.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
    atari_cell,
    copy_board,
    is_only_liberty,
    place,
    weight,
)
from tengen.games.go.legality import is_breathing, is_last_liberty_of_neighbour, is_surrounded
from tengen.games.go.rules import TERRITORY_KEPT
from tengen.games.kernels import next_random, random_below


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


# ------------------------------------------------------------------------------------- guided playouts
# Random games in which both players see simple tactics near the last move.
#
# In order, each with some probability: capture the string just played if it stands in atari; save a string
# that the last move put in atari, by capturing an attacker or by running where that gains liberties; play
# where a 3x3 pattern fits next to the last two moves; otherwise anywhere, shunning self-atari. After MoGo
# (Gelly et al., 2006) and its successors. Packed liberties answer every question here in constant time.

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


# ---------------------------------------------------------------------------------------- 3x3 patterns
# Local shapes where a move in the middle is often good, after MoGo (Gelly et al., 2006).
#
# A pattern is drawn as three rows. `X` and `O` are the two colours (either may be to move), `.` is empty, a
# space is beyond the edge, `x` anything but X, `o` anything but O, `?` anything at all. All rotations,
# mirror images and the exchange of colours are meant. `PATTERN_3X3: uint8[65536]` answers for the eight
# surroundings of a cell packed two bits each, in the order of `surroundings`, with 1 where a pattern fits.

_SHAPES: Final = {
    "hane, enclosing": ("XOX", "...", "???"),
    "hane, not cutting": ("XO.", "...", "?.?"),
    "hane, magari": ("XO?", "X..", "o.?"),
    "diagonal attachment": (".O.", "X..", "..."),
    "cut, unprotected": ("XO?", "O.x", "?x?"),
    "cut, peeped at": ("XO?", "O.X", "???"),
    "cut, by pushing through": ("?X?", "O.O", "xxx"),
    "cut, knight's move": ("OX?", "x.O", "???"),
    "edge, chase": ("X.?", "O.?", "   "),
    "edge, block a cut": ("OX?", "X.O", "   "),
    "edge, block a connection": ("?X?", "o.O", "   "),
    "edge, descent": ("?XO", "o.o", "   "),
    "edge, cut": ("?OX", "X.O", "   "),
}

_MEANING: Final = {
    "X": (BLACK,),
    "O": (WHITE,),
    ".": (EMPTY,),
    " ": (BORDER,),
    "x": (EMPTY, WHITE, BORDER),
    "o": (EMPTY, BLACK, BORDER),
    "?": (EMPTY, BLACK, WHITE, BORDER),
}
_EXCHANGED: Final = {EMPTY: EMPTY, BLACK: WHITE, WHITE: BLACK, BORDER: BORDER}
_ORDER: Final = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2))


def _symmetric(shape: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for _ in range(4):
        shape = tuple("".join(column) for column in zip(*shape[::-1], strict=True))
        yield shape
        yield shape[::-1]


def _codes(shape: tuple[str, ...]) -> NDArray[np.int64]:
    """All surroundings that fit a shape, and those with the colours exchanged."""
    codes = np.zeros((2, 1), np.int64)
    for i, (row, col) in enumerate(_ORDER):
        choices = _MEANING[shape[row][col]]
        colors = np.array((choices, [_EXCHANGED[color] for color in choices]))
        codes = (codes[:, :, None] | colors[:, None, :] << 2 * i).reshape(2, -1)
    return codes


def _build_table() -> NDArray[np.uint8]:
    table = np.zeros(1 << 16, np.uint8)
    for shape in _SHAPES.values():
        for turned in set(_symmetric(shape)):
            table[_codes(turned)] = 1
    return table


PATTERN_3X3: Final = _build_table()


@kernel(inline=True)
def surroundings(board, p):  # type: ignore[no-untyped-def]
    """The eight cells around p as 16 bits, row by row from the top left."""
    u = np.uint64
    cells = board.color
    stride = board.info[SIZE] + 1
    above, below = p - stride, p + stride
    return (
        np.int64(cells[u(above - 1)])
        | np.int64(cells[u(above)]) << 2
        | np.int64(cells[u(above + 1)]) << 4
        | np.int64(cells[u(p - 1)]) << 6
        | np.int64(cells[u(p + 1)]) << 8
        | np.int64(cells[u(below - 1)]) << 10
        | np.int64(cells[u(below)]) << 12
        | np.int64(cells[u(below + 1)]) << 14
    )


@kernel(inline=True)
def fits_pattern(board, p):  # type: ignore[no-untyped-def]
    """Whether some 3x3 pattern fits around the empty cell p."""
    return PATTERN_3X3[surroundings(board, p)] != 0
