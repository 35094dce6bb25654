"""`tengen data download`: fetch archives of game records."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.data.download import ArchiveSite
    from tengen.data.fetch import Patience


class Collection(StrEnum):
    """The collections of game records that can be downloaded."""

    KGS = "kgs"


def download(
    source: Annotated[Collection, typer.Option(help="kgs: strong amateurs on the KGS Go Server, 19x19, 2001 on.")] = (
        Collection.KGS
    ),
    games: Annotated[
        int | None,
        typer.Option("--games", "-n", min=1, help="How many games you need, newest first; all if not given."),
    ] = None,
    years: Annotated[
        str | None, typer.Option(help="Only these: 2016, 2016-2018, 2016- or -2018.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the archives; records/kgs if not given.", show_default=False)
    ] = None,
    index_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Another index page: an address, or a saved file.", show_default=False),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Fetch the archives, and the index, from this folder.", show_default=False),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Longest silence of the server, in seconds.")] = 30.0,
    attempts: Annotated[int, typer.Option(min=1, help="Give up after so many failures in a row.")] = 6,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be needed.")] = False,
) -> None:
    """Download archives of game records: only the newest that hold the games you need.

    Each archive is read to its end and its games are counted before it
    counts as there. [bold]The same command goes on[/bold] where Ctrl-C, a
    lost connection or worse stopped it, and fetches nothing twice.

    [bold]Examples[/bold]

    A sample to begin with:
    [cyan]tengen data download --games 10000[/cyan]

    Three years, into a folder of your choice:
    [cyan]tengen data download --years 2016-2018 --out my-games[/cyan]

    What is there, without fetching it:
    [cyan]tengen data download --dry-run[/cyan]
    """
    from rich.console import Console

    from tengen.cli.data_progress import ProgressBars
    from tengen.data.download import ArchiveSite, download_kgs
    from tengen.data.fetch import Patience
    from tengen.data.kgs_index import parse_years

    console = Console(stderr=True, highlight=False)
    place = ArchiveSite.at(index_url, mirror)
    span = None if years is None else parse_years(years)
    patience = Patience(attempts)
    if dry_run:
        _list(place, games, span, patience, timeout, console)
        return
    folder = Path("records") / source.value if out is None else out
    try:
        with ProgressBars(console) as bars:
            result = download_kgs(folder, games, span, source=place, patience=patience, watcher=bars, timeout=timeout)
    except KeyboardInterrupt:
        console.print("[yellow]Stopped: the same command resumes it.[/yellow]")
        raise typer.Exit(130) from None
    if games is not None and result.games < games:
        console.print(f"[yellow]There are only {result.games:,} games where you asked for {games:,}.[/yellow]")
    typer.echo(
        f"{result.games:,} games in {len(result.paths)} archives in {folder}, {result.fetched} of them fetched now"
    )


def _list(
    place: "ArchiveSite",
    games: int | None,
    years: tuple[int, int] | None,
    patience: "Patience",
    timeout: float,
    console: "Console",
) -> None:
    """Print the archives that a download would need."""
    from tengen.cli.data_progress import ProgressBars
    from tengen.data.download import list_archives
    from tengen.data.fetch import open_client
    from tengen.data.kgs_index import choose_archives

    with open_client(timeout) as client, ProgressBars(console) as bars:
        chosen = choose_archives(list_archives(client, place, patience, bars), games, years)
    for archive in chosen:
        typer.echo(f"{archive.period:<8} {archive.games:>7,} games  {next(iter(archive.urls.values()))}")
    typer.echo(f"{len(chosen)} archives, {sum(archive.games for archive in chosen):,} games")
