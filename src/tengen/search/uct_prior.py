"""What UCT believes of a move before it has tried it: virtual visits and wins from simple tactics.

Captures, escapes from atari, 3x3 patterns, nearness to the last move and the lines of the board, in the
manner of Pachi and its relatives. A prior of n visits weighs as much as n simulations.
"""

from tengen._kernel import kernel
from tengen.games.go.board import BORDER, EMPTY, NO_CELL, SIZE, is_only_liberty
from tengen.games.go.playout import fits_pattern, is_self_atari

_EVEN = 10.0
_SELF_ATARI = 10.0
_CAPTURE_ONE, _CAPTURE_MANY = 15.0, 30.0
_ESCAPE = 15.0
_PATTERN = 10.0
_EMPTY_AREA = 10.0
_NEARNESS = (0.0, 24.0, 22.0, 8.0)  # by distance to the last move


@kernel
def move_prior(board, p, color, last, before, flags, found, scale):  # type: ignore[no-untyped-def]
    """(virtual visits, virtual wins) of the legal move p."""
    visits = _EVEN
    wins = _EVEN / 2 + 1e-4 * (p * 7919 % 101)  # a touch of disorder breaks ties
    if scale == 0:
        return visits, wins
    bad = 0.0
    good = 0.0
    captured, escapes = _captures_and_escapes(board, p, color)
    risky = is_self_atari(board, p, color)
    if captured == 1:
        good += _CAPTURE_ONE
    elif captured > 1:
        good += _CAPTURE_MANY
    if escapes and not risky:
        good += _ESCAPE
    if risky:
        bad += _SELF_ATARI
    if fits_pattern(board, p):
        good += _PATTERN
    if last != NO_CELL:
        good += _NEARNESS[min(3, _distance(board, p, last))] if _distance(board, p, last) <= 3 else 0.0
    line = _line(board, p)
    if line <= 3 and _is_lonely(board, p):
        if line <= 2:
            bad += _EMPTY_AREA
        else:
            good += _EMPTY_AREA
    return visits + scale * (good + bad), wins + scale * good


@kernel
def _captures_and_escapes(board, p, color):  # type: ignore[no-untyped-def]
    """(stones that p captures: 0, 1 or 2 for more, whether p touches own stones in atari)."""
    stride = board.info[SIZE] + 1
    captured = 0
    escapes = False
    for q in (p - 1, p + 1, p - stride, p + stride):
        c = board.color[q]
        if c == EMPTY or c == BORDER:
            continue
        if is_only_liberty(board.liberties[board.head[q]], p):
            if c == color:
                escapes = True
            else:
                captured += 1 if board.next[q] == q else 2
    return captured, escapes


@kernel(inline=True)
def _distance(board, p, q):  # type: ignore[no-untyped-def]
    """Steps from p to q along the lines of the board."""
    stride = board.info[SIZE] + 1
    return abs(p // stride - q // stride) + abs(p % stride - q % stride)


@kernel(inline=True)
def _line(board, p):  # type: ignore[no-untyped-def]
    """On which line from the edge p lies, 1 being the edge."""
    size = board.info[SIZE]
    row, col = p // (size + 1), p % (size + 1)
    return min(min(row, size + 1 - row), min(col, size + 1 - col))


@kernel
def _is_lonely(board, p):  # type: ignore[no-untyped-def]
    """Whether no stone stands within three steps of p."""
    size = board.info[SIZE]
    stride = size + 1
    row, col = p // stride, p % stride
    for r in range(max(1, row - 3), min(size, row + 3) + 1):
        reach = 3 - abs(r - row)
        for c in range(max(1, col - reach), min(size, col + reach) + 1):
            if board.color[r * stride + c] != EMPTY:
                return False
    return True
