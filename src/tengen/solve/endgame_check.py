"""The full consistency check: every value of every table must follow from those of its successors.

The successors come from the game's own rules (`games/microchess/moves.py`, `board.py`), which share no code with the
solver. If all positions agree, the tables are right: by induction on the distance for wins and losses, and what always
has a drawing move and never a winning one is a draw.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array, stack_zeros
from tengen._machine import cores
from tengen.games.microchess.board import (
    BLACK,
    BLACK_MAY_CASTLE,
    BLACK_PIECE,
    CASTLING,
    DOUBLE_STEP,
    EMPTY,
    INFO_LENGTH,
    KING,
    ROOK,
    SQUARES,
    TO_PLAY,
    WHITE,
    WHITE_MAY_CASTLE,
    Board,
    copy_board,
    play_move,
    set_up,
)
from tengen.games.microchess.moves import MAX_MOVES, is_attacked, is_dead, legal_moves
from tengen.games.microchess.notation import board_to_fen
from tengen.solve.endgame_index import (
    DRAW,
    UNUSED,
    Material,
    all_materials,
    catalogue_of,
    in_memory,
    locate_board,
    look_up,
    place,
)
from tengen.solve.endgame_tables import open_table

_KEPT_TABLES = 64  # unpacked in memory while others are checked against them
_A1, _D5 = 0, 19
_ASTRAY = -1  # the expected value of a position that the catalogue puts elsewhere, or a successor nowhere


@dataclass(frozen=True)
class Checked:
    """What the check of one table found."""

    material: Material
    longest: str  # FEN of a position with the longest mate, empty if there is no mate
    faults: int  # positions whose value does not follow from their successors
    fault: str  # the first of them in words, empty if there is none


def check_tables(folder: Path, pieces: int, double_step: bool = True, workers: int | None = None) -> Iterator[Checked]:
    """Check all tables with up to so many pieces, in the order of `all_materials`; an error if one cannot be read."""
    load = lru_cache(_KEPT_TABLES)(lambda material: open_table(folder, material, double_step).values())
    with ThreadPoolExecutor(workers or cores(), thread_name_prefix="tables") as pool:
        futures = [pool.submit(check_table, material, double_step, load) for material in all_materials(pieces)]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def check_table(material: Material, double_step: bool, load: Callable[[Material], NDArray[np.uint8]]) -> Checked:
    """Check one table; `load` gives the values of any."""
    memory = in_memory([material, *material.successors()], load)
    faults, first, expected = _check(memory, _codes(material), DOUBLE_STEP if double_step else 0)
    values = load(material)
    fault = _describe(material, int(first), int(values[first]), int(expected)) if faults else ""
    return Checked(material, longest_mate(material, values), int(faults), fault)


def longest_mate(material: Material, values: NDArray[np.uint8]) -> str:
    """FEN of a position with the longest mate; empty if there is no mate at all."""
    decided = np.where(values == UNUSED, DRAW, values)
    longest = int(np.argmax(decided))
    return position_fen(material, longest) if decided[longest] != DRAW else ""


def position_fen(material: Material, index: int) -> str:
    """The position at an index of a material's table."""
    catalogue = catalogue_of([material])
    squares = np.zeros(SQUARES, np.int8)
    _put_on_board(catalogue, _codes(material), index, squares, np.zeros(5, np.int64))
    black = index >= catalogue.counts[0, 1]
    return board_to_fen(squares, BLACK if black else WHITE, material.rights, 0, int(black))


def _describe(material: Material, index: int, value: int, expected: int) -> str:
    if expected == _ASTRAY:
        return f"{position_fen(material, index)} or a position after it is not where the index says"
    return f"{position_fen(material, index)} has value {value}, but {expected} follows from its moves"


def _codes(material: Material) -> NDArray[np.int64]:
    return np.array((KING, KING + BLACK_PIECE, *material.codes), np.int64)


# --------------------------------------------------------------------------------------------- kernels


@kernel
def _check(memory, codes, flags):  # type: ignore[no-untyped-def]
    """Check table 0: (how many faults, the index of the first, the value expected there); codes: int64[pieces]."""
    counts = memory.catalogue.counts[0]
    rights = counts[3]
    squares, places = stack_zeros(SQUARES, np.int8), stack_zeros(5, np.int64)
    # The history of a game is of no interest here: two keys are as many as one move writes.
    board = Board(stack_zeros(SQUARES, np.int8), stack_zeros(INFO_LENGTH, np.int64), stack_zeros(2, np.int64))
    after = Board(stack_zeros(SQUARES, np.int8), stack_zeros(INFO_LENGTH, np.int64), stack_zeros(2, np.int64))
    others, other_places = stack_zeros(3, np.int64), stack_zeros(3, np.int64)
    moves = stack_array(MAX_MOVES, np.int16)
    faults, first, expected_first = 0, -1, 0
    for index in range(2 * counts[1]):
        legal = _put_on_board(memory.catalogue, codes, index, squares, places)
        to_play = BLACK if index >= counts[1] else WHITE
        if legal:
            set_up(board, squares, to_play, rights, 0, 0, flags)
            legal = not is_attacked(board, 3 - to_play)
        expected = _derive(board, after, moves, index, memory, others, other_places) if legal else UNUSED
        if expected != memory.values[index]:
            if faults == 0:
                first, expected_first = index, expected
            faults += 1
    return faults, first, expected_first


@kernel
def _put_on_board(catalogue, codes, index, squares, places):  # type: ignore[no-untyped-def]
    """Write the pieces of a position to squares: int8[20]; whether each has one, and castling its kings and rooks."""
    counts = catalogue.counts[0]
    place(index % counts[1], places, catalogue.group[0], catalogue.radix[0], counts[2])
    squares[:] = EMPTY
    for i in range(codes.shape[0]):
        if squares[places[i]] != EMPTY:
            return False
        squares[places[i]] = codes[i]
    if counts[3] & WHITE_MAY_CASTLE and squares[_A1] != ROOK:
        return False
    return not counts[3] & BLACK_MAY_CASTLE or squares[_D5] == ROOK + BLACK_PIECE


@kernel
def _derive(board, after, moves, index, memory, codes, places):  # type: ignore[no-untyped-def]
    """The value of a legal position that follows from those of its successors; the other arrays are to work with."""
    info = board.info
    if locate_board(board.squares, info[TO_PLAY], info[CASTLING], codes, places, memory.catalogue) != (0, index):
        return _ASTRAY
    count, in_check = legal_moves(board, moves)
    if count == 0:
        return 1 if in_check else DRAW
    win, loss, drawn = 256, 0, is_dead(board)
    for m in range(count):
        copy_board(board, after)
        play_move(after, np.int64(moves[m]))
        info = after.info
        value = look_up(after.squares, info[TO_PLAY], info[CASTLING], codes, places, memory)
        if value == UNUSED:
            return _ASTRAY
        if value == DRAW:
            drawn = True
        elif value & 1:
            win = min(win, value + 1)
        else:
            loss = max(loss, value + 1)
    if win < 256:
        return win
    return DRAW if drawn else loss
