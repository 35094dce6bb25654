"""The `tengen` command: its options, its errors, and the list of its subcommands.

A subcommand is a function in a file of this folder. Typer reads the options from its signature and the help from its
docstring, so the top of the file imports nothing heavier than typer; whatever needs numba is imported inside the
function, when the command runs. That keeps `tengen --help` and the start of `tengen gtp` fast, and a test holds it so:

    # cli/count.py
    from typing import Annotated

    import typer

    def count(size: Annotated[int, typer.Option(help="board size, 2 to 25")] = 9) -> None:
        \"\"\"Count the points of a board.\"\"\"
        from tengen.games import go                  # heavy: imported when the command runs

        typer.echo(go.State.new(size=size).stones.size)

and joins `COMMANDS` below, which says in which file a subcommand is. A group of commands is a `typer.Typer` in place
of the function (`options.group`); what is printed below a command's help is in `EPILOGS` of its file. Only the file of
the command that is called is imported.

A mistake of the user's (a bad value, a file that is not there, a foreign engine that died) ends in one red
line and exit code 2. `tengen --debug COMMAND` shows the traceback instead.
"""

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tengen import __version__
from tengen._processes import exit_on_termination
from tengen._text import one_line
from tengen.cli.options import Command

EXAMPLES = (
    ("tengen play", "a game on 9x9 against the Monte-Carlo bot"),
    ("tengen web", "the same and more in your browser"),
    ("tengen play --size 19 --handicap 6", "an easier one on the big board"),
    ("tengen match uct:playouts=2000 alphabeta:depth=2 --games 10", "which is stronger?"),
    ("tengen tournament random alphabeta uct zero:go9", "the strongest of several"),
    ("tengen explain game.sgf --move 30 --agent zero:go9", "what a network and its search see there"),
    ("tengen gtp --agent uct:seconds=2", "an engine for Sabaki or GoGui"),
    ("tengen play --game microchess", "chess on a board of 4 x 5"),
    ("tengen data build records --out datasets/kgs", "a dataset from game records"),
    ("tengen learn supervised --data datasets/kgs", "train a network on it"),
    ("tengen COMMAND --help", "what a command can do, with its options"),
)

COMMANDS = {
    "play": "play",
    "web": "web",
    "gtp": "engines",
    "uci": "engines",
    "analysis": "engines",
    "match": "match",
    "tournament": "tournament",
    "explain": "analyse",
    "analyse": "analyse",
    "perft": "play",
    "agents": "models",
    "warm-up": "engines",
    "solve": "solve",
    "tables": "tables",
    "data": "data",
    "learn": "learn",
    "models": "models",
    "bench": "bench",
}
"""Subcommand -> the file of this folder that it is in, in the order of `tengen --help`."""


class ErrorsInOneLine(TyperGroup):
    """A group of commands that reports a user's mistake in one line and with exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except BrokenPipeError:
            raise
        except Exception as error:
            if ctx.params.get("debug") or not _is_users_mistake(error):
                raise
            typer.secho(f"tengen: {_message(error)}", fg="red", err=True)
            raise typer.Exit(2) from None


class _Files(Mapping[str, Any]):
    """All subcommands by name. The file of one is imported when it is called, or its help is asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    @staticmethod
    def _load(name: str) -> Any:
        file = importlib.import_module(f"tengen.cli.{COMMANDS[name]}")
        command = getattr(file, name.replace("-", "_"))
        if not isinstance(command, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
            alone.command(name, cls=Command, epilog=getattr(file, "EPILOGS", {}).get(name))(command)
            command = alone
        loaded = get_command(command)
        loaded.name = name
        return loaded


class Subcommands(ErrorsInOneLine):
    """The group of all subcommands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": _Files()})


app = typer.Typer(
    name="tengen",
    cls=Subcommands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="[bold]Examples[/bold]\n\n"
    + "\n\n".join(f"[cyan]{command}[/cyan]  {meaning}" for command, meaning in EXAMPLES),
)


def main() -> None:
    """Run the command line: the entry point of the installed `tengen` script."""
    exit_on_termination()
    try:
        try:
            app(prog_name="tengen")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has gone (`tengen ... | head`): leave quietly, with nothing left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tengen {__version__}")
        raise typer.Exit


@app.callback()
def tengen(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a full traceback when something fails.")] = False,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Run this Python file, which registers a game, an encoder, a network, a search rule or an optimizer "
            "(docs/plugins.md); before or after the command, and as often as needed.",
        ),
    ] = None,
) -> None:
    """[bold]Tengen[/bold] plays Go and Microchess: in the browser, in the terminal, in GTP and UCI programs, and
    against other engines.

    Opponents are named by a short [italic]spec[/italic], the same everywhere: [cyan]random[/cyan],
    [cyan]alphabeta:depth=4[/cyan], [cyan]uct:playouts=10000[/cyan], [cyan]uct:seconds=1[/cyan],
    [cyan]"gtp:gnugo --mode gtp --level 10"[/cyan], [cyan]uci:fairy-stockfish,skill=5[/cyan], [cyan]strategy.py[/cyan].
    """
    if plugin:
        from tengen._plugins import load_plugins

        load_plugins(plugin)


_EXTRA_MODULES = {"choix", "torch", "pyarrow", "matplotlib", "tensorboard"}


def _is_users_mistake(error: Exception) -> bool:
    """Whether the message alone explains the error, as it does in every error that Tengen itself defines."""
    explained = isinstance(error, (ValueError, OSError)) or type(error).__module__.startswith("tengen.")
    return explained or (isinstance(error, ModuleNotFoundError) and error.name in _EXTRA_MODULES)


def _message(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"this command needs {error.name}, which comes with the training tools: pip install 'tengen[train]'"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return one_line(str(error), None) or type(error).__name__
