"""A Microchess board drawn with Matplotlib: the best moves as numbered arrows, with a list of them beside the board."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from matplotlib.patches import Circle, Rectangle

from tengen.games.microchess.board import BLACK_PIECE, FILES, RANKS, SQUARES
from tengen.games.microchess.notation import FILE_NAMES, move_parts
from tengen.games.state import RESIGN
from tengen.serve.explain_boards import INK, RING, Board, Color, Paint, direction, ink_on, percent

_SOLID: Final = " ♟♞♝♜♛♚"
_LIGHT, _DARK, _EDGE = "#f4f1ea", "#d3cbbb", "#8d7b58"
_MOVER: Final[Color] = (0.043, 0.31, 0.702, 1.0)
_OPPONENT: Final[Color] = (0.85, 0.52, 0.05, 1.0)
_SHOWN: Final = 6  # moves with an arrow
_TIPS: Final = ((0.2, 0.0), (0.45, 0.0), (0.2, 0.3), (0.2, -0.3), (-0.15, 0.0))
"""Where the number of an arrow may be: how far back from the middle of the square, and how far aside."""
_LIST_X: Final = FILES - 0.2


class Chessboard(Board):
    """A Microchess board, White below."""

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
        from matplotlib.patheffects import Normal, Stroke

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
