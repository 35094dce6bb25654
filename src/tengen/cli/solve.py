"""`tengen solve`: exact solutions of Go on boards up to 5x5 with proofs, their check, and agents measured by them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.options import Cluster, group, worker_factory
from tengen.cli.progress import Progress, say_if_cold

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tengen.arena.mistakes import Mistakes, WonGame
    from tengen.games.go import State
    from tengen.runs.folder import RunDirectory
    from tengen.solve.extract import Strategy
    from tengen.solve.go_solver import Claim
    from tengen.solve.proof_tree import Guide, ProofTree
    from tengen.solve.retrograde import Solution

PROOF_FILE = "proof.safetensors"

Size = Annotated[int, typer.Option(min=2, max=5, help="Board size.")]
Rules = Annotated[str, typer.Option(help="A rule set with area scoring: simple-go, chinese, tromp-taylor, ...")]
Komi = Annotated[float | None, typer.Option(help="White's points; the rule set's if not given.")]
Moves = Annotated[str, typer.Option(help='Moves to begin with, as in "C3 C2".')]
FromMove = Annotated[int, typer.Option(min=0, help="Moves played before a position is taken.")]
Noise = Annotated[float, typer.Option(min=0, max=1, help="Share of random moves in the games.")]
Nodes = Annotated[int, typer.Option(min=1, help="Most nodes that the solver searches per position.")]
Memory = Annotated[float, typer.Option(min=0.01, help="Memory for the solver's tables, in GB.")]
Positions = Annotated[int, typer.Option("--positions", "-n", min=1, help="Positions to sample for each player.")]


# ---------------------------------------------------------------------------------- solving, and proofs


def go(
    size: Size = 5,
    rules: Rules = "simple-go",
    komi: Komi = None,
    moves: Moves = "",
    claim: Annotated[
        str, typer.Option(help="Search for a win of black, of white, or of both in turn until one is proven.")
    ] = "both",
    memory: Annotated[
        float,
        typer.Option(min=0.01, help="Memory for the tables, in GB; with --cluster, as much again per worker."),
    ] = 1.0,
    threads: Annotated[
        int, typer.Option(min=0, help="Parallel searches on 5x5; 0: one per core. With --cluster, the most workers.")
    ] = 0,
    guide: Annotated[
        str | None,
        typer.Option(help="Spec of an agent whose move values guide the search on 5x5, such as value:RUN."),
    ] = None,
    leaf_nodes: Annotated[int, typer.Option(min=1, help="Nodes of each search on 5x5.")] = 50_000,
    nodes: Annotated[int | None, typer.Option(min=1, help="Stop after this many nodes.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for tables and proof, in solutions if not given.")
    ] = None,
    proof: Annotated[bool, typer.Option(help="Write the winning strategy.")] = True,
    cluster: Cluster = None,
) -> None:
    """Find the player who can force a win, and write the winning strategy.

    Boards up to 4x4 are solved completely. On 5x5 many searches run in parallel until one player is found to win: you
    can stop them at any time, and [bold]run the same command to resume[/bold].

    The search knows only the shortest repetitions that superko forbids. A result is proven when
    [cyan]tengen solve check[/cyan] has checked the strategy against all of them.

    [bold]Examples[/bold]

    [cyan]tengen solve go --size 3 --rules chinese --komi 8.5[/cyan]

    [cyan]tengen solve go --size 5 --komi 3.5 --moves C3 --claim black --guide value:runs/simple-go[/cyan]

    On all machines of a Ray cluster, with larger searches, so that this machine keeps up:
    [cyan]tengen solve go --size 5 --komi 3.5 --moves C3 --leaf-nodes 500000 --cluster auto[/cyan]
    """
    from rich.console import Console

    say_if_cold()

    from tengen.games import go as rules_of_go
    from tengen.runs.folder import RunDirectory, deferred_interrupts
    from tengen.solve.extract import TableStrategy
    from tengen.solve.go_solver import Solver, winning_claims
    from tengen.solve.proof_tree import Effort, leaf_workers, open_tree, search_trees
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
        _guided(guide, state) as hints,
    ):
        solver = Solver(size, state.rules, memory * 2 / len(claims))
        trees = [open_tree(solver, state, one, hints, folder, console.print) for one in claims]
        with leaf_workers(factory, threads, solver) as workers, Progress() as progress:
            effort = Effort(workers, leaf_nodes, nodes)
            proven = search_trees(solver, trees, folder, effort, _shown(progress, run), interrupted)
        for tree in trees:
            _show_replies(tree, state, console)
        console.print(f"Nodes      {solver.nodes:,}")
        if proven is not None:
            _conclude(TableStrategy(solver, proven), state, folder if proof else None, console)
        elif all(tree.verdict is False for tree in trees):
            console.print("Verdict    cannot be proven: it depends on long repetitions, or the other player wins")
        else:
            console.print("Verdict    none yet: run the same command to resume")
    if interrupted():
        raise typer.Exit(130)


@contextmanager
def _guided(spec: str | None, state: "State") -> "Iterator[Guide | None]":
    """The chances that an agent gives to moves; ValueError or AgentError if it cannot play this game."""
    from tengen.agents.agent import NeedsCheck
    from tengen.agents.registry import load_agent

    if spec is None:
        yield None
        return
    with closing(load_agent(spec, 1)) as agent:
        if isinstance(agent, NeedsCheck):
            agent.check(state)
        yield lambda position: agent.choose(position).values


def _shown(progress: Progress, run: "RunDirectory") -> "Callable[[ProofTree], None]":
    """Shows and records how a search goes, at most once a second; where there is no terminal, a line per minute."""
    began, shown = monotonic(), 0.0

    def show(tree: "ProofTree") -> None:
        nonlocal shown
        if monotonic() - shown < (1 if progress.console.is_terminal else 60):
            return
        shown, now = monotonic(), tree.progress()
        text = (
            f"{tree.claim}: {now.nodes:,} nodes, {now.leaves:,} searches; {now.proven:,} positions proven, "
            f"{now.refuted:,} refuted; to prove {now.to_prove:.3g}, to refute {now.to_refute:.3g}, table {now.fill:.0%}"
        )
        progress.update(text)
        if not progress.console.is_terminal:
            progress.say(text)
        run.record({"claim": str(tree.claim), "seconds": round(shown - began), **now._asdict()})

    return show


def _show_replies(tree: "ProofTree", state: "State", console: "Console") -> None:
    """Print after which moves the claim is decided."""
    for verdict, title in ((True, "Proven    "), (False, "Refuted   "), (None, "Open      ")):
        moves = [state.move_name(move) for move, found in tree.replies().items() if found is verdict]
        if moves and tree.verdict is None:
            console.print(f"{title} {tree.claim} after {' '.join(moves)}", markup=False)


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
    """Find the largest margins that Black and White can force. If they are equal, the board is solved for every komi.

    Boards up to 4x4 take less than a minute. On 5x5 give --moves that leave only the end of a game.

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
            from tengen.runs.files import make_folder

            make_folder(out)
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
    threads: Annotated[int, typer.Option(help="Number of threads; 0: one per core.", min=0)] = 0,
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


