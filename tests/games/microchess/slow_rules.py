"""Microchess the slow, obvious way: pieces in a dictionary, every step tried, and the king looked at afterwards."""

import numpy as np

from tengen.games import microchess
from tengen.games.microchess.notation import BadFen

Pieces = dict[tuple[int, int], str]  # (file, rank) -> letter

STRAIGHT = [(0, 1), (0, -1), (1, 0), (-1, 0)]
DIAGONAL = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
LEAPS = [(a * x, b * y) for x, y in ((1, 2), (2, 1)) for a in (1, -1) for b in (1, -1)]


def read_pieces(fen: str) -> Pieces:
    pieces: Pieces = {}
    for rank, row in zip((4, 3, 2, 1, 0), fen.split()[0].split("/")):
        file = 0
        for letter in row:
            if letter.isdigit():
                file += int(letter)
            else:
                pieces[file, rank] = letter
                file += 1
    return pieces


def on_board(file: int, rank: int) -> bool:
    return 0 <= file < 4 and 0 <= rank < 5


def attacks(pieces: Pieces, file: int, rank: int) -> set[tuple[int, int]]:
    """The squares that the piece on a square attacks."""
    letter = pieces[file, rank]
    kind = letter.upper()
    if kind == "P":
        forward = 1 if letter == "P" else -1
        return {(file + x, rank + forward) for x in (1, -1) if on_board(file + x, rank + forward)}
    steps = {"N": LEAPS, "B": DIAGONAL, "R": STRAIGHT}.get(kind, STRAIGHT + DIAGONAL)
    found = set()
    for x, y in steps:
        f, r = file + x, rank + y
        while on_board(f, r):
            found.add((f, r))
            if (f, r) in pieces or kind in "NK":
                break
            f, r = f + x, r + y
    return found


def attacked(pieces: Pieces, square: tuple[int, int], by_white: bool) -> bool:
    return any(square in attacks(pieces, *at) for at, letter in pieces.items() if letter.isupper() == by_white)


def king_safe(pieces: Pieces, white: bool) -> bool:
    king = next(at for at, letter in pieces.items() if letter == ("K" if white else "k"))
    return not attacked(pieces, king, not white)


def name(source: tuple[int, int], target: tuple[int, int]) -> str:
    return "".join("abcd"[file] + "12345"[rank] for file, rank in (source, target))


def slow_legal_moves(state: microchess.State) -> list[str]:
    """All legal moves, the UCI way."""
    _, turn, castling, *_ = state.fen().split()
    pieces, white = read_pieces(state.fen()), turn == "w"
    forward, start, last = (1, 1, 4) if white else (-1, 3, 0)
    found = []
    for (file, rank), letter in pieces.items():
        if letter.isupper() != white:
            continue
        targets = attacks(pieces, file, rank)
        if letter in "Pp":
            targets = {at for at in targets if at in pieces}
            if (file, rank + forward) not in pieces:
                targets.add((file, rank + forward))
                if state.double_step and rank == start and (file, rank + 2 * forward) not in pieces:
                    targets.add((file, rank + 2 * forward))
        for target in targets:
            if target in pieces and pieces[target].isupper() == white:
                continue
            after = {at: piece for at, piece in pieces.items() if at != (file, rank)} | {target: letter}
            if king_safe(after, white):
                promotions = "nbrq" if letter in "Pp" and target[1] == last else [""]
                found += [name((file, rank), target) + piece for piece in promotions]
    way = [(3, 0), (2, 0), (1, 0)] if white else [(0, 4), (1, 4), (2, 4)]
    if ("Q" if white else "k") in castling and not any(at in pieces for at in way[1:]):
        if not any(attacked(pieces, at, not white) for at in way):
            found.append(name(way[0], way[2]))
    return found


def strewn(rng: np.random.Generator) -> microchess.State:
    """A position without a past: kings and up to ten other pieces anywhere, some with rights to castle."""
    while True:
        squares = ["."] * 20
        rights = ""
        if rng.random() < 0.3:
            squares[0], squares[3], rights = "R", "K", "Q"
        if rng.random() < 0.3:
            squares[16], squares[19], rights = "k", "r", rights + "k"
        letters = [letter for letter in "Kk" if letter not in squares]
        letters += list(rng.choice(list("PNBRQpnbrq"), rng.integers(0, 10)))
        empty = [square for square in range(20) if squares[square] == "."]
        for square, letter in zip(rng.permutation(empty), letters):
            squares[square] = letter
        rows = ["".join(squares[4 * rank : 4 * rank + 4]).replace(".", "1") for rank in (4, 3, 2, 1, 0)]
        double_step = bool(rng.integers(2))
        try:
            text = f"{'/'.join(rows)} {'wb'[rng.integers(2)]} {rights or '-'} - 0 1"
            return microchess.State.from_fen(text, double_step=double_step)
        except BadFen:
            continue
