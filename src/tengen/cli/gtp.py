"""`tengen gtp`: Tengen as an engine for other Go programs."""

from typing import Annotated

import typer

EPILOG = """[bold]How to add it to a board program[/bold]

Sabaki: Engines > Show Engines Sidebar > Manage Engines > Add; Path: the full path of [cyan]tengen[/cyan]
(see it with [cyan]which tengen[/cyan]), Arguments: [cyan]gtp --agent uct:playouts=10000[/cyan]

GoGui: Program > New Program; Command: [cyan]/full/path/to/tengen gtp --agent uct:seconds=2[/cyan]

By hand: type [cyan]boardsize 9[/cyan], [cyan]genmove black[/cyan], [cyan]showboard[/cyan], and
[cyan]list_commands[/cyan] for all there is; [cyan]quit[/cyan] ends it.
"""


def gtp(
    agent: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="Who plays: random, alphabeta:depth=4, uct:playouts=10000, uct:seconds=1...",
        ),
    ] = "uct:playouts=10000",
    size: Annotated[
        int | None,
        typer.Option(help="Board size, 2 to 25, until the program sets it.", show_default="by rules"),
    ] = None,
    rules: Annotated[
        str,
        typer.Option(help="tromp-taylor, chinese, japanese, aga, new-zealand or simple-go."),
    ] = "chinese",
    komi: Annotated[
        float | None,
        typer.Option(help="Komi, until the program sets it.", show_default="by rules"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed plays the same game.")] = None,
) -> None:
    """Be an engine for Sabaki, GoGui and every other program that speaks GTP.

    Commands come in on standard input, answers go out on standard output; standard error is for people.
    When the program keeps a clock, moves are kept within it.
    """
    import contextlib
    import sys

    from tengen._kernel_cache import is_cold

    if is_cold():
        print("compiling the rules engine, once: about a minute", file=sys.stderr, flush=True)

    from tengen.agents.registry import load_agent
    from tengen.serve.gtp import GtpServer

    streams = sys.stdin.buffer, sys.stdout.buffer
    server = GtpServer(load_agent(agent, seed), *streams, size=size, rules=rules, komi=komi)
    print(server.greeting, file=sys.stderr, flush=True)
    # Whatever any part of the program may print, only answers reach the standard output.
    with contextlib.redirect_stdout(sys.stderr):
        server.run()
