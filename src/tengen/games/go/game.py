"""Go, as the rest of Tengen sees it."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tengen.games.game import Game, Outcome, Record
from tengen.games.go.batch import BatchedGo
from tengen.games.go.board import BLACK, EMPTY, WHITE
from tengen.games.go.coordinates import PASS, board_svg, max_fixed_handicap, to_cell
from tengen.games.go.playout import is_sensible
from tengen.games.go.rules import GoOptions, get_rules
from tengen.games.go.sgf import read_record, read_sgf, write_sgf
from tengen.games.go.state import State, format_margin
from tengen.games.symmetry import square_symmetries


class Go(Game[State, GoOptions]):
    """Go on boards of 2x2 to 25x25."""

    name, title, players = "go", "Go", ("Black", "White")
    options: ClassVar[type[GoOptions]] = GoOptions
    suffix, example_move, territory, opening_moves = ".sgf", "d4", True, 2
    actions_are_moves = True
    replaceable = ("rules", "komi")
    evaluations = ("area", "influence")
    default_agent = "uct:seconds=1"
    default_encoder = "zero"

    def new(self, options: GoOptions) -> State:
        """The empty board, or one with handicap stones."""
        return State.new(options.size, options.rules, options.komi, options.handicap)

    def options_of(self, state: State) -> GoOptions:
        """Board, rules and komi; the limit leaves room for as many moves again as a long game has.

        A handicap that no start position of the options has, such as 2 stones on 5x5, is given as komi.
        """
        points = state.size**2
        limit = 4 * points * (1 + len(state.history) // (2 * points))
        komi, handicap = state.komi, state.handicap
        if handicap and not 2 <= handicap <= max_fixed_handicap(state.size):
            komi, handicap = state.compensation, 0
        return GoOptions(state.size, state.rules.name, komi, handicap, limit)

    def batch(self, options: GoOptions, past: int = 0, ages: bool = False) -> BatchedGo:
        """Many games at once."""
        return BatchedGo(options, past, ages)

    def check_search(self, options: GoOptions) -> None:
        """ValueError where territory counts: networks and playouts know area."""
        if get_rules(options.rules).scoring != "area":
            raise ValueError(f"games are counted by area here, which {options.rules} rules do not: take chinese")

    def describe(self, options: GoOptions) -> str:
        """`9x9, chinese rules, komi 7.5`."""
        handicap = f", {options.handicap} handicap stones" if options.handicap else ""
        return f"{options.size}x{options.size}, {options.rules} rules, komi {options.komi:g}{handicap}"

    def symmetries(self, options: GoOptions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The eight of the square; a pass stays a pass."""
        return square_symmetries(options.size, can_pass=True)

    def max_moves(self, options: GoOptions) -> int:
        """Four times the board, at least 200."""
        return max(200, 4 * options.size**2)

    def most_opening_moves(self, options: GoOptions) -> int:
        """Half the board."""
        return options.size**2 // 2

    def opening_choices(self, state: State) -> list[int]:
        """Points off the first two lines where there is room for that; no pass."""
        points = [move for move in state.legal_moves() if move != PASS]
        return [move for move in points if _off_the_edge(move, state.size)] or points

    def sensible_moves(self, state: State) -> list[int]:
        """Legal moves that fill no own eye and are no suicide; PASS is among them where the rules allow it."""
        board, flags, color, size = state.board, state.rules.flags, state.to_play, state.size
        return [
            move
            for move in state.legal_moves()
            if move == PASS or is_sensible(board, to_cell(move, size), color, flags)
        ] or [PASS]

    def with_dead(self, state: State, dead: Iterable[int]) -> State:
        """The same position with the dead stones agreed on."""
        return state.with_dead(dead)

    def outcome(self, state: State) -> Outcome:
        """By score, resignation or repetition; at a limit of moves the game is counted as it stands."""
        result = state.result() if state.is_over else format_margin(state.score())
        winner = {"B": BLACK, "W": WHITE}.get(result[0], EMPTY)
        return Outcome(winner, result, (state.end_reason or "score") if state.is_over else "move limit")

    def forfeit(self, winner: int, on_time: bool = False) -> str:
        """`B+F` or `W+F`, on time `B+T` or `W+T`, as SGF writes it."""
        return ("B+" if winner == BLACK else "W+") + ("T" if on_time else "F")

    def picture(self, state: State, numbers: Mapping[int, str] | None = None) -> str:
        """The board; labels are shown on the stones that still stand."""
        labels = {move: text for move, text in (numbers or {}).items() if move >= 0 and state.color_at(move)}
        return board_svg(state, labels=labels)

    def write(self, state: State, record: Record) -> bytes:
        """The game as SGF."""
        comments = dict(record.comments)
        if record.termination:
            end = max([state.move_number, *comments])
            why = f"{record.result}, {record.termination}"
            comments[end] = f"{comments.get(end, '')}\n{why}".strip()
        return write_sgf(
            state,
            black_name=record.first,
            white_name=record.second,
            result=record.result or None,
            comments=comments,
            event=record.event,
        )

    def read(self, data: bytes, given: Mapping[str, Any] = MappingProxyType({})) -> tuple[State, str]:
        """The game of an SGF file's main line, by other rules or with another komi if they are given."""
        game = read_sgf(data, given.get("rules"))
        komi = given.get("komi")
        return game.state if komi is None else game.state.with_komi(komi), game.result

    def about(self, data: bytes) -> Record:
        """Names, event, result and comments."""
        found = read_record(data)
        return Record(found.black_name, found.white_name, found.event, found.result, comments=found.comments)


def _off_the_edge(move: int, size: int) -> bool:
    """Whether a point is on the third line or higher; on boards below 7x7 every point counts."""
    row, col = divmod(move, size)
    return size < 7 or min(row, col, size - 1 - row, size - 1 - col) >= 2


GAME = Go()
