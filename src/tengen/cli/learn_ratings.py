"""`tengen learn ratings`: how strength grew over the generations of a run."""

from pathlib import Path
from typing import Annotated

import typer


def ratings(
    run: Annotated[
        Path, typer.Argument(help="Directory of a run of `tengen learn zero`, finished or not.", show_default=False)
    ],
    generations: Annotated[
        int, typer.Option(min=2, help="How many generations meet, the first and the last included.")
    ] = 8,
    games: Annotated[int, typer.Option(min=1, help="Games of every two of them.")] = 40,
    simulations: Annotated[int, typer.Option(min=0, help="Simulations for a move; 0: as in the run.")] = 0,
    workers: Annotated[int, typer.Option(min=0, help="Processes that play; 0: one a core.")] = 0,
) -> None:
    """Rate a sample of a run's generations by a round robin.

    Every two of them play the same number of games, both colours alike; ratings are those of the Bradley-Terry
    model. The outcome is a table here, and ratings.json and ratings.png in the run's directory.
    [bold]The same command goes on[/bold] where it was stopped.

    [bold]Example[/bold]  [cyan]tengen learn ratings runs/go5 --generations 10 --games 100[/cyan]
    """
    from rich import box
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from tengen.learn.round_robin import PICTURE_FILE, round_robin

    contest = round_robin(run, generations, games, simulations)
    errors = Console(stderr=True, highlight=False)
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task("duels", total=len(contest.pairs))
        try:
            found = contest.play(workers, lambda done, of: bar.update(task, completed=done, total=of))
        except KeyboardInterrupt:
            errors.print("Stopped; the duels that were played are kept. The same command goes on.")
            raise typer.Exit(130) from None
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("generation", "Elo", "±", "games", "score"):
        table.add_column(name, justify="right")
    for generation, rating in sorted(found.items(), key=lambda pair: -pair[1].elo):
        reach = f"{1.96 * rating.error:.0f}"
        table.add_row(f"g{generation}", f"{rating.elo:.0f}", reach, f"{rating.games:,}", f"{rating.score:.1%}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"Picture    {run / PICTURE_FILE}", markup=False, soft_wrap=True)
