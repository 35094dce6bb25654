"""Microchess, as the rest of Tengen sees it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from tengen.games.game import Game, Outcome, Record
from tengen.games.microchess.batch import BatchedMicrochess
from tengen.games.microchess.moves import perft
from tengen.games.microchess.options import MicrochessOptions
from tengen.games.microchess.record import from_pgn, to_pgn
from tengen.games.microchess.state import State
from tengen.games.state import FIRST, NOBODY, RESIGN


class Microchess(Game[State, MicrochessOptions]):
    """Chess on 4 files and 5 ranks."""

    name, title, players = "microchess", "Microchess", ("White", "Black")
    options: ClassVar[type[MicrochessOptions]] = MicrochessOptions
    suffix, example_move = ".pgn", "d2d4"
    opening_moves = 4
    fair_margin = 100
    evaluations, unit, depth = ("material",), "pawns", 6
    default_agent = "zero:microchess,seconds=1"
    default_encoder = "microchess"

    def new(self, options: MicrochessOptions) -> State:
        """The start position."""
        return State.new(options.rules, options.double_step)

    def position(self, text: str, options: MicrochessOptions) -> State:
        """The position of a FEN."""
        return State.from_fen(text, options.rules, options.double_step)

    def perft(self, state: State, depth: int) -> int:
        """Sequences of legal moves, which draws do not end."""
        return perft(state.board, depth)

    def options_of(self, state: State) -> MicrochessOptions:
        """Rules and double step."""
        return MicrochessOptions(state.rules, state.double_step)

    def batch(self, options: MicrochessOptions, past: int = 0, ages: bool = False) -> BatchedMicrochess:
        """Many games at once; no encoder looks at the past."""
        return BatchedMicrochess(options)

    def describe(self, options: MicrochessOptions) -> str:
        """`Microchess, standard rules, with the double step`."""
        return f"Microchess, {options.rules} rules, {'with the' if options.double_step else 'no'} double step"

    def notation(self, state: State, move: int) -> str:
        """SAN: `Nxc3+`."""
        return state.move_name(move) if move == RESIGN else state.move_san(move)

    def outcome(self, state: State) -> Outcome:
        """By the rules; at a limit of moves it is a draw."""
        if not state.is_over:
            return Outcome(NOBODY, "1/2-1/2", "move limit")
        return super().outcome(state)

    def forfeit(self, winner: int, on_time: bool = False) -> str:
        """`1-0` or `0-1`."""
        return "1-0" if winner == FIRST else "0-1"

    def write(self, state: State, record: Record) -> bytes:
        """The game as PGN."""
        fields = {"Event": record.event, "White": record.first, "Black": record.second, "Result": record.result}
        tags = {name: text for name, text in fields.items() if text}
        if record.termination:
            tags["Termination"] = record.termination
        return to_pgn(state, tags, record.comments).encode()

    def read(self, data: bytes, given: Mapping[str, Any] = MappingProxyType({})) -> tuple[State, str]:
        """The first game of a PGN file, by its own rules."""
        state, tags = from_pgn(data.decode("utf-8", "replace"))
        result = tags.get("Result", "")
        return state, "" if result == "*" else result

    def about(self, data: bytes) -> Record:
        """Names, event and result."""
        tags = from_pgn(data.decode("utf-8", "replace"))[1]
        names = {name: tags.get(name, "").replace("?", "") for name in ("White", "Black", "Event", "Termination")}
        result = tags.get("Result", "").replace("*", "")
        return Record(names["White"], names["Black"], names["Event"], result, names["Termination"])


GAME = Microchess()
