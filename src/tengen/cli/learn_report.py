"""`tengen learn report`: the curves of a run, and what its network sees."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="Directory of a run, finished or under way.", show_default=False)],
) -> None:
    """Write report.html and curves.png into the directory of a run.

    Curves of loss, accuracy and learning rate, accuracy by phase of the game, and a sheet of test positions with
    the network's moves as a heat map. Training writes it too, at the end and now and then.

    [bold]Example[/bold]  [cyan]tengen learn report runs/go19[/cyan]
    """
    from tengen.learn.report import write_report

    typer.echo(f"Report     {write_report(run)}")
