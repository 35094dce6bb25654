"""`tengen analyse`: a whole game in the terminal, with its graph and its mistakes, and as an annotated record."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.game_options import Komi, Rules, given_options

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.agents.analysis import Analyst
    from tengen.games.state import AnyState
    from tengen.serve.review import Review

EPILOG = """[bold]Examples[/bold]

[cyan]tengen analyse game.sgf --agent alphago:alphago9 --out annotated.sgf[/cyan]

[cyan]tengen analyse game.pgn --agent zero:microchess --visits 800[/cyan]
"""
_USUAL_VISITS, _USUAL_PLAYOUTS = 100, 3_000
_SMALLEST_LOSS = 0.02  # of the chance to win that makes a mistake


def analyse(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A game: .sgf, .pgn or any other that Tengen writes.")],
    agent: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Who analyses: zero, gumbel, alphago, mcts, uct. Default: the game's usual."),
    ] = None,
    visits: Annotated[
        int | None, typer.Option(min=1, help="Visits of each position. Default: 100 with a network, 3000 by playouts.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the game with comments to this file.")] = None,
    mistakes: Annotated[int, typer.Option(min=0, help="How many of the biggest mistakes to list.")] = 5,
    positions: Annotated[int, typer.Option(min=1, max=4096, help="Positions searched at a time.")] = 64,
    rules: Rules = None,
    komi: Komi = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same analysis.")] = None,
) -> None:
    """Analyse a recorded game: a graph of the chance to win, the biggest mistakes, and an annotated record.

    Ctrl-C ends it early; what was analysed until then is shown and written.
    """
    from rich.console import Console

    from tengen._files import write_atomically
    from tengen.agents.analysis import NetworkAnalyst
    from tengen.agents.registry import load_analyst
    from tengen.cli.play import read_game
    from tengen.games.game import game_of, game_of_file
    from tengen.serve.review import annotated

    if out is not None and not out.resolve().parent.is_dir():
        raise ValueError(f"--out {out} is not possible: there is no folder {out.parent}")
    last = read_game(file, None, given_options(None, rules=rules, komi=komi))
    spec = agent or game_of(last).default_agent
    analyst = load_analyst(spec, seed)
    usual = _USUAL_VISITS if isinstance(analyst, NetworkAnalyst) else _USUAL_PLAYOUTS
    console = Console(highlight=False)
    try:
        found = _review(analyst, last, visits or usual, positions, console)
    finally:
        analyst.close()
    _show(found, file, analyst.name, mistakes, console)
    if out is not None:
        write_atomically(out, annotated(found, game_of_file(file).about(file.read_bytes())))
        console.print(f"Annotated record: {out}", markup=False, soft_wrap=True)


def _review(analyst: "Analyst", last: "AnyState", visits: int, positions: int, console: "Console") -> "Review":
    """The review, as far as it came."""
    from tengen.cli.progress_screen import ProgressScreen
    from tengen.serve.review import Review, review

    found = Review(last)
    total = len(found.states)
    with ProgressScreen(console) as screen:
        try:
            for found in review(analyst, last, visits, positions):
                done = len(found.analyses)
                screen.update(f"{done} of {total} positions, {visits} visits each", done / total)
        except KeyboardInterrupt:
            screen.say(f"Stopped after {len(found.analyses)} of {total} positions.")
    return found


def _show(found: "Review", file: Path, name: str, most: int, console: "Console") -> None:
    from rich import box
    from rich.table import Table

    from tengen.games.game import game_of
    from tengen.serve.review import graph, lead

    players = game_of(found.last).players
    console.print(f"{file.name} by {name}", style="bold", markup=False, soft_wrap=True)
    console.print(f"The chance of {players[0]} to win, move by move:", markup=False)
    for line in graph(found.chances(), min(100, console.width - 8)):
        console.print(line, markup=False, soft_wrap=True)
    states = found.states
    known = max(found.analyses, default=None)
    if known is not None and found.analyses[known].score is not None:
        console.print(f"After move {known}: {lead(found.analyses[known].score or 0.0, states[known])}.", markup=False)
    worst = [mistake for mistake in found.mistakes() if mistake.loss >= _SMALLEST_LOSS][:most]
    if not worst:
        console.print("No move lost much.")
        return
    table = Table(box=box.SIMPLE_HEAD, title="The biggest mistakes", title_justify="left")
    for heading in ("move", "player", "played", "better", "chance", "lost", "points"):
        table.add_column(heading, justify="left" if heading in ("player", "played", "better") else "right")
    for mistake in worst:
        table.add_row(
            str(mistake.number),
            players[mistake.player - 1],
            mistake.played,
            mistake.best_name,
            f"{mistake.before:.0%} to {mistake.after:.0%}",
            f"{mistake.loss:.1%}",
            "" if mistake.points is None else f"{mistake.points:.1f}",
        )
    console.print(table)
