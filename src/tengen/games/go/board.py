"""The Go board as arrays, and the kernels that place stones on it.

A board is a NamedTuple of flat arrays over a *padded* grid: `size + 1` cells a row, the extra one a border
that closes this row on the right and the next one on the left, with a border row above and below. Every
on-board cell therefore has four neighbours at `p - 1, p + 1, p - stride, p + stride`, and no kernel ever
tests for an edge. (`coordinates.py` holds the table of all coordinate systems.)

Strings of stones are circular linked lists (`next`), named by one of their stones (`head`). The liberties
of a string are kept as *pseudo-liberties*: an empty point counts once for each stone of the string beside
it. One 64-bit integer per string packs three sums over those pseudo-liberties: how many there are, the sum
of their cells and the sum of the squares of their cells. Placing or lifting a stone is then one integer
addition per neighbour, and still tells exactly

* captured:            all three sums are zero;
* "p is the only liberty":  the sums are `count` times those of p alone;
* in atari, and where: `count * squares == cells * cells` (equality in Cauchy-Schwarz), at `cells / count`.

On 25x25 a string has at most 1,200 pseudo-liberties, so 11 + 20 + 30 bits are enough.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import copy_into, kernel, stack_array, view

EMPTY, BLACK, WHITE, BORDER = 0, 1, 2, 3
NO_CELL = 0  # cell 0 is always border, so it stands for "none"

# Columns of `Board.info`.
SIZE, TO_PLAY, KO, EMPTY_COUNT, PASSES, MOVES, PRISONERS_OF_BLACK, PRISONERS_OF_WHITE, HASH = range(9)
INFO_LENGTH = 9

MIN_SIZE, MAX_SIZE = 2, 25

_COUNT_BITS = 11
_CELLS_BITS = 20
_COUNT_MASK = (1 << _COUNT_BITS) - 1
_CELLS_MASK = (1 << _CELLS_BITS) - 1


class Board(NamedTuple):
    """One board (P cells), or B boards when every field has a leading axis of length B."""

    color: NDArray[np.uint8]  # [P] EMPTY, BLACK, WHITE or BORDER
    head: NDArray[np.uint16]  # [P] for a stone, the cell that names its string
    next: NDArray[np.uint16]  # [P] for a stone, the next stone of its string
    liberties: NDArray[np.int64]  # [P] at the head of a string, its packed pseudo-liberties
    empties: NDArray[np.uint16]  # [P] the empty cells, in no order, in the first EMPTY_COUNT places
    slot: NDArray[np.uint16]  # [P] where an empty cell stands in `empties`
    info: NDArray[np.int64]  # [INFO_LENGTH] the scalars: size, who is to play, ko cell, hash, ...


def cell_count(size: int) -> int:
    """Cells of the padded grid of a size x size board."""
    return (size + 1) * (size + 2) + 1


def allocate(size: int, batch: int | None = None) -> Board:
    """Memory for one board (or `batch` of them), not yet a valid position."""
    shape = (cell_count(size),) if batch is None else (batch, cell_count(size))
    return Board(
        np.empty(shape, np.uint8),
        np.empty(shape, np.uint16),
        np.empty(shape, np.uint16),
        np.empty(shape, np.int64),
        np.empty(shape, np.uint16),
        np.empty(shape, np.uint16),
        np.empty((*shape[:-1], INFO_LENGTH), np.int64),
    )


def new_board(size: int) -> Board:
    """An empty board, Black to play."""
    board = allocate(size)
    clear(board, size)
    return board


def new_boards(size: int, batch: int) -> Board:
    """`batch` empty boards, Black to play: fields of shape [batch, ...]."""
    boards = allocate(size, batch)
    clear_all(boards, size)
    return boards


# --------------------------------------------------------------------------------------------- kernels


@view
def board_at(boards, i):  # type: ignore[no-untyped-def]
    """The i-th of many boards, as a view."""
    return Board(
        boards.color[i],
        boards.head[i],
        boards.next[i],
        boards.liberties[i],
        boards.empties[i],
        boards.slot[i],
        boards.info[i],
    )


@kernel(inline=True)
def clear(board, size):  # type: ignore[no-untyped-def]
    """Make `board` the empty board of this size."""
    stride = size + 1
    for p in range((size + 1) * (size + 2) + 1):
        board.color[p] = BORDER
        board.head[p] = p
        board.next[p] = p
        board.liberties[p] = 0
        board.empties[p] = 0
        board.slot[p] = 0
    empty_count = 0
    for row in range(size):
        for col in range(size):
            p = (row + 1) * stride + col + 1
            board.color[p] = EMPTY
            board.empties[empty_count] = p
            board.slot[p] = empty_count
            empty_count += 1
    board.info[:] = 0
    board.info[SIZE] = size
    board.info[TO_PLAY] = BLACK
    board.info[EMPTY_COUNT] = empty_count


@kernel(inline=True)
def clear_all(boards, size):  # type: ignore[no-untyped-def]
    """Make every one of many boards the empty board."""
    for i in range(boards.color.shape[0]):
        clear(board_at(boards, i), size)


@kernel(inline=True)
def copy_board(source, target):  # type: ignore[no-untyped-def]
    """Copy one board onto another of the same size."""
    copy_into(source.color, target.color)  # one loop an array: each becomes one memory copy
    copy_into(source.head, target.head)
    copy_into(source.next, target.next)
    copy_into(source.liberties, target.liberties)
    copy_into(source.empties, target.empties)
    copy_into(source.slot, target.slot)
    for k in range(INFO_LENGTH):
        target.info[k] = source.info[k]


@kernel
def set_stones(board, cells):  # type: ignore[no-untyped-def]
    """Make `board` the position with these stones, Black to play; cells: uint8[P] as `Board.color`.

    Returns False, with the board unusable, if some string has no liberty.
    """
    size = board.info[SIZE]
    clear(board, size)
    stack = stack_array(cells.shape[0], np.int64)
    for p in range(cells.shape[0]):
        if cells[p] == BLACK or cells[p] == WHITE:
            board.color[p] = cells[p]
            board.info[HASH] ^= ZOBRIST[cells[p], p]
            _take_from_empties(board, p)
            board.head[p] = NO_CELL
    for p in range(cells.shape[0]):
        if (cells[p] == BLACK or cells[p] == WHITE) and board.head[p] == NO_CELL:
            if not _name_string(board, p, stack):
                return False
    return True


@kernel
def _name_string(board, first, stack):  # type: ignore[no-untyped-def]
    """Link the stones connected to `first` into one string and count its liberties; False if it has none."""
    stride = board.info[SIZE] + 1
    color = board.color[first]
    liberties = 0
    depth = 1
    stack[0] = first
    board.head[first] = first
    while depth > 0:
        depth -= 1
        p = stack[depth]
        for q in (p - 1, p + 1, p - stride, p + stride):
            if board.color[q] == EMPTY:
                liberties += weight(q)
            elif board.color[q] == color and board.head[q] == NO_CELL:
                board.head[q] = first
                board.next[q] = board.next[first]
                board.next[first] = q
                stack[depth] = q
                depth += 1
    board.liberties[first] = liberties
    return liberties != 0


@kernel(inline=True)
def weight(p):  # type: ignore[no-untyped-def]
    """The packed sums of one pseudo-liberty at cell p."""
    return 1 + (p << _COUNT_BITS) + ((p * p) << (_COUNT_BITS + _CELLS_BITS))


@kernel(inline=True)
def pseudo_liberties(liberties):  # type: ignore[no-untyped-def]
    """How many pseudo-liberties are packed here."""
    return liberties & _COUNT_MASK


@kernel(inline=True)
def is_only_liberty(liberties, p):  # type: ignore[no-untyped-def]
    """Whether a string with these packed liberties has p as its one and only liberty."""
    return liberties == (liberties & _COUNT_MASK) * weight(p)


@kernel(inline=True)
def atari_cell(liberties):  # type: ignore[no-untyped-def]
    """The only liberty of a string with these packed liberties, or NO_CELL if it has more than one."""
    count = liberties & _COUNT_MASK
    cells = (liberties >> _COUNT_BITS) & _CELLS_MASK
    squares = liberties >> (_COUNT_BITS + _CELLS_BITS)
    if count * squares != cells * cells or count == 0:
        return NO_CELL
    return np.int64(np.uint32(cells) // np.uint32(count))


@kernel(inline=True)
def place(board, p, color):  # type: ignore[no-untyped-def]
    """Put a stone on the empty cell p, take off what it captures (itself included), set the ko cell.

    Legality is the caller's business. Returns the number of stones captured from the opponent.
    """
    u = np.uint64
    stone_color, head, liberties = board.color, board.head, board.liberties
    stride = board.info[SIZE] + 1
    n0, n1, n2, n3 = u(p - 1), u(p + 1), u(p - stride), u(p + stride)
    c0, c1, c2, c3 = stone_color[n0], stone_color[n1], stone_color[n2], stone_color[n3]
    opponent = 3 - color
    w = weight(p)

    _take_from_empties(board, p)
    board.info[HASH] ^= ZOBRIST[color, p]
    stone_color[u(p)] = color
    head[u(p)] = p
    board.next[u(p)] = p
    own = 0
    alone = True
    if c0 == EMPTY:
        own += weight(p - 1)
    elif c0 != BORDER:
        liberties[head[n0]] -= w
    if c1 == EMPTY:
        own += weight(p + 1)
    elif c1 != BORDER:
        liberties[head[n1]] -= w
    if c2 == EMPTY:
        own += weight(p - stride)
    elif c2 != BORDER:
        liberties[head[n2]] -= w
    if c3 == EMPTY:
        own += weight(p + stride)
    elif c3 != BORDER:
        liberties[head[n3]] -= w
    liberties[u(p)] = own

    if c0 == color:
        alone = False
        _join(board, p, n0)
    if c1 == color:
        alone = False
        _join(board, p, n1)
    if c2 == color:
        alone = False
        _join(board, p, n2)
    if c3 == color:
        alone = False
        _join(board, p, n3)

    captured = 0
    ko = NO_CELL
    if c0 == opponent and liberties[head[n0]] == 0:
        captured += _lift(board, n0, opponent)
        ko = p - 1
    if c1 == opponent and stone_color[n1] == opponent and liberties[head[n1]] == 0:
        captured += _lift(board, n1, opponent)
        ko = p + 1
    if c2 == opponent and stone_color[n2] == opponent and liberties[head[n2]] == 0:
        captured += _lift(board, n2, opponent)
        ko = p - stride
    if c3 == opponent and stone_color[n3] == opponent and liberties[head[n3]] == 0:
        captured += _lift(board, n3, opponent)
        ko = p + stride

    board.info[KO] = NO_CELL
    if captured > 0:
        if captured == 1 and alone and liberties[u(p)] & _COUNT_MASK == 1:
            board.info[KO] = ko
        board.info[PRISONERS_OF_BLACK + color - 1] += captured
    elif liberties[head[u(p)]] == 0:
        board.info[PRISONERS_OF_BLACK + opponent - 1] += _lift(board, u(p), color)
    return captured


@kernel(inline=True)
def _take_from_empties(board, p):  # type: ignore[no-untyped-def]
    u = np.uint64
    last = board.info[EMPTY_COUNT] - 1
    board.info[EMPTY_COUNT] = last
    moved = board.empties[u(last)]
    slot = board.slot[u(p)]
    board.empties[slot] = moved
    board.slot[moved] = slot


@kernel(inline=True)
def _join(board, p, neighbour):  # type: ignore[no-untyped-def]
    """Join the string of the new stone p with the string of its neighbour of the same colour."""
    u = np.uint64
    head, following = board.head, board.next
    kept, gone = head[neighbour], head[u(p)]
    if kept == gone:
        return
    s, t = following[gone], following[kept]
    while s != gone and t != kept:  # walk both; whichever list ends first is the shorter
        s, t = following[s], following[t]
    if s != gone:
        kept, gone = gone, kept
    board.liberties[kept] += board.liberties[gone]
    s = gone
    while True:
        head[s] = kept
        s = following[s]
        if s == gone:
            break
    following[kept], following[gone] = following[gone], following[kept]


@kernel(inline=True)
def _lift(board, stone, color):  # type: ignore[no-untyped-def]
    """Take a whole string off the board; returns its number of stones."""
    u = np.uint64
    stone_color, head, following, liberties = board.color, board.head, board.next, board.liberties
    stride = board.info[SIZE] + 1
    first = head[stone]
    lifted = 0
    empty_count = board.info[EMPTY_COUNT]
    key = board.info[HASH]
    s = first
    while True:
        stone_color[s] = EMPTY
        board.empties[u(empty_count)] = s
        board.slot[s] = empty_count
        key ^= ZOBRIST[color, s]
        empty_count += 1
        lifted += 1
        s = following[s]
        if s == first:
            break
    board.info[EMPTY_COUNT] = empty_count
    board.info[HASH] = key
    while True:
        p = np.int64(s)
        w = weight(p)
        n = u(p - 1)
        if stone_color[n] == BLACK or stone_color[n] == WHITE:
            liberties[head[n]] += w
        n = u(p + 1)
        if stone_color[n] == BLACK or stone_color[n] == WHITE:
            liberties[head[n]] += w
        n = u(p - stride)
        if stone_color[n] == BLACK or stone_color[n] == WHITE:
            liberties[head[n]] += w
        n = u(p + stride)
        if stone_color[n] == BLACK or stone_color[n] == WHITE:
            liberties[head[n]] += w
        s = following[s]
        if s == first:
            break
    return lifted


# ----------------------------------------------------------------------------------------- Zobrist keys
# Zobrist keys: one random 64-bit number for each (colour, cell); a position's hash is the XOR of its stones'.
#
# The empty board hashes to 0. The keys are drawn once from a fixed seed, so hashes mean the same in every process and
# may be stored. `ZOBRIST` has shape int64[3, cells of a 25x25 board]; row 0 (no stone) is zero. `WHITE_TO_PLAY` is
# XORed in where the player to move counts too (situational superko, search caches).

_CELLS = 26 * 27 + 1


def _draw_keys() -> NDArray[np.int64]:
    rng = np.random.default_rng(0x7E46E4)
    keys = rng.integers(np.iinfo(np.int64).min, np.iinfo(np.int64).max, (3, _CELLS), np.int64, endpoint=True)
    keys[0] = 0
    return keys


ZOBRIST: Final = _draw_keys()
WHITE_TO_PLAY: Final = int(np.random.default_rng(0x7E46E5).integers(1, np.iinfo(np.int64).max))
