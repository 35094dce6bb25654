"""Pictures of learning from nothing: strength, losses, games and speed over the run."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from tengen._figures import BLUE, CURVE_COLORS, GREEN, GREY, RED, as_png, dress
from tengen.arena.ratings import Rating

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = Mapping[str, Any]
_LOSS_NAMES: Final = {"policy": "policy", "value": "value", "ownership": "ownership", "score": "margin"}


def draw_zero(lines: Sequence[Line]) -> bytes:
    """The curves of a run as a PNG; lines: the metrics of its completed rounds."""
    figure = Figure(figsize=(12, 10.6), dpi=130, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1))
    strength, policy, value, games, speed, machine = figure.subplots(3, 2).ravel()
    unit, name = (3600.0, "hours") if lines[-1]["seconds"] > 7200 else (60.0, "minutes")
    hours = [line["seconds"] / unit for line in lines]
    _strength(strength, lines, unit)
    draw = _drawer(lines, hours)
    draw(policy, "loss_policy", "training", GREY)
    draw(policy, "fresh_policy", "new positions", BLUE)
    draw(policy, "fresh_entropy", "entropy of the search's policy", GREEN)
    draw(value, "loss_value", "training", GREY)
    draw(value, "fresh_value", "new positions", BLUE)
    for i, part in enumerate(("ownership", "score")):
        if any(line.get(f"loss_{part}") for line in lines):
            draw(value, f"loss_{part}", _LOSS_NAMES[part], CURVE_COLORS[3 + i])
    draw(games, "play_first", "points of who begins", BLUE)
    draw(games, "play_draws", "drawn", GREEN)
    if any(line.get("play_resigned") for line in lines):
        draw(games, "play_resigned", "resigned", RED)
    games.set_ylim(0, 1)
    games.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    draw(speed, "play_simulations_per_second", "simulations", BLUE)
    draw(speed, "play_positions_per_second", "positions", GREEN)
    speed.set_yscale("log")
    speed.yaxis.set_major_formatter(EngFormatter(sep=""))
    _shares(machine, lines, hours)
    titles = ("Elo, by duels with past generations", "Policy loss (nats)", "Other losses", "Games of self-play")
    for axes, title in zip(
        (strength, policy, value, games, speed, machine),
        (*titles, "Self-play, per second", "Where a round's time goes (seconds)"),
    ):
        dress(axes, title)
        axes.set_xlabel(f"{name} of learning", color=GREY, fontsize=9)
    return as_png(figure)


def draw_ratings(ratings: Mapping[int, Rating], chain: Mapping[int, float]) -> bytes:
    """Ratings by a round robin, with 95% intervals, and those that the run gave itself on the way."""
    figure = Figure(figsize=(9, 5), dpi=130, layout="constrained")
    axes = figure.subplots()
    generations = sorted(ratings)
    first = generations[0]
    if len(chain) > 1:
        rated = sorted(generation for generation in chain if generation >= first)
        base = chain.get(first, 0.0)
        axes.plot(rated, [chain[each] - base for each in rated], color=GREY, linewidth=1.2, label="the run's own")
    elo = [ratings[each].elo for each in generations]
    reach = [1.96 * ratings[each].error for each in generations]
    axes.errorbar(generations, elo, reach, color=BLUE, marker="o", capsize=3, linewidth=1.8, label="round robin")
    dress(axes, f"Elo over generations (generation {first} has 0)")
    axes.set_xlabel("generation", color=GREY, fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return as_png(figure)


def _drawer(lines: Sequence[Line], hours: Sequence[float]) -> Callable[["Axes", str, str, str], None]:
    marker = "." if len(lines) <= 60 else ""

    def draw(axes: "Axes", name: str, label: str, color: str) -> None:
        values = [line.get(name, float("nan")) for line in lines]
        axes.plot(hours, values, color=color, label=label, linewidth=1.8, marker=marker, markersize=6)

    return draw


def _strength(axes: "Axes", lines: Sequence[Line], unit: float) -> None:
    """Elo over time; with a gate, the models that passed it are marked."""
    rated = [line for line in lines if "elo" in line]
    times = [0.0, *(line["seconds"] / unit for line in rated)]
    marker = "." if len(rated) <= 60 else ""
    axes.plot(times, [0.0, *(line["elo"] for line in rated)], color=BLUE, linewidth=1.8, marker=marker, markersize=6)
    for promoted, color, label in ((True, GREEN, "promoted"), (False, RED, "not promoted")):
        those = [line for line in rated if line.get("gate_promoted") is promoted]
        if those:
            places = [line["seconds"] / unit for line in those]
            axes.plot(places, [line["elo"] for line in those], "o", color=color, markersize=5, label=label)


def _shares(axes: "Axes", lines: Sequence[Line], hours: Sequence[float]) -> None:
    """The seconds of each phase, one above the other."""
    phases = ("play", "train", "export", "duels")
    parts = [[line.get(f"seconds_{phase}", 0.0) for line in lines] for phase in phases]
    if len(lines) > 1:
        axes.stackplot(hours, parts, labels=phases, colors=(BLUE, GREEN, GREY, CURVE_COLORS[3]), alpha=0.8)
