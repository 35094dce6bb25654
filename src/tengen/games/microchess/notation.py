"""Squares, moves and positions as text: `c1b3`, `Nb3`, and FEN.

Moves are read and written the UCI way (`d4d5q`; castling as the king's step, `d1b1`), and positions in FEN with ranks
of four files. White's right to castle is `Q` and Black's `k`: the sides of the board on which they do it.
"""

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen.games.microchess.board import (
    BLACK,
    BLACK_MAY_CASTLE,
    BLACK_PIECE,
    FIFTY_MOVES,
    FILES,
    KING,
    PAWN,
    RANKS,
    ROOK,
    SQUARES,
    WHITE,
    WHITE_MAY_CASTLE,
    Board,
    allocate,
    set_up,
)
from tengen.games.microchess.moves import is_attacked
from tengen.games.state import RESIGN

START_FEN: Final = "knbr/p3/4/3P/RBNK w Qk - 0 1"
PIECES: Final = ".PNBRQKpnbrqk"
PIECE_NAMES: Final = ("nothing", "pawn", "knight", "bishop", "rook", "queen", "king")
FILE_NAMES, RANK_NAMES = "abcd", "12345"

_PROMOTIONS = " nbrq"
_UCI = re.compile(r"([a-d][1-5])([a-d][1-5])([nbrq]?)")


class BadFen(ValueError):
    """A text that is no position of this game; the message says why."""


def square_name(square: int) -> str:
    """`a1` for 0, `d5` for 19."""
    return FILE_NAMES[square % FILES] + RANK_NAMES[square // FILES]


def parse_square(text: str) -> int:
    """0 for `a1`, 19 for `d5`."""
    if len(text) != 2 or text[0] not in FILE_NAMES or text[1] not in RANK_NAMES:
        raise ValueError(f"{text[:20]!r} is not a square: write a file a to d and a rank 1 to 5")
    return FILE_NAMES.index(text[0]) + FILES * RANK_NAMES.index(text[1])


def make_move(source: int, target: int, promotion: int = 0) -> int:
    """The number of a move; promotion 0 for none, 1 to 4 for N, B, R, Q."""
    return source + SQUARES * target + SQUARES * SQUARES * promotion


def move_parts(move: int) -> tuple[int, int, int]:
    """(from, to, promotion) of a move."""
    return move % SQUARES, move // SQUARES % SQUARES, move // (SQUARES * SQUARES)


def to_uci(move: int) -> str:
    """`c1b3`, `d4d5q`; `resign` for RESIGN."""
    if move == RESIGN:
        return "resign"
    source, target, promotion = move_parts(move)
    return square_name(source) + square_name(target) + _PROMOTIONS[promotion].strip()


def from_uci(text: str) -> int:
    """The move of a text like `c1b3`, whether or not some position allows it."""
    found = _UCI.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text[:20]!r} is not a move: write it like c1b3, or d4d5q to promote")
    source, target, piece = found.groups()
    return make_move(parse_square(source), parse_square(target), _PROMOTIONS.index(piece) if piece else 0)


def board_from_fen(text: str, flags: int) -> Board:
    """The position of a FEN text under rules with these flags; BadFen says what is wrong with it."""
    fields = text.split()
    if not 2 <= len(fields) <= 6:
        raise BadFen(f"a FEN has 2 to 6 fields like {START_FEN!r}, and {text[:60]!r} has {len(fields)}")
    placement, turn, castling, en_passant, halfmove, number = (*fields, *("-", "-", "0", "1")[len(fields) - 2 :])
    if turn not in ("w", "b"):
        raise BadFen(f"the second field of a FEN is w or b, not {turn[:20]!r}")
    if en_passant != "-":
        raise BadFen(f"there is no en passant in this game: the fourth field of a FEN is '-', not {en_passant[:20]!r}")
    squares = _squares(placement)
    to_play = WHITE if turn == "w" else BLACK
    plies = 2 * (_number(number, 1, 9999, "move number") - 1) + (to_play == BLACK)
    clock = _number(halfmove, 0, FIFTY_MOVES, "count of plies without a capture or pawn move")
    board = allocate()
    set_up(board, squares, to_play, _rights(castling, squares), clock, plies, flags)
    if is_attacked(board, 3 - to_play):
        raise BadFen("the side that is not to move is in check, which cannot be")
    return board


def board_to_fen(squares: NDArray[np.int8], to_play: int, castling: int, halfmove: int, ply: int) -> str:
    """A position as FEN; squares: int8[20]."""
    rows = []
    for rank in reversed(range(RANKS)):
        row = "".join(PIECES[piece] for piece in squares[rank * FILES : (rank + 1) * FILES])
        rows.append(re.sub(r"\.+", lambda gap: str(len(gap[0])), row))
    rights = ("Q" if castling & WHITE_MAY_CASTLE else "") + ("k" if castling & BLACK_MAY_CASTLE else "")
    turn = "w" if to_play == WHITE else "b"
    return f"{'/'.join(rows)} {turn} {rights or '-'} - {halfmove} {ply // 2 + 1}"


def _squares(placement: str) -> NDArray[np.int8]:
    rows = placement.split("/")
    if len(rows) != RANKS:
        raise BadFen(f"a FEN of this game has {RANKS} ranks, and {placement[:40]!r} has {len(rows)}")
    squares = np.zeros(SQUARES, np.int8)
    for rank, row in zip(reversed(range(RANKS)), rows):
        wide = re.sub(r"[1-4]", lambda gap: "." * int(gap[0]), row)
        if len(wide) != FILES or any(letter not in PIECES for letter in wide) or "." in row:
            raise BadFen(f"rank {rank + 1} of a FEN has four files of PNBRQK, pnbrqk and gaps, not {row[:20]!r}")
        squares[rank * FILES : (rank + 1) * FILES] = [PIECES.index(letter) for letter in wide]
    for king, owner in ((KING, "White"), (KING + BLACK_PIECE, "Black")):
        if np.count_nonzero(squares == king) != 1:
            raise BadFen(f"{owner} has {np.count_nonzero(squares == king)} kings in this FEN, and needs one")
    last_ranks = np.concatenate([squares[:FILES], squares[-FILES:]])
    if np.isin(last_ranks, (PAWN, PAWN + BLACK_PIECE)).any():
        raise BadFen("a pawn cannot stand on rank 1 or 5")
    return squares


def _rights(castling: str, squares: NDArray[np.int8]) -> int:
    rights = 0
    for letter in "" if castling == "-" else castling:
        white = letter == "Q"
        if letter not in "Qk" or rights & (right := WHITE_MAY_CASTLE if white else BLACK_MAY_CASTLE):
            raise BadFen(f"castling rights in a FEN are Q, k, Qk or -, not {castling[:20]!r}")
        king, rook, side = (3, 0, 0) if white else (16, 19, BLACK_PIECE)
        if squares[king] != KING + side or squares[rook] != ROOK + side:
            raise BadFen(f"castling right {letter} needs king and rook on {square_name(king)} and {square_name(rook)}")
        rights |= right
    return rights


def _number(text: str, low: int, high: int, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and low <= int(text) <= high):
        raise BadFen(f"the {what} in a FEN is a number from {low} to {high}, not {text[:20]!r}")
    return int(text)
