"""`tengen data`: download game records and build datasets from them."""

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.options import Cluster, group, worker_factory
from tengen.cli.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tengen.data.build import Built
    from tengen.data.dataset import Dataset
    from tengen.data.download import ArchiveSite
    from tengen.data.fetch import Patience, Watcher

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A dataset, as `tengen data build` makes it.")]


class Collection(StrEnum):
    """The collections of game records that can be downloaded."""

    KGS = "kgs"


def download(
    source: Annotated[
        Collection, typer.Option(help="kgs: strong amateurs on the KGS Go Server, 19x19, since 2001.")
    ] = (Collection.KGS),
    games: Annotated[
        int | None,
        typer.Option("--games", "-n", min=1, help="Number of games you need, newest first; all if not given."),
    ] = None,
    years: Annotated[str | None, typer.Option(help="Only these years: 2016, 2016-2018, 2016- or -2018.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the archives; records/kgs if not given.")] = None,
    index_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Another index page: an address, or a saved file.")
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(metavar="URL", help="Fetch the archives, and the index, from this folder.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Longest silence of the server, in seconds.")] = 30.0,
    attempts: Annotated[int, typer.Option(min=1, help="Give up after this many failures in a row.")] = 6,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the archives that would be fetched.")] = False,
) -> None:
    """Download archives of game records: only the newest that hold the games you need.

    Each archive is verified: read to its end, and its games counted. [bold]Run the same command to resume[/bold]
    after Ctrl-C, a lost connection or a crash; nothing is fetched twice.

    [bold]Examples[/bold]

    A sample to begin with:
    [cyan]tengen data download --games 10000[/cyan]

    Three years, into a folder of your choice:
    [cyan]tengen data download --years 2016-2018 --out my-games[/cyan]

    What would be fetched:
    [cyan]tengen data download --dry-run[/cyan]
    """
    from tengen.data.download import ArchiveSite, download_kgs, parse_years
    from tengen.data.fetch import Patience

    place = ArchiveSite.at(index_url, mirror)
    span = None if years is None else parse_years(years)
    patience = Patience(attempts)
    if dry_run:
        _list(place, games, span, patience, timeout)
        return
    folder = Path("records") / source.value if out is None else out
    with Progress(engine=False) as progress, progress.resumable(folder):
        watcher = _watcher(progress)
        result = download_kgs(folder, games, span, source=place, patience=patience, watcher=watcher, timeout=timeout)
        if games is not None and result.games < games:
            progress.say(f"There are only {result.games:,} games where you asked for {games:,}.", "yellow")
    typer.echo(
        f"{result.games:,} games in {len(result.paths)} archives in {folder}, {result.fetched} of them fetched now"
    )


def _list(
    place: "ArchiveSite", games: int | None, years: tuple[int, int] | None, patience: "Patience", timeout: float
) -> None:
    """Print the archives that a download would need."""
    from tengen.data.download import choose_archives, list_archives
    from tengen.data.fetch import open_client

    with open_client(timeout) as client, Progress(engine=False) as progress:
        chosen = choose_archives(list_archives(client, place, patience, _watcher(progress)), games, years)
    for archive in chosen:
        typer.echo(f"{archive.period:<8} {archive.games:>7,} games  {next(iter(archive.urls.values()))}")
    typer.echo(f"{len(chosen)} archives, {sum(archive.games for archive in chosen):,} games")


def _watcher(progress: Progress) -> "Watcher":
    """Shows a download."""
    from tengen.data.fetch import Watcher

    class Shown(Watcher):
        """A bar for the file under way; a line for each file, and for everything that goes wrong."""

        files = done = 0

        def chosen(self, files: int, games: int) -> None:
            self.files = files
            progress.say(f"{games:,} games in {files} archives")

        def progressed(self, name: str, received: int, total: int | None) -> None:
            size = f"{received / 1e6:.1f} MB" + (f" of {total / 1e6:.1f} MB" if total else "")
            progress.update(f"[{self.done + 1}/{self.files}] {name}  {size}", received / total if total else None)

        def waiting(self, name: str, reason: str, seconds: float) -> None:
            progress.say(f"{name}: {reason}; trying again in {seconds:.1f} s", "yellow")

        def damaged(self, name: str, reason: str) -> None:
            progress.say(f"{name} {reason}; fetching it again", "yellow")

        def present(self, name: str, games: int, fetched: bool) -> None:
            self.done += 1
            if fetched:
                progress.say(f"[{self.done}/{self.files}] {name}: {games:,} games")

    return Shown()


def build(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders, .sgf files, .tar.gz, .tar.bz2, .tar and .zip archives.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the dataset.")],
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", help="Processes that read records; one per CPU if not given.")
    ] = None,
    cluster: Cluster = None,
) -> None:
    """Build a dataset from game records, directly from their archives.

    Bad records are left out, counted by reason and listed in rejected.csv.
    [bold]Run the same command to resume[/bold] a build that was stopped.

    [bold]Examples[/bold]

    [cyan]tengen data build kgs/ --out datasets/kgs[/cyan]

    [cyan]tengen data build games.zip more.tar.gz my-games/ --out data/all[/cyan]
    """
    from rich.console import Console

    from tengen.data.build import BuildProgress, build_dataset

    with Progress() as progress:

        def advance(now: BuildProgress) -> None:
            progress.update(f"{now.records:,} records", now.bytes / max(1, now.total_bytes))

        built = build_dataset(paths, out, workers, advance, worker_factory(cluster))
    _show_built(Console(highlight=False), built)


