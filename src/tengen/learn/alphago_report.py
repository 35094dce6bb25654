"""The report of a run of `learn.alphago`: one page for all stages, which needs no other file."""

import base64
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any, Final

from tengen._files import write_atomically
from tengen._pages import render_page
from tengen.games.go.draw import board_svg
from tengen.games.go.sgf import read_sgf
from tengen.learn.alphago import Figures, read_figures
from tengen.learn.report_pages import REPORT_FILE
from tengen.learn.run_directory import read_settings

_SAMPLES: Final = 3  # games of each folder
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
    "fast policy": "A linear policy over local shapes predicts worse, and plays a move in microseconds: for rollouts.",
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
        stages="".join(_stage(run, name, found) for name, found in figures.items()),
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
    "ablation": ("strongest", lambda found: escape(next(iter(found["ratings"])))),
}


def _tiles(figures: Mapping[str, Figures]) -> str:
    """The figures that one looks for first."""
    tiles = [(_TILES[name][0], _TILES[name][1](found)) for name, found in figures.items() if name in _TILES]
    return "".join(f"<div><b>{value}</b><span>{title}</span></div>" for title, value in tiles)


def _stage(run: Path, name: str, found: Figures) -> str:
    """One stage: its pictures and all its figures."""
    pictures = "".join(_picture(run / path, text) for path, text in _PICTURES.get(name, ()))
    rows = "".join(
        f"<tr><th>{escape(key.replace('_', ' '))}</th><td>{_figure(value)}</td></tr>" for key, value in found.items()
    )
    says = f'<p class="stage">{escape(_SAYS.get(name, ""))}</p>'
    return f'<h2>{escape(name.capitalize())}</h2>{says}{pictures}<section class="card"><table>{rows}</table></section>'


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
    """The ends of some games: of the policies, and of the best two of the ablation."""
    folders = [run / "match", *sorted((run / "ablation" / "matches").glob("*"))]
    paths = [path for folder in folders for path in sorted((folder / "games").glob("*.sgf"))[:_SAMPLES]]
    return "".join(map(_game, paths[: 4 * _SAMPLES])) or "<p>No games yet.</p>"


def _game(path: Path) -> str:
    """The last position of a game, with who played and how it ended."""
    game = read_sgf(path.read_bytes())
    players = f"{escape(game.black_name)} (Black) against {escape(game.white_name)} (White)"
    caption = f"<p>{players}</p>{escape(game.result)} after {game.state.move_number} moves"
    return f"<figure>{board_svg(game.state)}<figcaption>{caption}</figcaption></figure>"
