"""`tengen tables check`: hold every value of the endgame tables against the rules."""

from pathlib import Path
from typing import Annotated

import typer


def check(
    game: Annotated[str, typer.Argument(help="The game: microchess.")] = "microchess",
    pieces: Annotated[
        int | None,
        typer.Option(min=3, max=5, help="Up to how many pieces, kings included; all that are there if not given."),
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Folder of the tables; your cache folder if not given.")] = None,
    double_step: Annotated[bool, typer.Option(help="Whether pawns may begin with two steps.")] = True,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Threads; one per CPU if not given.")
    ] = None,
) -> None:
    """Check that every value follows from those one move on, by the rules of the game, and show the longest mates.

    All positions of all tables are checked, about a minute for five pieces. If none is at fault, the tables are right.

    Example: [cyan]tengen tables check microchess --pieces 4[/cyan]
    """
    from rich.console import Console
    from rich.table import Table

    from tengen._kernel_cache import is_cold
    from tengen.cli.tables_build import only_microchess, progress_bar, show_facts

    only_microchess(game)
    if is_cold():
        Console(stderr=True).print("compiling the rules engine, once: about a minute")

    from tengen.solve.endgame_check import check_tables
    from tengen.solve.endgame_index import all_materials
    from tengen.solve.endgame_tables import Tables

    tables = Tables.open(folder, double_step)
    pieces = max(3, tables.pieces) if pieces is None else pieces
    checked = []
    with progress_bar() as bar:
        task = bar.add_task("checking", total=len(all_materials(pieces)))
        for one in check_tables(tables.folder, pieces, double_step, workers):
            checked.append(one)
            bar.update(task, description=f"checked {one.material.name:<8}", advance=1)

    console = Console(highlight=False, soft_wrap=True)
    facts = {one.material: tables.file(one.material).facts for one in checked}
    show_facts(console, list(facts.values()), double_step)
    longest = Table("longest mates", "plies", "for example")
    for one in sorted(checked, key=lambda one: -facts[one.material].longest)[:10]:
        longest.add_row(one.material.name, str(facts[one.material].longest), one.longest)
    console.print(longest)
    wrong = [one for one in checked if one.faults]
    for one in wrong:
        console.print(f"{one.material.name}: {one.faults:,} at fault, such as {one.fault}", style="red", markup=False)
    if wrong:
        raise typer.Exit(1)
    total = sum(one.legal for one in facts.values())
    console.print(f"All {total:,} values follow from those one move on.")
