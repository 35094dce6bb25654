"""Reports of runs: the frame of every `report.html`, the pictures, and the report of supervised learning.

That has curves of loss, accuracy and learning rate; accuracy by phase of the game; and a sheet of test positions with
the network's moves as a heat map, the move that was played, and the three likeliest moves. A report can be written at
any time, while the run is under way too, because it only reads. Matplotlib draws without its global state.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from tengen._figures import BLUE, CURVE_COLORS, GREEN, GREY, RED, as_png, dress, new_figure
from tengen._pages import render_page
from tengen.data.dataset import Dataset, DatasetError, Selection, position_of
from tengen.encode.go import get_go_encoder
from tengen.games import go
from tengen.games.go import BLACK, to_gtp
from tengen.games.go.coordinates import board_svg
from tengen.learn.loader import PositionLoader
from tengen.learn.settings import GenerationsConfig, SupervisedConfig
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import read_model
from tengen.runs.files import write_atomically
from tengen.runs.folder import FolderError, read_metrics, read_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tengen.learn.evaluate import ValueErrors

REPORT_FILE: Final = "report.html"
CURVES_FILE: Final = "curves.png"
PHASE_COLORS: Final = ("#0b4fb3", "#3b8ed0", "#1c8a5a", "#d99a1b", "#d6204e")
_FAINT: Final = 0.005  # smaller probabilities are not drawn
_DRAWN: Final = 512  # positions to choose the samples from

Metrics = Sequence[Mapping[str, Any]]
"""Lines of metrics.jsonl."""


def write_page(
    run: Path,
    template: str,
    *,
    subtitle: str,
    figures: Mapping[str, str],
    settings: Mapping[str, Any],
    curves: bytes | None = None,
    **parts: str,
) -> Path:
    """Write the page of a run's directory from one of our templates; returns its path.

    `figures` are those that one looks for first, by name; `curves` is a PNG; `parts` are HTML, all else is text.
    """
    if curves is not None:
        write_atomically(run / CURVES_FILE, curves)
    page = render_page(
        "tengen.learn",
        template,
        {} if curves is None else {"curves": curves},
        title=escape(run.resolve().name),
        subtitle=escape(subtitle),
        figures="".join(
            f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>" for name, value in figures.items()
        )
        or "<p>Nothing has been measured yet.</p>",
        settings="".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in settings.items()
        ),
        **parts,
    )
    write_atomically(run / REPORT_FILE, page)
    return run / REPORT_FILE


def duration(seconds: float) -> str:
    """`90 s`, `12 min` or `3.4 h`."""
    minutes, hours = seconds / 60, seconds / 3600
    return f"{seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min" if hours < 2 else f"{hours:.1f} h"


# -------------------------------------------------------------------------------- supervised learning


def write_report(run: Path, samples: int = 12) -> Path:
    """Write the report of the run in this directory; returns the path of the page."""
    settings, metrics = read_settings(run), read_metrics(run)
    return write_page(
        run,
        "report_page.html",
        subtitle=_subtitle(settings),
        figures=_figures(run, metrics),
        settings=settings,
        curves=draw_curves(metrics),
        phases=_phases(metrics),
        sheet=_sheet(run, samples),
    )


def _subtitle(settings: Mapping[str, Any]) -> str:
    words = [
        f"{settings.get('network', '?')} on {settings.get('encoder', '?')}",
        f"by {settings.get('optimizer', '?')}",
    ]
    words.append(f"from {Path(str(settings.get('data', '?'))).name}")
    return ", ".join(words)


def _figures(run: Path, metrics: list[dict[str, Any]]) -> dict[str, str]:
    if not metrics:
        return {}
    best, last = min(metrics, key=lambda line: float(line["test_loss"])), metrics[-1]
    found = {
        "top-1": f"{best['test_top1']:.1%}",
        "top-5": f"{best['test_top5']:.1%}",
        "loss": f"{best['test_loss']:.3f}",
        **({"value loss": f"{best['test_value_loss']:.3f}"} if "test_value_loss" in best else {}),
        "best at positions": f"{best['positions']:,}",
        "positions so far": f"{last['positions']:,}",
    }
    if "seconds" in last:
        found["time"] = duration(last["seconds"])
    if (run / "best.safetensors").exists():
        found["weights"] = f"{sum(tensor.size for tensor in read_model(run / 'best.safetensors')[0].values()):,}"
    return found


def _phases(metrics: list[dict[str, Any]]) -> str:
    """Top-1 by phase of the game at the best validation, as bars."""
    if not metrics:
        return ""
    best = min(metrics, key=lambda line: float(line["test_loss"]))
    return "".join(
        f'<tr><th>{escape(name)}</th><td class="bar">{_bar(share)}</td><td>{share:.1%}</td></tr>'
        for name, share in best["test_top1_by_phase"].items()
    )


def _bar(share: float) -> str:
    return f'<i style="width:{100 * share:.1f}%"></i>'


def _sheet(run: Path, count: int) -> str:
    """The sheet of sample positions, or why there is none."""
    from tengen.learn.supervised import choose_games

    model = run / "best.safetensors"
    if not model.exists():
        return "<p>No model yet.</p>"
    try:
        games = choose_games(SupervisedConfig.read(run))
        samples = draw_samples(model, games.dataset, games.test, count)
    except DatasetError as error:
        return f"<p>No positions to show: {escape(str(error))}.</p>"
    return "".join(map(_sample, samples))


def _sample(sample: "Sample") -> str:
    """One board with its caption."""
    size, guesses = sample.state.size, sample.guesses
    heat = {point: float(share) for point, share in enumerate(sample.policy[:-1]) if share >= _FAINT}
    labels = {move: str(i + 1) for i, (move, _) in enumerate(guesses) if move >= 0}
    board = board_svg(sample.state, heat=heat, labels=labels, ring=sample.played)
    player = "Black" if sample.state.to_play == BLACK else "White"
    verdict = {1: "first guess", 2: "second guess", 3: "third guess"}.get(sample.rank, f"guess {sample.rank}")
    rows = "".join(
        f'<tr class="{"hit" if move == sample.played else ""}"><th>{i + 1}. {to_gtp(move, size)}</th>'
        f'<td class="bar">{_bar(share)}</td><td>{share:.1%}</td></tr>'
        for i, (move, share) in enumerate(guesses)
    )
    return (
        f"<figure>{board}<figcaption><p><b>Move {sample.ply + 1}, {player}</b> played "
        f"<em>{to_gtp(sample.played, size)}</em>: {verdict}, {sample.probability:.1%}</p><table>{rows}</table>"
        f"<small>game {sample.game}</small></figcaption></figure>"
    )


@dataclass(frozen=True)
class Sample:
    """One position, the move that was played and the probabilities that the network gave."""

    state: go.State
    game: int
    """Row of the dataset."""
    ply: int
    """How many moves had been played before."""
    played: int
    """A move as `go.State` writes it."""
    policy: NDArray[np.float32]  # [N * N + 1], the last for passing

    @property
    def guesses(self) -> list[tuple[int, float]]:
        """The three likeliest moves with their probabilities."""
        best = np.argsort(-self.policy, kind="stable")[:3]
        return [(self.state.move_of(int(i)), float(self.policy[i])) for i in best]

    @property
    def probability(self) -> float:
        """Of the move that was played."""
        return float(self.policy[self.state.action_of(self.played)])

    @property
    def rank(self) -> int:
        """1 if the move that was played was the likeliest, and so on."""
        return int((self.policy > self.probability).sum()) + 1


def draw_samples(model: Path, dataset: Dataset, games: Selection, count: int = 12, seed: int = 0) -> list[Sample]:
    """Positions from all phases of the games, in the order of their move numbers; the same ones for every model."""
    evaluator, card = load_evaluator(model)
    loader = PositionLoader(games, get_go_encoder(card.encoder), batch=1, seed=seed, symmetries=False)
    drawn = loader.batch_at(0, min(_DRAWN, loader.positions))
    order = np.argsort(drawn.plies, kind="stable")
    at = np.linspace(0, len(order) - 1, min(count, len(order)) * 2 + 1)[1::2].astype(np.int64)
    chosen = order[at]
    logits = evaluator.evaluate(np.ascontiguousarray(drawn.planes[chosen]))[0]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    policies = powers / powers.sum(axis=1, keepdims=True)
    samples = []
    for policy, game, ply in zip(policies, drawn.games[chosen].tolist(), drawn.plies[chosen].tolist()):
        state = position_of(dataset, game, ply)
        samples.append(Sample(state, game, ply, dataset.move_of(game, ply)[1], policy))
    return samples


# ------------------------------------------------------------------------------------------- pictures


def write_value_curves(run: Path) -> Path:
    """Draw the curves of value learning, also of a run under way; returns the path of the picture."""
    return _write_curves(run, draw_value_curves)


def write_generation_curves(run: Path) -> Path:
    """Draw the curves of the generations of a run, also of one under way; returns the path of the picture."""
    return _write_curves(run, lambda lines: draw_generations(lines, tuple(GenerationsConfig.read(run).sides())))


def _write_curves(run: Path, draw: Callable[[Metrics], bytes]) -> Path:
    lines = read_metrics(run)
    if not lines:
        raise FolderError(f"the run in {run} has measured nothing yet: there is nothing to draw")
    write_atomically(run / CURVES_FILE, draw(lines))
    return run / CURVES_FILE


def draw_curves(metrics: Metrics) -> bytes:
    """The curves of a run as a PNG: loss, accuracy, accuracy by phase of the game, learning rate."""
    figure = new_figure(12, 7.4)
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
    for axes, title, share in (
        (loss, "Loss (nats)", False),
        (accuracy, "Moves predicted, test games", True),
        (phases, "Top-1 by phase of the game", True),
        (rate, "Learning rate", False),
    ):
        dress(axes, title, "positions learned from", share=share)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    return as_png(figure)


def draw_value_curves(metrics: Metrics) -> bytes:
    """The curves of value learning as a PNG: squared error, distance from the policy held to if any, learning rate."""
    held = bool(metrics) and "test_policy_divergence" in metrics[-1]
    figure = new_figure(12, 4)
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
        dress(axes, title, "positions learned from")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
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
    dress(curves, "Top-1 over training time (colours as on the left)", f"{name_of_unit} of training", share=True)
    bars.grid(axis="y", visible=False)
    bars.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    curves.set_ylim(bottom=0)
    return as_png(figure)


def draw_generations(lines: Metrics, sides: Sequence[str]) -> bytes:
    """The curves of a run as a PNG; lines: the metrics of its generations; sides: the names of its networks."""
    figure = new_figure(12, 7.4)
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
            points = [_points_against(line, name, line["step"] - 1 if other < 0 else other) for line in lines]
            axes.plot(numbers, points, color=color, marker=".", label=f"against {label}")
    for axes in (games, first, second):
        axes.set_ylim(0, 1)
    titles = ("Loss on test games (nats)", "Points of the first player", "As the first player", "As the second player")
    for axes, title in zip((loss, games, first, second), titles):
        dress(axes, title, "generation", share=axes is not loss)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return as_png(figure)


def _points_against(line: Mapping[str, Any], name: str, other: int) -> float:
    """The new generation's points against another one."""
    score = line.get(name.format(new=line["step"], other=other))
    if score is None:
        return float("nan")
    return float(score if name.startswith("match_{new}") else 1.0 - score)


def draw_value_errors(errors: "ValueErrors") -> bytes:
    """The errors over the number of moves as a PNG, with intervals of two standard errors."""
    figure = new_figure(8, 5)
    axes = figure.subplots()
    parts = errors.by_move()
    middles = [sum(moves) / 2 for moves in parts]
    for name, color in zip(errors.squares, CURVE_COLORS):
        means = np.array([errors.mean(name, chosen) for chosen in parts.values()])
        axes.errorbar(middles, means[:, 0], 2 * means[:, 1], color=color, label=name, marker="o", capsize=3)
    axes.axhline(1.0, color=GREY, linestyle=":", linewidth=1.2)
    axes.set_ylim(bottom=0)
    dress(axes, "Mean of (z - v)^2 by the number of moves; always 0 has 1", "moves played")
    return as_png(figure)


def _curve(axes: "Axes", x: Sequence[float], y: Sequence[float], name: str, color: str) -> None:
    marker = "." if len(x) <= 60 else ""
    axes.plot(x, y, color=color, label=name or None, linewidth=1.8, marker=marker, markersize=6)
