"""Agents measured by the exact solver: `tengen solve judge`, `hold` and `generations`."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.progress import Progress, say_if_cold

if TYPE_CHECKING:
    from rich.table import Table

    from tengen.arena.mistakes import Mistakes

Size = Annotated[int, typer.Option(min=2, max=5, help="Board size.")]
Rules = Annotated[str, typer.Option(help="A rule set that counts area: simple-go, chinese, tromp-taylor, ...")]
Komi = Annotated[float | None, typer.Option(help="White's points; the rule set's if not given.")]
FromMove = Annotated[int, typer.Option(min=0, help="How many moves are played before a position is taken.")]
Noise = Annotated[float, typer.Option(min=0, max=1, help="The share of random moves in the games.")]
Nodes = Annotated[int, typer.Option(min=1, help="How many nodes the solver may search for each verdict.")]
Memory = Annotated[float, typer.Option(min=0.01, help="Memory for the solver's tables, in GB.")]


def judge(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC...", help="The agents.")],
    size: Size = 5,
    rules: Rules = "simple-go",
    komi: Komi = None,
    positions: Annotated[
        int, typer.Option("--positions", "-n", min=1, help="Positions to sample, of each agent.")
    ] = 200,
    from_move: FromMove = 8,
    noise: Noise = 0.3,
    nodes: Nodes = 300_000,
    memory: Memory = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed gives other positions.")] = 1,
    csv: Annotated[Path | None, typer.Option(help="Write the table to this file too.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="How many mistakes of each agent to show.")] = 1,
) -> None:
    """Measure how often agents throw away positions of Go that are won for them.

    Positions are taken from games of each agent against itself with some random moves, and decided by the exact solver.

    Example: [cyan]tengen solve judge random alphabeta:depth=3 uct:playouts=1000 --positions 100[/cyan]
    """
    from rich.console import Console

    from tengen.runs.files import write_atomically

    say_if_cold()

    from tengen.agents.registry import load_agent
    from tengen.arena.mistakes import Mistake, Mistakes, find_mistakes
    from tengen.games import go
    from tengen.solve.go_solver import Solver

    start = go.State.new(size, rules, komi)
    solver = Solver(size, start.rules, memory)
    measured: dict[str, Mistakes] = {}
    shown: list[tuple[str, Mistake]] = []
    for spec in specs:
        with closing(load_agent(spec, seed)) as agent, Progress() as progress:
            found = find_mistakes(
                agent,
                start,
                solver,
                positions,
                nodes=nodes,
                from_move=from_move,
                noise=noise,
                seed=seed,
                report=partial(_show, progress, spec, positions),
            )
        measured[spec] = found
        shown += [(spec, mistake) for mistake in found.thrown_away[:examples]]
    console = Console(highlight=False)
    console.print(_mistakes_table(measured))
    for spec, mistake in shown:
        console.print(f"{spec} threw this away by {mistake.state.move_name(mistake.move)}:", markup=False)
        console.print(mistake.state, markup=False)
    if csv is not None:
        write_atomically(csv, _mistakes_csv(measured))


def _show(progress: Progress, spec: str, positions: int, done: int) -> None:
    progress.update(f"{spec}: {done} of {positions} positions", done / positions)


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
    opponent: Annotated[str, typer.Option(help="Who defends; exact, if not given.")] = "",
    opening: Annotated[
        tuple[int, int], typer.Option(min=0, help="The fewest and the most random moves of an opening.")
    ] = (6, 12),
    nodes: Nodes = 300_000,
    memory: Memory = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed gives other openings.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Write the games that were not won to this folder.")] = None,
) -> None:
    """Let agents play positions that are won for them, by the exact solver, against exact play.

    Openings are random moves; the agent takes the side that has won. A game that it loses is shown with the move that
    gave the win away.

    Example: [cyan]tengen solve hold zero:go5,sims=64 --rules tromp-taylor --komi 3.5 --games 200[/cyan]
    """
    from rich.console import Console
    from rich.table import Table

    from tengen.runs.files import write_atomically

    if opening[0] > opening[1]:
        raise typer.BadParameter(f"{opening[0]} {opening[1]}: give the smaller number first", param_hint="--opening")
    say_if_cold()

    from tengen.agents.registry import load_agent
    from tengen.arena.mistakes import WonGame, play_won_games
    from tengen.arena.statistics import wilson_interval
    from tengen.games import go
    from tengen.games.go.sgf import write_sgf
    from tengen.solve.go_solver import Solver

    start = go.State.new(size, rules, komi)
    solver = Solver(size, start.rules, memory)
    table = Table("agent", "games", "won", "not won", "share won", "95%")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)

    def show(progress: Progress, spec: str, number: int, game: WonGame) -> None:
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


def generations(
    run: Annotated[Path, typer.Argument(help="Directory of `tengen learn generations`.")],
    positions: Annotated[
        int, typer.Option("--positions", "-n", min=1, help="Positions to sample, of each generation.")
    ] = 200,
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

    from tengen.runs.files import write_atomically

    say_if_cold()

    from tengen.agents.registry import load_agent
    from tengen.arena.generation_table import run_options
    from tengen.arena.mistakes import Mistakes, draw_mistakes, find_mistakes
    from tengen.games import go
    from tengen.games.game import get_game
    from tengen.search.generations import generation_numbers
    from tengen.solve.go_solver import Solver

    options = run_options(run, float("nan"))
    start = get_game(options.game).new(options)
    if not isinstance(start, go.State):
        raise ValueError(f"{run} has learned {options.game}: the solver knows Go")
    solver = Solver(start.size, start.rules, memory)
    found: dict[int, Mistakes] = {}
    for number in [0, *generation_numbers(run)]:
        spec = f"value:{run},generation={number}" if number else "random"
        with closing(load_agent(spec, seed)) as agent, Progress() as progress:
            found[number] = find_mistakes(
                agent,
                start,
                solver,
                positions,
                nodes=nodes,
                from_move=from_move,
                noise=noise,
                seed=seed,
                report=partial(_show, progress, f"generation {number}", positions),
            )
    named = {f"generation {number}" if number else "random": mistakes for number, mistakes in found.items()}
    console = Console(highlight=False)
    console.print(_mistakes_table(named))
    folder = run / "crosstable" if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "mistakes.csv", _mistakes_csv(named))
    write_atomically(folder / "mistakes.png", draw_mistakes(found, get_game(options.game).describe(options)))
    console.print(f"Table and picture   {folder}", markup=False, soft_wrap=True)
