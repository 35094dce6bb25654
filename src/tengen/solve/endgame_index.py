"""Which positions an endgame table holds, and where: the arithmetic of material, symmetry and index.

A *material* such as KRPKN names the pieces of both sides, White's first; one table holds all positions of a material,
with either side to move. Three symmetries keep the tables small:

* turning the board by 180 degrees and swapping the colours: of KRPKN and KNKRP only the first has a table;
* swapping left and right: White's king stands on the files a or b, so of 270 placements of two kings 135 remain;
* without pawns also swapping up and down, as far as the kings alone decide it: 69 placements remain.

Positions with castling rights know only the first of these and have tables of their own, small ones, as king and rook
stand still: KRPKN-Q while White may castle, KRKR-Qk while both may.

Within a table a position's index is written in mixed radix: who is to move, the placement of the kings, and then for
each group of equal pieces its rank among all choices of as many squares, 20 squares for a piece, 12 for a pawn. Places
in which pieces share a square or the side to move could take the king stand in the index too and are simply unused.

Squares are rank * 4 + file, 0 (a1) to 19 (d5); pieces are 1..6 (P N B R Q K of White) and 7..12 (of Black).
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.microchess.board import (
    BLACK_MAY_CASTLE,
    BLACK_PIECE,
    FILES,
    KING,
    PAWN,
    RANKS,
    SQUARES,
    WHITE_MAY_CASTLE,
)

# ------------------------------------------------------------------------------------------- materials

MAX_PIECES = 5  # kings included
_LETTERS = "PNBRQ"  # the piece numbers 1..5 of White; Black's are six more
_ORDER = "QRBNP"  # as materials are written
_RIGHTS = ("", "-Q", "-k", "-Qk")
_ALL_RIGHTS = WHITE_MAY_CASTLE | BLACK_MAY_CASTLE


@dataclass(frozen=True, order=True)
class Material:
    """The pieces beside the kings, each side's as letters from strong to weak: Material("RP", "N") is KRPKN."""

    white: str
    black: str
    rights: int = 0  # to castle: 1 White's, 2 Black's

    @classmethod
    def parse(cls, name: str) -> Self:
        """The material written KRPKN or KRPKN-Q; its table may be that of the other colours."""
        pieces, dash, rights = name.partition("-")
        sides = pieces.split("K")
        if len(sides) != 3 or sides[0] or set(pieces) - {*_ORDER, "K"} or dash + rights not in _RIGHTS:
            raise ValueError(f"{name[:40]!r} is no material: write White's pieces and then Black's, like KRPKN")
        material = cls(_sorted(sides[1]), _sorted(sides[2]), _RIGHTS.index(dash + rights))
        if material.pieces > MAX_PIECES:
            raise ValueError(f"{name} has {material.pieces} pieces; tables have up to {MAX_PIECES}, kings included")
        if not material.has_rooks:
            raise ValueError(f"{name}: to castle, a side needs a rook")
        return material

    @property
    def name(self) -> str:
        return f"K{self.white}K{self.black}{_RIGHTS[self.rights]}"

    @property
    def pieces(self) -> int:
        """How many pieces stand on the board, the kings included."""
        return 2 + len(self.white) + len(self.black)

    @property
    def pawns(self) -> int:
        return (self.white + self.black).count("P")

    @property
    def has_rooks(self) -> bool:
        """Whether there is a rook for every right to castle."""
        white, black = self.rights & WHITE_MAY_CASTLE, self.rights & BLACK_MAY_CASTLE
        return (not white or "R" in self.white) and (not black or "R" in self.black)

    @property
    def turned(self) -> "Material":
        """The material after the colours are swapped."""
        return Material(self.black, self.white, self.rights >> 1 | (self.rights & 1) << 1)

    @property
    def has_table(self) -> bool:
        """Whether the table is this material's; otherwise it is that of `turned`."""
        if self.rights in (WHITE_MAY_CASTLE, BLACK_MAY_CASTLE):
            return self.rights == WHITE_MAY_CASTLE
        return _strength(self.white) >= _strength(self.black)

    @property
    def codes(self) -> tuple[int, ...]:
        """The pieces beside the kings as numbers, in rising order."""
        white = [_LETTERS.index(letter) + PAWN for letter in self.white]
        black = [_LETTERS.index(letter) + PAWN + BLACK_PIECE for letter in self.black]
        return tuple(sorted(white) + sorted(black))

    @property
    def depth(self) -> tuple[int, int, int]:
        """Materials are solved in rising order of this: a move never leads to another of the same."""
        return self.pieces, self.pawns, self.rights

    def successors(self) -> list["Material"]:
        """The materials with tables to which a move can lead that captures, promotes or gives up castling rights."""
        found = set()
        for white, black in _after_a_move(self.white, self.black) | _after_a_move(self.black, self.white, swap=True):
            for rights in range(self.rights + 1):
                material = Material(white, black, rights)
                if rights & ~self.rights == 0 and material.has_rooks and material != self:
                    found.add(material if material.has_table else material.turned)
        return sorted(found, key=lambda material: (material.depth, material))


