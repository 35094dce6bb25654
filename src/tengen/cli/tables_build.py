"""`tengen tables build`: solve all endgames with up to so many pieces."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from tengen.solve.endgame_tables import TableFacts


def build(
    game: Annotated[str, typer.Argument(help="The game: microchess.")] = "microchess",
    pieces: Annotated[int, typer.Option(min=3, max=5, help="Up to how many pieces, kings included.")] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for the tables; your cache folder if not given.")
    ] = None,
    double_step: Annotated[bool, typer.Option(help="Whether pawns may begin with two steps.")] = True,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Threads; one per CPU if not given.")
    ] = None,
) -> None:
    """Solve every endgame with up to so many pieces: who wins, and in how many moves.

    About a minute of work and 20 MB for five pieces. [bold]The same command goes on[/bold] where a build was stopped.

    [bold]Examples[/bold]

    [cyan]tengen tables build microchess --pieces 5[/cyan]

    [cyan]tengen tables build microchess --pieces 4 --no-double-step --out tables[/cyan]
    """
    from time import perf_counter

    from rich.console import Console

    from tengen._kernel_cache import is_cold

    only_microchess(game)
    if is_cold():
        Console(stderr=True).print("compiling the solver, once: about half a minute")

    from tengen.solve.endgame_build import build_tables
    from tengen.solve.endgame_index import Material, all_materials
    from tengen.solve.endgame_tables import tables_folder

    folder = out or tables_folder()
    fresh, solved = 0, 2
    started = perf_counter()
    with progress_bar() as bar:
        task = bar.add_task("solving", total=len(all_materials(pieces)))

        def advance(facts: "TableFacts", built: bool) -> None:
            nonlocal fresh, solved
            fresh += built
            reached = Material.parse(facts.material).pieces
            if reached > solved and not bar.console.is_terminal:
                typer.echo(f"solved all with up to {solved} pieces", err=True)
            solved = reached
            bar.update(task, description=f"solved {facts.material:<8}", advance=1)

        built = build_tables(folder, pieces, double_step, workers, advance)
    console = Console(highlight=False)
    if fresh < len(built):
        console.print(f"{len(built) - fresh} of {len(built)} tables were there already.")
    show_facts(console, built, double_step)
    size = sum(path.stat().st_size for path in folder.glob("*.mct"))
    console.print(f"{fresh} tables solved in {perf_counter() - started:.0f} s; all in the folder: {size / 1e6:.1f} MB")
    console.print(f"Tables     {folder}", markup=False, soft_wrap=True)


def only_microchess(game: str) -> None:
    """Refuse every other game."""
    if game != "microchess":
        raise ValueError(f"there are endgame tables only of microchess, not of {game[:40]!r}")


def title(double_step: bool) -> str:
    """The game that tables are of."""
    return f"Microchess, standard rules, {'with the' if double_step else 'no'} double step"


def progress_bar() -> "Progress":
    """A bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    return Progress(*columns, console=console, disable=not console.is_terminal, transient=True)


def show_facts(console: "Console", facts: "list[TableFacts]", double_step: bool) -> None:
    """Sum up tables by the number of pieces."""
    from rich.table import Table

    from tengen.solve.endgame_index import Material

    columns = ("pieces", "tables", "positions", "won", "drawn", "lost", "longest mate")
    table = Table(*columns, title=title(double_step), title_justify="left")
    for column in table.columns[:-1]:
        column.justify = "right"
    for pieces in sorted({Material.parse(one.material).pieces for one in facts}):
        some = [one for one in facts if Material.parse(one.material).pieces == pieces]
        legal = sum(one.legal for one in some)
        shares = [sum(counts) / legal for counts in zip(*((one.wins, one.draws, one.losses) for one in some))]
        longest = max(some, key=lambda one: one.longest)
        table.add_row(
            *(f"{number:,}" for number in (pieces, len(some), legal)),
            *(f"{share:.1%}" for share in shares),
            f"{longest.longest} plies, {longest.material}" if longest.longest else "none",
        )
    console.print(table)
