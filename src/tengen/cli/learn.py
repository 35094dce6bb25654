"""`tengen learn`: train networks, and see how well they do.

The group lives here; each of its commands is one function in a file of its own (`learn_supervised.py` and so on),
typed as typer likes it, which joins with an import and one line at the bottom: `learn.command()(evaluate)`.
"""

import typer

from tengen.cli.learn_alphago import alphago
from tengen.cli.learn_evaluate import evaluate
from tengen.cli.learn_fast_policy import fast_policy
from tengen.cli.learn_generations import generations
from tengen.cli.learn_ratings import ratings
from tengen.cli.learn_reinforce import reinforce
from tengen.cli.learn_report import report
from tengen.cli.learn_supervised import supervised
from tengen.cli.learn_sweep import sweep
from tengen.cli.learn_value import value
from tengen.cli.learn_value_error import value_error
from tengen.cli.learn_zero import zero

learn = typer.Typer(no_args_is_help=True, help="Train networks, and see how well they do.")


@learn.callback()
def _group() -> None:
    """Train networks, and see how well they do."""


# The commands, in the order in which `tengen learn --help` lists them.
learn.command()(supervised)
learn.command()(fast_policy)
learn.command()(reinforce)
learn.command()(value)
learn.command()(value_error)
learn.command()(alphago)
learn.command()(zero)
learn.command()(generations)
learn.command()(ratings)
learn.command()(evaluate)
learn.command()(report)
learn.command()(sweep)
