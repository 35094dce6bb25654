"""The picture of a position as an agent sees it: Figure 5 of AlphaGo (Silver et al. 2016), six boards side by side."""

import math
from collections.abc import Sequence
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tengen._figures import GREY, as_png, as_svg
from tengen.games.game import game_of
from tengen.games.state import AnyState
from tengen.serve.explain import Panel
from tengen.serve.explain_boards import INK, Color, board_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INCHES: Final = 5.0  # width of a board
_BESIDE, _ABOVE, _TITLE = 0.75, 0.55, 0.75  # inches for the bar of colours, the heading, the title of all
_FAINT: Final = 0.01  # shares below are not written


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
