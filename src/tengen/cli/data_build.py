"""`tengen data build`: game records in, one dataset out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.cluster_option import Cluster, cluster_hosts

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.data.build import Built
    from tengen.workers.calls import Hosts


def build(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Folders, .sgf files, .tar.gz, .tar.bz2, .tar and .zip archives.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the dataset.", show_default=False)],
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", "-w", help="Processes that read records; one per CPU if not given.", show_default=False
        ),
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Make a dataset of game records, straight out of their archives.

    Bad records are left out, counted by reason and listed in rejected.csv.
    [bold]The same command goes on[/bold] where a build was stopped.

    [bold]Examples[/bold]

    [cyan]tengen data build kgs/ --out datasets/kgs[/cyan]

    [cyan]tengen data build games.zip more.tar.gz my-games/ --out data/all[/cyan]
    """
    from rich.console import Console

    console = Console(highlight=False)
    show_built(console, _build(paths, out, workers, cluster_hosts(cluster)))


def _build(paths: list[Path], out: Path, workers: int | None, hosts: "Hosts | None") -> "Built":
    """Run the build under a progress bar on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as ProgressBar

    from tengen.data.build import BuildProgress, build_dataset

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with ProgressBar(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("reading", total=None)

        def advance(now: BuildProgress) -> None:
            bar.update(task, description=f"{now.records:,} records", completed=now.bytes, total=now.total_bytes)

        return build_dataset(paths, out, workers, advance, hosts)


def show_built(console: "Console", built: "Built") -> None:
    """What a build has made, and what it has left out."""
    from tengen.data.dataset import GAMES_FILE, REJECTED_FILE

    size = (built.folder / GAMES_FILE).stat().st_size
    if built.up_to_date:
        console.print("Already built from the same files.")
    if built.resumed:
        console.print(f"Went on after {built.resumed} finished chunks.")
    each = f", {size / built.games:.0f} bytes a game" if built.games else ""
    console.print(f"{built.games:,} games, {built.positions:,} positions in {size / 1e6:.1f} MB{each}")
    for reason, count in built.rejected.items():
        console.print(f"{count:>10,} left out: {reason}", markup=False)
    if built.rejected:
        console.print(f"Each is listed in {built.folder / REJECTED_FILE}", markup=False, soft_wrap=True)
    console.print(f"Dataset    {built.folder}", markup=False, soft_wrap=True)
