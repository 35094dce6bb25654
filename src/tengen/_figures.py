"""The look of all our pictures, which Matplotlib draws without its global state."""

from io import BytesIO
from typing import TYPE_CHECKING, Final

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import PercentFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE: Final = "#0b4fb3"
RED: Final = "#d6204e"
GREEN: Final = "#1c8a5a"
GREY: Final = "#6b7280"
CURVE_COLORS: Final = (BLUE, RED, GREEN, "#d99a1b", "#7b3fb8", "#12a0b8", "#8a5a2b", "#d45fa8", "#6b7280", "#94b41d")


def new_figure(width: float, height: float) -> Figure:
    """An empty picture of this size in inches, with some room between its panels."""
    return Figure(figsize=(width, height), dpi=130, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1))


def as_png(figure: Figure) -> bytes:
    """The picture as a PNG file."""
    file = BytesIO()
    FigureCanvasAgg(figure).print_png(file)  # type: ignore[no-untyped-call]
    return file.getvalue()


def as_svg(figure: Figure) -> bytes:
    """The picture as an SVG file, letters drawn as shapes."""
    file = BytesIO()
    FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return file.getvalue()


def dress(axes: "Axes", title: str, x: str = "", *, share: bool = False) -> None:
    """The look of all our pictures. `x`: what runs from left to right; `share`: percents run from below to above."""
    if x:
        axes.set_xlabel(x, color=GREY, fontsize=9)
    if share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color="#1f2937")
    axes.grid(color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#9ca3af")
    axes.tick_params(colors="#374151", labelsize=9)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=9)
