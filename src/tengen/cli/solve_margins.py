"""`tengen solve margins`: what each player can force on a small board, for all komi at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tengen.games.go import State
    from tengen.solve.retrograde import Solution


def margins(
    size: Annotated[int, typer.Option(min=2, max=5, help="Board size.")] = 3,
    rules: Annotated[str, typer.Option(help="A rule set that counts area: simple-go, chinese, ...")] = "simple-go",
    moves: Annotated[str, typer.Option(help='Moves to begin with, as in "C3 C2".', show_default=False)] = "",
    memory: Annotated[float, typer.Option(min=0.01, help="Memory for the tables, in GB.")] = 1.0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for proofs; none are written if not given.")
    ] = None,
) -> None:
    """Find the largest margins that Black and White can force. Where they meet, the board is solved for every komi.

    Boards up to 4x4 are solved whole, in less than a minute. On 5x5 begin late in a game.

    Example: [cyan]tengen solve margins --size 3 --rules simple-go --out solutions/go3[/cyan]
    """
    from rich.console import Console

    from tengen._kernel_cache import is_cold

    if is_cold():
        Console(stderr=True).print("compiling the solver, once: about a minute")

    from tengen.games import go
    from tengen.solve.extract import SolutionStrategy, TableStrategy, extract
    from tengen.solve.go_solver import Solver, guaranteed
    from tengen.solve.retrograde import MAX_SIZE

    state = go.State.new(size, rules)
    for word in moves.split():
        state = state.play(state.parse_move(word))
    solver = Solver(size, state.rules, memory)
    console = Console(highlight=False, soft_wrap=True)
    solution = None if size > MAX_SIZE else _whole(state)
    bounds = []
    for color, name in ((go.BLACK, "black"), (go.WHITE, "white")):
        claim = solver.best_claim(state, color) if solution is None else guaranteed(solution, state, color)
        bounds.append(claim.margin if color == go.BLACK else -claim.margin)
        side = "at least" if color == go.BLACK else "at most"
        console.print(f"{name.title()}      Black's margin is {side} {bounds[-1]}")
        if out is not None and claim.margin > -(size**2):
            out.mkdir(parents=True, exist_ok=True)
            path = out / f"{name}.safetensors"
            strategy = (
                TableStrategy(solver, claim)
                if solution is None
                else SolutionStrategy(_whole(state, claim.margin), claim)
            )
            with Console(stderr=True).status("writing the proof") as status:
                certificate = extract(strategy, state, status.update)
            certificate.save(path)
            console.print(f"Proof      {path} ({len(certificate.keys):,} positions)", markup=False)
            console.print(f"Check it   tengen solve check {path}", markup=False)
    if bounds[0] == bounds[1]:
        console.print(f"Solved     Black's margin is {bounds[0]}")
    else:
        console.print("Open       what lies between depends on long repetitions")
    if solution is None:
        console.print(f"Nodes      {solver.nodes:,}")
    else:
        console.print(f"Positions  {len(solution.keys):,}, up to symmetry")


def _whole(state: "State", goal: int | None = None) -> "Solution":
    """The solution of the whole board; with a goal, the shortest ways to it."""
    from rich.console import Console

    from tengen.solve.retrograde import solve_board

    with Console(stderr=True).status("solving") as status:
        return solve_board(state.size, state.rules, goal, status.update)
