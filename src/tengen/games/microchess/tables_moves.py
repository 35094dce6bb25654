"""Moves for the solving of endgames, forwards and backwards, over a handful of pieces in *slots*.

Slot 0 holds White's king, slot 1 Black's, then come the others; `pieces` and `squares` are int64[5]. Occupied squares
are bits of a uint32. This is apart from `moves.py` on purpose: the tables are solved with these moves and checked with
those (`tables_check.py`), so that each tests the other.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.microchess.board import BLACK_PIECE, FILES, PAWN, RANKS, SQUARES

MAX_LISTED = 64  # more than five pieces have moves
_LINES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))  # files, ranks
_LEAPS = ((1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1))
_MOST_TARGETS = 13  # more than a queen sees
_BLACK_PAWN = PAWN + BLACK_PIECE


def _square(file: int, rank: int) -> int | None:
    return rank * FILES + file if 0 <= file < FILES and 0 <= rank < RANKS else None


def _seen(square: int, steps: tuple[tuple[int, int], ...], length: int) -> list[int]:
    """The squares up to `length` steps away on an empty board."""
    file, rank = square % FILES, square // FILES
    squares = [_square(file + n * right, rank + n * up) for right, up in steps for n in range(1, length + 1)]
    return [target for target in squares if target is not None]


def _targets() -> NDArray[np.int8]:
    """What a piece attacks on an empty board: int8[piece, square, 13], then -1."""
    targets = np.full((2 * BLACK_PIECE + 1, SQUARES, _MOST_TARGETS), -1, np.int8)
    for first, forward in ((0, 1), (BLACK_PIECE, -1)):
        pawn, knight = (((-1, forward), (1, forward)), 1), (_LEAPS, 1)
        ways = (pawn, knight, (_LINES[4:], 4), (_LINES[:4], 4), (_LINES, 4), (_LINES, 1))
        for kind, (steps, length) in enumerate(ways, 1):
            for square in range(SQUARES):
                found = _seen(square, steps, length)
                targets[first + kind, square, : len(found)] = found
    return targets


def _between() -> NDArray[np.uint32]:
    """The squares strictly between two on a line, as bits: uint32[square, square]."""
    between = np.zeros((SQUARES, SQUARES), np.uint32)
    for square in range(SQUARES):
        for step in _LINES:
            line = _seen(square, (step,), 4)
            for n, target in enumerate(line):
                between[square, target] = sum(1 << other for other in line[:n])
    return between


TARGETS: Final = _targets()
BETWEEN: Final = _between()
REACH: Final = np.array(  # uint32[piece, square]: TARGETS as bits
    [[sum(1 << int(target) for target in row if target >= 0) for row in rows] for rows in TARGETS], np.uint32
)

# --------------------------------------------------------------------------------------------- kernels


@kernel(inline=True)
def bit(square):  # type: ignore[no-untyped-def]
    """The set of one square."""
    return np.uint32(1) << np.uint32(square)


@kernel(inline=True)
def occupied_by(squares, count):  # type: ignore[no-untyped-def]
    """The set of the squares of the first `count` pieces; fewer squares than pieces if two share one."""
    occupied = np.uint32(0)
    for i in range(count):
        occupied |= bit(squares[i])
    return occupied


@kernel(inline=True)
def attacked(square, pieces, squares, count, by_black, gone, occupied):  # type: ignore[no-untyped-def]
    """Whether a piece of one side, other than that in slot `gone`, attacks a square."""
    for i in range(count):
        if i != gone and (pieces[i] > BLACK_PIECE) == by_black:
            if REACH[pieces[i], squares[i]] & bit(square) and not BETWEEN[squares[i], square] & occupied:
                return True
    return False


@kernel(inline=True)
def slot_on(square, squares, count):  # type: ignore[no-untyped-def]
    """The slot of the piece on a square, or -1."""
    for i in range(count):
        if squares[i] == square:
            return i
    return -1


@kernel(inline=True)
def list_moves(pieces, squares, count, black, occupied, double_step, slots, targets):  # type: ignore[no-untyped-def]
    """The moves of one side, castling aside, not yet tested for check: slot and target of each; returns how many."""
    own = np.uint32(0)
    for i in range(count):
        if (pieces[i] > BLACK_PIECE) == black:
            own |= bit(squares[i])
    n = 0
    for slot in range(count):
        piece, origin = pieces[slot], squares[slot]
        if (piece > BLACK_PIECE) != black:
            continue
        pawn = piece == PAWN or piece == _BLACK_PAWN
        barred = own | ~occupied if pawn else own
        for k in range(_MOST_TARGETS):
            target = np.int64(TARGETS[piece, origin, k])
            if target < 0:
                break
            if not barred & bit(target) and not BETWEEN[origin, target] & occupied:
                slots[n], targets[n] = slot, target
                n += 1
        if pawn:
            target = origin
            for _ in range(2 if double_step and _on_start(piece, origin) else 1):
                target += -FILES if black else FILES
                if occupied & bit(target):
                    break
                slots[n], targets[n] = slot, target
                n += 1
    return n


@kernel(inline=True)
def list_retreats(pieces, squares, count, black, occupied, double_step, slots, origins):  # type: ignore[no-untyped-def]
    """The ways to take back a move of one side that captured or promoted nothing: slot and origin; returns how many."""
    n = 0
    for slot in range(count):
        piece, target = pieces[slot], squares[slot]
        if (piece > BLACK_PIECE) != black:
            continue
        if piece == PAWN or piece == _BLACK_PAWN:
            origin = target
            for step in range(2):
                origin -= -FILES if black else FILES
                if origin < FILES or origin >= SQUARES - FILES or occupied & bit(origin):
                    break
                if step == 1 and not (double_step and _on_start(piece, origin)):
                    break
                slots[n], origins[n] = slot, origin
                n += 1
            continue
        for k in range(_MOST_TARGETS):
            origin = np.int64(TARGETS[piece, target, k])
            if origin < 0:
                break
            if not occupied & bit(origin) and not BETWEEN[origin, target] & occupied:
                slots[n], origins[n] = slot, origin
                n += 1
    return n


@kernel(inline=True)
def _on_start(piece, square):  # type: ignore[no-untyped-def]
    """Whether a pawn stands where it may take two steps: on rank 2 or, Black's, on rank 4."""
    return square // FILES == (1 if piece == PAWN else RANKS - 2)
