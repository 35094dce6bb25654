"""How often generations throw away won games, as a picture."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from tengen._figures import BLUE, GREY, as_png, dress
from tengen.arena.mistakes import Mistakes


def draw_mistakes(found: Mapping[int, Mistakes], about: str) -> bytes:
    """The share of won positions that each generation threw away, with 95% intervals, as a PNG."""
    measured = {number: mistakes for number, mistakes in found.items() if mistakes.won}
    figure = Figure(figsize=(8, 4.2), dpi=130, layout="constrained")
    axes = figure.subplots()
    shares = [100 * mistakes.share for mistakes in measured.values()]
    low, high = ([100 * mistakes.interval[side] for mistakes in measured.values()] for side in (0, 1))
    axes.plot(list(measured), shares, color=BLUE, marker="o")
    axes.fill_between(list(measured), low, high, color=BLUE, alpha=0.15, linewidth=0)
    axes.set_xticks(list(measured), ["random" if number == 0 else str(number) for number in measured])
    axes.set_ylim(bottom=0)
    axes.set_ylabel("won positions thrown away, %", color=GREY, fontsize=9)
    axes.set_xlabel(f"generation; {about}", color=GREY, fontsize=9)
    dress(axes, "Games thrown away by the greedy move, by the exact solver")
    return as_png(figure)
