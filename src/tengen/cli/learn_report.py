"""`tengen learn report`: the curves of a run, and what its network sees."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="Directory of a run, finished or under way.", show_default=False)],
) -> None:
    """Write report.html and curves.png into the directory of a run.

    Of a supervised run: curves of loss, accuracy and learning rate, accuracy by phase of the game, and a sheet of test
    positions with the network's moves as a heat map. Of a run that learns from nothing: its strength, its losses and
    its newest games. Of a policy that plays against itself: its matches against the policy of the start. Training
    writes it too, at the end and now and then.

    [bold]Example[/bold]  [cyan]tengen learn report runs/go19[/cyan]
    """
    from tengen.learn.reinforce_report import is_reinforce_run, write_reinforce_report
    from tengen.learn.zero_report import is_zero_run, write_zero_report

    if is_zero_run(run):
        typer.echo(f"Report     {write_zero_report(run)}")
        return
    if is_reinforce_run(run):
        typer.echo(f"Report     {write_reinforce_report(run)}")
        return
    from tengen.learn.report import write_report

    typer.echo(f"Report     {write_report(run)}")
