"""`tengen data stats`: what a dataset holds, and what was left out of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table


def stats(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A dataset, as `tengen data build` makes it.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print it all as JSON.")] = False,
) -> None:
    """Count the games of a dataset: sizes, ranks, years, results, handicaps, and the records left out.

    [bold]Example[/bold]  [cyan]tengen data stats datasets/kgs[/cyan]
    """
    from rich.columns import Columns
    from rich.console import Console

    from tengen.data.dataset import GAMES_FILE, REJECTED_FILE, Dataset
    from tengen.data.statistics import dataset_statistics

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
        f"Size       {size / 1e6:.1f} MB" + (f", {size / dataset.games:.0f} bytes a game" * bool(dataset.games))
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
