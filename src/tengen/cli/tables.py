"""`tengen tables`: exact endgame tables.

The group lives here; each of its commands is one function in a file of its own, as with `tengen data`.
"""

import typer

from tengen.cli.tables_build import build
from tengen.cli.tables_check import check
from tengen.cli.tables_judge import judge
from tengen.cli.tables_show import show

tables = typer.Typer(no_args_is_help=True, help="Make and ask exact endgame tables of Microchess.")


@tables.callback()
def _group() -> None:
    """Make and ask exact endgame tables of Microchess."""


# The commands, in the order in which `tengen tables --help` lists them.
tables.command()(build)
tables.command()(check)
tables.command()(show)
tables.command()(judge)
