"""`tengen solve`: exact solutions of small boards with proofs, their check, and agents measured by the truth.

Go on boards up to 5x5. The search of `tengen solve go` on 5x5 is in `solve_search.py`, what measures agents in
`solve_agents.py`.
"""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.options import Cluster, group, worker_factory
from tengen.cli.progress import Progress, say_if_cold
from tengen.cli.solve_agents import Komi, Rules, Size, generations, hold, judge

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.games.go import State
    from tengen.solve.extract import Strategy
    from tengen.solve.go_solver import Claim
    from tengen.solve.retrograde import Solution

PROOF_FILE = "proof.safetensors"

Moves = Annotated[str, typer.Option(help='Moves to begin with, as in "C3 C2".')]


def go(
    size: Size = 5,
    rules: Rules = "simple-go",
    komi: Komi = None,
    moves: Moves = "",
    claim: Annotated[
        str, typer.Option(help="Whose win to look for: black, white, or both in turn until one is proven.")
    ] = "both",
    memory: Annotated[
        float,
        typer.Option(min=0.01, help="Memory for the tables, in GB; with --cluster, so much again for each worker."),
    ] = 1.0,
    threads: Annotated[
        int, typer.Option(min=0, help="Searches side by side on 5x5; 0: one a core. With --cluster, workers at most.")
    ] = 0,
    guide: Annotated[
        str | None,
        typer.Option(help="An agent whose values of moves decide where to search first on 5x5, as in value:RUN."),
    ] = None,
    leaf_nodes: Annotated[int, typer.Option(min=1, help="Nodes of each search on 5x5.")] = 50_000,
    nodes: Annotated[int | None, typer.Option(min=1, help="Stop after so many nodes.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for tables and proof, in solutions if not given.")
    ] = None,
    proof: Annotated[bool, typer.Option(help="Whether to write the winning strategy.")] = True,
    cluster: Cluster = None,
) -> None:
    """Find the player who can force a win, and write the winning strategy.

    Boards up to 4x4 are solved whole. On 5x5 many searches run side by side until one player is found to win: you
    can stop them at any time, and [bold]run the same command to resume[/bold].

    Both know only the shortest of the repetitions that superko forbids. What they find is proven when
    [cyan]tengen solve check[/cyan] has gone through the strategy with all of them.

    [bold]Examples[/bold]

    [cyan]tengen solve go --size 3 --rules chinese --komi 8.5[/cyan]

    [cyan]tengen solve go --size 5 --komi 3.5 --moves C3 --claim black --guide value:runs/simple-go[/cyan]

    On all machines of a Ray cluster, with larger searches, so that this one keeps up:
    [cyan]tengen solve go --size 5 --komi 3.5 --moves C3 --leaf-nodes 500000 --cluster auto[/cyan]
    """
    from rich.console import Console

    say_if_cold()

    from tengen.cli.solve_search import Effort, Screen, guided, open_tree, search_trees, show_replies
    from tengen.games import go as rules_of_go
    from tengen.runs.folder import RunDirectory, deferred_interrupts
    from tengen.solve.extract import TableStrategy
    from tengen.solve.go_solver import Solver, winning_claims
    from tengen.solve.leaf_search import leaf_workers
    from tengen.solve.retrograde import MAX_SIZE

    state = _after(rules_of_go.State.new(size, rules, komi), moves)
    wanted = {"black": (rules_of_go.BLACK,), "white": (rules_of_go.WHITE,), "both": (1, 2)}
    if claim not in wanted:
        raise ValueError(f"--claim {claim[:20]} is not possible: choose black, white or both")
    claims = [one for one in winning_claims(state) if one.color in wanted[claim]]
    if cluster is not None and size <= MAX_SIZE:
        raise ValueError(
            f"--cluster is for 5x5: a board of {size}x{size} is solved whole on this machine, leave it out"
        )
    factory = worker_factory(cluster)
    folder = out or Path("solutions") / f"go{size}-{state.rules.name}-{state.komi:g}{_suffix(moves)}"
    settings: dict[str, str | int | float | bool] = {
        "size": size,
        "rules": state.rules.name,
        "komi": state.komi,
        "moves": moves,
    }
    console = Console(highlight=False, soft_wrap=True)
    if size <= MAX_SIZE:
        with closing(RunDirectory(folder, settings, kind="solve")):
            _solve_whole(state, claims, folder if proof else None, console)
        return
    with (
        closing(RunDirectory(folder, settings, kind="solve")) as run,
        deferred_interrupts() as interrupted,
        guided(guide, state) as hints,
    ):
        solver = Solver(size, state.rules, memory * 2 / len(claims))
        trees = [open_tree(solver, state, one, hints, folder, console) for one in claims]
        with leaf_workers(factory, threads, solver) as workers, Progress() as progress:
            effort = Effort(workers, leaf_nodes, nodes)
            proven = search_trees(solver, trees, folder, effort, Screen(progress, run, interrupted))
        for tree in trees:
            show_replies(tree, state, console)
        console.print(f"Nodes      {solver.nodes:,}")
        if proven is not None:
            _conclude(TableStrategy(solver, proven), state, folder if proof else None, console)
        elif all(tree.verdict is False for tree in trees):
            console.print("Verdict    cannot be proven: it depends on long repetitions, or the other player wins")
        else:
            console.print("Verdict    none yet: run the same command to resume")
    if interrupted():
        raise typer.Exit(130)


def _suffix(moves: str) -> str:
    return "-" + "-".join(moves.split()).lower() if moves.split() else ""


