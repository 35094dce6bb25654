"""The report of self-play training: `report.html`, which needs no other file, and `curves.png`.

The learning curve, losses, speed, what the settings were, and some of the newest games of self-play. It can be
written at any time, while the run is under way too, because it only reads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from tengen._figures import BLUE, CURVE_COLORS, GREEN, GREY, RED, as_png, dress
from tengen.arena.statistics import Rating
from tengen.games.game import get_game
from tengen.games.state import Options
from tengen.learn.replay import ChunkFolder
from tengen.learn.report import write_page
from tengen.learn.zero import ZeroConfig, read_config
from tengen.runs.folder import FolderError, read_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = Mapping[str, Any]
_LOSS_NAMES: Final = {"policy": "policy", "value": "value", "ownership": "ownership", "score": "margin"}


def write_zero_report(run: Path, games: int = 6) -> Path:
    """Write the report of the run in this directory; returns the path of the page."""
    config = read_config(run)
    metrics = read_metrics(run)
    lines = [line for line in metrics if "generation" in line]
    if not lines:
        raise FolderError(f"the run in {run} has completed no round yet: there is nothing to report")
    curves = draw_zero(lines)
    played = get_game(config.game).describe(config.game_options())
    return write_page(
        run,
        "zero_page.html",
        curves,
        title=escape(run.resolve().name),
        subtitle=escape(f"{played}: {config.network} on {config.encoder}"),
        figures=_figures(lines),
        duels=_duels(lines),
        sheet="".join(map(show_game, newest_games(run, config, games))),
        changes=_changes(metrics),
        settings="".join(
            f"<tr><th>{field.name}</th><td>{escape(str(getattr(config, field.name)))}</td></tr>"
            for field in fields(config)
        ),
    )


def newest_games(run: Path, config: ZeroConfig, count: int) -> "list[ShownGame]":
    """Some of the newest games of self-play, spread evenly over the newest chunk, or over several if it has too few."""
    options, chunks = config.game_options(), ChunkFolder(run / "chunks", tidy=False)
    records: list[ShownGame] = []
    for facts in reversed(chunks.facts):
        played, origin = chunks.read_games(facts), f"generation {facts.generation}, round {facts.iteration}"
        wanted = min(count - len(records), len(played.winner))
        for i in np.linspace(0, len(played.winner) - 1, wanted).astype(int):
            moves = played.moves[played.offsets[i] : played.offsets[i + 1]].tolist()
            records.append(replay_game(options, moves, int(played.winner[i]), bool(played.resigned[i]), origin))
        if len(records) == count:
            break
    return records


def _figures(lines: Sequence[Mapping[str, Any]]) -> str:
    """The figures that one looks for first."""
    last = lines[-1]
    rated = [line["elo"] for line in lines if "elo" in line]
    seconds = last["seconds"]
    found = {
        "Elo over the first": f"{rated[-1]:.0f}" if rated else "?",
        "generations": f"{last['generation']}",
        "best generation": f"{last['champion']}",
        "positions": f"{last['positions']:,}",
        "games": f"{last['games']:,}",
        "simulations": f"{last['simulations'] / 1e6:,.1f} M",
        "steps": f"{last['step']:,}",
        "time": f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h",
    }
    if "int8_top1" in last:
        found["8-bit agreement"] = f"{last['int8_top1']:.1%}"
    return "".join(f"<div><b>{value}</b><span>{name}</span></div>" for name, value in found.items())


def _duels(lines: Sequence[Mapping[str, Any]], most: int = 12) -> str:
    """The last duels: who met whom, how it ended, what was decided."""
    rows = []
    for line in [line for line in reversed(lines) if line["duels"]][:most]:
        met = ", ".join(
            f"g{one} {wins}-{losses}" + (f" ={drawn}" * (drawn > 0)) for one, wins, drawn, losses in line["duels"]
        )
        verdict = "" if "gate_promoted" not in line else "promoted" if line["gate_promoted"] else "not promoted"
        elo = f"{line['elo']:.0f}" if "elo" in line else ""
        rows.append(f"<tr><th>g{line['generation']}</th><td>{met}</td><td>{verdict}</td><td>{elo}</td></tr>")
    return "".join(rows)


def _changes(metrics: Sequence[Mapping[str, Any]]) -> str:
    """What was changed on the way."""
    changes = [
        f"<li>{line['seconds'] / 3600:.2f} h: {escape(name)} {escape(str(old))} &rarr; {escape(str(new))}</li>"
        for line in metrics
        for name, (old, new) in line.get("settings_changed", {}).items()
    ]
    return f"<p>Changed on the way:</p><ul>{''.join(changes)}</ul>" if changes else ""


@dataclass(frozen=True)
class ShownGame:
    """A game to look at."""

    picture: str
    """SVG of the last position."""
    text: str
    """Its moves."""
    result: str
    length: int
    origin: str


def replay_game(options: Options, actions: list[int], winner: int, resigned: bool, origin: str) -> ShownGame:
    """A game from its actions."""
    game = get_game(options.game)
    state = game.new(options)
    words: list[str] = []
    numbers: dict[int, str] = {}
    for number, action in enumerate(actions):
        move = state.move_of(action)
        words.append(state.move_name(move))
        numbers[move] = str(number + 1)
        state = state.play(move)
    result = "drawn" if winner == 0 else f"{game.players[winner - 1]} won{' by resignation' if resigned else ''}"
    return ShownGame(game.picture(state, numbers), " ".join(words), result, len(actions), origin)


def show_game(game: ShownGame) -> str:
    """A game with its caption, for a page of HTML."""
    return (
        f"<figure>{game.picture}<figcaption><p><b>{escape(game.result)}</b> in {game.length} moves</p>"
        f'<p class="moves">{escape(game.text)}</p><small>{escape(game.origin)}</small></figcaption></figure>'
    )


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
