"""`tengen solve`: exact solutions of small boards.

The group lives here; each of its commands is one function in a file of its own, as with `tengen tables`.
"""

import typer

from tengen.cli.solve_check import check
from tengen.cli.solve_generations import generations
from tengen.cli.solve_go import go
from tengen.cli.solve_hold import hold
from tengen.cli.solve_judge import judge
from tengen.cli.solve_margins import margins

solve = typer.Typer(
    no_args_is_help=True, help="Solve Go on boards up to 5x5, check the proofs, and measure agents by the truth."
)


@solve.callback()
def _group() -> None:
    """Solve Go on boards up to 5x5, check the proofs, and measure agents by the truth."""


# The commands, in the order in which `tengen solve --help` lists them.
solve.command()(go)
solve.command()(margins)
solve.command()(check)
solve.command()(judge)
solve.command()(hold)
solve.command()(generations)
