"""The report of a run of learning from nothing: `report.html`, which needs no other file, and `curves.png`.

The learning curve, losses, speed, what the settings were, and some of the newest games of self-play. It can be
written at any time, while the run is under way too, for it only reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tengen.games.game import get_game
from tengen.learn.replay_chunks import ChunkFolder
from tengen.learn.report import write_page
from tengen.learn.zero_config import ZeroConfig, read_config
from tengen.learn.zero_curves import draw_zero
from tengen.learn.zero_games import ShownGame, replay_game, show_game
from tengen.runs.folder import FolderError, read_metrics


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


def newest_games(run: Path, config: ZeroConfig, count: int) -> list[ShownGame]:
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
