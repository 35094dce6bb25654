"""The report of a training run: `report.html`, which needs no other file, and `curves.png`.

Curves of loss, accuracy and learning rate; accuracy by phase of the game; and a sheet of test positions with the
network's moves as a heat map, the move that was played, and the three likeliest moves. It can be written at any time,
while the run is under way too, for it only reads.
"""

from collections.abc import Mapping
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any, Final

from tengen.data.dataset import DatasetError
from tengen.games.go import BLACK, to_gtp
from tengen.games.go.draw import board_svg
from tengen.learn.curves import draw_curves
from tengen.learn.report_pages import write_page
from tengen.learn.samples import Sample, draw_samples
from tengen.learn.supervised_config import SupervisedConfig
from tengen.learn.supervised_data import choose_games
from tengen.nets.model_file import read_model
from tengen.runs.folder import read_metrics, read_settings

_FAINT: Final = 0.005  # smaller probabilities are not drawn


def write_report(run: Path, samples: int = 12) -> Path:
    """Write the report of the run in this directory; returns the path of the page."""
    settings, metrics = read_settings(run), read_metrics(run)
    curves = draw_curves(metrics)
    return write_page(
        run,
        "report_page.html",
        curves,
        title=escape(run.resolve().name),
        subtitle=_subtitle(settings),
        figures=_figures(run, metrics),
        phases=_phases(metrics),
        sheet=_sheet(run, settings, samples),
        settings="".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in settings.items()
        ),
    )


def _subtitle(settings: Mapping[str, Any]) -> str:
    words = [
        f"{settings.get('network', '?')} on {settings.get('encoder', '?')}",
        f"by {settings.get('optimizer', '?')}",
    ]
    words.append(f"from {Path(str(settings.get('data', '?'))).name}")
    return escape(", ".join(words))


def _figures(run: Path, metrics: list[dict[str, Any]]) -> str:
    """The figures that one looks for first."""
    if not metrics:
        return "<p>No validation yet.</p>"
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
        found["time"] = _duration(last["seconds"])
    if (run / "best.safetensors").exists():
        found["weights"] = f"{sum(tensor.size for tensor in read_model(run / 'best.safetensors')[0].values()):,}"
    return "".join(f"<div><b>{value}</b><span>{name}</span></div>" for name, value in found.items())


def _duration(seconds: float) -> str:
    minutes, hours = seconds / 60, seconds / 3600
    return f"{seconds:.0f} s" if minutes < 2 else f"{minutes:.0f} min" if hours < 2 else f"{hours:.1f} h"


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


def _sheet(run: Path, settings: Mapping[str, Any], count: int) -> str:
    """The sheet of sample positions, or why there is none."""
    model = run / "best.safetensors"
    if not model.exists():
        return "<p>No model yet.</p>"
    known = {field.name for field in fields(SupervisedConfig)}
    config = SupervisedConfig(**{name: value for name, value in settings.items() if name in known})
    try:
        games = choose_games(config)
        samples = draw_samples(model, games.dataset, games.test, count)
    except DatasetError as error:
        return f"<p>No positions to show: {escape(str(error))}.</p>"
    return "".join(map(_sample, samples))


def _sample(sample: Sample) -> str:
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