def _show_built(console: "Console", built: "Built") -> None:
    """What a build has made, and what it has left out."""
    from tengen.data.dataset import GAMES_FILE, REJECTED_FILE

    size = (built.folder / GAMES_FILE).stat().st_size
    if built.up_to_date:
        console.print("Already built from the same files.")
    if built.resumed:
        console.print(f"Resumed after {built.resumed} finished chunks.")
    each = f", {size / built.games:.0f} bytes per game" if built.games else ""
    console.print(f"{built.games:,} games, {built.positions:,} positions in {size / 1e6:.1f} MB{each}")
    for reason, count in built.rejected.items():
        console.print(f"{count:>10,} left out: {reason}", markup=False)
    if built.rejected:
        console.print(f"Each is listed in {built.folder / REJECTED_FILE}", markup=False, soft_wrap=True)
    console.print(f"Dataset    {built.folder}", markup=False, soft_wrap=True)


def stats(
    folder: Folder, as_json: Annotated[bool, typer.Option("--json", help="Print it all as JSON.")] = False
) -> None:
    """Statistics of a dataset: board sizes, ranks, years, results, handicaps, and the records left out.

    [bold]Example[/bold]  [cyan]tengen data stats datasets/kgs[/cyan]
    """
    from rich.columns import Columns
    from rich.console import Console

    from tengen.data.dataset import GAMES_FILE, REJECTED_FILE, Dataset, dataset_statistics

    dataset = Dataset.open(folder)
    tables = dataset_statistics(dataset)
    reasons = dict(dataset.summary.get("rejected", {}))
    size = (folder / GAMES_FILE).stat().st_size
    if as_json:
        typer.echo(json.dumps(tables | {"rejected": reasons, "bytes": size}, indent=2))
        return
    console = Console(highlight=False)
    games, positions = tables.pop("games"), tables.pop("positions")
    console.print(f"Dataset    {folder}", markup=False, soft_wrap=True)
    for name, counts in (("Games", games), ("Positions", positions)):
        console.print(f"{name:<10} {counts['all']:,} ({counts['train']:,} train, {counts['test']:,} test)")
    console.print(
        f"Size       {size / 1e6:.1f} MB" + (f", {size / dataset.games:.0f} bytes per game" * bool(dataset.games))
    )
    console.print(f"Sources    {len(dataset.summary.get('sources', ()))}\n")
    console.print(Columns([_table(name, counts) for name, counts in tables.items()], padding=(0, 3)))
    if reasons:
        console.print(_table("records left out", reasons))
        console.print(f"Each is listed in {folder / REJECTED_FILE}", markup=False, soft_wrap=True)


def _table(name: str, counts: dict[str, int]) -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    total = sum(counts.values())
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(name)
    table.add_column("count", justify="right")
    table.add_column("", justify="right")
    for key, count in counts.items():
        table.add_row(escape(key), f"{count:,}", f"{100 * count / total:.1f}%" if total else "")
    return table


def show(
    folder: Folder,
    game: Annotated[int, typer.Option("--game", "-g", help="Number of the game: 0 is the first.")] = 0,
    move: Annotated[
        int | None, typer.Option("--move", "-m", help="The position after this many moves; the last one if not given.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the board as an SVG picture instead.")] = None,
) -> None:
    """Show a position of a game: the board, the next move, and the facts about the game.

    [bold]Examples[/bold]

    [cyan]tengen data show datasets/kgs --game 1234 --move 50[/cyan]

    [cyan]tengen data show datasets/kgs --game 1234 --svg board.svg[/cyan]
    """
    from tengen.data.dataset import Dataset, DatasetError, position_of
    from tengen.games.game import game_of

    dataset = Dataset.open(folder)
    length = len(dataset.moves_of(game))
    ply = length if move is None else move
    if not 0 <= ply <= length:
        raise DatasetError(f"game {game} has no position after {ply} moves: give 0 to {length}")
    state = position_of(dataset, game, ply)
    if svg is not None:
        svg.write_text(game_of(state).picture(state), encoding="utf-8")
        typer.echo(f"Wrote {svg}")
        return
    typer.echo("\n".join(str(state).splitlines()[:-1]))  # without its last line, which scores by the rules
    for line in _facts(dataset, game, ply):
        typer.echo(line)


def _facts(dataset: "Dataset", game: int, ply: int) -> list[str]:
    """Lines about the game beneath the board."""
    from tengen.data.dataset import is_test, rank_name

    columns = dataset.columns
    moves = len(dataset.moves_of(game))
    black, white = (rank_name(int(columns[name][game])) for name in ("black_rank", "white_rank"))
    komi = float(columns["komi"][game])
    year = int(columns["year"][game])
    split = "test" if is_test(columns["digest"][game : game + 1])[0] else "train"
    played = f"Move {ply} of {moves}" + (f": {_move(dataset, game, ply - 1)}" if ply else "")
    following = f"; next {_move(dataset, game, ply)}" if ply < moves else "; the end"
    return [
        played + following,
        f"Game {game} ({split}), Black {black}, White {white}, {year or 'year unknown'}",
        f"Result {dataset.text('result', game) or 'unknown'}, komi {'unknown' if math.isnan(komi) else f'{komi:g}'}, "
        f"handicap {columns['handicap'][game]}, {dataset.text('rules', game) or 'unknown'} rules",
        f"Source {dataset.text('source', game)}",
    ]


def _move(dataset: "Dataset", game: int, ply: int) -> str:
    from tengen.games.go import BLACK, to_gtp

    color, move = dataset.move_of(game, ply)
    return f"{'Black' if color == BLACK else 'White'} {to_gtp(move, int(dataset.columns['size'][game]))}"


data = group(
    "Download game records and build datasets from them.",
    {"download": download, "build": build, "stats": stats, "show": show},
)