def all_materials(pieces: int = MAX_PIECES) -> list[Material]:
    """The materials that have tables, with up to so many pieces, in an order in which they can be solved."""
    if not 2 <= pieces <= MAX_PIECES:
        raise ValueError(f"endgame tables have 2 to {MAX_PIECES} pieces, kings included, not {pieces}")
    sides = ["".join(side) for n in range(pieces - 1) for side in itertools.combinations_with_replacement(_ORDER, n)]
    found = [Material(*case) for case in itertools.product(sides, sides, (0, WHITE_MAY_CASTLE, _ALL_RIGHTS))]
    found = [material for material in found if material.pieces <= pieces and material.has_table and material.has_rooks]
    return sorted(found, key=lambda material: (material.depth, material))


def _after_a_move(mover: str, other: str, swap: bool = False) -> set[tuple[str, str]]:
    """The pieces of both sides that a move may leave, the mover's first unless swapped; nothing may have changed."""
    left = [other, *(_without(other, letter) for letter in other)]
    own = [mover, *(_sorted(_without(mover, "P") + letter) for letter in "QRBN" if "P" in mover)]
    return {(theirs, ours) if swap else (ours, theirs) for ours in own for theirs in left}


def _strength(side: str) -> tuple[int, tuple[int, ...]]:
    return len(side), tuple(_LETTERS.index(letter) for letter in side)


def _sorted(side: str) -> str:
    return "".join(sorted(side, key=_ORDER.index))


def _without(side: str, letter: str) -> str:
    return side.replace(letter, "", 1)


_SLOTS = MAX_PIECES - 2
DRAW: Final = 0  # among the values of a table; all between them are plies to mate + 1
UNUSED: Final = 255

# ------------------------------------------------------------------------------- symmetries and ranks


def _image(square: int, symmetry: int) -> int:
    """The square after swapping left and right (1), up and down (2), both (3) or nothing (0)."""
    file, rank = square % FILES, square // FILES
    return (RANKS - 1 - rank if symmetry & 2 else rank) * FILES + (FILES - 1 - file if symmetry & 1 else file)


