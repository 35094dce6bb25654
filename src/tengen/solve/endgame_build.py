"""Building endgame tables by retrograde analysis: the exact value of every position of one material, from the values of
its successors.

After Thompson (1986). First every position is looked at once, forwards: is it legal, is it mate or stalemate, how many
moves stay within the material, and what do the others (captures, promotions, those that end a right to castle) lead to,
by tables solved before. Then, backwards, by distance: a player who can move to a position lost in d plies wins in
d + 1; a player who can only move to positions won by the opponent loses in one more than the longest of them. What is
never reached is a draw.

Values are uint8: 0 a draw, UNUSED where there is no legal position, else plies to mate + 1. The parity has the rest:
an even number of plies is a loss of the side to move (0: it is mated), an odd number a win.

The rules are those of `standard` without repetition and the 50-move rule. The double step matters.

Each table is a file that is there whole or not at all, so a build that was stopped, in any way, resumes where it was.
Materials with as many pieces and pawns do not need each other and are solved side by side, by threads: the kernels and
zlib run without Python's lock.
"""

import itertools
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen._machine import cores
from tengen.games.microchess.board import (
    BLACK_MAY_CASTLE,
    BLACK_PIECE,
    FILES,
    KING,
    KNIGHT,
    PAWN,
    QUEEN,
    RANKS,
    ROOK,
    SQUARES,
    WHITE_MAY_CASTLE,
)
from tengen.runs.files import make_folder, sole_use
from tengen.solve.endgame_index import (
    DRAW,
    KING_PLACE,
    KING_PLACES,
    KING_SQUARES,
    MAX_PIECES,
    UNUSED,
    WITH_PAWNS,
    WITHOUT_PAWNS,
    Layout,
    Material,
    TablesInMemory,
    all_materials,
    in_memory,
    layout_of,
    locate,
    place,
    rank_of,
)
from tengen.solve.endgame_tables import TableError, TableFacts, facts_of, open_table, write_table

# ---------------------------- building: every material after those its captures and promotions lead to

_KEPT_TABLES = 48  # unpacked in memory while others are solved from them, up to about 60 MB


def build_tables(
    folder: Path,
    pieces: int = MAX_PIECES,
    double_step: bool = True,
    workers: int | None = None,
    report: Callable[[TableFacts, bool], None] | None = None,
) -> list[TableFacts]:
    """Make sure that all tables with up to so many pieces are in the folder; what each holds, in order.

    `report(facts, built)` is called after each table, from this thread, with built=False for one already there.
    Ctrl-C waits for the tables under way (seconds) and leaves what is finished. A table that is there is read through,
    and made again if it is damaged.
    """
    make_folder(folder)
    with sole_use(folder) as alone:
        if not alone:
            raise TableError(f"another build is at work in {folder}: wait for it, or choose another --out")
        return _build_missing(folder, pieces, double_step, workers, report)


def _build_missing(
    folder: Path,
    pieces: int,
    double_step: bool,
    workers: int | None,
    report: Callable[[TableFacts, bool], None] | None,
) -> list[TableFacts]:
    load = lru_cache(_KEPT_TABLES)(lambda material: open_table(folder, material, double_step).values())
    built: list[TableFacts] = []

    def note(facts: TableFacts, fresh: bool) -> None:
        built.append(facts)
        if report is not None:
            report(facts, fresh)

    with ThreadPoolExecutor(workers or cores(), thread_name_prefix="tables") as pool:
        for _, step in itertools.groupby(all_materials(pieces), key=lambda material: material.depth):
            under_way: set[Future[TableFacts]] = set()
            try:
                for material in step:
                    try:
                        note(_checked_facts(folder, material, double_step), False)
                    except TableError:
                        under_way.add(pool.submit(_build_table, folder, material, double_step, load))
                while under_way:
                    done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    for future in done:
                        note(future.result(), True)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return built


def _checked_facts(folder: Path, material: Material, double_step: bool) -> TableFacts:
    """What a table that is there holds; TableError unless every value can be read and its header is theirs."""
    table = open_table(folder, material, double_step)
    if table.facts != facts_of(material, double_step, table.values()):
        raise TableError(f"the header of {table.path} is damaged")
    return table.facts


def _build_table(
    folder: Path, material: Material, double_step: bool, load: Callable[[Material], NDArray[np.uint8]]
) -> TableFacts:
    return write_table(folder, material, double_step, solve_material(material, double_step, load))


def solve_material(
    material: Material, double_step: bool, load: Callable[[Material], NDArray[np.uint8]]
) -> NDArray[np.uint8]:
    """The values uint8[positions] of a material's table, given those of its successors."""
    successors = in_memory(material.successors(), load)
    values = solve(layout_of(material, solving=True), successors, double_step)
    if material.pawns or material.rights:
        return values
    # Solved with left and right swapped alone; of those with up and down swapped too only one is kept.
    kept = [KING_PLACE[WITH_PAWNS, white * 20 + black] for white, black in KING_SQUARES[WITHOUT_PAWNS]]
    kept = kept[: KING_PLACES[WITHOUT_PAWNS]]
    return np.ascontiguousarray(values.reshape(2, KING_PLACES[WITH_PAWNS], -1)[:, kept]).reshape(-1)


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

    pieces: NDArray[np.int64]  # [5] in slots, as below
    squares: NDArray[np.int64]  # [5]
    codes: NDArray[np.int64]  # [3] the pieces beside the kings of another position
    places: NDArray[np.int64]  # [3] their squares
    slots: NDArray[np.int64]  # [MAX_LISTED] of moves
    ends: NDArray[np.int64]  # [MAX_LISTED] their targets or origins


class _Options(NamedTuple):
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
    """What the side to move can do."""
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
    return _Options(within, drawn, win, loss)


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


# ------------------------------------------------ moves of a handful of pieces, forwards and backwards
# The pieces are in *slots*: slot 0 holds White's king, slot 1 Black's, then come the others; `pieces` and `squares` are
# int64[5]. Occupied squares are bits of a uint32. This is apart from `games/microchess/moves.py` on purpose: the tables
# are solved with these moves and checked with those (`endgame_tables.check_tables`), so that each tests the other.

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