# ------------------------------------------------------------------------- agents measured by the solver


def judge(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC...", help="The agents.")],
    size: Size = 5,
    rules: Rules = "simple-go",
    komi: Komi = None,
    positions: Positions = 200,
    from_move: FromMove = 8,
    noise: Noise = 0.3,
    nodes: Nodes = 300_000,
    memory: Memory = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed gives other positions.")] = 1,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this file too.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="Mistakes of each agent to show.")] = 1,
) -> None:
    """Measure how often agents throw away positions of Go that are won for them.

    Positions are taken from games of each agent against itself with some random moves; the exact solver decides them.

    Example: [cyan]tengen solve judge random alphabeta:depth=3 uct:playouts=1000 --positions 100[/cyan]
    """
    from rich.console import Console

    from tengen.runs.files import write_atomically

    say_if_cold()

    from tengen.games import go as rules_of_go

    start = rules_of_go.State.new(size, rules, komi)
    measured = _measure({spec: spec for spec in specs}, start, positions, from_move, noise, nodes, memory, seed)
    console = Console(highlight=False)
    console.print(_mistakes_table(measured))
    for spec, found in measured.items():
        for mistake in found.thrown_away[:examples]:
            console.print(f"{spec} threw this away by {mistake.state.move_name(mistake.move)}:", markup=False)
            console.print(mistake.state, markup=False)
    if csv is not None:
        write_atomically(csv, _mistakes_csv(measured))


