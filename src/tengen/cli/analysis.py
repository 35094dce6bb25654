"""`tengen analysis`: KataGo's analysis protocol, for KaTrain and programs like it."""

from typing import Annotated

import typer

EPILOG = """[bold]KaTrain[/bold]

Settings > Engine: override the command by [cyan]/full/path/to/tengen analysis[/cyan]
(see the path with [cyan]which tengen[/cyan]).

[bold]By hand[/bold]

[cyan]echo '{"id":"a","moves":[["B","E5"]],"rules":"chinese","komi":7,"boardXSize":9,"boardYSize":9}'[/cyan]
[cyan]| tengen analysis --agent zero:go9[/cyan]
"""


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
    positions: Annotated[
        int, typer.Option(min=1, max=4096, help="Positions searched at a time, whose leaves are one batch.")
    ] = 64,
    report_as: Annotated[
        str,
        typer.Option(metavar="WHOSE", help="Whose numbers are reported: black, white or sidetomove."),
    ] = "black",
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same analysis.")] = None,
) -> None:
    """Analyse positions for other programs by KataGo's analysis protocol, in JSON lines.

    Queries come in on standard input, answers go out on standard output; standard error is for people. Many positions,
    of one query or of many, are searched at a time. The end of the input ends it, once all is answered.
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

    from tengen.agents.registry import load_analyst
    from tengen.cli.standard_input import standard_input
    from tengen.serve.kata_server import KataServer

    specs = agent or ["alphago:alphago9", "alphago:go19,lambda=1", "zero:go5", "uct"]
    named = {spec: load_analyst(spec, seed) for spec in agent or ()}
    server = KataServer(
        [lambda spec=spec: named.get(spec) or load_analyst(spec, seed) for spec in specs],  # type: ignore[misc]
        standard_input(),
        sys.stdout.buffer,
        visits=visits,
        positions=positions,
        perspective=report_as.upper(),
    )
    print(f"{server.agent(0).name} analyses; queries are JSON, one a line", file=sys.stderr, flush=True)
    with contextlib.redirect_stdout(sys.stderr):
        server.run()
    print(server.filling, file=sys.stderr, flush=True)