def _solve_whole(state: "State", claims: "list[Claim]", folder: Path | None, console: "Console") -> None:
    """Solve all positions of a board up to 4x4, and conclude which claim is true."""
    from tengen.solve.extract import SolutionStrategy
    from tengen.solve.go_solver import guaranteed
    from tengen.solve.retrograde import solve_board

    for claim in claims:
        with Progress() as progress:
            solution = solve_board(state.size, state.rules, claim.margin, progress.update)
        if guaranteed(solution, state, claim.color).margin >= claim.margin:
            console.print(f"Positions  {len(solution.keys):,}, up to symmetry")
            _conclude(SolutionStrategy(solution, claim), state, folder, console)
            return
    console.print("Verdict    cannot be proven: it depends on long repetitions, or the other player wins")


def _conclude(strategy: "Strategy", state: "State", folder: Path | None, console: "Console") -> None:
    """Show what a strategy achieves, and write its certificate."""
    from tengen.solve.extract import main_line

    claim = strategy.claim
    player = "Black" if claim.color == 1 else "White"
    console.print(f"Verdict    {player} wins at komi {state.komi:g} ({claim}), unless superko forbids: see the check")
    line = main_line(strategy, state)
    console.print(f"Main line  {' '.join(state.move_name(move) for move in line)}", markup=False)
    if folder is not None:
        _write_proof(strategy, state, folder / PROOF_FILE, console)


def margins(
    size: Size = 3,
    rules: Rules = "simple-go",
    moves: Moves = "",
    memory: Annotated[float, typer.Option(min=0.01, help="Memory for the tables, in GB.")] = 1.0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for proofs; none are written if not given.")
    ] = None,
) -> None:
    """Find the largest margins that Black and White can force. Where they meet, the board is solved for every komi.

    Boards up to 4x4 are solved whole, in less than a minute. On 5x5 give --moves that leave the end of a game.

    Example: [cyan]tengen solve margins --size 3 --rules simple-go --out solutions/go3[/cyan]
    """
    from rich.console import Console

    say_if_cold()

    from tengen.games import go as rules_of_go
    from tengen.solve.extract import SolutionStrategy, TableStrategy
    from tengen.solve.go_solver import Solver, guaranteed
    from tengen.solve.retrograde import MAX_SIZE

    state = _after(rules_of_go.State.new(size, rules), moves)
    solver = Solver(size, state.rules, memory)
    console = Console(highlight=False, soft_wrap=True)
    solution = None if size > MAX_SIZE else _whole(state)
    bounds = []
    for color, name in ((rules_of_go.BLACK, "black"), (rules_of_go.WHITE, "white")):
        claim = solver.best_claim(state, color) if solution is None else guaranteed(solution, state, color)
        bounds.append(claim.margin if color == rules_of_go.BLACK else -claim.margin)
        side = "at least" if color == rules_of_go.BLACK else "at most"
        console.print(f"{name.title()}      Black's margin is {side} {bounds[-1]}")
        if out is not None and claim.margin > -(size**2):
            out.mkdir(parents=True, exist_ok=True)
            strategy = (
                TableStrategy(solver, claim)
                if solution is None
                else SolutionStrategy(_whole(state, claim.margin), claim)
            )
            _write_proof(strategy, state, out / f"{name}.safetensors", console)
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
    from tengen.solve.retrograde import solve_board

    with Progress() as progress:
        return solve_board(state.size, state.rules, goal, progress.update)


def check(
    certificate: Annotated[Path, typer.Argument(help="The file, as in solutions/NAME/proof.safetensors.")],
    threads: Annotated[int, typer.Option(help="Threads that check; 0: one a core.", min=0)] = 0,
) -> None:
    """Check a proof: every move of the opponent must have an answer, and every line must end well.

    The check uses the rules of the game and nothing of the solver: about 28,000 positions/s per core. If it
    fails, the exit code is 1.

    Example: [cyan]tengen solve check solutions/go3-simple-go-8.5/proof.safetensors[/cyan]
    """
    from rich.console import Console

    from tengen.games import go
    from tengen.solve.certificate import Certificate
    from tengen.solve.check import check as check_certificate
    from tengen.solve.check_positions import CertificateError

    console = Console(highlight=False)
    proof = Certificate.load(certificate)
    statement = proof.statement
    player = "Black" if statement.color == go.BLACK else "White"
    console.print(statement.state)
    console.print(f"Claim      {player} by {statement.margin} or more, under {statement.rules} rules without komi")
    total = len(proof.keys)
    try:
        with Progress() as progress:
            checked = check_certificate(
                proof,
                lambda count: progress.update(f"{count:,} of {total:,} positions", count / max(1, total)),
                threads,
            )
    except CertificateError as error:
        console.print(f"Not proven {error}", style="red", markup=False)
        raise typer.Exit(1) from None
    console.print(f"Proven     {checked.positions:,} positions, {checked.moves:,} moves, {checked.ended:,} ends")
    if checked.circles:
        console.print(f"Superko    {checked.circles:,} positions in which stones can come back, all lines followed")


def _after(state: "State", moves: str) -> "State":
    """The state after these moves, by their names."""
    for word in moves.split():
        state = state.play(state.parse_move(word))
    return state


def _write_proof(strategy: "Strategy", state: "State", path: Path, console: "Console") -> None:
    from tengen.solve.extract import extract

    with Progress() as progress:
        certificate = extract(strategy, state, progress.update)
    certificate.save(path)
    console.print(f"Proof      {path} ({len(certificate.keys):,} positions)", markup=False)
    console.print(f"Check it   tengen solve check {path}", markup=False)


solve = group(
    "Solve Go on boards up to 5x5, check the proofs, and measure agents by the truth.",
    {"go": go, "margins": margins, "check": check, "judge": judge, "hold": hold, "generations": generations},
)
