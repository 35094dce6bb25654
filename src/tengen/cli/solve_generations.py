"""`tengen solve generations`: how often each generation of a run throws away won games, by the exact solver."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer


def generations(
    run: Annotated[Path, typer.Argument(help="Directory of `tengen learn generations`.", show_default=False)],
    positions: Annotated[
        int, typer.Option("--positions", "-n", min=1, help="Positions to sample, of each generation.")
    ] = 200,
    from_move: Annotated[int, typer.Option(min=0, help="How many moves are played before a position is taken.")] = 8,
    noise: Annotated[float, typer.Option(min=0, max=1, help="The share of random moves in the games.")] = 0.3,
    nodes: Annotated[int, typer.Option(min=1, help="How many nodes the solver may search for each verdict.")] = 300_000,
    memory: Annotated[float, typer.Option(min=0.01, help="Memory for the solver's tables, in GB.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed gives other positions.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for table and picture; crosstable/ in RUN if not given.", show_default=False),
    ] = None,
) -> None:
    """Measure how often the greedy player of each generation throws away games of Go that it has won.

    As [cyan]tengen solve judge[/cyan], for random moves (generation 0) and every generation of a run. The folder gets
    the shares as CSV and as a curve over the generations (PNG), beside the cross table.

    Example: [cyan]tengen solve generations runs/simple-go-k3.5[/cyan]
    """
    import matplotlib  # noqa: F401  so that it is not missed after the games
    from rich.console import Console

    from tengen._files import write_atomically
    from tengen._kernel_cache import is_cold
    from tengen.cli.solve_judge import mistakes_csv, mistakes_table

    if is_cold():
        Console(stderr=True).print("compiling the solver, once: about a minute")

    from tengen.agents.registry import load_agent
    from tengen.arena.generation_table import run_options
    from tengen.arena.mistakes import Mistakes, find_mistakes
    from tengen.arena.mistakes_picture import draw_mistakes
    from tengen.games import go
    from tengen.games.game import get_game
    from tengen.nets.generations import generation_numbers
    from tengen.solve.go_solver import Solver

    options = run_options(run, float("nan"))
    start = get_game(options.game).new(options)
    if not isinstance(start, go.State):
        raise ValueError(f"{run} has learned {options.game}: the solver knows Go")
    solver = Solver(start.size, start.rules, memory)
    found: dict[int, Mistakes] = {}
    progress = Console(stderr=True)
    for number in [0, *generation_numbers(run)]:
        spec = f"value:{run},generation={number}" if number else "random"
        with closing(load_agent(spec, seed)) as agent, progress.status(f"generation {number}"):
            found[number] = find_mistakes(
                agent, start, solver, positions, nodes=nodes, from_move=from_move, noise=noise, seed=seed
            )
    named = {f"generation {number}" if number else "random": mistakes for number, mistakes in found.items()}
    console = Console(highlight=False)
    console.print(mistakes_table(named))
    folder = run / "crosstable" if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "mistakes.csv", mistakes_csv(named))
    write_atomically(folder / "mistakes.png", draw_mistakes(found, get_game("go").describe(options)))
    console.print(f"Table and picture   {folder}", markup=False, soft_wrap=True)
