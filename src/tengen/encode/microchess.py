"""Microchess positions as feature planes: 5 rows of 4, zeros and ones.

| name                       | planes | shows                                                                    |
|----------------------------|--------|--------------------------------------------------------------------------|
| `microchess`               | 21     | the pieces, castling rights, repetition, the clock of the fifty moves    |
| `microchess-ncsoft`        | 31     | the same, and how near the end of the 80 plies is                        |
| `microchess-lecture`       | 14     | the pieces and castling rights, as in the Microchess lecture with mirror |
| `microchess-lecture-fixed` | 15     | the same without its option mirror, and who is to move                   |

All but the last show the board as the player to move sees it: own pieces first, row 0 the rank farthest away, for Black
everything turned by half a circle. `microchess-lecture-fixed` always shows it as White sees it. A policy's actions are
in the player's view in any case (`games/microchess/board.py`).

A clock is a row of planes like the marks of a thermometer: all ones once it has reached the plane's number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.encode.encoder import Encoder, EncoderError
from tengen.games.microchess.board import (
    BLACK,
    BLACK_PIECE,
    CASTLING,
    FILES,
    HALFMOVE,
    PLY,
    RANKS,
    SQUARES,
    TO_PLAY,
    WHITE,
    Board,
    board_at,
)
from tengen.games.microchess.moves import earlier_occurrences

HALFMOVE_MARKS: Final = (10, 20, 40, 60, 80, 90)
PLY_MARKS: Final = (20, 40, 50, 60, 66, 70, 74, 76, 78, 79)

_PIECE_PLANES = 12
_REPEATED, _CLOCK, _PLIES = 14, 15, 15 + len(HALFMOVE_MARKS)
_KINDS = ("pawn", "knight", "bishop", "rook", "queen", "king")

_LECTURE_MEANINGS = (
    *(f"{whose} {kind}s" for whose in ("own", "enemy") for kind in _KINDS),
    "ones if the player to move may still castle",
    "ones if the enemy may still castle",
)
MEANINGS = (
    *_LECTURE_MEANINGS,
    "ones if this position was there before",
    *(f"ones after {mark} plies without a capture or pawn move" for mark in HALFMOVE_MARKS),
)
NCSOFT_MEANINGS = (*MEANINGS, *(f"ones after {mark} of the 80 plies" for mark in PLY_MARKS))
FIXED_MEANINGS = (
    *(f"{whose} {kind}s" for whose in ("White's", "Black's") for kind in _KINDS),
    "ones if White may still castle",
    "ones if Black may still castle",
    "ones if White is to move",
)


def _places() -> NDArray[np.int64]:
    """int64[2, 20]: where a square stands in a plane, as White (row 0) and as Black (row 1) sees the board."""
    seen = np.arange(SQUARES)
    white = (RANKS - 1 - seen // FILES) * FILES + seen % FILES
    return np.stack([white, white[::-1]]).astype(np.int64)


_PLACES = _places()


@kernel(inline=True)
def _show_pieces(board, viewer, out):  # type: ignore[no-untyped-def]
    """Pieces and castling rights to out: uint8[14 or more, 20], those of `viewer` first."""
    out[:] = 0
    row = np.uint64(viewer - WHITE)
    for s in range(SQUARES):
        piece = np.int64(board.squares[s])
        if piece:
            plane = piece - 1
            if viewer == BLACK:
                plane = (plane + BLACK_PIECE) % _PIECE_PLANES
            out[np.uint64(plane), np.uint64(_PLACES[row, np.uint64(s)])] = 1
    for bit in range(2):
        if board.info[CASTLING] >> bit & 1:
            out[_PIECE_PLANES + (bit if viewer == WHITE else 1 - bit)] = 1


@kernel(inline=True)
def _show_clock(reading, marks, out):  # type: ignore[no-untyped-def]
    for k in range(len(marks)):
        if reading >= marks[k]:
            out[k] = 1


@kernel
def encode_microchess(boards, count, out):  # type: ignore[no-untyped-def]
    """Write the first `count` games to out: uint8[n, 21, 20]."""
    for i in range(count):
        board = board_at(boards, i)
        _show_pieces(board, board.info[TO_PLAY], out[i])
        if earlier_occurrences(board):
            out[i, _REPEATED] = 1
        _show_clock(board.info[HALFMOVE], HALFMOVE_MARKS, out[i, _CLOCK:_PLIES])


@kernel
def encode_microchess_ncsoft(boards, count, out):  # type: ignore[no-untyped-def]
    """Write the first `count` games to out: uint8[n, 31, 20]."""
    encode_microchess(boards, count, out)
    for i in range(count):
        _show_clock(boards.info[i, PLY], PLY_MARKS, out[i, _PLIES:])


@kernel
def encode_microchess_lecture(boards, count, out):  # type: ignore[no-untyped-def]
    """Write the first `count` games to out: uint8[n, 14, 20]."""
    for i in range(count):
        board = board_at(boards, i)
        _show_pieces(board, board.info[TO_PLAY], out[i])


@kernel
def encode_microchess_lecture_fixed(boards, count, out):  # type: ignore[no-untyped-def]
    """Write the first `count` games to out: uint8[n, 15, 20]."""
    for i in range(count):
        board = board_at(boards, i)
        _show_pieces(board, WHITE, out[i])
        if board.info[TO_PLAY] == WHITE:
            out[i, 14] = 1


@dataclass(frozen=True)
class MicrochessEncoder(Encoder):
    """A way to show positions of Microchess to a network."""

    game: ClassVar[str] = "microchess"

    kernel: Callable[[Board, int, NDArray[np.uint8]], None]
    """Writes the first `count` of B games to uint8[n, planes, 20]."""

    def encode_games(self, games: Board, count: int, out: NDArray[np.uint8]) -> None:
        """Write the first `count` games to the first rows of out: uint8[n, planes, 5, 4], in C order."""
        shape = (self.planes, RANKS, FILES)
        if len(out) < count or out.shape[1:] != shape or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise EncoderError(
                f"{self.name} writes {count} positions to a C-contiguous uint8 array of shape (n, *{shape}) "
                f"with n that large, not to one of {out.dtype} and shape {out.shape}"
            )
        self.kernel(games, count, out.reshape(len(out), self.planes, SQUARES))


MICROCHESS_ENCODERS = (
    MicrochessEncoder("microchess", MEANINGS, encode_microchess),
    MicrochessEncoder("microchess-ncsoft", NCSOFT_MEANINGS, encode_microchess_ncsoft),
    MicrochessEncoder("microchess-lecture", _LECTURE_MEANINGS, encode_microchess_lecture),
    MicrochessEncoder("microchess-lecture-fixed", FIXED_MEANINGS, encode_microchess_lecture_fixed),
)
