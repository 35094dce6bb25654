"""The report of a run of `learn.alphago`: one page for all stages, which needs no other file."""

import base64
import math
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any, Final

from tengen._pages import render_page
from tengen.games.go.coordinates import board_svg
from tengen.games.go.sgf import SgfGame, read_sgf
from tengen.learn.alphago import Figures, read_figures
from tengen.learn.report import REPORT_FILE
from tengen.runs.files import write_atomically
from tengen.runs.folder import read_settings

_SAMPLES: Final = 3  # games of each folder
_CHOSEN_FROM: Final = 40
_PICTURES: Final = {
    "policy": (("policy/curves.png", "Loss and accuracy over positions learned from"),),
    "reinforce": (("reinforce/curves.png", "Score against the policy before"),),
    "value": (
        ("value/curves.png", "Error of the value over positions learned from"),
        ("value/errors.png", "Error by move number, of the network and of rollouts"),
    ),
    "ablation": (
        ("ablation/ratings.png", "Ratings with 95% intervals"),
        ("ablation/crosstable.png", "Scores of each against each"),
    ),
}
_SAYS: Final = {
    "records": "Games to learn from, which the teacher played against itself.",
    "policy": "The policy network learns to predict the moves of the records; figures are of games it has not seen.",
    "fast policy": "A linear policy over local shapes, which plays a move in microseconds: for rollouts.",
    "reinforce": "The policy network plays its earlier versions, and moves of games that it wins become likelier.",
    "match": "The policy after policy gradient against the one before, both drawing their moves.",
    "value": "The value learns who wins from one position of each game; beside it, rollouts from the same positions.",
    "ablation": "The search without one part or another, all thinking for the same time; the policy alone has 0 Elo.",
}


def write_alphago_report(run: Path) -> Path:
    """Write the report of the run in this directory, also of one under way; returns the path of the page."""
    figures, settings = read_figures(run), read_settings(run)
    page = render_page(
        "tengen.learn",
        "alphago_page.html",
        {},
        title=escape(run.resolve().name),
        subtitle=escape(_subtitle(settings)),
        figures=_tiles(figures),
        stages="".join(_stage(run, name, figures) for name in figures),
        games=_games(run),
        settings="".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in settings.items()
        ),
    )
    write_atomically(run / REPORT_FILE, page)
    return run / REPORT_FILE


def _subtitle(settings: Mapping[str, Any]) -> str:
    board = f"{settings.get('size', '?')}x{settings.get('size', '?')}, komi {settings.get('komi', '?'):g}"
    return f"AlphaGo on {board}: {settings.get('network', '?')} on {settings.get('encoder', '?')}"


_TILES: Final[dict[str, tuple[str, Callable[[Figures], str]]]] = {
    "policy": ("moves predicted (top-1)", lambda found: f"{found['top1']:.1%}"),
    "fast policy": ("by the fast policy", lambda found: f"{found['top1']:.1%}"),
    "match": ("score after policy gradient", lambda found: f"{found['score']:.1%}"),
    "value": ("error of the value", lambda found: f"{found['error of network']:.3f}"),
    "ablation": ("highest rating, Elo", lambda found: escape(": ".join(next(iter(found["ratings"].items()))))),
}


def _tiles(figures: Mapping[str, Figures]) -> str:
    """The figures that one looks for first."""
    tiles = [(_TILES[name][0], _TILES[name][1](found)) for name, found in figures.items() if name in _TILES]
    return "".join(f"<div><b>{value}</b><span>{title}</span></div>" for title, value in tiles)


def _stage(run: Path, name: str, figures: Mapping[str, Figures]) -> str:
    """One stage: its pictures and all its figures."""
    found = figures[name]
    pictures = "".join(_picture(run / path, text) for path, text in _PICTURES.get(name, ()))
    rows = "".join(
        f"<tr><th>{escape(key.replace('_', ' '))}</th><td>{_figure(value)}</td></tr>" for key, value in found.items()
    )
    words = f"{_SAYS.get(name, '')} {_verdict(name, figures)}".strip()
    says = f'<p class="stage">{escape(words)}</p>'
    return f'<h2>{escape(name.capitalize())}</h2>{says}{pictures}<section class="card"><table>{rows}</table></section>'


def _verdict(name: str, figures: Mapping[str, Figures]) -> str:
    """What the figures of a stage say, in a sentence; empty if there is nothing to compare."""
    found = figures[name]
    if name == "fast policy" and "policy" in figures:
        fast, policy = found["top1"], figures["policy"]["top1"]
        than = "worse than" if fast < policy else "better than" if fast > policy else "as well as"
        return f"It predicts {than} the policy network: {fast:.1%} against {policy:.1%} of the moves."
    if name == "reinforce" and "best_after" in found:
        return (
            "The best of the measured versions is kept, so its score in this curve is too high on average; "
            "the match below is of new games."
        )
    if name == "match":
        low, high = found["interval"]
        verdict = "It is stronger" if low > 0.5 else "It is weaker" if high < 0.5 else "Neither is shown to be stronger"
        return f"{verdict}: {found['score']:.1%} of {found['games']:,} games (95% interval {low:.1%} to {high:.1%})."
    if name == "ablation" and len(found["ratings"]) > 1:
        (first, best), (second, next_best) = list(found["ratings"].items())[:2]
        (elo, reach), (other, other_reach) = _rating(best), _rating(next_best)
        if elo - other > math.hypot(reach, other_reach):
            return f"{first} is the strongest."
        return f"{first} has the highest rating, but is not shown to be stronger than {second}."
    return ""


def _rating(text: str) -> tuple[float, float]:
    """Elo and half of its 95% interval, of `+20 ± 162`."""
    elo, _, reach = text.partition(" ± ")
    return float(elo), float(reach)


def _picture(path: Path, text: str) -> str:
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<section class="card"><img alt="{escape(text)}" src="data:image/png;base64,{data}"></section>'


def _figure(value: Any) -> str:
    """A figure for people."""
    if isinstance(value, dict):
        return "<br>".join(f"{escape(str(name))}: {_figure(each)}" for name, each in value.items())
    if isinstance(value, list):
        return " to ".join(map(_figure, value))
    return f"{value:,.4g}" if isinstance(value, float) else escape(f"{value:,}" if isinstance(value, int) else value)


def _games(run: Path) -> str:
    """The ends of some games, the longest ones: of the policies, and of the best two of the ablation."""
    folders = [run / "match", *sorted((run / "ablation" / "matches").glob("*"))][:4]
    games = [game for folder in folders for game in _longest(folder / "games")]
    return "".join(map(_game, games)) or "<p>No games yet.</p>"


def _longest(folder: Path) -> list[SgfGame]:
    """Of the first games in a folder those with the most moves: a short one has little to show."""
    games = [read_sgf(path.read_bytes()) for path in sorted(folder.glob("*.sgf"))[:_CHOSEN_FROM]]
    return sorted(games, key=lambda game: -game.state.move_number)[:_SAMPLES]


def _game(game: SgfGame) -> str:
    """The last position of a game, with who played and how it ended."""
    players = f"{escape(game.black_name)} (Black) against {escape(game.white_name)} (White)"
    caption = f"<p>{players}</p>{escape(game.result)} after {game.state.move_number} moves"
    return f"<figure>{board_svg(game.state)}<figcaption>{caption}</figcaption></figure>"
