"""`tengen tables show`: the endgame tables' values of a position or a material, or a summary."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.games import microchess
    from tengen.solve.endgame_index import Material
    from tengen.solve.endgame_tables import Tables

_LINE_PLIES = 24  # of the line of best play that is shown


def show(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="[FEN | MATERIAL]", help="A position, or pieces such as KRPKN.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Folder of the tables; your cache folder if not given.")] = None,
    double_step: Annotated[bool, typer.Option(help="Whether pawns may begin with two steps.")] = True,
) -> None:
    """Show the value of a position, its moves from best to worst, and best play from there.

    With the name of a material: how many of its positions are won, and the longest mate. With nothing: all in short.

    [bold]Examples[/bold]

    [cyan]tengen tables show "k3/4/1K2/4/3R w"[/cyan]

    [cyan]tengen tables show KRPKN[/cyan]
    """
    from rich.console import Console

    from tengen.cli.tables_build import show_facts, title
    from tengen.games import microchess
    from tengen.solve.endgame_index import Material
    from tengen.solve.endgame_tables import Tables

    console = Console(highlight=False, soft_wrap=True)
    tables = Tables.open(folder, double_step)
    asked = " ".join(what or [])
    if not asked:
        show_facts(console, [tables.file(material).facts for material in tables.materials], double_step)
        console.print(f"Tables     {tables.folder}", markup=False)
    elif "/" in asked:
        console.print(title(double_step))
        _show_position(console, tables, microchess.State.from_fen(asked, double_step=double_step))
    else:
        console.print(title(double_step))
        _show_material(console, tables, Material.parse(asked))


def _show_material(console: "Console", tables: "Tables", material: "Material") -> None:
    from tengen.solve.endgame_check import longest_mate

    if not material.has_table:
        console.print(f"{material.name} is {material.turned.name} with the colours swapped:")
        material = material.turned
    facts = tables.file(material).facts
    for text, count in (("won", facts.wins), ("drawn", facts.draws), ("lost", facts.losses)):
        console.print(f"{text:>8} {count:>12,} {count / facts.legal:>7.1%}")
    fen = longest_mate(material, tables.file(material).values())
    if fen:
        console.print(f"Longest mate: {facts.longest} plies, such as {fen}")


def _no_table(tables: "Tables", state: "microchess.State") -> str:
    """Why a position has no value, and what to do about it."""
    from tengen.solve.endgame_index import MAX_PIECES

    pieces = int((state.squares != 0).sum())
    if pieces > MAX_PIECES:
        return f"there is no table for {state.fen()}: it has {pieces} pieces, and tables have up to {MAX_PIECES}"
    remedy = f"tengen tables build microchess --pieces {max(3, pieces)}"
    return f"there is no table for {state.fen()} in {tables.folder}: make it with `{remedy}`"


def _show_position(console: "Console", tables: "Tables", state: "microchess.State") -> None:
    value = tables.probe(state)
    console.print(str(state), markup=False)
    if value is None:
        raise ValueError(_no_table(tables, state))
    side = "White" if state.to_play == 1 else "Black"
    plies = f" ({value.dtm} plies)" if value.dtm else ""
    console.print(f"{side} is to move: {value}{plies}")
    for choice in tables.moves(state) or []:
        console.print(f"  {state.move_san(choice.move):<8}{choice.value}", markup=False)
    line: list[str] = []
    while len(line) < _LINE_PLIES and (move := tables.best_move(state)) is not None:
        line.append(state.move_san(move))
        state = state.play(move)
    if value.wdl and line:
        console.print("Best play: " + " ".join(line) + (" ..." if not state.is_over else ""), markup=False)
