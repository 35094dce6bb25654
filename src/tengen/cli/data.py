"""`tengen data`: fetch game records and make datasets of them.

The group lives here; each of its commands is one function in a file of its own (`data_download.py` and so on), typed
as typer likes it, which joins with an import and one line at the bottom: `data.command()(download)`.
"""

import typer

from tengen.cli.data_build import build
from tengen.cli.data_download import download
from tengen.cli.data_show import show
from tengen.cli.data_stats import stats

data = typer.Typer(no_args_is_help=True, help="Fetch game records and make datasets of them.")


@data.callback()
def _group() -> None:
    """Fetch game records and make datasets of them."""


# The commands, in the order in which `tengen data --help` lists them.
data.command()(download)
data.command()(build)
data.command()(stats)
data.command()(show)
