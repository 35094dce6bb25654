"""3x3 patterns: local shapes where a move in the middle is often good, after MoGo (Gelly et al., 2006).

A pattern is drawn as three rows. `X` and `O` are the two colours (either may be to move), `.` is empty, a
space is beyond the edge, `x` anything but X, `o` anything but O, `?` anything at all. All rotations,
mirror images and the exchange of colours are meant. `PATTERN_3X3: uint8[65536]` answers for the eight
surroundings of a cell packed two bits each, in the order of `surroundings`, with 1 where a pattern fits.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.board import BLACK, BORDER, EMPTY, SIZE, WHITE

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
