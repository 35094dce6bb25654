"""`tengen models export`: publish a model of a run."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    source: Annotated[
        str, typer.Argument(metavar="RUN", help="Directory of a run, or a model: a path or a bundled name.")
    ],
    name: Annotated[str, typer.Argument(help="What the model is to be called.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the file.")] = Path("models"),
    opponent: Annotated[str, typer.Option(help="Spec of the opponent in the smoke match.")] = "random",
    games: Annotated[int, typer.Option(min=0, help="Games of the smoke match; 0: no match.")] = 6,
    strength: Annotated[
        str, typer.Option(help="A line for the card about how strong the model is.", show_default=False)
    ] = "",
    data: Annotated[
        Path | None,
        typer.Option(help="A dataset of game records to find the int8 ranges on, for a model without any."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file of this name.")] = False,
) -> None:
    """Publish a model: one file with 16-bit weights, int8 ranges, a complete card and the result of a smoke match.

    RUN is the directory of `tengen learn zero` or `tengen learn supervised`, whose best model is taken. Ranges that
    the model has are kept; else they are found on positions that the run has kept, or of --data. The match is played
    in the conditions that the model learned. Nothing is written before it is over.

    [bold]Examples[/bold]

    [cyan]tengen models export runs/go9 go9 --opponent uct:playouts=300[/cyan]

    [cyan]tengen models export go19 mine --data datasets/kgs[/cyan]

    [cyan]tengen play --size 9 --opponent zero:models/go9.safetensors[/cyan]
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from tengen._kernel_cache import is_cold
    from tengen.learn.export import export_model

    errors = Console(stderr=True, highlight=False)
    if is_cold():
        errors.print("Compiling the engine, once: this takes up to a minute.")
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=errors, disable=not errors.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def report(what: str, share: float) -> None:
            bar.update(task, description=what, completed=share)

        path, card = export_model(
            source,
            name,
            out,
            opponent=opponent,
            games=games,
            strength=strength,
            data=data,
            force=force,
            report=report,
        )
    console = Console(highlight=False, markup=False, soft_wrap=True)
    smoke, agreed = card.training.get("smoke"), card.training.get("int8")
    if games and smoke:
        score = "{wins} won, {draws} drawn, {losses} lost".format_map(smoke)
        console.print(f"Smoke match  {smoke['agent']} against {smoke['opponent']}: {score}")
    if agreed:
        console.print(f"int8         same first choice as in floats in {agreed['top1']:.1%} of the positions")
    console.print(f"Model        {path}, {path.stat().st_size / 1e6:.1f} MB")
