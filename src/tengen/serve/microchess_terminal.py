"""A game of Microchess in the terminal: a person against a bot, two people, or two bots to watch."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

from rich.console import Group, RenderableType
from rich.text import Text

from tengen.games.microchess import BLACK, RESIGN, WHITE, GameState, from_pgn, to_pgn
from tengen.games.microchess.notation import move_parts
from tengen.serve.chessboard import board_width, draw_board
from tengen.serve.goban import Look
from tengen.serve.screen import Page, footnotes, lay_out, printable, rule
from tengen.serve.sitting import Sitting

COMMANDS: Final = {
    "d2d4": "or d4: play there",
    "d4d5q": "or d5=Q: become a queen",
    "moves": "which are legal?",
    "undo": "take your move back",
    "hint": "ask a bot",
    "resign": "give up",
    "save FILE": "write a PGN file",
    "load FILE": "read a PGN file",
    "new": "begin again",
    "help": "this list",
    "quit": "leave, game kept",
}
_SHORT_HELP: Final = "d2d4 moves undo hint resign\nsave load new help quit"


class MicrochessGame(Sitting[GameState]):
    """One sitting at a Microchess board. A person who has Black alone sees it from that side."""

    PLAYERS: ClassVar = {WHITE: "White", BLACK: "Black"}
    EXAMPLE: ClassVar = "d2d4"
    FILE: ClassVar = "game.pgn"
    _marked: tuple[int, ...] = ()

    def _own_commands(self) -> dict[str, Callable[[str], None]]:
        return {"moves": lambda _: self._list_moves()}

    def _show(self) -> None:
        look = Look.of(self._console)
        marked = self._marked or self._last_squares()
        board = draw_board(self.state, look, marked, turned=self._people == [BLACK])
        facts = partial(self._facts, look)
        summary = Group(Text(printable(self._players_told())), self._terms(), self._turn())
        page = Page(board, board_width(look), facts, summary, COMMANDS, self._helping, self._message)
        lay_out(self._console, page)

    def _move(self, text: str) -> int:
        try:
            return self.state.parse_move(text)
        except ValueError as error:
            raise ValueError(f"{error}; type  moves  to see them, or  help") from None

    def _list_moves(self) -> None:
        names = [self.state.move_name(move) for move in self.state.legal_moves()]
        self._message = f"Legal moves: {' '.join(sorted(names))}." if names else "The game is over."

    def _clear_marks(self) -> None:
        self._marked = ()

    def _mark_hints(self, moves: list[int]) -> None:
        self._marked = move_parts(moves[0])[:2] if moves[0] != RESIGN else ()

    def _fresh(self, text: str) -> GameState:
        if text:
            raise ValueError(f"new takes nothing behind it, not {text[:20]!r}")
        return GameState.new(self.state.rules, self.state.double_step)

    def _read(self, data: bytes) -> tuple[GameState, str]:
        state, tags = from_pgn(data.decode("utf-8", "replace"))
        result = printable(tags.get("Result", ""))
        return state, "" if result == "*" else result

    def _record(self) -> bytes:
        names = self._names()
        return to_pgn(self.state, {"White": names[WHITE], "Black": names[BLACK]}).encode()

    def _announce_result(self) -> None:
        winner = self.state.winner()
        won = f"{self.PLAYERS[winner]} wins" if winner else "A draw"
        self._message = f"{won} ({self.state.result()}): {self.state.end_reason}."

    # --------------------------------------------------------------------------------------- the panel

    def _facts(self, look: Look, width: int) -> list[RenderableType]:
        facts: list[RenderableType] = []
        names = self._names()
        for player in (WHITE, BLACK):
            facts.append(Text(self.PLAYERS[player], style="bold").append(f"  {printable(names[player])}"))
        ahead = self._ahead()
        facts += [Text(f"Material: {ahead}", style="dim"), rule(look), self._terms(), self._turn()]
        if self._first_chance is not None:
            facts.append(Text(f"White's chance: {self._first_chance:.0%}"))
        note = self._decision.note if self._decision else ""
        return [*facts, *footnotes(look, note, _SHORT_HELP)]

    def _players_told(self) -> str:
        names = self._names()
        chance = "" if self._first_chance is None else f" White {self._first_chance:.0%}."
        return f"White: {names[WHITE]}, Black: {names[BLACK]}. Material: {self._ahead()}.{chance}"

    def _ahead(self) -> str:
        white, black = self.state.material()
        return "even" if white == black else f"{'White' if white > black else 'Black'} +{abs(white - black)}"

    def _terms(self) -> Text:
        step = "double step" if self.state.double_step else "no double step"
        return Text(f"Microchess, {self.state.rules} rules\n{step}")

    def _turn(self) -> Text:
        last, before = "", self.state.previous
        if before is not None and self.state.last_move is not None:
            resigned = self.state.last_move == RESIGN
            name = "resigns" if resigned else before.move_san(self.state.last_move)
            last = f"Move {self.state.move_number}: {self.PLAYERS[before.to_play]} {name}\n"
        if self.state.is_over:
            return Text(f"{last}The game is over")
        check = ", in check" if self.state.in_check else ""
        return Text(f"{last}{self.PLAYERS[self.state.to_play]} to play{check}")

    def _last_squares(self) -> tuple[int, ...]:
        move = self.state.last_move
        return () if move is None or move == RESIGN else move_parts(move)[:2]
