"""`tengen solve go`: who wins a small board, with a proof."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.cluster_option import Cluster, cluster_hosts

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.games.go import State
    from tengen.solve.extract import Strategy
    from tengen.solve.go_solver import Claim

PROOF_FILE = "proof.safetensors"


def go(
    size: Annotated[int, typer.Option(min=2, max=5, help="Board size.")] = 5,
    rules: Annotated[str, typer.Option(help="A rule set that counts area: simple-go, chinese, ...")] = "simple-go",
    komi: Annotated[
        float | None, typer.Option(help="White's points; the rule set's if not given.", show_default=False)
    ] = None,
    moves: Annotated[str, typer.Option(help='Moves to begin with, as in "C3 C2".', show_default=False)] = "",
    claim: Annotated[
        str, typer.Option(help="Whose win to look for: black, white, or both in turn until one is proven.")
    ] = "both",
    memory: Annotated[
        float,
        typer.Option(min=0.01, help="Memory for the tables, in GB; with --cluster, so much again for each worker."),
    ] = 1.0,
    threads: Annotated[
        int,
        typer.Option(min=0, help="Searches side by side on 5x5; 0: one a core. With --cluster, workers at most."),
    ] = 0,
    guide: Annotated[
        str | None,
        typer.Option(help="An agent that tells how likely moves win, as in value:RUN: where to search first on 5x5."),
    ] = None,
    leaf_nodes: Annotated[int, typer.Option(min=1, help="Nodes of each search on 5x5.")] = 50_000,
    nodes: Annotated[int | None, typer.Option(min=1, help="Stop after so many nodes.", show_default=False)] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for tables and proof, in solutions if not given.", show_default=False),
    ] = None,
    proof: Annotated[bool, typer.Option(help="Whether to write the winning strategy.")] = True,
    cluster: Cluster = None,
) -> None:
    """Find out who wins by force, and write the winning strategy.

    Boards up to 4x4 are solved whole. On 5x5 many searches, side by side, go on until one player is found to win: you
    can stop them at any time, and [bold]the same command goes on[/bold].

    Both know only the shortest of the repetitions that superko forbids. What they find is proven when
    [cyan]tengen solve check[/cyan] has gone through the strategy with all of them.

    [bold]Examples[/bold]

    [cyan]tengen solve go --size 3 --rules chinese --komi 8.5[/cyan]

    [cyan]tengen solve go --size 5 --komi 3.5 --moves C3 --claim black --guide value:runs/simple-go[/cyan]

    On all machines of a Ray cluster, with larger searches, so that this one keeps up:
    [cyan]tengen solve go --size 5 --komi 3.5 --moves C3 --leaf-nodes 500000 --cluster auto[/cyan]
    """
    from rich.console import Console

    from tengen._kernel_cache import is_cold

    if is_cold():
        Console(stderr=True).print("compiling the solver, once: about a minute")

    from tengen._machine import cores
    from tengen.cli.solve_search import Effort, Screen, guided, open_tree, search_trees, show_replies
    from tengen.games import go as rules_of_go
    from tengen.learn.interrupts import deferred_interrupts
    from tengen.learn.run_directory import RunDirectory
    from tengen.solve.extract import TableStrategy
    from tengen.solve.go_solver import Solver, winning_claims
    from tengen.solve.leaf_search import leaf_workers
    from tengen.solve.retrograde import MAX_SIZE

    state = rules_of_go.State.new(size, rules, komi)
    for word in moves.split():
        state = state.play(state.parse_move(word))
    wanted = {"black": (rules_of_go.BLACK,), "white": (rules_of_go.WHITE,), "both": (1, 2)}
    if claim not in wanted:
        raise ValueError(f"--claim {claim[:20]} is not possible: choose black, white or both")
    claims = [one for one in winning_claims(state) if one.color in wanted[claim]]
    if cluster is not None and size <= MAX_SIZE:
        raise ValueError(
            f"--cluster is for 5x5: a board of {size}x{size} is solved whole on this machine, leave it out"
        )
    hosts = cluster_hosts(cluster)
    folder = out or Path("solutions") / f"go{size}-{state.rules.name}-{state.komi:g}{_suffix(moves)}"
    settings: dict[str, str | int | float | bool] = {
        "size": size,
        "rules": state.rules.name,
        "komi": state.komi,
        "moves": moves,
    }
    console = Console(highlight=False, soft_wrap=True)
    if size <= MAX_SIZE:
        with closing(RunDirectory(folder, settings)):
            _solve_whole(state, claims, folder if proof else None, console)
        return
    with (
        closing(RunDirectory(folder, settings)) as run,
        deferred_interrupts() as interrupted,
        guided(guide, state) as hints,
    ):
        solver = Solver(size, state.rules, memory * 2 / len(claims))
        trees = [open_tree(solver, state, one, hints, folder, console) for one in claims]
        with leaf_workers(hosts, threads, solver) as workers:
            effort = Effort(threads or cores(), leaf_nodes, nodes, workers)
            proven = search_trees(solver, trees, folder, effort, Screen(console, run, interrupted))
        for tree in trees:
            show_replies(tree, state, console)
        console.print(f"Nodes      {solver.nodes:,}")
        if proven is not None:
            _conclude(TableStrategy(solver, proven), state, folder if proof else None, console)
        elif all(tree.verdict is False for tree in trees):
            console.print("Verdict    cannot be proven: it depends on long repetitions, or the other player wins")
        else:
            console.print("Verdict    none yet: the same command goes on")
    if interrupted():
        raise typer.Exit(130)


def _suffix(moves: str) -> str:
    return "-" + "-".join(moves.split()).lower() if moves.split() else ""


def _solve_whole(state: "State", claims: "list[Claim]", folder: Path | None, console: "Console") -> None:
    """Solve all positions of a board up to 4x4, and conclude which claim is true."""
    from rich.console import Console

    from tengen.solve.extract import SolutionStrategy
    from tengen.solve.go_solver import guaranteed
    from tengen.solve.retrograde import solve_board

    for claim in claims:
        with Console(stderr=True).status("solving") as status:
            solution = solve_board(state.size, state.rules, claim.margin, status.update)
        if guaranteed(solution, state, claim.color).margin >= claim.margin:
            console.print(f"Positions  {len(solution.keys):,}, up to symmetry")
            _conclude(SolutionStrategy(solution, claim), state, folder, console)
            return
    console.print("Verdict    cannot be proven: it depends on long repetitions, or the other player wins")


def _conclude(strategy: "Strategy", state: "State", folder: Path | None, console: "Console") -> None:
    """Show what a strategy achieves, and write its certificate."""
    from rich.console import Console

    from tengen.solve.extract import extract, main_line

    claim = strategy.claim
    player = "Black" if claim.color == 1 else "White"
    console.print(f"Verdict    {player} wins at komi {state.komi:g} ({claim}), unless superko forbids: see the check")
    line = main_line(strategy, state)
    console.print(f"Main line  {' '.join(state.move_name(move) for move in line)}", markup=False)
    if folder is not None:
        with Console(stderr=True).status("writing the proof") as status:
            certificate = extract(strategy, state, status.update)
        certificate.save(folder / PROOF_FILE)
        console.print(f"Proof      {folder / PROOF_FILE} ({len(certificate.keys):,} positions)", markup=False)
        console.print(f"Check it   tengen solve check {folder / PROOF_FILE}", markup=False)
