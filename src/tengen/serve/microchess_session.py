"""A game of Microchess in the terminal: the session of every game, with a chessboard."""

from typing import ClassVar

from rich.text import Text

from tengen.games import microchess
from tengen.games.microchess import BLACK, RESIGN
from tengen.games.microchess.notation import move_parts
from tengen.serve.chessboard import board_width, draw_board
from tengen.serve.screen import Look
from tengen.serve.session import GameSession


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
