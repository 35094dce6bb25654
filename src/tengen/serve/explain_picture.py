"""The picture of a position as an agent sees it: Figure 5 of AlphaGo (Silver et al. 2016), six boards side by side.

Boards are drawn with Matplotlib. On boards of points (Go, and every `BoardGame`) a move's number stands where it is
played, and together the numbers are a heat map. In Microchess the best moves are numbered arrows with a list beside the
board.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar, Final

from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle
from matplotlib.patheffects import Normal, Stroke
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tengen._figures import GREY, as_png, as_svg
from tengen.agents.explanation import Panel
from tengen.games import go, microchess
from tengen.games.board_game import BoardGame, BoardState
from tengen.games.game import AnyGame, game_of
from tengen.games.go.coordinates import GTP_COLUMNS, star_points
from tengen.games.microchess.board import BLACK_PIECE, FILES, RANKS, SQUARES
from tengen.games.microchess.notation import FILE_NAMES, move_parts
from tengen.games.state import FIRST, RESIGN, AnyState

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES: Final = 5.0  # width of a board
_BESIDE, _ABOVE, _TITLE = 0.75, 0.55, 0.75  # inches for the bar of colours, the heading, the title of all
_FAINT: Final = 0.01  # shares below are not written

INK: Final = "#1f2937"
RING: Final = "#d6204e"
_PAPER, _GRID = "#f6ecd6", "#8d7b58"
_BLACK, _WHITE = "#1a1a1a", "#ffffff"

Color = tuple[float, float, float, float]
Paint = Callable[[float], Color]
"""The colour of a number."""

_SOLID: Final = " ♟♞♝♜♛♚"
_LIGHT, _DARK, _EDGE = "#f4f1ea", "#d3cbbb", "#8d7b58"
_MOVER: Final[Color] = (0.043, 0.31, 0.702, 1.0)
_OPPONENT: Final[Color] = (0.85, 0.52, 0.05, 1.0)
_SHOWN: Final = 6  # moves with an arrow
_TIPS: Final = ((0.2, 0.0), (0.45, 0.0), (0.2, 0.3), (0.2, -0.3), (-0.15, 0.0))
"""Where the number of an arrow may be: how far back from the middle of the square, and how far aside."""
_LIST_X: Final = FILES - 0.2


def draw_explanation(state: AnyState, panels: Sequence[Panel], title: str, subtitle: str, suffix: str) -> bytes:
    """The boards of a position as a PNG or, for the suffix `.svg`, as an SVG."""
    figure = explanation_figure(state, panels, title, subtitle)
    return as_svg(figure) if suffix == ".svg" else as_png(figure)


def explanation_figure(state: AnyState, panels: Sequence[Panel], title: str, subtitle: str) -> Figure:
    """The same before it is written: a board with a heading for each panel, and a bar of colours beside most."""
    columns = len(panels) if len(panels) <= 3 else math.ceil(len(panels) / 2)
    rows = math.ceil(len(panels) / columns)
    kind = board_type(game_of(state))
    tall = _INCHES * kind.aspect
    width = max(8.0, columns * (_INCHES + _BESIDE))
    lines = fill(subtitle, int(13 * width))
    top = _TITLE + 0.17 * lines.count("\n")
    height = rows * (tall + _ABOVE) + top
    figure = Figure(figsize=(width, height), dpi=110)
    look: dict[str, Any] = {"color": INK, "va": "top", "parse_math": False}
    figure.text(0.012, 1 - 0.16 / height, title, fontsize=15, weight="bold", **look)
    figure.text(0.012, 1 - 0.46 / height, lines, fontsize=10.5, **look | {"color": GREY})
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        left, bottom = column * (_INCHES + _BESIDE) + 0.1, height - top - (row + 1) * (tall + _ABOVE) + 0.1
        axes = _axes(figure, left, bottom, _INCHES, tall)
        heading = f"{'abcdef'[place]}   {panel.title}"
        axes.text(0.02, 1 + 0.1 / tall, heading, transform=axes.transAxes, fontsize=12, weight="bold", color=INK)
        board = kind(axes, state, _INCHES)
        board.draw_position()
        if panel.line:
            board.draw_line(panel.line)
        else:
            colors = _colors(panel)
            board.draw_moves(panel.numbers, partial(_color, colors), _FAINT if panel.is_share else 0.0)
            _bar(_axes(figure, left + _INCHES + 0.04, bottom + 0.2 * tall, 0.11, 0.6 * tall), colors)
    return figure


def _axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> "Axes":
    """Axes at a place in inches."""
    across, up = figure.get_figwidth(), figure.get_figheight()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _colors(panel: Panel) -> ScalarMappable:
    """Pale to dark blue: shares from 0, small ones stretched; chances from those of poor moves to the best."""
    blues = ListedColormap(colormaps["Blues"]([0.12 + 0.86 * i / 255 for i in range(256)]))
    numbers = sorted(panel.numbers.values())
    if panel.is_share:
        return ScalarMappable(PowerNorm(0.5, 0.0, max(numbers[-1], 0.01)), blues)
    low = numbers[len(numbers) // 20]
    return ScalarMappable(Normalize(min(low, numbers[-1] - 0.02), numbers[-1], clip=True), blues)


def _color(colors: ScalarMappable, number: float) -> Color:
    red, green, blue, alpha = colors.to_rgba(number)  # type: ignore[arg-type]
    return float(red), float(green), float(blue), float(alpha)


def _bar(axes: "Axes", colors: ScalarMappable) -> None:
    bar = axes.figure.colorbar(colors, cax=axes, format=PercentFormatter(1.0, decimals=0))
    bar.outline.set_visible(False)
    bar.locator = MaxNLocator(5)
    bar.update_ticks()
    axes.tick_params(labelsize=8.5, colors=GREY, length=2)


class Board(ABC):
    """One board in a picture."""

    aspect: ClassVar[float] = 1.0
    """Height of the drawing for a width of 1."""

    def __init__(self, axes: "Axes", state: AnyState, inches: float) -> None:
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


def board_type(game: AnyGame) -> type[Board]:
    """The kind of board that a game is drawn on."""
    boards: dict[str, type[Board]] = {"go": GoBoard, "microchess": Chessboard}
    if game.name in boards:
        return boards[game.name]
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

    state: go.State

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
                    self.draw_stone(column, row, state.stones[row, column] == go.BLACK)
        where = None if state.last_move is None else self.place(state.last_move)
        if where is not None and state.last_move is not None and state.color_at(state.last_move):
            ink = _WHITE if state.color_at(state.last_move) == go.BLACK else _BLACK
            self.axes.add_patch(Circle(where, 0.2, fc="none", ec=ink, lw=0.06 * self.cell, zorder=5))

    def draw_stone(self, x: int, y: int, first: bool, edge: float = 0.8) -> None:
        """A black or a white stone."""
        self.axes.add_patch(Circle((x, y), 0.46, fc=_BLACK if first else _WHITE, ec="#333333", lw=edge, zorder=4))


class SquareBoard(PointBoard):
    """The board of any game on squares, with its own signs for the players."""

    state: BoardState

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


class Chessboard(Board):
    """A Microchess board, White below."""

    state: microchess.State

    aspect: ClassVar[float] = (RANKS + 0.6) / (FILES + 2.9)

    def draw_position(self) -> None:
        """Squares, coordinates and pieces; the squares of the last move are framed."""
        self.axes.set_xlim(-1, FILES + 1.9)
        self.axes.set_ylim(-1, RANKS - 0.4)
        cell, last = 72 * self.inches / (FILES + 2.9), self.state.last_move
        framed = () if last is None or last == RESIGN else move_parts(last)[:2]
        for square in range(SQUARES):
            x, y = _center(square)
            shade = _LIGHT if (square % FILES + square // FILES) % 2 else _DARK
            self.axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fc=shade, ec=_EDGE, lw=0.5, zorder=0))
            if square in framed:
                self.axes.add_patch(Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fc="none", ec=_EDGE, lw=2.2, zorder=1))
            piece = self.state.piece_at(square)
            if piece:
                fill, figure = ("#ffffff", piece) if piece <= BLACK_PIECE else ("#1a1a1a", piece - BLACK_PIECE)
                self._piece(x, y, _SOLID[figure], fill, 0.72 * cell)
        for column, letter in enumerate(FILE_NAMES):
            self.axes.text(column, -0.72, letter, ha="center", va="center", color=_EDGE, fontsize=10)
        for rank in range(RANKS):
            self.axes.text(-0.75, rank, str(rank + 1), ha="center", va="center", color=_EDGE, fontsize=10)

    def draw_moves(self, numbers: Mapping[int, float], paint: Paint, faint: float) -> None:
        """The best moves, the first with a ring, and how good they are."""
        order = sorted(numbers, key=lambda move: -numbers[move])
        texts = [f"{self.state.move_san(move)}  {percent(numbers[move])}%" for move in order]
        shown = [move for move in order[:_SHOWN] if numbers[move] >= faint or move == order[0]]
        tips = dict[tuple[int, int], tuple[float, float]]()
        for place, move in enumerate(shown, 1):
            self._arrow(move, str(place), paint(numbers[move]), tips)
        colors = [paint(numbers[move]) if move in shown else None for move in order]
        self._list(texts, colors)

    def draw_line(self, moves: Sequence[int]) -> None:
        """Arrows of the first moves, those of the player to move in blue; the list has all."""
        state, texts, colors = self.state, list[str](), list[Color | None]()
        tips = dict[tuple[int, int], tuple[float, float]]()
        for number, move in enumerate(moves, 1):
            color = _MOVER if number % 2 else _OPPONENT
            if number <= _SHOWN:
                self._arrow(move, str(number), color, tips)
            texts.append(state.move_san(move))
            colors.append(color if number <= _SHOWN else None)
            state = state.play(move)
        self._list(texts, colors)

    def _piece(self, x: float, y: float, figure: str, fill: str, size: float) -> None:
        effects = [Stroke(linewidth=1.6, foreground="#1a1a1a"), Normal()]
        text = self.axes.text(x, y - 0.03, figure, ha="center", va="center", fontsize=size, color=fill, zorder=2)
        text.set_path_effects(effects)

    def _arrow(self, move: int, text: str, color: Color, tips: dict[tuple[int, int], tuple[float, float]]) -> None:
        """A move's arrow, a line with its number at the end, unless its squares have one (another promotion of the same
        pawn). `tips`: where the numbers are by (from, to); a number that would touch another is moved."""
        source, target = move_parts(move)[:2]
        if (source, target) in tips:
            return
        (x, y), (dx, dy) = _center(target), direction(_center(source), _center(target))
        places = [(x - back * dx - side * dy, y - back * dy + side * dx) for back, side in _TIPS]
        free = [at for at in places if all(math.dist(at, other) > 0.4 for other in tips.values())]
        tip = tips[source, target] = (free or places)[0]
        best = text == "1"
        x, y = _center(source)
        line = [x + 0.12 * dx, tip[0]], [y + 0.12 * dy, tip[1]]
        self.axes.plot(*line, color=color, alpha=0.85, lw=5.0, solid_capstyle="round", zorder=3)
        edge, width = (RING, 2.6) if best else ("#ffffff", 1.0)
        self.axes.add_patch(Circle(tip, 0.19, fc=color, ec=edge, lw=width, zorder=5))
        number = self.axes.text(*tip, text, ha="center", va="center_baseline", color=ink_on(color), fontsize=9.5)
        number.set(fontweight="bold", zorder=6)

    def _list(self, texts: Sequence[str], colors: Sequence[Color | None], most: int = 12) -> None:
        """Lines of text beside the board, numbered in the colours of the arrows."""
        for place, (text, color) in enumerate(zip(texts[:most], colors), 1):
            y = RANKS - 0.62 - 0.41 * (place - 1)
            self.axes.add_patch(Circle((_LIST_X, y), 0.16, fc=color or "none", ec="none", zorder=3))
            ink, middle = ink_on(color) if color is not None else "#6b7280", "center_baseline"
            number = self.axes.text(_LIST_X, y, str(place), ha="center", va=middle, color=ink, fontsize=8.5, zorder=4)
            line = self.axes.text(_LIST_X + 0.28, y, text, va=middle, color=INK, fontsize=10)
            if place == 1:
                number.set_fontweight("bold")
                line.set_fontweight("bold")
        if len(texts) > most:
            self.axes.text(_LIST_X + 0.28, -0.75, f"and {len(texts) - most} more", va="center", color=INK, fontsize=9)


def _center(square: int) -> tuple[float, float]:
    return float(square % FILES), float(square // FILES)