def _apart(a: int, b: int) -> bool:
    return max(abs(a % FILES - b % FILES), abs(a // FILES - b // FILES)) > 1


def _with_pawns(white: int, black: int) -> int | None:
    """The symmetry after which White's king is on the left."""
    return 1 if white % FILES >= FILES // 2 else 0


def _without_pawns(white: int, black: int) -> int | None:
    """The symmetry after which White's king is on the left and below, or level and then Black's not above."""
    ranks = white // FILES, black // FILES
    below = tuple(RANKS - 1 - rank for rank in ranks)
    return (1 if white % FILES >= FILES // 2 else 0) | (2 if below < ranks else 0)


def _white_castles(white: int, black: int) -> int | None:
    return 0 if white == _D1 else None


def _both_castle(white: int, black: int) -> int | None:
    return 0 if (white, black) == (_D1, _A5) else None


class _Placing(NamedTuple):
    """How the placements of two kings are numbered."""

    number: NDArray[np.int16]  # [400] by White's * 20 + Black's square; -1 if the kings cannot stand so
    symmetry: NDArray[np.int8]  # [400] to be applied to the whole board first
    squares: list[tuple[int, int]]  # the kings' squares by number


def _place_kings(symmetry_for: Callable[[int, int], int | None]) -> _Placing:
    number, symmetry = np.full(SQUARES**2, -1, np.int16), np.zeros(SQUARES**2, np.int8)
    squares: list[tuple[int, int]] = []
    pairs = [pair for pair in itertools.product(range(SQUARES), repeat=2) if _apart(*pair)]
    chosen = {pair: wanted for pair in pairs if (wanted := symmetry_for(*pair)) is not None}
    for (white, black), wanted in sorted(chosen.items(), key=lambda item: item[1]):
        at = _image(white, wanted), _image(black, wanted)
        if wanted == 0:
            squares.append(at)
        symmetry[white * SQUARES + black] = wanted
        number[white * SQUARES + black] = squares.index(at)
    return _Placing(number, symmetry, squares)


def _choices(squares: range, count: int) -> NDArray[np.int8]:
    """All choices of `count` squares, rising within each, in the order of their ranks: int8[choices, count]."""
    return np.array(sorted(itertools.combinations(squares, count), key=lambda choice: choice[::-1]), np.int8)


# The rows of the king tables: with pawns (and while any are solved), without, with White's right to castle, with both.
WITH_PAWNS, WITHOUT_PAWNS, _WHITE_CASTLES, _BOTH_CASTLE = range(4)
_D1, _A5 = 3, 16
_PLACINGS = [_place_kings(rule) for rule in (_with_pawns, _without_pawns, _white_castles, _both_castle)]
KING_PLACE: Final = np.stack([placing.number for placing in _PLACINGS])  # int16[4, 400]
KING_SYMMETRY: Final = np.stack([placing.symmetry for placing in _PLACINGS])  # int8[4, 400]
KING_PLACES: Final = tuple(len(placing.squares) for placing in _PLACINGS)
KING_SQUARES: Final = np.zeros((4, KING_PLACES[0], 2), np.int64)  # [row, place, White's and Black's]
for _row, _placing in enumerate(_PLACINGS):
    KING_SQUARES[_row, : KING_PLACES[_row]] = _placing.squares
IMAGE: Final = np.array([[_image(square, symmetry) for square in range(SQUARES)] for symmetry in range(4)], np.int8)

_PAWN_SQUARES = range(FILES, SQUARES - FILES)
_ALL_SQUARES = range(SQUARES)
_GROUPS = [[_choices(squares, count) for count in (1, 2, 3)] for squares in (_ALL_SQUARES, _PAWN_SQUARES)]
_ONE_PAWN, _TWO_PAWNS, _THREE_PAWNS = (len(choices) for choices in _GROUPS[1])  # which no other group has as radix
GROUP_SQUARES: Final = np.zeros((2, 3, 1140, 3), np.int8)  # [of pawns, size - 1, rank, k]: the k-th square of a choice
for _pawns, _size in itertools.product(range(2), range(3)):
    GROUP_SQUARES[_pawns, _size, : len(_GROUPS[_pawns][_size]), : _size + 1] = _GROUPS[_pawns][_size]


class Layout(NamedTuple):
    """How the positions of one material are numbered."""

    codes: NDArray[np.int64]  # [3] the pieces beside the kings in rising order, then 0
    group: NDArray[np.int64]  # [3] at the first piece of a group the size of the group, else 0
    radix: NDArray[np.int64]  # [3] at the first piece of a group the number of its choices, else 1
    counts: NDArray[np.int64]  # [4] pieces beside the kings; positions a side; row of the king tables; castling rights


def layout_of(material: Material, solving: bool = False) -> Layout:
    """The numbering of a material's table; while it is being solved, one without the symmetry of up and down."""
    codes = material.codes
    row = WITHOUT_PAWNS if material.pawns == 0 and not solving else WITH_PAWNS
    if material.rights:
        row = _WHITE_CASTLES if material.rights == WHITE_MAY_CASTLE else _BOTH_CASTLE
    group = [codes.count(code) if codes.index(code) == i else 0 for i, code in enumerate(codes)]
    pawns = [int(code in (PAWN, PAWN + BLACK_PIECE)) for code in codes]
    radix = [len(_GROUPS[pawns[i]][size - 1]) if size else 1 for i, size in enumerate(group)]
    pad = [0] * (_SLOTS - len(codes))
    return Layout(
        np.array([*codes, *pad], np.int64),
        np.array([*group, *pad], np.int64),
        np.array([*radix, *(1 for _ in pad)], np.int64),
        np.array([len(codes), KING_PLACES[row] * math.prod(radix), row, material.rights], np.int64),
    )


class Catalogue(NamedTuple):
    """The numberings of T tables at once, and which table a set of pieces belongs to."""

    table: NDArray[np.int16]  # [4 * 13 * 13 * 13] by rights and codes: table number * 2 + (1 if to be turned), or -1
    group: NDArray[np.int64]  # [T, 3] the fields of the tables' layouts
    radix: NDArray[np.int64]  # [T, 3]
    counts: NDArray[np.int64]  # [T, 4]


def catalogue_of(materials: list[Material]) -> Catalogue:
    """The catalogue of these materials' tables, numbered in the order given."""
    table = np.full(4 * 13**3, -1, np.int16)
    for number, material in enumerate(materials):
        table[_key(material.turned)] = number * 2 + 1
        table[_key(material)] = number * 2  # last: KRKR is its own turned image
    layouts = [layout_of(material) for material in materials]
    group, radix, counts = (np.array([layout[i] for layout in layouts], np.int64) for i in (1, 2, 3))
    return Catalogue(table, group.reshape(-1, 3), radix.reshape(-1, 3), counts.reshape(-1, 4))


def _key(material: Material) -> int:
    codes = (*material.codes, 0, 0, 0)
    return codes[0] + 13 * codes[1] + 169 * codes[2] + 2197 * material.rights


class TablesInMemory(NamedTuple):
    """T tables unpacked and laid end to end, for kernels: `look_up` asks them."""

    catalogue: Catalogue
    values: NDArray[np.uint8]  # DRAW, UNUSED or plies to mate + 1: the side to move loses if the plies are even
    starts: NDArray[np.int64]  # [T + 1] where each table begins


def in_memory(materials: list[Material], load: Callable[[Material], NDArray[np.uint8]]) -> TablesInMemory:
    """Lay the tables of these materials end to end."""
    tables = [load(material) for material in materials]
    starts = np.cumsum([0, *(len(table) for table in tables)]).astype(np.int64)
    return TablesInMemory(catalogue_of(materials), np.concatenate([*tables, np.zeros(0, np.uint8)]), starts)


# --------------------------------------------------------------------------------------------- kernels


@kernel(inline=True)
def rank_of(white_king, black_king, a, b, c, group, radix, row):  # type: ignore[no-untyped-def]
    """The index of a position within one side of a table, or -1 if the kings touch.

    a, b, c are the squares of the other pieces in the order of the table's codes (any beyond the last is ignored);
    group and radix are int64[3] of the layout, row is its row of the king tables.
    """
    kings = white_king * SQUARES + black_king
    index = np.int64(KING_PLACE[row, kings])
    if index < 0:
        return index
    symmetry = KING_SYMMETRY[row, kings]
    a, b, c = np.int64(IMAGE[symmetry, a]), np.int64(IMAGE[symmetry, b]), np.int64(IMAGE[symmetry, c])
    if group[0] == 3:
        low, high = min(a, b), max(a, b)
        first, last = min(low, c), max(high, c)
        middle = a + b + c - first - last
        if radix[0] == _THREE_PAWNS:
            first, middle, last = first - FILES, middle - FILES, last - FILES
        return index * radix[0] + first + middle * (middle - 1) // 2 + last * (last - 1) * (last - 2) // 6
    if group[0] == 2:
        index = index * radix[0] + _pair(a, b, radix[0])
    elif group[0] == 1:
        index = index * radix[0] + (a - FILES if radix[0] == _ONE_PAWN else a)
    if group[1] == 2:
        index = index * radix[1] + _pair(b, c, radix[1])
    elif group[1] == 1:
        index = index * radix[1] + (b - FILES if radix[1] == _ONE_PAWN else b)
    if group[2] == 1:
        index = index * radix[2] + (c - FILES if radix[2] == _ONE_PAWN else c)
    return index


@kernel(inline=True)
def _pair(a, b, radix):  # type: ignore[no-untyped-def]
    low, high = min(a, b), max(a, b)
    if radix == _TWO_PAWNS:
        low, high = low - FILES, high - FILES
    return low + high * (high - 1) // 2


@kernel(inline=True)
def place(index, squares, group, radix, row):  # type: ignore[no-untyped-def]
    """The inverse of `rank_of`: write the squares of the kings and the other pieces into squares int64[5]."""
    squares[2] = squares[3] = squares[4] = 0
    for slot in range(2, -1, -1):
        size = group[slot]
        if size > 0:
            rest = index // radix[slot]
            rank = index - rest * radix[slot]
            pawn = 1 if radix[slot] in (_ONE_PAWN, _TWO_PAWNS, _THREE_PAWNS) else 0
            for k in range(size):
                squares[2 + slot + k] = GROUP_SQUARES[pawn, size - 1, rank, k]
            index = rest
    squares[0] = KING_SQUARES[row, index, 0]
    squares[1] = KING_SQUARES[row, index, 1]


@kernel(inline=True)
def locate(white_king, black_king, codes, squares, count, to_play, rights, catalogue):  # type: ignore[no-untyped-def]
    """Table number and index (both sides counted) of a position, or -1, -1 if no table holds it.

    codes and squares: int64[3] of the `count` pieces beside the kings, in any order; they are left in disorder.
    """
    if count > 3:
        return -1, np.int64(-1)
    _sort(codes, squares, count)
    entry = catalogue.table[codes[0] + 13 * codes[1] + 169 * codes[2] + 2197 * rights]
    if entry < 0:
        return -1, np.int64(-1)
    table = entry >> 1
    if entry & 1:
        white_king, black_king = SQUARES - 1 - black_king, SQUARES - 1 - white_king
        to_play = 3 - to_play
        for i in range(count):
            codes[i] += BLACK_PIECE if codes[i] < KING else -BLACK_PIECE
            squares[i] = SQUARES - 1 - squares[i]
        _sort(codes, squares, count)
    counts = catalogue.counts[table]
    index = rank_of(
        white_king,
        black_king,
        squares[0],
        squares[1],
        squares[2],
        catalogue.group[table],
        catalogue.radix[table],
        counts[2],
    )
    if index < 0:
        return -1, index
    return table, index + (to_play - 1) * counts[1]


@kernel(inline=True)
def _sort(codes, squares, count):  # type: ignore[no-untyped-def]
    """Bring the pieces into the order of their codes, and what lies beyond them to 0."""
    for i in range(1, count):
        for j in range(i, 0, -1):
            if codes[j - 1] > codes[j]:
                codes[j - 1], codes[j] = codes[j], codes[j - 1]
                squares[j - 1], squares[j] = squares[j], squares[j - 1]
    for i in range(count, 3):
        codes[i] = 0
        squares[i] = 0


@kernel(inline=True)
def locate_board(board, to_play, rights, codes, squares, catalogue):  # type: ignore[no-untyped-def]
    """The same for board: int8[20] with one king of each colour; codes, squares: int64[3] to work with."""
    white_king = black_king = -1
    count = 0
    for square in range(SQUARES):
        piece = board[square]
        if piece == KING:
            white_king = square
        elif piece == KING + BLACK_PIECE:
            black_king = square
        elif piece:
            pawn = piece == PAWN or piece == PAWN + BLACK_PIECE
            if count == 3 or (pawn and (square < FILES or square >= SQUARES - FILES)):
                return -1, np.int64(-1)
            codes[count], squares[count] = piece, square
            count += 1
    if white_king < 0 or black_king < 0:
        return -1, np.int64(-1)
    return locate(white_king, black_king, codes, squares, count, to_play, rights, catalogue)


@kernel(inline=True)
def look_up(board, to_play, rights, codes, squares, memory):  # type: ignore[no-untyped-def]
    """The value of board: int8[20] by tables in memory, or UNUSED; codes, squares: int64[3] to work with."""
    table, index = locate_board(board, to_play, rights, codes, squares, memory.catalogue)
    return np.int64(memory.values[memory.starts[table] + index]) if table >= 0 else np.int64(UNUSED)
