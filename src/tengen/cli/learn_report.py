"""`tengen learn report`: the curves of a run, and what its network sees."""

from pathlib import Path
from typing import Annotated, Final

import typer

_WRITERS: Final = {
    "supervised": "report:write_report",
    "zero": "zero_report:write_zero_report",
    "reinforce": "reinforce_report:write_reinforce_report",
    "value": "value:write_value_curves",
    "generations": "generations:write_generation_curves",
    "alphago": "alphago_report:write_alphago_report",
}
"""The function that writes the report of each kind of run."""


def report(
    run: Annotated[Path, typer.Argument(help="Directory of a run, finished or under way.", show_default=False)],
) -> None:
    """Write report.html, curves.png or both into the directory of a run, as training does at its end and now and then.

    Of `supervised`: curves of loss, accuracy and learning rate, accuracy by phase of the game, and a sheet of test
    positions with the network's moves as a heat map. Of `zero`: its strength, its losses and its newest games. Of
    `reinforce`: its matches against the policy of the start. Of `alphago`: a page of all its stages. Of `value` and
    `generations`: curves.

    [bold]Example[/bold]  [cyan]tengen learn report runs/go19[/cyan]
    """
    from pkgutil import resolve_name

    from tengen.learn.run_directory import kind_of_run

    kind = kind_of_run(run)
    if kind not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise ValueError(f"{run} holds no run with a report: its kind is {kind or 'not known'}, not one of {known}")
    path: Path = resolve_name(f"tengen.learn.{_WRITERS[kind]}")(run)
    typer.echo(f"{'Report' if path.suffix == '.html' else 'Curves':<10} {path}")
