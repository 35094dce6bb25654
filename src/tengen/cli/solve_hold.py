"""`tengen solve hold`: whether agents win the games that they have won, against exact play."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer


def hold(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC...", help="The agents.", show_default=False)],
    size: Annotated[int, typer.Option(min=2, max=5, help="Board size.")] = 5,
    rules: Annotated[str, typer.Option(help="A rule set that counts area: simple-go, tromp-taylor, ...")] = "simple-go",
    komi: Annotated[
        float | None, typer.Option(help="White's points; the rule set's if not given.", show_default=False)
    ] = None,
    games: Annotated[int, typer.Option("--games", "-n", min=1, help="Games of each agent.")] = 100,
    opponent: Annotated[str, typer.Option(help="Who defends; exact, if not given.", show_default=False)] = "",
    opening: Annotated[
        tuple[int, int], typer.Option(min=0, help="The fewest and the most random moves of an opening.")
    ] = (6, 12),
    nodes: Annotated[int, typer.Option(min=1, help="How many nodes the solver may search for each verdict.")] = 300_000,
    memory: Annotated[float, typer.Option(min=0.01, help="Memory for the solver's tables, in GB.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed gives other openings.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Write the games that were not won to this folder.", show_default=False)
    ] = None,
) -> None:
    """Let agents play positions that are won for them, by the exact solver, against exact play.

    Openings are random moves; the agent takes the side that has won. A game that it loses is shown with the move that
    gave the win away.

    Example: [cyan]tengen solve hold zero:go5,sims=64 --rules tromp-taylor --komi 3.5 --games 200[/cyan]
    """
    from rich.console import Console
    from rich.table import Table

    from tengen._files import write_atomically
    from tengen._kernel_cache import is_cold

    if opening[0] > opening[1]:
        raise typer.BadParameter(f"{opening[0]} {opening[1]}: give the smaller number first", param_hint="--opening")
    progress, console = Console(stderr=True), Console(highlight=False)
    if is_cold():
        progress.print("compiling the solver, once: about a minute")

    from tengen.agents.registry import load_agent
    from tengen.arena.statistics import wilson_interval
    from tengen.arena.won_games import WonGame, play_won_games
    from tengen.games import go
    from tengen.games.go.sgf import write_sgf
    from tengen.solve.go_solver import Solver

    start = go.State.new(size, rules, komi)
    solver = Solver(size, start.rules, memory)
    table = Table("agent", "games", "won", "not won", "share won", "95%")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)

    def show(spec: str, number: int, game: WonGame) -> None:
        """Tell of a game that should have been won, as soon as it is over."""
        colour = "Black" if game.player == go.BLACK else "White"
        if game.mistake is None:
            progress.print(f"{spec}, game {number}: {colour} did not win; the solver cannot tell by which move")
        else:
            move = game.mistake.state.move_name(game.mistake.move)
            progress.print(f"{spec}, game {number}: {colour} gave it away by {move} in\n{game.mistake.state}")
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
            progress.status(spec) as status,
        ):
            found = play_won_games(agent, other, start, solver, games, nodes=nodes, opening=opening, seed=seed)
            for game in found:
                played, held = played + 1, held + game.held
                status.update(f"{spec}: {held} of {played} won, {games} to play")
                if not game.held:
                    show(spec, played, game)
        low, high = wilson_interval(held, played)
        table.add_row(
            spec, *map(str, (played, held, played - held)), f"{held / played:.1%}", f"{low:.1%} to {high:.1%}"
        )
    console.print(table)
