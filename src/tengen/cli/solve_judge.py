"""`tengen solve judge`: how often agents throw away won games, by the exact solver."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.status import Status
    from rich.table import Table

    from tengen.arena.mistakes import Mistakes


def judge(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC...", help="The agents.", show_default=False)],
    size: Annotated[int, typer.Option(min=2, max=5, help="Board size.")] = 5,
    rules: Annotated[str, typer.Option(help="A rule set that counts area: simple-go, chinese, ...")] = "simple-go",
    komi: Annotated[
        float | None, typer.Option(help="White's points; the rule set's if not given.", show_default=False)
    ] = None,
    positions: Annotated[
        int, typer.Option("--positions", "-n", min=1, help="Positions to sample, of each agent.")
    ] = 200,
    from_move: Annotated[int, typer.Option(min=0, help="How many moves are played before a position is taken.")] = 8,
    noise: Annotated[float, typer.Option(min=0, max=1, help="The share of random moves in the games.")] = 0.3,
    nodes: Annotated[int, typer.Option(min=1, help="How many nodes the solver may search for each verdict.")] = 300_000,
    memory: Annotated[float, typer.Option(min=0.01, help="Memory for the solver's tables, in GB.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed gives other positions.")] = 1,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this file too.", show_default=False)] = None,
    examples: Annotated[int, typer.Option(min=0, help="How many mistakes of each agent to show.")] = 1,
) -> None:
    """Measure how often agents throw away positions of Go that are won for them.

    Positions are taken from games of each agent against itself with some random moves, and decided by the exact solver.

    Example: [cyan]tengen solve judge random alphabeta:depth=3 uct:playouts=1000 --positions 100[/cyan]
    """
    from rich.console import Console

    from tengen._files import write_atomically
    from tengen._kernel_cache import is_cold

    if is_cold():
        Console(stderr=True).print("compiling the solver, once: about a minute")

    from tengen.agents.registry import load_agent
    from tengen.arena.mistakes import Mistake, Mistakes, find_mistakes
    from tengen.games import go
    from tengen.solve.go_solver import Solver

    start = go.State.new(size, rules, komi)
    solver = Solver(size, start.rules, memory)
    measured: dict[str, Mistakes] = {}
    shown: list[tuple[str, Mistake]] = []
    progress = Console(stderr=True)
    for spec in specs:
        with closing(load_agent(spec, seed)) as agent, progress.status(spec) as status:
            found = find_mistakes(
                agent,
                start,
                solver,
                positions,
                nodes=nodes,
                from_move=from_move,
                noise=noise,
                seed=seed,
                report=partial(_show, status, spec, positions),
            )
        measured[spec] = found
        shown += [(spec, mistake) for mistake in found.thrown_away[:examples]]
    console = Console(highlight=False)
    console.print(mistakes_table(measured))
    for spec, mistake in shown:
        console.print(f"{spec} threw this away by {mistake.state.move_name(mistake.move)}:", markup=False)
        console.print(mistake.state, markup=False)
    if csv is not None:
        write_atomically(csv, mistakes_csv(measured))


def _show(status: "Status", spec: str, positions: int, done: int) -> None:
    status.update(f"{spec}: {done} of {positions} positions")


def mistakes_table(measured: "Mapping[str, Mistakes]") -> "Table":
    """How players did, by their names, for the terminal."""
    from rich.table import Table

    table = Table("agent", "positions", "undecided", "won", "thrown away", "share", "95%")
    for name, found in measured.items():
        low, high = found.interval
        numbers = found.sampled, found.undecided, found.won, len(found.thrown_away)
        table.add_row(name, *map(str, numbers), f"{found.share:.1%}", f"{low:.1%} to {high:.1%}")
    return table


def mistakes_csv(measured: "Mapping[str, Mistakes]") -> bytes:
    """The same as a file."""
    rows = ["agent,positions,undecided,won,thrown_away,share,low,high"]
    for name, found in measured.items():
        low, high = found.interval
        numbers = found.sampled, found.undecided, found.won, len(found.thrown_away)
        rows.append(",".join([f'"{name}"', *map(str, numbers), f"{found.share:.4f},{low:.4f},{high:.4f}"]))
    return ("\n".join(rows) + "\n").encode()
