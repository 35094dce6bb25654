"""Squares, moves and positions as text: `c1b3`, `Nb3`, and FEN; and the board as text and as a picture.

Moves are read and written the UCI way (`d4d5q`; castling as the king's step, `d1b1`), and positions in FEN with ranks
of four files. White's right to castle is `Q` and Black's `k`: the sides of the board on which they do it.
"""

import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from tengen.games.microchess.board import (
    BLACK,
    BLACK_MAY_CASTLE,
    BLACK_PIECE,
    EMPTY,
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

if TYPE_CHECKING:
    from tengen.games.microchess.state import State


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


# ------------------------------------------------------------------- moves as chess players write them
# SAN: `Nb3`, `Rxa4+`, `d5=Q#`.
#
# Castling is `O-O-O` for White and `O-O` for Black: towards the queen's and the king's side of a chess board, as
# Fairy-Stockfish writes it. Either is understood of either side, since each can castle one way only.


_SAN = re.compile(r"([NBRQK]?)([a-d]?)([1-5]?)[x-]?([a-d][1-5])(?:=?([NBRQ]))?")
_CASTLING = ("O-O", "O-O-O", "0-0", "0-0-0")


def to_san(state: "State", move: int) -> str:
    """A legal move with no more than is needed to tell it from others, and + or # if it checks or mates."""
    after = state.play(move)
    mark = "" if not after.in_check else "#" if after.end_reason == "checkmate" else "+"
    return _name(state, move) + mark


def from_san(state: "State", text: str) -> int:
    """The one legal move that a text can mean; ValueError if there is none, or more than one."""
    plain = text.strip().rstrip("+#!?")
    found = _SAN.fullmatch(plain)
    if plain in _CASTLING:
        fitting = [move for move in state.legal_moves() if _castles(state, move)]
    elif found is not None:
        fitting = [move for move in state.legal_moves() if _fits(state, move, found.groups(default=""))]
    else:
        raise ValueError(f"{text[:20]!r} is not a move: write it like c1b3 or Nb3, and d4d5q or d5=Q to promote")
    if len(fitting) != 1:
        choice = " and ".join(_name(state, move) for move in fitting) or "none"
        raise ValueError(f"{text[:20]!r} has to mean one of the legal moves, and {choice} fits")
    return fitting[0]


def _kind(state: "State", move: int) -> int:
    return (state.piece_at(move_parts(move)[0]) - 1) % BLACK_PIECE + 1


def _castles(state: "State", move: int) -> bool:
    source, target, _ = move_parts(move)
    return _kind(state, move) == KING and abs(source - target) == 2


def _name(state: "State", move: int) -> str:
    """The move in SAN without a mark for check."""
    if _castles(state, move):
        return "O-O-O" if state.to_play == WHITE else "O-O"
    source, target, promotion = move_parts(move)
    kind, takes = _kind(state, move), "x" if state.piece_at(target) != EMPTY else ""
    if kind == PAWN:
        start = FILE_NAMES[source % FILES] if takes else ""
        return start + takes + square_name(target) + (f"={PIECES[promotion + 1]}" if promotion else "")
    return PIECES[kind] + _origin(state, move) + takes + square_name(target)


def _origin(state: "State", move: int) -> str:
    """The file, the rank or the square that tells this move from others of its kind of piece, if that is needed."""
    source, target, _ = move_parts(move)
    others = [
        move_parts(other)[0]
        for other in state.legal_moves()
        if other != move and move_parts(other)[1] == target and _kind(state, other) == _kind(state, move)
    ]
    if not others:
        return ""
    if all(other % FILES != source % FILES for other in others):
        return FILE_NAMES[source % FILES]
    if all(other // FILES != source // FILES for other in others):
        return RANK_NAMES[source // FILES]
    return square_name(source)


def _fits(state: "State", move: int, parts: tuple[str, ...]) -> bool:
    piece, file, rank, wanted, promoted = parts
    source, target, promotion = move_parts(move)
    return (
        target == parse_square(wanted)
        and PIECES[_kind(state, move)] == (piece or "P")
        and (not file or FILE_NAMES[source % FILES] == file)
        and (not rank or RANK_NAMES[source // FILES] == rank)
        and (PIECES[promotion + 1] if promotion else "") == promoted
        and not _castles(state, move)
    )


# ------------------------------------------------------------------- the board as text and as a picture

_SOLID = " ♟♞♝♜♛♚"  # the full shapes are drawn for both colours, and coloured
_LIGHT, _DARK, _LAST = "#f0d9b5", "#b58863", "#f7ec59"


def board_text(state: "State") -> str:
    """The board with coordinates, capitals White's, the last move's square in brackets."""
    last = _last_target(state)
    letters = "   " + " ".join(FILE_NAMES)
    lines = [letters]
    for rank in reversed(range(RANKS)):
        line = ""
        for square in range(rank * FILES, (rank + 1) * FILES):
            glyph = PIECES[state.piece_at(square)]
            if square == last:
                line += f"({glyph})"
            else:
                line += ("" if line.endswith(")") else " ") + glyph
        lines.append(f" {rank + 1}{line}{'' if line.endswith(')') else ' '}{rank + 1}")
    return "\n".join([*lines, letters, _status(state)])


def _status(state: "State") -> str:
    if state.is_over:
        return f"Result: {state.result()} ({state.end_reason})"
    last = ""
    if state.previous is not None and state.last_move is not None:
        last = f"Last move: {state.move_name(state.last_move)} ({state.previous.move_san(state.last_move)}). "
    return f"{last}{'White' if state.to_play == WHITE else 'Black'} to play{', in check' if state.in_check else ''}."


def _last_target(state: "State") -> int | None:
    if state.last_move is None or state.last_move == RESIGN:
        return None
    return move_parts(state.last_move)[1]


def board_svg(
    state: "State",
    cell: int = 48,
    *,
    heat: Mapping[int, float] | None = None,
    labels: Mapping[int, str] | None = None,
    arrow: int | None = None,
) -> str:
    """The board as a self-contained SVG picture, White below.

    On it, if wanted: a heat map, of shares 0 to 1 by square; a short text on squares; an arrow for one move.
    """
    edge = cell // 2
    width, height = cell * FILES + 2 * edge, cell * RANKS + 2 * edge

    def corner(square: int) -> tuple[int, int]:
        return edge + cell * (square % FILES), edge + cell * (RANKS - 1 - square // FILES)

    last = () if state.last_move is None or state.last_move == RESIGN else move_parts(state.last_move)[:2]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for square in range(SQUARES):
        x, y = corner(square)
        fill = _LAST if square in last else _LIGHT if (square % FILES + square // FILES) % 2 else _DARK
        parts.append(f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="{fill}"/>')
        share = min(1.0, max(0.0, (heat or {}).get(square, 0.0)))
        if share:
            parts.append(
                f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="#1257ff" fill-opacity="{share**0.4:.3f}"/>'
            )
    parts.append(_coordinates(cell, edge))
    size, line = f"{cell * 0.85:.0f}", f"{cell * 0.02:.1f}"
    parts.append(f'<g font-size="{size}" text-anchor="middle" stroke="#222" stroke-width="{line}">')
    for square in range(SQUARES):
        piece = state.piece_at(square)
        if piece:
            x, y = corner(square)
            fill, figure = ("#fff", _SOLID[piece]) if piece <= BLACK_PIECE else ("#111", _SOLID[piece - BLACK_PIECE])
            # U+FE0E asks for the plain shape, not the coloured picture that some systems draw for a pawn
            parts.append(f'<text x="{x + cell // 2}" y="{y + cell * 0.8:.0f}" fill="{fill}">{figure}&#xFE0E;</text>')
    parts.append("</g>")
    if arrow is not None and arrow >= 0:
        parts.append(_arrow(corner(move_parts(arrow)[0]), corner(move_parts(arrow)[1]), cell))
    if labels:
        parts.append(
            f'<g font-family="sans-serif" font-size="{cell * 0.3:.0f}" font-weight="bold" text-anchor="middle" '
            f'fill="#fff" stroke="#08235e" stroke-width="{cell * 0.06:.1f}" paint-order="stroke">'
        )
        for square, text in labels.items():
            x, y = corner(square)
            parts.append(f'<text x="{x + cell // 2}" y="{y + cell * 0.6:.0f}">{escape(text)}</text>')
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _coordinates(cell: int, edge: int) -> str:
    parts = [f'<g font-family="sans-serif" font-size="{cell * 0.3:.0f}" text-anchor="middle" fill="#555">']
    for file, letter in enumerate(FILE_NAMES):
        x = edge + cell * file + cell // 2
        parts.append(f'<text x="{x}" y="{edge + cell * RANKS + edge * 0.7:.0f}">{letter}</text>')
    for rank in range(RANKS):
        y = edge + cell * (RANKS - 1 - rank) + cell * 0.6
        parts.append(f'<text x="{edge // 2}" y="{y:.0f}">{rank + 1}</text>')
    return "".join([*parts, "</g>"])


def _arrow(source: tuple[int, int], target: tuple[int, int], cell: int) -> str:
    (x1, y1), (x2, y2) = ((x + cell / 2, y + cell / 2) for x, y in (source, target))
    return (
        f'<g stroke="#d6204e" stroke-width="{cell * 0.1:.1f}" stroke-opacity="0.8" fill="#d6204e">'
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        f'<circle cx="{x2:.1f}" cy="{y2:.1f}" r="{cell * 0.12:.1f}" stroke="none"/></g>'
    )
