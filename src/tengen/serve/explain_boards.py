"""Boards drawn with Matplotlib: a position, numbers of its moves as a heat map, and a numbered line of play.

On boards of points (Go, and every `BoardGame`) a move's number stands where it is played. In Microchess the best
moves are numbered arrows with a list beside the board.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final

from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from tengen.games.board_game import BoardGame
from tengen.games.game import Game, game_of
from tengen.games.go import BLACK
from tengen.games.go.coordinates import GTP_COLUMNS, star_points
from tengen.games.state import FIRST

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK: Final = "#1f2937"
RING: Final = "#d6204e"
_PAPER, _GRID = "#f6ecd6", "#8d7b58"
_BLACK, _WHITE = "#1a1a1a", "#ffffff"
_BOARDS: Final = {
    "go": ("tengen.serve.explain_boards", "GoBoard"),
    "microchess": ("tengen.serve.explain_chessboard", "Chessboard"),
}
"""Games with a board of their own; all others that have squares have `SquareBoard`."""

Color = tuple[float, float, float, float]
Paint = Callable[[float], Color]
"""The colour of a number."""


class Board(ABC):
    """One board in a picture."""

    aspect: ClassVar[float] = 1.0
    """Height of the drawing for a width of 1."""

    def __init__(self, axes: "Axes", state: Any, inches: float) -> None:
        """`inches`: the width of the axes."""
        self.axes, self.state, self.inches = axes, state, inches
        axes.set_aspect("equal")
        axes.set_axis_off()

    @abstractmethod
    def draw_position(self) -> None:
        """The board with what stands on it."""

    @abstractmethod
    def draw_moves(self, numbers: Mapping[int, float], paint: Paint, faint: float) -> None:
        """Moves with their shares or chances, the best one marked; numbers below `faint` are not written, and those
        far below it not shown at all."""

    @abstractmethod
    def draw_line(self, moves: Sequence[int]) -> None:
        """Moves that follow each other, numbered."""


def board_type(game: Game) -> type[Board]:
    """The kind of board that a game is drawn on."""
    if game.name in _BOARDS:
        module, name = _BOARDS[game.name]
        found: type[Board] = getattr(import_module(module), name)
        return found
    if isinstance(game, BoardGame):
        return SquareBoard
    raise ValueError(f"there are no pictures of {game.title}: its board is not known to be of squares")


def percent(number: float) -> str:
    """A share as a whole number of percents."""
    return f"{100 * number:.0f}"


def ink_on(color: Color) -> str:
    """Black or white, whichever is read better on a colour."""
    red, green, blue = color[:3]
    return _WHITE if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else INK


class PointBoard(Board):
    """A board whose moves are points: rows from the top, columns from the left; what is no point is a pass."""

    rows: int
    columns: int

    def place(self, move: int) -> tuple[int, int] | None:
        """Column and row of a move; None for a pass or a resignation."""
        return (move % self.columns, move // self.columns) if 0 <= move < self.rows * self.columns else None

    @abstractmethod
    def draw_stone(self, x: int, y: int, first: bool, edge: float = 0.8) -> None:
        """A stone or sign of the first or second player."""

    @property
    def cell(self) -> float:
        """The points (of which an inch has 72) between two lines."""
        return 72 * self.inches / (max(self.rows, self.columns) + 1)

    def set_limits(self) -> None:
        """Room for the board, its coordinates and a line of text beneath."""
        side = max(self.rows, self.columns)
        self.axes.set_xlim(-1, side)
        self.axes.set_ylim(self.rows + 0.35 + 0.03 * side, -1)

    def write(self, x: float, y: float, text: str, color: str, size: float = 1.0, bold: bool = False) -> None:
        """A short text, which fits into a cell with three digits."""
        size *= min(14.0, 0.42 * self.cell)
        weight = "bold" if bold else "normal"
        self.axes.text(
            x, y, text, ha="center", va="center_baseline", color=color, fontsize=size, weight=weight, zorder=6
        )

    def note(self, text: str, marked: bool = False) -> None:
        """A line beneath the board."""
        box = {"boxstyle": "round,pad=0.25", "fc": "none", "ec": RING, "lw": 1.8} if marked else None
        size, y = max(self.rows, self.columns), self.rows + 0.02 * self.rows
        self.axes.text(
            (size - 1) / 2, y, text, ha="center", va="center", color=INK, fontsize=9.5, bbox=box, clip_on=False
        )

    def draw_moves(self, numbers: Mapping[int, float], paint: Paint, faint: float) -> None:
        """A coloured square with its percents for every move, and a ring around the best."""
        best = max(numbers, key=lambda move: numbers[move])
        for move, number in numbers.items():
            where, color = self.place(move), paint(number)
            if where is None:
                if move == best or number >= max(faint, 0.01):
                    self.note(f"pass {percent(number)}%", marked=move == best)
                continue
            if number < faint / 5:
                continue
            x, y = where
            box = FancyBboxPatch(
                (x - 0.36, y - 0.36), 0.72, 0.72, boxstyle="round,pad=0.09,rounding_size=0.16", fc=color, ec="none"
            )
            box.set_zorder(3)
            self.axes.add_patch(box)
            if number >= faint:
                self.write(x, y, percent(number), ink_on(color), bold=move == best)
            if move == best:
                self.draw_ring(x, y)

    def draw_line(self, moves: Sequence[int]) -> None:
        """Numbered stones; moves at a point that has one already, and passes, are listed beneath."""
        taken: dict[tuple[int, int], int] = {}
        remarks, player = list[str](), self.state.to_play
        for number, move in enumerate(moves, 1):
            where = self.place(move)
            if where is None:
                remarks.append(f"{number} pass")
            elif where in taken:
                remarks.append(f"{number} at {taken[where]}")
            else:
                taken[where] = number
                self.draw_stone(*where, player == FIRST, edge=1.6)
                self.write(*where, str(number), self.number_ink(player == FIRST), bold=True)
            player = 3 - player
        for where, number in taken.items():
            if number == 1:
                self.draw_ring(*where)
        if remarks:
            self.note(", ".join(remarks[:6]), marked=self.place(moves[0]) is None)

    def draw_ring(self, x: int, y: int) -> None:
        """The mark of the best move."""
        width = min(4.0, max(1.6, 0.09 * self.cell))
        self.axes.add_patch(Circle((x, y), 0.49, fc="none", ec=RING, lw=width, zorder=7))

    def number_ink(self, first: bool) -> str:
        """The colour of a number on a stone."""
        return _WHITE if first else INK


class GoBoard(PointBoard):
    """A Go board."""

    def draw_position(self) -> None:
        """Lines, coordinates, stones, and a mark on the last move."""
        state, size = self.state, self.state.size
        self.rows = self.columns = size
        self.set_limits()
        self.axes.add_patch(Rectangle((-0.5, -0.5), size, size, fc=_PAPER, ec=_GRID, lw=0.8, zorder=0))
        for i in range(size):
            self.axes.plot([0, size - 1], [i, i], color=_GRID, lw=0.7, zorder=1)
            self.axes.plot([i, i], [0, size - 1], color=_GRID, lw=0.7, zorder=1)
            self.write(i, -0.8, GTP_COLUMNS[i], _GRID, 0.8)
            self.write(-0.8, i, str(size - i), _GRID, 0.8)
        for star in star_points(size):
            self.axes.add_patch(Circle((star % size, star // size), 0.09, color=_GRID, zorder=2))
        for row in range(size):
            for column in range(size):
                if state.stones[row, column]:
                    self.draw_stone(column, row, state.stones[row, column] == BLACK)
        where = None if state.last_move is None else self.place(state.last_move)
        if where is not None and state.color_at(state.last_move):
            ink = _WHITE if state.color_at(state.last_move) == BLACK else _BLACK
            self.axes.add_patch(Circle(where, 0.2, fc="none", ec=ink, lw=0.06 * self.cell, zorder=5))

    def draw_stone(self, x: int, y: int, first: bool, edge: float = 0.8) -> None:
        """A black or a white stone."""
        self.axes.add_patch(Circle((x, y), 0.46, fc=_BLACK if first else _WHITE, ec="#333333", lw=edge, zorder=4))


class SquareBoard(PointBoard):
    """The board of any game on squares, with its own signs for the players."""

    def draw_position(self) -> None:
        """Squares with their signs."""
        game: Any = game_of(self.state)
        cells = game.cells(self.state.arrays)[0]
        self.rows, self.columns = game.shape(self.state.options)
        self.set_limits()
        for row in range(self.rows):
            self.write(-0.8, row, str(self.rows - row), _GRID, 0.8)
            for column in range(self.columns):
                self.axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fc=_PAPER, ec=_GRID, lw=0.8, zorder=0))
                owner = int(cells[row * self.columns + column])
                if owner:
                    self.draw_stone(column, row, owner == FIRST)
        for column in range(self.columns):
            self.write(column, -0.8, "abcdefghijklmnopqrstuvwxyz"[column], _GRID, 0.8)

    def draw_stone(self, x: int, y: int, first: bool, edge: float = 0.8) -> None:
        """The player's sign; of a line of play, behind its number."""
        game: Any = game_of(self.state)
        sign, size = game.symbols[1 if first else 2], min(60.0, 0.6 * self.cell)
        ink = "#c9b98f" if edge > 1 else INK
        self.axes.text(x, y, sign, ha="center", va="center", fontsize=size, color=ink, weight="bold", zorder=4)

    def number_ink(self, first: bool) -> str:
        """Readable on the player's sign."""
        return INK


def direction(source: tuple[float, float], target: tuple[float, float]) -> tuple[float, float]:
    """The unit vector from one point to another."""
    x, y = target[0] - source[0], target[1] - source[1]
    length = math.hypot(x, y) or 1.0
    return x / length, y / length
