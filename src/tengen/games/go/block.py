"""A board in one block of memory, and the kernels behind `State`.

Python pays for every array that it makes (0.1 us) or passes to a kernel (0.05 us), which is more than most moves take.
So a state has one array, `block: int16[...]`. Its parts, P being the cells of the padded grid, are

    listed      int16              how many legal moves are known, or UNKNOWN
    size, flags int16              of the board, and of the rules
    legal       int16[size**2 + 1] the legal moves of the player to move: points in order, then -1 if passing is one
    info        int64[9]           the fields of `Board`, from a multiple of 8 bytes on
    liberties   int64[P]
    head, next, empties, slot      uint16[P] each
    filter      uint64[F]          64 * F bits, one set for each key of the history; F is 16 up to 6x6, else 64
    color       uint8[P]

A block is written by whoever makes it, and then never changed but for `listed` and `legal`, which are the same
whoever writes them. The history is `keys: int64[...]`, of which a state has one more entry than it has moves.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, view
from tengen.games.go.board import (
    EMPTY,
    HASH,
    INFO_LENGTH,
    KO,
    MOVES,
    NO_CELL,
    PASSES,
    SIZE,
    TO_PLAY,
    ZOBRIST,
    Board,
    cell_count,
    clear,
    set_stones,
)
from tengen.games.go.legality import (
    LEGAL,
    VOID_REPETITIONS,
    hash_after,
    is_last_liberty_of_neighbour,
    local_verdict,
    occurrences,
    play_move,
    position_key,
    verdict,
)
from tengen.games.go.rules import POSITIONAL, SITUATIONAL, SUICIDE, TERRITORY_KEPT

UNKNOWN = -1
OUTSIDE = -1  # the verdict on a point that the board does not have
VOID = -2  # the verdict on a legal move that leaves the game without result
FULL = -3  # no verdict: the history has no room
LEGAL_AT = 3  # where a block has its legal moves

_PASS = -1
_INFO = 4 * INFO_LENGTH


def board_of(block: NDArray[np.int16], size: int) -> Board:
    """The board of a block, as views."""
    cells = cell_count(size)
    info = 2 * _info_at(size)
    head = info + 2 * (_INFO + 4 * cells)
    return Board(
        np.ndarray(cells, np.uint8, block, head + 2 * (4 * cells + 4 * _filter_length(size))),
        np.ndarray(cells, np.uint16, block, head),
        np.ndarray(cells, np.uint16, block, head + 2 * cells),
        np.ndarray(cells, np.int64, block, info + 2 * _INFO),
        np.ndarray(cells, np.uint16, block, head + 4 * cells),
        np.ndarray(cells, np.uint16, block, head + 6 * cells),
        np.ndarray(INFO_LENGTH, np.int64, block, info),
    )


@cache
def _empty_block(size: int) -> NDArray[np.int16]:
    cells = cell_count(size)
    block = np.zeros(_info_at(size) + _INFO + 8 * cells + 4 * _filter_length(size) + (cells + 1) // 2, np.int16)
    block[0], block[1] = UNKNOWN, size
    clear(board_of(block, size), size)
    return block


def new_block(size: int, flags: int, stones: Mapping[int, int]) -> NDArray[np.int16] | None:
    """A block without history, Black to play, with these stones (cell to colour); None if some have no liberty."""
    block = _empty_block(size).copy()
    block[2] = flags
    if stones:
        board = board_of(block, size)
        cells = board.color.copy()
        cells[list(stones)] = list(stones.values())
        if not set_stones(board, cells):
            return None
    return block


# --------------------------------------------------------------------------------------------- kernels


@view
def _info_at(size: Any) -> Any:
    return (LEGAL_AT + size * size + 4) // 4 * 4


@view
def _filter_length(size: Any) -> Any:
    return 16 if size <= 6 else 64  # NumPy allocates what is below 1 kB, as 5x5 then is, faster


@view
def _parts(block):  # type: ignore[no-untyped-def]
    """(board, filter) of a block."""
    size = np.int64(block[1])
    cells = (size + 1) * (size + 2) + 1
    info = _info_at(size)
    head = info + _INFO + 4 * cells
    seen = head + 4 * cells
    color = seen + 4 * _filter_length(size)
    board = Board(
        block[color : color + (cells + 1) // 2].view(np.uint8)[:cells],
        block[head : head + cells].view(np.uint16),
        block[head + cells : head + 2 * cells].view(np.uint16),
        block[info + _INFO : head].view(np.int64),
        block[head + 2 * cells : head + 3 * cells].view(np.uint16),
        block[head + 3 * cells : seen].view(np.uint16),
        block[info : info + _INFO].view(np.int64),
    )
    return board, block[seen:color].view(np.uint64)


@kernel(inline=True)
def _arrive(block, board, seen):  # type: ignore[no-untyped-def]
    """Make what is not of the board fit a new position; returns its key."""
    key = position_key(board.info[HASH], board.info[TO_PLAY], np.int64(block[2]))
    seen[(key >> 6) & (seen.shape[0] - 1)] |= np.uint64(1) << np.uint64(key & 63)
    block[0] = UNKNOWN
    return key


@kernel
def begin(block, keys, color):  # type: ignore[no-untyped-def]
    """Let `color` begin a game, and its history, with the position of a block."""
    board, seen = _parts(block)
    board.info[TO_PLAY] = color
    seen[:] = 0
    keys[0] = _arrive(block, board, seen)


@kernel
def turn(block, color):  # type: ignore[no-untyped-def]
    """Give the turn to `color` in the middle of a game; nobody is bound by a ko then."""
    board, _ = _parts(block)
    board.info[TO_PLAY] = color
    board.info[KO] = NO_CELL
    block[0] = UNKNOWN


@kernel(inline=True)
def _cell(point, size):  # type: ignore[no-untyped-def]
    return NO_CELL if point == _PASS else point + point // size + size + 2


@kernel(inline=True)
def _judge(block, board, keys, point, color):  # type: ignore[no-untyped-def]
    size = board.info[SIZE]
    if not 0 <= point < size * size:
        return OUTSIDE
    if color == board.info[TO_PLAY] and block[0] != UNKNOWN:
        low, high = np.int64(LEGAL_AT), LEGAL_AT + np.int64(block[0])
        if block[high - 1] == _PASS:
            high -= 1
        while low < high:
            middle = (low + high) // 2
            if block[middle] == point:
                return LEGAL
            if block[middle] < point:
                low = middle + 1
            else:
                high = middle
    return verdict(board, _cell(point, size), color, np.int64(block[2]), keys[: board.info[MOVES] + 1])


@kernel
def judge(block, keys, point, color):  # type: ignore[no-untyped-def]
    """The verdict on `color` playing a point; what has been found legal is not examined again."""
    board, _ = _parts(block)
    return _judge(block, board, keys, point, color)


@kernel
def _list_legal(block, board, seen, keys):  # type: ignore[no-untyped-def]
    size, color, flags = board.info[SIZE], board.info[TO_PLAY], np.int64(block[2])
    superko = flags & (POSITIONAL | SITUATIONAL) != 0
    at = LEGAL_AT
    for row in range(size):
        for col in range(size):
            p = (row + 1) * (size + 1) + col + 1
            if board.color[p] != EMPTY or local_verdict(board, p, color, flags) != LEGAL:
                continue
            if superko:
                key = board.info[HASH] ^ ZOBRIST[color, p]
                if flags & SUICIDE or is_last_liberty_of_neighbour(board, p):  # stones may come off
                    key = hash_after(board, p, color)
                key = position_key(key, 3 - color, flags)
                if seen[(key >> 6) & (seen.shape[0] - 1)] >> np.uint64(key & 63) & np.uint64(1):
                    if occurrences(key, keys[: board.info[MOVES] + 1]) > 0:
                        continue
            block[at] = row * size + col
            at += 1
    if flags & TERRITORY_KEPT == 0 or at == LEGAL_AT:
        block[at] = _PASS
        at += 1
    return at - LEGAL_AT


@kernel
def play(block, keys, point, color):  # type: ignore[no-untyped-def]
    """If it is legal, play a point, or pass (-1), in place, and add the position to the history. Returns the verdict.

    Whoever had the legal moves listed before the move gets those after it, too, which spares the next call.
    """
    board, seen = _parts(block)
    n, listed = board.info[MOVES] + 1, block[0] != UNKNOWN
    if n == keys.shape[0]:
        return FULL
    if point != _PASS:
        found = _judge(block, board, keys, point, color)
        if found != LEGAL:
            return found
    play_move(board, _cell(point, board.info[SIZE]), color)
    key = _arrive(block, board, seen)
    keys[n] = key
    if block[2] & (POSITIONAL | SITUATIONAL) == 0 and board.info[PASSES] < 2 and n + 1 >= 2 * VOID_REPETITIONS:
        if occurrences(key, keys[: n + 1]) >= VOID_REPETITIONS:
            return VOID
    if listed:
        block[0] = _list_legal(block, board, seen, keys)
    return LEGAL


@kernel
def replay(block, moves):  # type: ignore[no-untyped-def]
    """Play moves: int64[M], each 4 * (point or -1) + colour, that are known to be legal."""
    board, seen = _parts(block)
    for i in range(moves.shape[0]):
        play_move(board, _cell(moves[i] >> 2, board.info[SIZE]), moves[i] & 3)
        _arrive(block, board, seen)


@kernel
def list_legal(block, keys):  # type: ignore[no-untyped-def]
    """Write the legal moves of the player to move to the block, but not `listed`; returns how many there are.

    Superko costs little: the filter over the history lets nearly every move pass at once.
    """
    board, seen = _parts(block)
    return _list_legal(block, board, seen, keys)