def generations(
    run: Annotated[Path, typer.Argument(help="Directory of `tengen learn generations`.")],
    positions: Positions = 200,
    from_move: FromMove = 8,
    noise: Noise = 0.3,
    nodes: Nodes = 300_000,
    memory: Memory = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed gives other positions.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder for table and picture; crosstable/ in RUN if not given.")
    ] = None,
) -> None:
    """Measure how often the greedy player of each generation throws away games of Go that it has won.

    As [cyan]tengen solve judge[/cyan], for random moves (generation 0) and every generation of a run. The folder gets
    the shares as CSV and as a curve over the generations (PNG), beside the cross table.

    Example: [cyan]tengen solve generations runs/simple-go-k3.5[/cyan]
    """
    import matplotlib  # noqa: F401  so that it is not missed after the games
    from rich.console import Console

    from tengen.runs.files import make_folder, write_atomically

    say_if_cold()

    from tengen.arena.generation_table import run_options
    from tengen.arena.pictures import draw_mistakes
    from tengen.games import go as rules_of_go
    from tengen.games.game import get_game
    from tengen.search.generations import generation_numbers

    options = run_options(run, float("nan"))
    start = get_game(options.game).new(options)
    if not isinstance(start, rules_of_go.State):
        raise ValueError(f"{run} has learned {options.game}: the solver knows Go")
    specs = {"random": "random"}
    numbers = generation_numbers(run)
    specs |= {f"generation {number}": f"value:{run},generation={number}" for number in numbers}
    measured = _measure(specs, start, positions, from_move, noise, nodes, memory, seed)
    console = Console(highlight=False)
    console.print(_mistakes_table(measured))
    folder = run / "crosstable" if out is None else out
    make_folder(folder)
    write_atomically(folder / "mistakes.csv", _mistakes_csv(measured))
    picture = draw_mistakes(dict(zip([0, *numbers], measured.values())), get_game(options.game).describe(options))
    write_atomically(folder / "mistakes.png", picture)
    console.print(f"Table and picture   {folder}", markup=False, soft_wrap=True)


def _measure(
    specs: Mapping[str, str],
    start: "State",
    positions: int,
    from_move: int,
    noise: float,
    nodes: int,
    memory: float,
    seed: int,
) -> "dict[str, Mistakes]":
    """The mistakes of agents, whose specs are given by name."""
    from tengen.agents.registry import load_agent
    from tengen.arena.mistakes import find_mistakes
    from tengen.solve.go_solver import Solver

    solver = Solver(start.size, start.rules, memory)
    measured: dict[str, Mistakes] = {}
    for name, spec in specs.items():
        with closing(load_agent(spec, seed)) as agent, Progress() as progress:

            def show(done: int) -> None:
                progress.update(f"{name}: {done} of {positions} positions", done / positions)  # noqa: B023

            measured[name] = find_mistakes(
                agent,
                start,
                solver,
                positions,
                nodes=nodes,
                from_move=from_move,
                noise=noise,
                seed=seed,
                report=show,
            )
    return measured


def _mistakes_table(measured: "Mapping[str, Mistakes]") -> "Table":
    """Results by player, for the terminal."""
    from rich.table import Table

    table = Table("agent", "positions", "undecided", "won", "thrown away", "share", "95%")
    for name, found in measured.items():
        low, high = found.interval
        numbers = found.sampled, found.undecided, found.won, len(found.thrown_away)
        table.add_row(name, *map(str, numbers), f"{found.share:.1%}", f"{low:.1%} to {high:.1%}")
    return table


