"""`tengen tournament`: a round robin of agents, with a cross table, ratings and pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tengen.cli.cluster_option import Cluster, cluster_hosts
from tengen.cli.game_options import (
    DoubleStep,
    GameName,
    Handicap,
    Komi,
    OtherOptions,
    Rules,
    Size,
    choose_game,
    choose_options,
    given_options,
)
from tengen.cli.match_options import MaxMoves, OpeningMoves, Seconds, Workers
from tengen.cli.tournament_generations import generations

if TYPE_CHECKING:
    from rich.console import Console

    from tengen.arena.standings import Standings
    from tengen.arena.tournament import Tournament
    from tengen.workers.calls import Hosts


class _AgentsByDefault(TyperGroup):
    """A group whose command `agents` need not be named: `tengen tournament SPEC SPEC` is a round robin."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if named else ["agents", *args])


tournament = typer.Typer(cls=_AgentsByDefault, help="Let every two of several agents play a match, and rate them all.")


@tournament.command()
def agents(
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]SPEC...", help="The agents, each with a short name if you like.", show_default=False
        ),
    ],
    game: GameName = None,
    size: Size = None,
    rules: Rules = None,
    komi: Komi = None,
    handicap: Handicap = None,
    double_step: DoubleStep = None,
    option: OtherOptions = None,
    games: Annotated[int, typer.Option("--games", "-n", help="Games of each pair, an even number.")] = 20,
    anchor: Annotated[
        str, typer.Option(help="The agent whose rating is 0, by its name or spec; the first if not given.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Another seed gives other openings and other games.")] = 1,
    opening_moves: OpeningMoves = None,
    max_moves: MaxMoves = None,
    seconds: Seconds = None,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for games, tables and pictures; tournaments/... if not given.", show_default=False),
    ] = None,
) -> None:
    """Let every two of several agents play a match, and rate them all.

    Each round is two games of each pair, from the same random opening and with colours reversed. Ratings are those
    of the Bradley-Terry model, with 95% intervals. Games are saved as they end. [bold]The same command plays on[/bold]
    after Ctrl-C or worse; a larger --games adds games, and more agents with the same --out add their matches.
    The folder gets tournament.html and .json, ratings and cross table as CSV and PNG.

    [bold]Examples[/bold]

    Who is the strongest on 5x5?
    [cyan]tengen tournament random alphabeta:depth=2 uct:playouts=500 zero:go5 --size 5 --komi 3.5[/cyan]

    With names, by time, one game at a time, so that they do not take it from each other:
    [cyan]tengen tournament "UCT=uct:seconds=1" "network and search=zero:go9,seconds=1" --workers 1[/cyan]

    Foreign engines too:
    [cyan]tengen tournament uct gnugo="gtp:gnugo --mode gtp" policy:go9 --anchor gnugo[/cyan]

    All generations of a run of `tengen learn generations`:
    [cyan]tengen tournament generations runs/simple-go-k3.5[/cyan] (see its --help)
    """
    import choix  # noqa: F401  what ratings and pictures need, so that it is not missed after the games
    import matplotlib  # noqa: F401
    from rich.console import Console

    from tengen.arena.tournament import Entrant, Tournament, saved_results

    entrants = tuple(map(Entrant.of, specs))
    chosen = [entrant.spec for entrant in entrants]
    given = given_options(option, size=size, rules=rules, komi=komi, handicap=handicap, double_step=double_step)
    options = choose_options(choose_game(game, chosen), given, chosen)
    plan = Tournament(entrants, options, games, seed, opening_moves, max_moves, seconds, anchor)
    folder = Path("tournaments") / plan.folder_name if out is None else out
    stopped = False
    try:
        standings = _play(plan, folder, workers, cluster_hosts(cluster))
    except KeyboardInterrupt:
        standings, stopped = plan.standings(saved_results(plan, folder)), True
    console = Console(highlight=False)
    _show(console, plan, standings)
    if standings.games:
        console.print(f"Page          {folder / 'tournament.html'}", soft_wrap=True, markup=False)
    if stopped:
        of = games * len(plan.pairs)
        console.print(f"[yellow]Stopped after {standings.games} of {of} games: the same command plays on.[/yellow]")
        raise typer.Exit(130)


def _play(plan: "Tournament", folder: Path, workers: int | None, hosts: "Hosts | None") -> "Standings":
    """Run the tournament under a live table on standard error."""
    from rich.console import Console

    from tengen._kernel_cache import is_cold
    from tengen.arena.tournament import run_tournament
    from tengen.cli.tournament_screen import TournamentScreen

    console = Console(stderr=True, highlight=False)
    if is_cold():
        console.print("Compiling the engine, once: this takes up to a minute.")
    with TournamentScreen(plan, console) as screen:
        return run_tournament(plan, folder, workers=workers, hosts=hosts, on_result=screen.add)


def _show(console: "Console", plan: "Tournament", standings: "Standings") -> None:
    """The table of a tournament and the lines beneath it."""
    from tengen.cli.tournament_screen import standings_table

    console.print(standings_table(plan, standings))
    console.print(f"Conditions    {plan.conditions}", soft_wrap=True)
    for text in plan.warnings:
        console.print(text, style="yellow", markup=False, soft_wrap=True)
    for player in standings.players:
        reasons: dict[str, list[str]] = {}
        for lost in player.forfeits:
            reasons.setdefault(lost.reason, []).append(f"game {lost.game} against {lost.opponent}")
        for reason, games in reasons.items():
            line = f"Forfeited     {player.name}: {reason} ({', '.join(games)})"
            console.print(line, soft_wrap=True, markup=False)


tournament.command()(generations)
