"""Materials: which pieces stand on the board, the name of an endgame. KRPKN is White's rook and pawn against a knight.

Each material has a table, or that with the colours swapped has. While castling is possible the name says for whom:
KRPKN-Q for White, KRKR-Qk for both.
"""

import itertools
from dataclasses import dataclass
from typing import Self

from tengen.games.microchess.board import BLACK_MAY_CASTLE, BLACK_PIECE, PAWN, WHITE_MAY_CASTLE

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
