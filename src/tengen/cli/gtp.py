"""`tengen gtp`: Tengen as an engine for other Go programs."""

from typing import Annotated

import typer

from tengen.cli.game_options import Komi, Rules, Size, choose_options, given_options

EPILOG = """[bold]How to add it to a board program[/bold]

Sabaki: Engines > Show Engines Sidebar > Manage Engines > Add; Path: the full path of [cyan]tengen[/cyan]
(see it with [cyan]which tengen[/cyan]), Arguments: [cyan]gtp --agent alphago:alphago9[/cyan]; F4 shows its analysis

Lizzie: in its settings, Engine: [cyan]/full/path/to/tengen gtp --agent zero:go9 --size 9[/cyan]

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
    size: Size = None,
    rules: Rules = None,
    komi: Komi = None,
    ponder: Annotated[
        bool, typer.Option("--ponder", help="Think on the opponent's time, with agents that search a tree.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="The same seed plays the same game.")] = None,
) -> None:
    """Be an engine for Sabaki, Lizzie, GoGui and every other program that speaks GTP.

    Agents that search a tree (zero, gumbel, alphago, mcts, uct) analyse as well: kata-analyze, lz-analyze and others.

    Size, rules and komi hold until the program sets others; by default they are those that the agent's model learned.
    Commands come in on standard input, answers go out on standard output; standard error is for people.
    When the program keeps a clock, moves are kept within it.
    """
    import contextlib
    import sys

    from tengen._kernel_cache import is_cold

    if is_cold():
        print(
            "compiling the rules engine, once: a minute or two, before the first move; `tengen warm-up` does it now",
            file=sys.stderr,
            flush=True,
        )

    from tengen.agents.registry import load_agent
    from tengen.cli.standard_input import standard_input
    from tengen.games.go.game import GAME
    from tengen.serve.gtp import GtpServer

    streams = standard_input(), sys.stdout.buffer
    options = choose_options(GAME, given_options(None, size=size, rules=rules, komi=komi), [agent])
    server = GtpServer(load_agent(agent, seed), *streams, options=options, ponder=ponder)
    print(server.greeting, file=sys.stderr, flush=True)
    # Whatever any part of the program may print, only answers reach the standard output.
    with contextlib.redirect_stdout(sys.stderr):
        server.run()
