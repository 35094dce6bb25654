"""Retrograde analysis: the exact value of every position of one material, from the values of its successors.

After Thompson (1986). First every position is looked at once, forwards: is it legal, is it mate or stalemate, how many
moves stay within the material, and what do the others (captures, promotions, those that end a right to castle) lead to,
by tables solved before. Then, backwards, by distance: whoever can move to a position lost in d plies wins in d + 1;
whoever has only moves to positions won by the opponent loses in one more than the longest of them. What is never
reached is a draw.

Values are uint8: 0 a draw, UNUSED where there is no legal position, else plies to mate + 1. The parity tells the rest:
an even number of plies is a loss of the side to move (0: it is mated), an odd number a win.

The rules are those of `standard` without repetition and the 50-move rule. The double step matters.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.microchess.board import (
    BLACK_MAY_CASTLE,
    BLACK_PIECE,
    KING,
    KNIGHT,
    PAWN,
    QUEEN,
    ROOK,
    WHITE_MAY_CASTLE,
)
from tengen.games.microchess.tables_index import DRAW, UNUSED, Layout, TablesInMemory, locate, place, rank_of
from tengen.games.microchess.tables_moves import (
    MAX_LISTED,
    attacked,
    bit,
    list_moves,
    list_retreats,
    occupied_by,
    slot_on,
)

_LONGEST = 253  # plies to mate that a value can hold
_NEVER_LOSES = 255  # among what is `waiting`: has a drawing or winning way out
_A1, _B1, _C1, _D1, _A5, _B5, _C5, _D5 = 0, 1, 2, 3, 16, 17, 18, 19


class _Work(NamedTuple):
    """What is known so far of N positions, of both sides to move."""

    values: NDArray[np.uint8]  # [N] as above; DRAW until something else is known
    waiting: NDArray[np.uint8]  # [N] moves within the material that may yet turn out lost; or _NEVER_LOSES
    beyond: NDArray[np.uint8]  # [N] plies of the longest loss by a move out of the material
    buckets: NDArray[np.int64]  # [256] a position that is decided at this distance if not sooner, or -1
    chain: NDArray[np.int32]  # [N] the next one of the same bucket, or -1


class _Pieces(NamedTuple):
    """One position, and room to try things."""

    pieces: NDArray[np.int64]  # [5] in slots, as `tables_moves.py` has them
    squares: NDArray[np.int64]  # [5]
    codes: NDArray[np.int64]  # [3] the pieces beside the kings of another position
    places: NDArray[np.int64]  # [3] their squares
    slots: NDArray[np.int64]  # [MAX_LISTED] of moves
    ends: NDArray[np.int64]  # [MAX_LISTED] their targets or origins


class _Outlook(NamedTuple):
    """What the moves of a position lead to, as far as known before its own material is solved."""

    within: int  # how many stay in the material
    drawn: bool  # whether one of the others leads to a draw
    win: int  # plies of the shortest win by one of the others; _NO_WIN if there is none
    loss: int  # plies of the longest loss by one of them; -1 if there is none


_NO_WIN = 256


def solve(layout: Layout, successors: TablesInMemory, double_step: bool) -> NDArray[np.uint8]:
    """The values uint8[2 * positions a side] of the material that `layout` (made for solving) numbers."""
    positions = 2 * int(layout.counts[1])
    work = _Work(
        np.zeros(positions, np.uint8),
        np.zeros(positions, np.uint8),
        np.zeros(positions, np.uint8),
        np.full(256, -1, np.int64),
        np.full(positions, -1, np.int32),
    )
    room = (5, 5, 3, 3, MAX_LISTED, MAX_LISTED)
    board = _Pieces(*(np.zeros(length, np.int64) for length in room))
    _look_forward(layout, successors, double_step, work, board)
    if _work_backward(layout, double_step, work, board, np.empty((2, positions), np.int32)) > _LONGEST:
        raise OverflowError("a mate takes more plies than the table format can hold")
    return work.values


# --------------------------------------------------------------------------------------------- kernels


@kernel
def _look_forward(layout, successors, double_step, work, board):  # type: ignore[no-untyped-def]
    """Judge each position by itself and by the tables of other materials."""
    side = layout.counts[1]
    count = layout.counts[0] + 2
    rights = layout.counts[3]
    _set_up(board, layout)
    for index in range(side):
        place(index, board.squares, layout.group, layout.radix, layout.counts[2])
        occupied = occupied_by(board.squares, count)
        possible = _is_possible(board, count, rights)
        for black in range(2):
            p = black * side + index
            if not possible or _in_check(board, count, 1 - black, occupied):
                work.values[p] = UNUSED
                continue
            seen = _look_around(board, count, black, rights, occupied, double_step, successors)
            distance = -1
            work.waiting[p] = _NEVER_LOSES
            if seen.win != _NO_WIN:
                distance = seen.win
            elif seen.drawn:
                continue
            elif seen.within:
                work.waiting[p] = seen.within
                work.beyond[p] = max(seen.loss, 0)
            elif seen.loss >= 0:
                distance = seen.loss
            elif _in_check(board, count, black, occupied):
                distance = 0
            if distance >= 0:
                _put_by(p, distance, work)


@kernel
def _work_backward(layout, double_step, work, board, frontiers):  # type: ignore[no-untyped-def]
    """Fill in wins and losses by rising distance; returns the longest. frontiers: int32[2, N] to work with."""
    side = layout.counts[1]
    count = layout.counts[0] + 2
    _set_up(board, layout)
    met = longest = 0
    for distance in range(_LONGEST + 2):
        now, then = frontiers[distance & 1], frontiers[1 - (distance & 1)]
        p = work.buckets[distance]
        while p >= 0:
            if work.values[p] == DRAW:
                work.values[p] = distance + 1
                now[met] = p
                met += 1
            p = np.int64(work.chain[p])
        if met > 0:
            longest = distance
        found = 0
        for k in range(met if distance <= _LONGEST else 0):
            p = np.int64(now[k])
            black = 1 if p >= side else 0
            place(p - black * side, board.squares, layout.group, layout.radix, layout.counts[2])
            found = _look_back(board, count, layout, black, distance, double_step, work, then, found)
        met = found
    return longest


@kernel(inline=True)
def _look_back(board, count, layout, black, distance, double_step, work, then, found):  # type: ignore[no-untyped-def]
    """Tell the positions from which the opponent may have come here that this one is decided.

    Those that are now decided at distance + 1 are added to `then`, of which there are `found`; returns how many now.
    """
    squares = board.squares
    occupied = occupied_by(squares, count)
    ways = list_retreats(board.pieces, squares, count, black == 0, occupied, double_step, board.slots, board.ends)
    rights = layout.counts[3]
    for m in range(ways):
        slot = board.slots[m]
        target = squares[slot]
        if _rights_after(rights, target, target) != rights:  # a king or rook that must not have moved
            continue
        squares[slot] = board.ends[m]
        q = rank_of(
            squares[0], squares[1], squares[2], squares[3], squares[4], layout.group, layout.radix, layout.counts[2]
        )
        squares[slot] = target
        if q < 0:
            continue
        q += (1 - black) * layout.counts[1]
        if work.values[q] != DRAW:
            continue
        if distance & 1:  # the side to move here wins: one hope less for the other
            if work.waiting[q] == _NEVER_LOSES:
                continue
            work.waiting[q] -= 1
            if work.waiting[q]:
                continue
            if work.beyond[q] > distance + 1:
                _put_by(q, np.int64(work.beyond[q]), work)
                continue
        work.values[q] = distance + 2
        then[found] = q
        found += 1
    return found


@kernel(inline=True)
def _look_around(board, count, black, rights, occupied, double_step, successors):  # type: ignore[no-untyped-def]
    """The outlook of the side to move."""
    pieces, squares = board.pieces, board.squares
    within, drawn, win, loss = 0, False, _NO_WIN, -1
    for m in range(list_moves(pieces, squares, count, black == 1, occupied, double_step, board.slots, board.ends)):
        slot, target = board.slots[m], board.ends[m]
        origin, piece = squares[slot], pieces[slot]
        gone = slot_on(target, squares, count) if occupied & bit(target) else -1
        squares[slot] = target
        if not attacked(
            squares[black], pieces, squares, count, black == 0, gone, (occupied ^ bit(origin)) | bit(target)
        ):
            left = _rights_after(rights, origin, target)
            promotes = (piece == PAWN and target >= _A5) or (piece == PAWN + BLACK_PIECE and target <= _D1)
            if gone < 0 and not promotes and left == rights:
                within += 1
            elif promotes:
                for kind in range(KNIGHT, QUEEN + 1):
                    pieces[slot] = kind + BLACK_PIECE * black
                    value = _value_beyond(board, count, gone, 2 - black, left, successors)
                    drawn, win, loss = _take_in(value, drawn, win, loss)
                pieces[slot] = piece
            else:
                value = _value_beyond(board, count, gone, 2 - black, left, successors)
                drawn, win, loss = _take_in(value, drawn, win, loss)
        squares[slot] = origin
    if _may_castle(board, count, black, rights, occupied):
        king, rook = (_A5, _D5) if black else (_D1, _A1)
        slot = slot_on(rook, squares, count)
        squares[black], squares[slot] = (_C5, _B5) if black else (_B1, _C1)
        left = rights & (WHITE_MAY_CASTLE if black else BLACK_MAY_CASTLE)
        value = _value_beyond(board, count, -1, 2 - black, left, successors)
        drawn, win, loss = _take_in(value, drawn, win, loss)
        squares[black], squares[slot] = king, rook
    return _Outlook(within, drawn, win, loss)


@kernel(inline=True)
def _take_in(value, drawn, win, loss):  # type: ignore[no-untyped-def]
    """What a move to a position of this value adds; a value is also the distance from one ply before."""
    if value == DRAW:
        return True, win, loss
    if value & 1:  # the opponent is to move and has lost
        return drawn, min(win, value), loss
    return drawn, win, max(loss, value)


@kernel(inline=True)
def _value_beyond(board, count, gone, to_play, rights, successors):  # type: ignore[no-untyped-def]
    """The value of a position of another material: these pieces without that in slot `gone`."""
    n = 0
    for i in range(2, count):
        if i != gone:
            board.codes[n], board.places[n] = board.pieces[i], board.squares[i]
            n += 1
    table, index = locate(
        board.squares[0], board.squares[1], board.codes, board.places, n, to_play, rights, successors.catalogue
    )
    return np.int64(successors.values[successors.starts[table] + index])


@kernel(inline=True)
def _put_by(p, distance, work):  # type: ignore[no-untyped-def]
    work.chain[p] = work.buckets[distance]
    work.buckets[distance] = p


@kernel(inline=True)
def _set_up(board, layout):  # type: ignore[no-untyped-def]
    """Put the pieces of a material into their slots, not yet on squares."""
    board.pieces[0], board.pieces[1] = KING, KING + BLACK_PIECE
    for i in range(layout.counts[0]):
        board.pieces[2 + i] = layout.codes[i]


@kernel(inline=True)
def _is_possible(board, count, rights):  # type: ignore[no-untyped-def]
    """Whether each piece has a square for itself, and there is a rook for each right to castle."""
    for i in range(count):
        for j in range(i):
            if board.squares[i] == board.squares[j]:
                return False
    if rights & WHITE_MAY_CASTLE and not _is_rook_on(_A1, board, count, 0):
        return False
    return not rights & BLACK_MAY_CASTLE or _is_rook_on(_D5, board, count, BLACK_PIECE)


@kernel(inline=True)
def _is_rook_on(square, board, count, color):  # type: ignore[no-untyped-def]
    slot = slot_on(square, board.squares, count)
    return slot >= 0 and board.pieces[slot] == ROOK + color


@kernel(inline=True)
def _in_check(board, count, black, occupied):  # type: ignore[no-untyped-def]
    return attacked(board.squares[black], board.pieces, board.squares, count, black == 0, -1, occupied)


@kernel(inline=True)
def _rights_after(rights, origin, target):  # type: ignore[no-untyped-def]
    """The rights that are left when a piece has left one of these squares or come to it."""
    if rights & WHITE_MAY_CASTLE and (origin == _A1 or origin == _D1 or target == _A1 or target == _D1):
        rights &= ~WHITE_MAY_CASTLE
    if rights & BLACK_MAY_CASTLE and (origin == _A5 or origin == _D5 or target == _A5 or target == _D5):
        rights &= ~BLACK_MAY_CASTLE
    return rights


@kernel(inline=True)
def _may_castle(board, count, black, rights, occupied):  # type: ignore[no-untyped-def]
    """Whether the side to move may castle now: nothing between, not in, through or into check."""
    if not rights & (BLACK_MAY_CASTLE if black else WHITE_MAY_CASTLE):
        return False
    first, second = (_B5, _C5) if black else (_B1, _C1)
    if occupied & (bit(first) | bit(second)) or _in_check(board, count, black, occupied):
        return False
    pieces, squares = board.pieces, board.squares
    return not (
        attacked(first, pieces, squares, count, black == 0, -1, occupied)
        or attacked(second, pieces, squares, count, black == 0, -1, occupied)
    )
