"""`tengen tournament generations`: every generation of a run against every other, as a cross table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from tengen.arena.generation_table import GenerationTable


def generations(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Directories of `tengen learn generations`.", show_default=False),
    ],
    games: Annotated[int, typer.Option("--games", "-n", help="Games of each pair.")] = 1000,
    random_moves: Annotated[int, typer.Option(help="Random moves that each game begins with.")] = 2,
    komi: Annotated[
        list[float] | None,
        typer.Option(help="Go: play at this komi; several are possible. That of the run if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other openings.")] = 1,
    workers: Annotated[
        int, typer.Option("--workers", "-w", help="Threads that play; 0: one a core.", show_default=False)
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for tables and pictures; crosstable/ in RUN if not given.", show_default=False),
    ] = None,
) -> None:
    """Let every generation of value networks play every other, random moves (generation 0) included.

    Rows are generations of the first player (Black in Go), columns those of the second; a cell is the first player's
    score over --games greedy games, all played side by side. Averages are over a whole row or column, that of a column
    being the second player's. The folder gets each table as CSV, JSON and as a heat map (PNG).
    [bold]The same command goes on[/bold] after Ctrl-C or worse, and plays new generations when there are some.

    [bold]Examples[/bold]

    [cyan]tengen tournament generations runs/simple-go-k3.5[/cyan]

    Several komi in one command, each with its own run:
    [cyan]tengen tournament generations runs/simple-go-k1.5 runs/simple-go-k2.5 runs/simple-go-k3.5[/cyan]

    The networks of one run at another komi than they learned:
    [cyan]tengen tournament generations runs/simple-go-k3.5 --komi 1.5 --komi 2.5 --out tables[/cyan]
    """
    import matplotlib  # noqa: F401  so that it is not missed after the games
    from rich.console import Console

    from tengen._kernel_cache import is_cold
    from tengen._machine import cores
    from tengen.arena.generation_table import TableSettings, play_table
    from tengen.cli.progress_screen import ProgressScreen

    if out is not None and len(runs) > 1:
        raise ValueError("--out is for one run: leave it out, and each run gets its tables in its own directory")
    console, errors = Console(highlight=False), Console(stderr=True, highlight=False)
    if is_cold():
        errors.print("Compiling the engine, once: this takes up to a minute.")
    for run in runs:
        for points in komi or [float("nan")]:
            folder = run / "crosstable" if out is None else out
            settings = TableSettings(games, random_moves, seed, points)

            def show(table: "GenerationTable", name: str = run.name) -> None:
                wanted = len(table.generations) ** 2
                screen.update(f"{name}  {len(table.pairs)} of {wanted} pairs", len(table.pairs) / wanted)

            with ProgressScreen(errors) as screen:
                table = play_table(run, folder, settings, workers=workers or cores(), on_row=show)
            console.print(describe_table(table), markup=False, soft_wrap=True)
            console.print(generation_table(table))
            console.print(f"Tables and pictures   {folder}", markup=False, soft_wrap=True)


def describe_table(table: "GenerationTable") -> str:
    """What a cross table is of, in one line."""
    from tengen.games.game import get_game

    game, settings = get_game(table.options.game), table.settings
    about = f"{game.describe(table.options)}: score of {game.players[0]}, {settings.games:,} games a pair"
    return f"{about} after {settings.random_moves} random moves"


def generation_table(table: "GenerationTable") -> "Table":
    """A cross table for the terminal; ten generations fit into 80 columns."""
    from rich.table import Table

    from tengen.games.game import get_game

    game = get_game(table.options.game)
    found = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    heading, *rows, averages = ([str(cell) for cell in row] for row in table.rows())
    for name in heading:
        found.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        found.add_row(*row)
    found.add_row()
    found.add_row(game.players[1], *(f"{float(cell):.2f}" if cell else "" for cell in averages[1:]))
    return found
