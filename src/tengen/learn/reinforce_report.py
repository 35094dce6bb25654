"""The report of policy-gradient learning: `report.html`, which needs no other file, and `curves.png`.

The matches against the policy of the start, results and length of the games, losses, and some of the newest games. It
can be written at any time, while the run is under way too, for it only reads.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import PercentFormatter

from tengen._figures import BLUE, GREEN, GREY, RED, as_png, dress
from tengen.arena.statistics import Score, describe_elo
from tengen.games.game import get_game
from tengen.learn.reinforce_config import ReinforceConfig
from tengen.learn.reinforce_games import GameFolder
from tengen.learn.report import write_page
from tengen.learn.zero_report import ShownGame, replay_game, show_game
from tengen.nets.model_file import read_card
from tengen.runs.folder import FolderError, read_metrics, read_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = Mapping[str, Any]
_PAPER: Final = 0.8  # what AlphaGo's policy won against the one that it started from


def write_reinforce_report(run: Path, games: int = 6) -> Path:
    """Write the report of the run in this directory; returns the path of the page."""
    settings, lines = read_settings(run), read_metrics(run)
    if not lines:
        raise FolderError(f"the run in {run} has completed no update yet: there is nothing to report")
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in settings.items())
    return write_page(
        run,
        "zero_page.html",
        draw_reinforce(lines),
        title=escape(run.resolve().name),
        subtitle=escape(f"Policy gradient from {Path(str(settings['start_from'])).name}"),
        figures=_figures(lines),
        duels=_matches(lines),
        sheet="".join(map(show_game, _newest_games(run, settings, games))),
        changes="",
        settings=rows,
    )


def draw_reinforce(lines: Sequence[Line]) -> bytes:
    """The curves of a run as a PNG; lines: the metrics of its updates."""
    figure = Figure(figsize=(12, 7.4), dpi=130, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.1))
    strength, points, entropy, value = figure.subplots(2, 2).ravel()
    unit, name = (3600.0, "hours") if lines[-1]["seconds"] > 7200 else (60.0, "minutes")
    measured = [line for line in lines if "score" in line]
    times = [0.0, *(line["seconds"] / unit for line in measured)]
    scores = [0.5, *(line["score"] for line in measured)]
    bounds = ([0.5, *(line[f"score_{end}"] for line in measured)] for end in ("low", "high"))
    strength.plot(times, scores, color=BLUE, linewidth=1.8, marker=".", markersize=6, label="with 95% interval")
    strength.fill_between(times, *bounds, color=BLUE, alpha=0.15, linewidth=0)
    strength.axhline(_PAPER, color=GREY, linewidth=1, linestyle="--", label="AlphaGo (Silver et al. 2016)")
    strength.set_ylim(0, 1)
    _curve(points, lines, "points", unit, "of the learner", BLUE)
    _curve(points, lines, "first", unit, "of who begins", GREEN)
    points.set_ylim(0, 1)
    _curve(entropy, lines, "entropy", unit, "", BLUE)
    entropy.set_ylim(bottom=0)
    _curve(value, lines, "loss_value", unit, "", RED)
    for axes, title in (
        (strength, "Points against the policy of the start"),
        (points, "Points in the games it learned from"),
        (entropy, "Entropy of the policy (nats)"),
        (value, "Squared error of the value"),
    ):
        dress(axes, title)
        axes.set_xlabel(f"{name} of learning", color=GREY, fontsize=9)
    for axes in (strength, points):
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return as_png(figure)


def _curve(axes: "Axes", lines: Sequence[Line], key: str, unit: float, name: str, color: str) -> None:
    found = [(line["seconds"] / unit, line[key]) for line in lines if key in line]
    if found:
        axes.plot(*zip(*found), color=color, label=name or None, linewidth=1.4)


def _newest_games(run: Path, settings: Mapping[str, Any], count: int) -> list[ShownGame]:
    """Some games of the newest update, spread evenly over it."""
    folder = GameFolder(run / "games", tidy=False)
    experience = folder.read(folder.updates()[-1]) if folder.updates() else None
    if experience is None:
        return []
    known = {name: value for name, value in settings.items() if name in ReinforceConfig.__dataclass_fields__}
    options = ReinforceConfig(**known).spec(read_card(run / "last.safetensors")).options
    names, shown = get_game(options.game).players, []
    for i in np.linspace(0, len(experience.winner) - 1, min(count, len(experience.winner))).astype(int):
        side = int(experience.learner[i])
        origin = f"the learner was {names[side - 1]}" if side else "the learner against itself"
        moves = experience.actions[i][experience.actions[i] >= 0].tolist()
        shown.append(replay_game(options, moves, int(experience.winner[i]), False, origin))
    return shown


def _figures(lines: Sequence[Line]) -> str:
    """The figures that one looks for first."""
    last, seconds = lines[-1], lines[-1]["seconds"]
    best = max((line for line in lines if "score" in line), key=lambda line: float(line["score"]), default=None)
    found = {
        "best match against the start": f"{best['score']:.1%}" if best else "?",
        "updates": f"{last['step']:,}",
        "games": f"{sum(line['games'] for line in lines):,}",
        "positions": f"{sum(line['positions'] for line in lines):,}",
        "entropy, first and last": f"{lines[0]['entropy']:.2f}, {last['entropy']:.2f}",
        "time": f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h",
    }
    return "".join(f"<div><b>{value}</b><span>{name}</span></div>" for name, value in found.items())


def _matches(lines: Sequence[Line], most: int = 12) -> str:
    """The last matches against the policy of the start."""
    rows = []
    for line in [line for line in reversed(lines) if "score" in line][:most]:
        score = Score(line["wins"], line["losses"], line["draws"])
        rows.append(
            f"<tr><th>update {line['step']}</th><td>{line['wins']}-{line['losses']}"
            f"{f' ={score.draws}' * (score.draws > 0)}</td><td>{score}</td><td>{escape(describe_elo(score))}</td></tr>"
        )
    return "".join(rows)
