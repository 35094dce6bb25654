"""A game of Microchess in the terminal: the session of every game, with a chessboard.

The board is drawn with rich: big squares in colour, glyphs or letters where it must be.

| look   | when                                  | a square | White's, Black's pieces |
|--------|---------------------------------------|----------|-------------------------|
| colour | the terminal has 256 colours or more  | 6 x 3    | ♞ ♞ in white and black  |
| plain  | fewer, NO_COLOR, or output to a file  | 3 x 1    | ♘ ♞                     |
| ASCII  | the output's encoding is not UTF-8    | 3 x 1    | N n                     |
"""

from collections.abc import Collection
from typing import ClassVar, Final

from rich.text import Text

from tengen.games import microchess
from tengen.games.microchess import BLACK, FILES, RANKS, RESIGN
from tengen.games.microchess.notation import FILE_NAMES, PIECES, move_parts
from tengen.serve.session import GameSession, Look

_LIGHT, _DARK = "#ecd8b0", "#b48a5c"
_LIGHT_MARKED, _DARK_MARKED = "#e3cf62", "#c3a83e"
_WHITE_INK, _BLACK_INK = "#fffdf7", "#14110e"
_SOLID: Final = dict(zip("kqrbnp", "♚♛♜♝♞♟"))
_OUTLINE: Final = dict(zip("kqrbnp", "♔♕♖♗♘♙"))


class MicrochessSession(GameSession[microchess.State]):
    """A session at a Microchess board. A person who has Black alone sees it from that side."""

    HELP: ClassVar = {"d2d4": "or d4: play there", "d4d5q": "or d5=Q: become a queen"}
    _marked: tuple[int, ...] = ()

    def _board(self, look: Look) -> tuple[Text, int]:
        marked = self._marked or _squares(self.state.last_move)
        return draw_board(self.state, look, marked, turned=self._people == [BLACK]), board_width(look)

    def _standing(self, player: int) -> str:
        material = self.state.material()
        ahead = material[player - 1] - material[2 - player]
        return f"material +{ahead}" if ahead > 0 else ""

    def _move_text(self, before: microchess.State, move: int) -> str:
        return before.move_san(move)

    def _turn_note(self) -> str:
        return ", in check" if self.state.in_check else ""

    def _clear_marks(self) -> None:
        self._marked = ()

    def _mark_hints(self, moves: list[int]) -> None:
        self._marked = _squares(moves[0])


def _squares(move: int | None) -> tuple[int, ...]:
    """Where a move goes from and to."""
    return () if move is None or move == RESIGN else move_parts(move)[:2]


def board_width(look: Look) -> int:
    """Columns that `draw_board` takes."""
    return FILES * (6 if look.color else 3) + 4


def draw_board(state: microchess.State, look: Look, marked: Collection[int] = (), turned: bool = False) -> Text:
    """The board with coordinates, White below unless `turned`; `marked` squares (a1 is 0, d5 is 19) stand out."""
    pieces = ["" if piece == 0 else PIECES[piece] for piece in state.squares]
    ranks = range(RANKS) if turned else range(RANKS - 1, -1, -1)
    files = range(FILES - 1, -1, -1) if turned else range(FILES)
    lines: list[Text] = []
    for rank in ranks:
        for part in range(3) if look.color else (1,):
            number = str(rank + 1) if part == 1 else " "
            line = Text(f" {number}", style="dim")
            for file in files:
                square = rank * FILES + file
                line.append_text(_square(pieces[square] if part == 1 else "", square, look, square in marked))
            line.append(f"{number} ", style="dim")
            lines.append(line)
    width = 6 if look.color else 3
    letters = Text("  " + "".join(FILE_NAMES[file].center(width) for file in files) + "  ", style="dim")
    return Text("\n").join([letters, *lines, letters])


def _square(piece: str, square: int, look: Look, marked: bool) -> Text:
    light = (square // FILES + square % FILES) % 2 == 1
    if look.color:
        paper = (_LIGHT_MARKED if light else _DARK_MARKED) if marked else (_LIGHT if light else _DARK)
        ink = _WHITE_INK if piece.isupper() else _BLACK_INK
        return Text(_glyph(piece, look).center(6), style=f"bold {ink} on {paper}")
    glyph = _glyph(piece, look) or ("·" if look.unicode else ".")
    return Text(f"({glyph})" if marked else f" {glyph} ", style="bold" if piece else "dim")


def _glyph(piece: str, look: Look) -> str:
    if not piece or not look.unicode:
        return piece
    return _SOLID[piece.lower()] if look.color or piece.islower() else _OUTLINE[piece.lower()]
