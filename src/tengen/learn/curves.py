"""Pictures of training: how loss and accuracy went, drawn with Matplotlib and without its global state."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, PercentFormatter

from tengen._figures import BLUE, CURVE_COLORS, GREEN, GREY, RED, as_png, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PHASE_COLORS: Final = ("#0b4fb3", "#3b8ed0", "#1c8a5a", "#d99a1b", "#d6204e")

Metrics = Sequence[Mapping[str, Any]]
"""Lines of metrics.jsonl."""


def draw_curves(metrics: Metrics) -> bytes:
    """The curves of a run as a PNG: loss, accuracy, accuracy by phase of the game, learning rate."""
    figure = Figure(figsize=(12, 7.4), dpi=130, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1))
    loss, accuracy, phases, rate = figure.subplots(2, 2).ravel()
    positions = [line["positions"] for line in metrics]
    _curve(loss, positions, [line["train_loss"] for line in metrics], "training", GREY)
    _curve(loss, positions, [line["test_loss"] for line in metrics], "test", BLUE)
    if metrics and "test_value_loss" in metrics[-1]:
        errors = [line.get("test_value_loss", float("nan")) for line in metrics]
        _curve(loss, positions, errors, "value, test (squared error)", RED)
    _curve(accuracy, positions, [line["test_top5"] for line in metrics], "top-5", GREEN)
    _curve(accuracy, positions, [line["test_top1"] for line in metrics], "top-1", BLUE)
    names = list(metrics[-1]["test_top1_by_phase"]) if metrics else []
    for name, color in zip(names, PHASE_COLORS):
        values = [line["test_top1_by_phase"].get(name, float("nan")) for line in metrics]
        _curve(phases, positions, values, name, color)
    _curve(rate, positions, [line["rate"] for line in metrics], "", BLUE)
    rate.set_ylim(bottom=0)
    for axes, title in (
        (loss, "Loss (nats)"),
        (accuracy, "Moves predicted, test games"),
        (phases, "Top-1 by phase of the game"),
        (rate, "Learning rate"),
    ):
        dress(axes, title)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel("positions learned from", color=GREY, fontsize=9)
    for axes in (accuracy, phases):
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    return as_png(figure)


def draw_value_curves(metrics: Metrics) -> bytes:
    """The curves of value learning as a PNG: squared error, distance from the policy held to if any, learning rate."""
    held = bool(metrics) and "test_policy_divergence" in metrics[-1]
    figure = Figure(figsize=(12, 4), dpi=130, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1))
    panels = figure.subplots(1, 3 if held else 2)
    positions = [line["positions"] for line in metrics]
    _curve(panels[0], positions, [line["train_value_loss"] for line in metrics], "games learned from", GREY)
    _curve(panels[0], positions, [line["test_value_loss"] for line in metrics], "test games", BLUE)
    titles = ["Mean of (z - v)^2", "Learning rate"]
    if held:
        _curve(panels[1], positions, [line["test_policy_divergence"] for line in metrics], "test games", GREEN)
        titles.insert(1, "Distance from the policy at the start (nats)")
    _curve(panels[-1], positions, [line["rate"] for line in metrics], "", BLUE)
    panels[-1].set_ylim(bottom=0)
    for axes, title in zip(panels, titles):
        dress(axes, title)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel("positions learned from", color=GREY, fontsize=9)
    return as_png(figure)


def draw_sweep(names: Sequence[str], errors: Sequence[float], runs: Sequence[Metrics], title: str) -> bytes:
    """The outcome of a sweep as a PNG: the last top-1 of each run (best first), and top-1 over training time.

    errors: the standard error of each run's last top-1.
    """
    figure = Figure(figsize=(13, max(4.5, 1.6 + 0.42 * len(names))), dpi=130, layout="constrained")
    figure.suptitle(title, fontsize=12, x=0.01, ha="left", color="#374151")
    bars, curves = figure.subplots(1, 2, width_ratios=(1, 1.15))
    colors = [CURVE_COLORS[i % len(CURVE_COLORS)] for i in range(len(names))]
    last = [metrics[-1]["test_top1"] for metrics in runs]
    places = range(len(names))
    reach = [1.96 * error for error in errors]
    bars.barh(places, last, xerr=reach, color=colors, height=0.66, error_kw={"ecolor": "#1f2937", "elinewidth": 1.2})
    for place, share, length in zip(places, last, reach):
        bars.text(share + length, place, f"  {share:.1%}", va="center", fontsize=9)
    bars.set_yticks(places, names)
    bars.invert_yaxis()
    bars.set_xlim(0, max(share + length for share, length in zip(last, reach)) * 1.15 + 1e-3)
    unit, name_of_unit = (
        (60.0, "minutes") if max(line["seconds"] for run in runs for line in run) > 180 else (1.0, "seconds")
    )
    for i, metrics in enumerate(runs):
        times = [0.0, *(line["seconds"] / unit for line in metrics)]
        style = ("-", "--", ":")[i // len(CURVE_COLORS) % 3]
        shares = [0.0, *(line["test_top1"] for line in metrics)]
        curves.plot(times, shares, style, color=colors[i], marker=".", markersize=5, linewidth=1.6)
    dress(bars, "Top-1 on test games, with 95% intervals")
    dress(curves, "Top-1 over training time (colours as on the left)")
    curves.set_xlabel(f"{name_of_unit} of training", color=GREY, fontsize=9)
    bars.grid(axis="y", visible=False)
    bars.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    curves.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    curves.set_ylim(bottom=0)
    return as_png(figure)


def _curve(axes: "Axes", x: Sequence[float], y: Sequence[float], name: str, color: str) -> None:
    marker = "." if len(x) <= 60 else ""
    axes.plot(x, y, color=color, label=name or None, linewidth=1.8, marker=marker, markersize=6)
