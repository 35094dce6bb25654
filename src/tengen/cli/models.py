"""`tengen models`: look at models and publish them.

The group lives here; each of its commands is one function in a file of its own, as with `tengen data`.
"""

import typer

from tengen.cli.models_export import export
from tengen.cli.models_list import list_models
from tengen.cli.models_show import show

models = typer.Typer(no_args_is_help=True, help="Look at models and publish them.")


@models.callback()
def _group() -> None:
    """Look at models and publish them."""


# The commands, in the order in which `tengen models --help` lists them.
models.command("list")(list_models)
models.command()(show)
models.command()(export)
