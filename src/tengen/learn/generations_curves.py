"""Pictures of generations: what their networks learned, and how they did in matches."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator, PercentFormatter

from tengen._figures import BLUE, CURVE_COLORS, GREEN, GREY, RED, as_png, dress

Line = Mapping[str, Any]


def draw_generations(lines: Sequence[Line], sides: Sequence[str]) -> bytes:
    """The curves of a run as a PNG; lines: the metrics of its generations; sides: the names of its networks."""
    figure = Figure(figsize=(12, 7.4), dpi=130, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1))
    loss, games, first, second = figure.subplots(2, 2).ravel()
    numbers = [line["step"] for line in lines]
    for side, color in zip(sides, CURVE_COLORS):
        loss.plot(numbers, [line[f"{side}_loss"] for line in lines], color=color, marker=".", label=f"{side}")
        constant = [line[f"{side}_constant_loss"] for line in lines]
        loss.plot(numbers, constant, color=color, linestyle=":", label=f"{side}, a constant")
    games.plot(numbers, [line["first"] for line in lines], color=BLUE, marker=".", label="of the games learned from")
    self_play = [line.get(f"match_{line['step']}_{line['step']}", float("nan")) for line in lines]
    games.plot(numbers, self_play, color=GREEN, marker=".", label="of greedy games with itself")
    for axes, name in ((first, "match_{new}_{other}"), (second, "match_{other}_{new}")):
        for other, color, label in ((0, GREY, "random moves"), (1, RED, "generation 1"), (-1, BLUE, "the last one")):
            points = [_points(line, name, line["step"] - 1 if other < 0 else other) for line in lines]
            axes.plot(numbers, points, color=color, marker=".", label=f"against {label}")
    for axes in (games, first, second):
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    titles = ("Loss on test games (nats)", "Points of the first player", "As the first player", "As the second player")
    for axes, title in zip((loss, games, first, second), titles):
        dress(axes, title)
        axes.set_xlabel("generation", color=GREY, fontsize=9)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return as_png(figure)


def _points(line: Line, name: str, other: int) -> float:
    """The new generation's points against another one."""
    score = line.get(name.format(new=line["step"], other=other))
    if score is None:
        return float("nan")
    return float(score if name.startswith("match_{new}") else 1.0 - score)
