"""Tengen as an engine of other programs: `tengen gtp`, `uci` and `analysis`, and `tengen warm-up` before them."""

import contextlib
import io
import sys
from typing import Annotated, BinaryIO

import typer

from tengen._processes import end_with_shell
from tengen.cli.options import DoubleStep, Komi, Rules, Size, choose_options, formerly, given_options
from tengen.cli.progress import say_when_compiling

EPILOGS = {
    "gtp": """[bold]How to add it to a board program[/bold]

Sabaki: Engines > Show Engines Sidebar > Manage Engines > Add; Path: the full path of [cyan]tengen[/cyan]
(see it with [cyan]which tengen[/cyan]), Arguments: [cyan]gtp --agent alphago:alphago9[/cyan]; F4 shows its analysis

Lizzie: in its settings, Engine: [cyan]/full/path/to/tengen gtp --agent zero:go9 --size 9[/cyan]

GoGui: Program > New Program; Command: [cyan]/full/path/to/tengen gtp --agent uct:seconds=2[/cyan]

By hand: type [cyan]boardsize 9[/cyan], [cyan]genmove black[/cyan], [cyan]showboard[/cyan], and
[cyan]list_commands[/cyan] for all there is; [cyan]quit[/cyan] ends it.
""",
    "uci": """[bold]How to use it[/bold]

By hand: type [cyan]position startpos moves d2d4[/cyan], [cyan]d[/cyan], [cyan]go movetime 500[/cyan];
[cyan]quit[/cyan] ends it.

In a board program that learns variants of chess from a [cyan]variants.ini[/cyan]: give it ours, which lies in
games/microchess of this package, and add an engine with the command [cyan]tengen uci[/cyan].

Against Fairy-Stockfish: [cyan]tengen match[/cyan] plays without any of this; see its help.
""",
    "analysis": """[bold]KaTrain[/bold]

Settings > Engine: override the command by [cyan]/full/path/to/tengen analysis[/cyan]
(see the path with [cyan]which tengen[/cyan]).

[bold]By hand[/bold]

[cyan]echo '{"id":"a","moves":[["B","E5"]],"rules":"chinese","komi":7,"boardXSize":9,"boardYSize":9}'[/cyan]
[cyan]| tengen analysis --agent zero:go9[/cyan]
""",
}
ANALYSTS = ("alphago:alphago9", "alphago:go19,lambda=1", "zero:go5", "uct")
"""Who analyses for other programs where nobody is named: the first that can play a board."""
_WARMED_UP = (
    "uct:playouts=50",
    "alphago:alphago9,sims=16",
    "alphago:go19,lambda=1,sims=16",
    "policy:go9",
    "fast-policy",
    "zero:go5,sims=16",
    "gumbel:go5,sims=16",
    "zero:microchess,sims=16",
    "alphabeta:depth=2",
    "mcts:playouts=16",
)


def gtp(
    agent: Annotated[
        str,
        typer.Option(metavar="SPEC", help="Who plays: random, alphabeta:depth=4, uct:playouts=10000, uct:seconds=1..."),
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
    say_when_compiling()
    end_with_shell()

    from tengen.agents.registry import load_agent
    from tengen.games.go.game import GAME
    from tengen.serve.gtp import GtpServer

    streams = _standard_input(), sys.stdout.buffer
    options = choose_options(GAME, given_options(None, size=size, rules=rules, komi=komi), [agent])
    server = GtpServer(load_agent(agent, seed), *streams, options=options, ponder=ponder)
    print(server.greeting, file=sys.stderr, flush=True)
    # Whatever any part of the program may print, only answers reach the standard output.
    with contextlib.redirect_stdout(sys.stderr):
        server.run()


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
    say_when_compiling()
    end_with_shell()

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


@formerly(batch="positions")
def analysis(
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="Who analyses: zero, gumbel, alphago, mcts or uct. Give it several times, and the first that can"
            " play the board of a query does. By default networks for 9x9, 19x19 and 5x5, and uct for other boards.",
        ),
    ] = None,
    visits: Annotated[int, typer.Option(min=1, help="Visits of a position where a query gives no maxVisits.")] = 100,
    batch: Annotated[
        int, typer.Option(min=1, max=4096, help="Positions searched at a time, whose leaves are one batch.")
    ] = 64,
    report_as: Annotated[
        str, typer.Option(metavar="WHOSE", help="Whose numbers are reported: black, white or sidetomove.")
    ] = "black",
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same analysis.")] = None,
) -> None:
    """Analyse positions for other programs by KataGo's analysis protocol, in JSON lines.

    Queries come in on standard input, answers go out on standard output; standard error is for people. Many positions,
    of one query or of many, are searched at a time. The end of the input ends it, once all is answered.
    """
    say_when_compiling()
    end_with_shell()

    from tengen.agents.registry import load_analyst
    from tengen.serve.kata import KataServer

    specs = agent or ANALYSTS
    named = {spec: load_analyst(spec, seed) for spec in agent or ()}
    server = KataServer(
        [lambda spec=spec: named.get(spec) or load_analyst(spec, seed) for spec in specs],  # type: ignore[misc]
        _standard_input(),
        sys.stdout.buffer,
        visits=visits,
        positions=batch,
        perspective=report_as.upper(),
    )
    print(f"{server.agent(0).name} analyses; queries are JSON, one a line", file=sys.stderr, flush=True)
    with contextlib.redirect_stdout(sys.stderr):
        server.run()
    print(server.batch_stats, file=sys.stderr, flush=True)


def warm_up(
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="Get these ready; without any, all kinds of agents and games are."),
    ] = None,
) -> None:
    """Compile the kernels for this machine, so that the first move of a game with a clock takes no longer than others.

    Compiled kernels are kept for later runs. A new version of Tengen compiles them again.
    """
    import time

    from tengen.agents.agent import AgentError, NeedsCheck
    from tengen.agents.analysis import Analyst
    from tengen.agents.passing import count_now
    from tengen.agents.registry import load_agent, model_card
    from tengen.games import go
    from tengen.games.game import get_game

    for spec in agent or _WARMED_UP:
        began, player, card = time.monotonic(), load_agent(spec, seed=1), model_card(spec)
        names = [card.game] if card is not None else ["go", "microchess"]
        for name in names:
            game = get_game(name)
            state = game.new(game.options())
            if card is not None and isinstance(state, go.State):
                state = go.State.new(card.size)
            if isinstance(player, NeedsCheck):
                try:
                    player.check(state)
                except AgentError:  # not a game for this agent, which plays another
                    continue
            state = state.play(player.choose(state, 1.0).move)
            if isinstance(player, Analyst):
                for _ in player.analyse(state, visits=16):
                    pass
            if isinstance(state, go.State):
                count_now(state, 0.0)
        player.close()
        print(f"{spec} is ready, {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)


def _standard_input() -> BinaryIO:
    """A stream of its own: Python cannot shut down cleanly while a thread waits in `sys.stdin` itself."""
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except io.UnsupportedOperation:  # not a file: a test's
        return sys.stdin.buffer
