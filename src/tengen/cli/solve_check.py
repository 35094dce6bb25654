"""`tengen solve check`: walk through a proof, move by move, by the rules of the game alone."""

from pathlib import Path
from typing import Annotated

import typer


def check(
    certificate: Annotated[Path, typer.Argument(help="The file, as in solutions/NAME/proof.safetensors.")],
    threads: Annotated[int, typer.Option(help="Threads that check; 0: one a core.", min=0)] = 0,
) -> None:
    """Check a proof: every move of the opponent must have an answer, and every line must end well.

    The check uses the rules of the game and nothing of the solver: about 28,000 positions a second and core. If it
    fails, the exit code is 1.

    Example: [cyan]tengen solve check solutions/go3-simple-go-8.5/proof.safetensors[/cyan]
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tengen._kernel_cache import is_cold

    if is_cold():
        Console(stderr=True).print("compiling the rules engine, once: about a minute")

    from tengen.games import go
    from tengen.solve.certificate import Certificate
    from tengen.solve.check import check as check_certificate
    from tengen.solve.check_positions import CertificateError

    console = Console(highlight=False)
    proof = Certificate.load(certificate)
    statement = proof.statement
    player = "Black" if statement.color == go.BLACK else "White"
    console.print(statement.state)
    console.print(f"Claim      {player} by {statement.margin} or more, under {statement.rules} rules without komi")
    columns = TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("", total=len(proof.keys))
            checked = check_certificate(proof, lambda count: progress.update(bar, completed=count), threads)
    except CertificateError as error:
        console.print(f"Not proven {error}", style="red", markup=False)
        raise typer.Exit(1) from None
    console.print(f"Proven     {checked.positions:,} positions, {checked.moves:,} moves, {checked.ended:,} ends")
    if checked.circles:
        console.print(f"Superko    {checked.circles:,} positions in which stones can come back, all lines followed")
