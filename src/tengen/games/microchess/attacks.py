"""Which squares a piece attacks, as sets of squares in the low 20 bits of an integer, looked up in small tables.

How far a bishop, rook or queen sees depends only on the *inner* squares of its lines: what stands on the last square of
a line is attacked in any case. For a bishop these are the six squares b2 to c4 (64 cases), for a rook along its rank
the two on files b and c, along its file the three on ranks 2 to 4.
"""

from typing import Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.microchess.board import (
    BISHOP,
    BLACK_PIECE,
    FILES,
    KING,
    KNIGHT,
    PAWN,
    QUEEN,
    RANKS,
    ROOK,
    SQUARES,
    WHITE,
)

ALL_SQUARES = (1 << SQUARES) - 1

_STRAIGHT = ((0, 1), (0, -1), (1, 0), (-1, 0))  # steps as (files, ranks)
_DIAGONAL = ((1, 1), (1, -1), (-1, 1), (-1, -1))
_KNIGHTS = ((1, 2), (1, -2), (-1, 2), (-1, -2), (2, 1), (2, -1), (-2, 1), (-2, -1))
_INNER = tuple(rank * FILES + file for rank in (1, 2, 3) for file in (1, 2))  # b2 c2 b3 c3 b4 c4


def _ray(square: int, step: tuple[int, int], occupied: int = 0) -> list[int]:
    """The squares from `square` in one direction, up to the first occupied one or the edge."""
    file, rank = square % FILES + step[0], square // FILES + step[1]
    seen = []
    while 0 <= file < FILES and 0 <= rank < RANKS:
        seen.append(rank * FILES + file)
        if occupied >> seen[-1] & 1:
            break
        file, rank = file + step[0], rank + step[1]
    return seen


def _set(squares: list[int]) -> int:
    return sum(1 << square for square in squares)


def _reach(square: int, steps: tuple[tuple[int, int], ...], occupied: int) -> int:
    return sum(_set(_ray(square, step, occupied)) for step in steps)


def _steps(steps: tuple[tuple[int, int], ...]) -> NDArray[np.int32]:
    """int32[20]: where single steps lead."""
    return np.array([_set([t for step in steps for t in _ray(s, step)[:1]]) for s in range(SQUARES)], np.int32)


def _pawn_steps(forward: int) -> NDArray[np.int32]:
    return _steps(((1, forward), (-1, forward)))


def _bishop_table() -> NDArray[np.int32]:
    cases = [_set([square for bit, square in enumerate(_INNER) if case >> bit & 1]) for case in range(64)]
    return np.array([[_reach(square, _DIAGONAL, case) for case in cases] for square in range(SQUARES)], np.int32)


