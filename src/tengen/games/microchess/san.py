"""Moves as chess players write them (SAN): `Nb3`, `Rxa4+`, `d5=Q#`.

Castling is `O-O-O` for White and `O-O` for Black: towards the queen's and the king's side of a chess board, as
Fairy-Stockfish writes it. Either is understood of either side, since each can castle one way only.
"""

import re
from typing import TYPE_CHECKING

from tengen.games.microchess.board import BLACK_PIECE, EMPTY, FILES, KING, PAWN, WHITE
from tengen.games.microchess.notation import FILE_NAMES, PIECES, RANK_NAMES, move_parts, parse_square, square_name

if TYPE_CHECKING:
    from tengen.games.microchess.state import State

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
