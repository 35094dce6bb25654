"""`tengen solve go`: who wins a small board, with a proof."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.games.go import State
    from tengen.learn.run_directory import RunDirectory
    from tengen.solve.extract import Strategy
    from tengen.solve.go_solver import Claim, Progress, Solver

_FIRST_BUDGET = 1_000_000
_SECONDS_BETWEEN_SAVES = 1800
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
    memory: Annotated[float, typer.Option(min=0.01, help="Memory for the tables, in GB.")] = 1.0,
    nodes: Annotated[int | None, typer.Option(min=1, help="Stop after so many nodes.", show_default=False)] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for tables and proof, in solutions if not given.", show_default=False),
    ] = None,
    proof: Annotated[bool, typer.Option(help="Whether to write the winning strategy.")] = True,
) -> None:
    """Find out who wins by force, and write the winning strategy.

    Boards up to 4x4 are solved whole. On 5x5 a search goes on until one player is found to win: you can stop it at any
    time, and [bold]the same command goes on[/bold].

    Both know only the shortest of the repetitions that superko forbids. What they find is proven when
    [cyan]tengen solve check[/cyan] has gone through the strategy with all of them.

    [bold]Examples[/bold]

    [cyan]tengen solve go --size 3 --rules chinese --komi 8.5[/cyan]

    [cyan]tengen solve go --size 5 --rules simple-go --komi 3.5 --claim black --memory 4[/cyan]
    """
    from rich.console import Console

    from tengen._kernel_cache import is_cold

    if is_cold():
        Console(stderr=True).print("compiling the solver, once: about a minute")

    from tengen.games import go as rules_of_go
    from tengen.learn.interrupts import deferred_interrupts
    from tengen.learn.run_directory import RunDirectory
    from tengen.solve.extract import TableStrategy
    from tengen.solve.go_solver import Solver, winning_claims
    from tengen.solve.retrograde import MAX_SIZE

    state = rules_of_go.State.new(size, rules, komi)
    for word in moves.split():
        state = state.play(state.parse_move(word))
    wanted = {"black": (rules_of_go.BLACK,), "white": (rules_of_go.WHITE,), "both": (1, 2)}
    if claim not in wanted:
        raise ValueError(f"--claim {claim[:20]} is not possible: choose black, white or both")
    claims = [one for one in winning_claims(state) if one.color in wanted[claim]]
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
    solver = Solver(size, state.rules, memory * 2 / len(claims))
    with closing(RunDirectory(folder, settings)) as run, deferred_interrupts() as interrupted:
        _load(solver, claims, folder, console)
        screen = _Screen(console, run, interrupted, lambda: _save(solver, claims, folder))
        proven = _search(solver, state, claims, nodes, screen)
        _save(solver, claims, folder)
        console.print(f"Nodes      {solver.nodes:,}")
        if proven is not None:
            _conclude(TableStrategy(solver, proven), state, folder if proof else None, console)
        elif len(screen.refuted) == len(claims):
            console.print("Verdict    cannot be proven: it depends on long repetitions, or the other player wins")
        else:
            console.print("Verdict    none yet: the same command goes on")
    if interrupted():
        raise typer.Exit(130)


def _suffix(moves: str) -> str:
    return "-" + "-".join(moves.split()).lower() if moves.split() else ""


class _Screen:
    """Shows how a search goes, a line that changes on a terminal, a line a minute elsewhere; and saves now and then."""

    def __init__(
        self, console: "Console", run: "RunDirectory", interrupted: Callable[[], bool], save: Callable[[], None]
    ) -> None:
        self._console, self._run, self._interrupted, self._save = console, run, interrupted, save
        self._shown, self._saved = 0.0, monotonic()
        self.refuted: list[Claim] = []

    def report(self, now: "Progress") -> bool:
        """Take in the progress of a search; returns whether to go on."""
        pause = 1 if self._console.is_terminal else 60
        if monotonic() - self._shown >= pause:
            self._shown = monotonic()
            speed = now.positions / max(now.seconds, 1e-9)
            text = (
                f"{now.claim}: {now.nodes:,} nodes, {speed:,.0f} positions/s, depth {now.depth}, "
                f"to prove {now.to_prove:,}, to refute {now.to_refute:,}, table {now.fill:.0%}"
            )
            self._console.print(text, end="\r" if self._console.is_terminal else "\n", markup=False)
            self._run.record({"claim": str(now.claim), "nodes": now.nodes, "to_prove": now.to_prove, "fill": now.fill})
        if monotonic() - self._saved >= _SECONDS_BETWEEN_SAVES:
            self._save()
            self._saved = monotonic()
        return not self._interrupted()


def _search(
    solver: "Solver", state: "State", claims: "list[Claim]", nodes: int | None, screen: _Screen
) -> "Claim | None":
    """Look for a proof of each claim in turn, for longer and longer; the claim that is proven, if one is."""
    budget, left = _FIRST_BUDGET, nodes
    while len(screen.refuted) < len(claims):
        for claim in [one for one in claims if one not in screen.refuted]:
            alone = len(claims) - len(screen.refuted) == 1
            limit = left if alone else budget if left is None else min(budget, left)
            before = solver.nodes
            found = solver.prove(state, claim, screen.report, limit)
            used = solver.nodes - before
            if found:
                return claim
            if found is False:
                screen.refuted.append(claim)
            elif limit is None or used < limit:
                return None  # interrupted
            if left is not None:
                left -= used
                if left <= 0:
                    return None
        budget *= 2
    return None


def _load(solver: "Solver", claims: "list[Claim]", folder: Path, console: "Console") -> None:
    from tengen.solve.table import load_table

    for claim in claims:
        path = _table_file(folder, claim)
        if path.exists():
            console.print(f"{load_table(solver.table(claim), path):,} positions of an earlier run", markup=False)


def _save(solver: "Solver", claims: "list[Claim]", folder: Path) -> None:
    from tengen.solve.table import save_table

    for claim in claims:
        if solver.knows(claim):
            save_table(solver.table(claim), _table_file(folder, claim))


def _table_file(folder: Path, claim: "Claim") -> Path:
    return folder / f"table-{claim.color}-{claim.margin}.npy"


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
    from tengen.solve.extract import extract, main_line

    claim = strategy.claim
    player = "Black" if claim.color == 1 else "White"
    console.print(f"Verdict    {player} wins at komi {state.komi:g} ({claim}), unless superko forbids: see the check")
    line = main_line(strategy, state)
    console.print(f"Main line  {' '.join(state.move_name(move) for move in line)}", markup=False)
    if folder is not None:
        certificate = extract(strategy, state)
        certificate.save(folder / PROOF_FILE)
        console.print(f"Proof      {folder / PROOF_FILE} ({len(certificate.keys):,} positions)", markup=False)
        console.print(f"Check it   tengen solve check {folder / PROOF_FILE}", markup=False)