def _rank_table() -> NDArray[np.int32]:
    steps = ((1, 0), (-1, 0))
    cases = [[case << s // FILES * FILES + 1 for case in range(4)] for s in range(SQUARES)]
    return np.array([[_reach(s, steps, case) for case in cases[s]] for s in range(SQUARES)], np.int32)


def _file_table() -> NDArray[np.int32]:
    steps = ((0, 1), (0, -1))
    cases = [sum(1 << rank * FILES for rank in (1, 2, 3) if case >> (rank - 1) & 1) for case in range(8)]
    return np.array([[_reach(s, steps, case << s % FILES) for case in cases] for s in range(SQUARES)], np.int32)


def _line_tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    between, line = np.zeros((SQUARES, SQUARES), np.int32), np.zeros((SQUARES, SQUARES), np.int32)
    for square in range(SQUARES):
        for dx, dy in _STRAIGHT + _DIAGONAL:
            ahead, behind = _ray(square, (dx, dy)), _ray(square, (-dx, -dy))
            for i, other in enumerate(ahead):
                between[square, other] = _set(ahead[:i])
                line[square, other] = _set([*ahead, *behind, square])
    return between, line


def _lanes(*kinds: tuple[int, ...]) -> NDArray[np.int64]:
    """int64[13]: for each piece, in which of three 20-bit lanes it counts."""
    return np.array([sum(1 << SQUARES * i for i, kind in enumerate(kinds) if p in kind) for p in range(13)], np.int64)


def _both(*kinds: int) -> tuple[int, ...]:
    return (*kinds, *(kind + BLACK_PIECE for kind in kinds))


KNIGHT_STEPS: Final = _steps(_KNIGHTS)
KING_STEPS: Final = _steps(_STRAIGHT + _DIAGONAL)
WHITE_PAWN_STEPS: Final = _pawn_steps(1)  # where a pawn captures
BLACK_PAWN_STEPS: Final = _pawn_steps(-1)
BISHOP_TABLE: Final = _bishop_table()  # [20, 64] by the occupied inner squares
RANK_TABLE: Final = _rank_table()  # [20, 4]
FILE_TABLE: Final = _file_table()  # [20, 8]
BETWEEN, LINE = _line_tables()  # [20, 20] squares strictly between two, and on the whole line through them; else none

_WHITE_PIECES, _BLACK_PIECES = tuple(range(PAWN, KING + 1)), tuple(range(PAWN + BLACK_PIECE, KING + BLACK_PIECE + 1))
_COLOR_LANES = _lanes(_WHITE_PIECES, _BLACK_PIECES, _both(PAWN))
_KIND_LANES = _lanes(_both(KNIGHT), _both(BISHOP, QUEEN), _both(ROOK, QUEEN))


@intrinsic
def _trailing_zeros(typing_context, bits):  # type: ignore[no-untyped-def]
    """The machine's instruction for it, which NumPy does not offer."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@kernel(inline=True)
def lowest(squares):  # type: ignore[no-untyped-def]
    """The lowest square of a set that is not empty."""
    return _trailing_zeros(squares)  # type: ignore[call-arg]


@kernel(inline=True)
def piece_sets(squares):  # type: ignore[no-untyped-def]
    """(White's, Black's, pawns, knights, bishops and queens, rooks and queens): six sets, read in one pass.

    Three sets of 20 bits fit into one 64-bit integer, so that a piece is added to all its sets by two operations.
    """
    colors, kinds = np.int64(0), np.int64(0)
    for s in range(SQUARES):
        piece = np.uint64(squares[s])
        colors |= _COLOR_LANES[piece] << s
        kinds |= _KIND_LANES[piece] << s
    return (
        colors & ALL_SQUARES,
        colors >> SQUARES & ALL_SQUARES,
        colors >> 2 * SQUARES,
        kinds & ALL_SQUARES,
        kinds >> SQUARES & ALL_SQUARES,
        kinds >> 2 * SQUARES,
    )


@kernel(inline=True)
def bishop_attacks(square, occupied):  # type: ignore[no-untyped-def]
    """Where a bishop on `square` sees, up to and including the first piece in each direction."""
    inner = (occupied >> 5 & 3) | (occupied >> 7 & 12) | (occupied >> 9 & 48)
    return np.int64(BISHOP_TABLE[np.uint64(square), np.uint64(inner)])


@kernel(inline=True)
def rook_attacks(square, occupied):  # type: ignore[no-untyped-def]
    """Where a rook on `square` sees, up to and including the first piece in each direction."""
    along_rank = occupied >> ((square & ~3) + 1) & 3
    file = occupied >> ((square & 3) + 4)
    along_file = (file & 1) | (file >> 3 & 2) | (file >> 6 & 4)
    return np.int64(RANK_TABLE[np.uint64(square), np.uint64(along_rank)]) | np.int64(
        FILE_TABLE[np.uint64(square), np.uint64(along_file)]
    )


@kernel(inline=True)
def pawn_attacks(square, color):  # type: ignore[no-untyped-def]
    """Where a pawn of `color` on `square` captures."""
    return np.int64(WHITE_PAWN_STEPS[np.uint64(square)] if color == WHITE else BLACK_PAWN_STEPS[np.uint64(square)])


@kernel(inline=True)
def attackers(square, color, sets, occupied):  # type: ignore[no-untyped-def]
    """The pieces of `color`, its king left out, that attack a square; sets: as `piece_sets` gives them."""
    white, black, pawns, knights, diagonals, straights = sets
    found = pawn_attacks(square, 3 - color) & pawns  # a pawn attacks what an enemy pawn there would attack it from
    found |= np.int64(KNIGHT_STEPS[np.uint64(square)]) & knights
    found |= bishop_attacks(square, occupied) & diagonals
    found |= rook_attacks(square, occupied) & straights
    return found & (white if color == WHITE else black)


@kernel(inline=True)
def attacked_by(color, sets, occupied):  # type: ignore[no-untyped-def]
    """All squares that pieces of `color` attack, when `occupied` are in the way."""
    white, black, pawns, knights, diagonals, straights = sets
    own = white if color == WHITE else black
    reach = np.int64(0)
    rest = own
    while rest:
        s = lowest(rest)
        bit = rest & -rest
        rest ^= bit
        if bit & pawns:
            reach |= pawn_attacks(s, color)
        elif bit & knights:
            reach |= np.int64(KNIGHT_STEPS[np.uint64(s)])
        elif bit & (diagonals | straights):
            if bit & diagonals:
                reach |= bishop_attacks(s, occupied)
            if bit & straights:
                reach |= rook_attacks(s, occupied)
        else:
            reach |= np.int64(KING_STEPS[np.uint64(s)])
    return reach
