"""`tengen uci`: Tengen as a Microchess engine for chess programs."""

from typing import Annotated

import typer

from tengen.cli.game_options import DoubleStep, Rules, choose_options, given_options

EPILOG = """[bold]How to use it[/bold]

By hand: type [cyan]position startpos moves d2d4[/cyan], [cyan]d[/cyan], [cyan]go movetime 500[/cyan];
[cyan]quit[/cyan] ends it.

In a board program that learns variants of chess from a [cyan]variants.ini[/cyan]: give it ours, which lies in
games/microchess of this package, and add an engine with the command [cyan]tengen uci[/cyan].

Against Fairy-Stockfish: [cyan]tengen match[/cyan] plays without any of this; see its help.
"""


def uci(
    agent: Annotated[
        str,
        typer.Option(metavar="SPEC", help="Who plays: zero:microchess, zero:microchess,sims=400, alphabeta, random..."),
    ] = "zero:microchess",
    rules: Rules = None,
    double_step: DoubleStep = None,
    seed: Annotated[int | None, typer.Option(help="The same seed plays the same game.")] = None,
) -> None:
    """Be a Microchess engine for every program that speaks UCI.

    Rules and double step hold until the program sets the options Rules and UCI_Variant; by default they are those that
    the agent's model learned. Commands come in on standard input, answers go out on standard output; standard error
    is for people.
    """
    import contextlib
    import sys

    from tengen._kernel_cache import is_cold

    if is_cold():
        print(
            "compiling the rules engine, once: a minute or two; `tengen warm-up` does it now",
            file=sys.stderr,
            flush=True,
        )

    from tengen.agents.registry import load_agent, read_spec
    from tengen.games.microchess.game import GAME
    from tengen.serve.uci import UciServer

    read_spec(agent)  # the agent itself is loaded once the program has been greeted
    streams = sys.stdin.buffer, sys.stdout.buffer
    options = choose_options(GAME, given_options(None, rules=rules, double_step=double_step), [agent])
    server = UciServer(agent, *streams, options=options, load=lambda spec: load_agent(spec, seed))
    # Whatever any part of the program may print, only answers reach the standard output.
    with contextlib.redirect_stdout(sys.stderr):
        server.run()