def _mistakes_csv(measured: "Mapping[str, Mistakes]") -> bytes:
    """The same as a file."""
    rows = ["agent,positions,undecided,won,thrown_away,share,low,high"]
    for name, found in measured.items():
        low, high = found.interval
        numbers = found.sampled, found.undecided, found.won, len(found.thrown_away)
        rows.append(",".join([f'"{name}"', *map(str, numbers), f"{found.share:.4f},{low:.4f},{high:.4f}"]))
    return ("\n".join(rows) + "\n").encode()


def hold(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC...", help="The agents.")],
    size: Size = 5,
    rules: Rules = "simple-go",
    komi: Komi = None,
    games: Annotated[int, typer.Option("--games", "-n", min=1, help="Games of each agent.")] = 100,
    opponent: Annotated[str, typer.Option(help="Spec of the opponent; exact if not given.")] = "",
    opening: Annotated[tuple[int, int], typer.Option(min=0, help="Fewest and most random moves of an opening.")] = (
        6,
        12,
    ),
    nodes: Nodes = 300_000,
    memory: Memory = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed gives other openings.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Write the games that were not won to this folder.")] = None,
) -> None:
    """Play agents from positions that the exact solver evaluates as won for them, against exact play.

    Openings are random moves; the agent gets the side that wins. A game that it loses is shown with the move that
    gave the win away.

    Example: [cyan]tengen solve hold zero:go5,sims=64 --rules tromp-taylor --komi 3.5 --games 200[/cyan]
    """
    from rich.console import Console
    from rich.table import Table

    from tengen.runs.files import make_folder, write_atomically

    if opening[0] > opening[1]:
        raise typer.BadParameter(f"{opening[0]} {opening[1]}: give the smaller number first", param_hint="--opening")
    say_if_cold()

    from tengen.agents.registry import load_agent
    from tengen.arena.mistakes import play_won_games
    from tengen.arena.statistics import wilson_interval
    from tengen.games import go
    from tengen.games.go.sgf import write_sgf
    from tengen.solve.go_solver import Solver

    start = go.State.new(size, rules, komi)
    solver = Solver(size, start.rules, memory)
    table = Table("agent", "games", "won", "not won", "share won", "95%")
    if out is not None:
        make_folder(out)

    def show(progress: Progress, spec: str, number: int, game: "WonGame") -> None:
        """Report a game that should have been won, as soon as it is over."""
        colour = "Black" if game.player == go.BLACK else "White"
        if game.mistake is None:
            progress.say(f"{spec}, game {number}: {colour} did not win; the solver cannot tell by which move")
        else:
            move = game.mistake.state.move_name(game.mistake.move)
            progress.say(f"{spec}, game {number}: {colour} gave it away by {move} in\n{game.mistake.state}")
        if out is not None:
            players = (spec, opponent or "exact") if game.player == go.BLACK else (opponent or "exact", spec)
            name = "".join(letter if letter.isalnum() else "-" for letter in spec)
            record = write_sgf(game.end, black_name=players[0], white_name=players[1])
            write_atomically(out / f"{name}-{number}.sgf", record)

    for spec in specs:
        held = played = 0
        with (
            closing(load_agent(spec, seed)) as agent,
            closing(load_agent(opponent or f"exact:nodes={nodes},memory={memory}", seed)) as other,
            Progress() as progress,
        ):
            found = play_won_games(agent, other, start, solver, games, nodes=nodes, opening=opening, seed=seed)
            for game in found:
                played, held = played + 1, held + game.held
                progress.update(f"{spec}: {held} of {played} won, {games} to play", played / games)
                if not game.held:
                    show(progress, spec, played, game)
        low, high = wilson_interval(held, played)
        table.add_row(
            spec, *map(str, (played, held, played - held)), f"{held / played:.1%}", f"{low:.1%} to {high:.1%}"
        )
    Console(highlight=False).print(table)


solve = group(
    "Solve Go on boards up to 5x5, check the proofs, and measure agents by them.",
    {"go": go, "margins": margins, "check": check, "judge": judge, "hold": hold, "generations": generations},
)
