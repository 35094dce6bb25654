"""What alpha-beta asks about a board of Go: how it stands without looking further, and which moves to look at first.

Beside the area as the board stands (`score.area`: exact at the end of a game, blind before walls are closed) there is
`influence_area`, Bouzy's estimate of territory ("Mathematical Morphology Applied to Computer Go", 2003): stones radiate
(dilation), then what rests on too little shrinks (erosion). With n dilations and n(n-1)+1 erosions a lone stone ends
with itself only.
"""

from typing import Final

import numpy as np

from tengen._kernel import kernel, stack_zeros
from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    NO_CELL,
    SIZE,
    TO_PLAY,
    WHITE,
    atari_cell,
    is_only_liberty,
)
from tengen.games.go.playout import is_eye

_STONE: Final = 128  # what a stone radiates from, in Bouzy's scale
_DILATIONS: Final = 4
_EROSIONS: Final = _DILATIONS * (_DILATIONS - 1) + 1

_CAPTURE, _RESCUE, _QUIET, _PASS, _EYE = 1_000, 300, -500, -1_000, -2_000


@kernel(inline=True)
def gain_of_cell(board, p, flags):  # type: ignore[no-untyped-def]
    """How promising a move of the player to play looks: captures above all, then stones saved from atari, then the
    middle before the edge; a pass (NO_CELL) after every move that does no harm at first sight, and last an eye filled.

    A search that keeps the first of equally good moves therefore never fills an eye without a reason.
    """
    if p == NO_CELL:
        return np.int64(_PASS)
    color = board.info[TO_PLAY]
    if is_eye(board, p, color, flags):
        return np.int64(_EYE)
    u, stride = np.uint64, board.info[SIZE] + 1
    found = np.int64(0)
    for q in (p - 1, p + 1, p - stride, p + stride):
        c = board.color[u(q)]
        if c != EMPTY and c != BORDER and is_only_liberty(board.liberties[board.head[u(q)]], p):
            found += _RESCUE if c == color else _CAPTURE
    if found == 0:
        found = np.int64(_QUIET)
    row, col = p // stride - 1, p % stride - 1
    return found + min(row, col, stride - 2 - row, stride - 2 - col)


@kernel
def influence_area(board):  # type: ignore[no-untyped-def]
    """Black's points minus White's by Bouzy's dilations and erosions, without komi.

    Strings that the player to move can capture at once count as gone.
    """
    now = stack_zeros(board.color.shape[0], np.int64)
    after = stack_zeros(board.color.shape[0], np.int64)
    for p in range(now.shape[0]):
        c = board.color[p]
        if c == BLACK or c == WHITE:
            if c == board.info[TO_PLAY] or atari_cell(board.liberties[board.head[p]]) == NO_CELL:
                now[p] = _STONE if c == BLACK else -_STONE
    for _ in range(_DILATIONS):
        _dilate(board, now, after)
        now, after = after, now
    for _ in range(_EROSIONS):
        _erode(board, now, after)
        now, after = after, now
    total = 0
    for p in range(now.shape[0]):
        total += np.sign(now[p])
    return total


@kernel
def _dilate(board, now, after):  # type: ignore[no-untyped-def]
    """Each point that no enemy touches gains one for each friendly neighbour."""
    stride = board.info[SIZE] + 1
    for p in range(now.shape[0]):
        after[p] = now[p]
        if board.color[p] != BORDER:
            black = white = 0
            for q in (p - 1, p + 1, p - stride, p + stride):
                black += now[q] > 0
                white += now[q] < 0
            if now[p] >= 0 and white == 0:
                after[p] += black
            if now[p] <= 0 and black == 0:
                after[p] -= white


@kernel
def _erode(board, now, after):  # type: ignore[no-untyped-def]
    """Each point loses one for each neighbour that is not friendly, down to nothing."""
    stride = board.info[SIZE] + 1
    for p in range(now.shape[0]):
        after[p] = now[p]
        if board.color[p] != BORDER and now[p] != EMPTY:
            sign = np.sign(now[p])
            strangers = 0
            for q in (p - 1, p + 1, p - stride, p + stride):
                strangers += board.color[q] != BORDER and now[q] * sign <= 0
            after[p] = sign * max(abs(now[p]) - strangers, 0)
