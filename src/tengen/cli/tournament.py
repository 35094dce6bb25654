"""`tengen tournament`: round robins of agents, or of the generations of a run, with ratings, tables and pictures."""

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.options import (
    Cluster,
    DoubleStep,
    GameName,
    Handicap,
    Komi,
    MaxMoves,
    OpeningMoves,
    OtherOptions,
    Rules,
    Seconds,
    Size,
    Workers,
    choose_game,
    choose_options,
    default_group,
    given_options,
    worker_factory,
)
from tengen.cli.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tengen.arena.generation_table import GenerationTable
    from tengen.arena.results import GameResult
    from tengen.arena.tournament import Tournament
    from tengen.arena.tournament_report import Standing, Standings
    from tengen.workers.calls import WorkerFactory

_IN_POINTS = 6  # up to so many agents the table gives points; of more there is room for percents
_MOST_COLUMNS = 14  # of more agents the cross table is left to the page of the tournament
_REFRESH = 1.0  # seconds between two tables


def agents(
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]SPEC...",
            help="The agents, each with a short name if you like; a folder stands for every Python file in it.",
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
    baseline: Annotated[
        str | None,
        typer.Option(metavar="[NAME=]SPEC", help="One more agent, whose rating is 0: what a class wants to beat."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other openings and other games.")] = 1,
    opening_moves: OpeningMoves = None,
    max_moves: MaxMoves = None,
    seconds: Seconds = None,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for games, tables and pictures; tournaments/... if not given.")
    ] = None,
) -> None:
    """Play a round robin of agents, and rate them.

    Each round is two games of each pair, from the same random opening and with colours reversed. Ratings are those
    of the Bradley-Terry model, with 95% intervals. Games are saved as they end. [bold]Run the same command
    to resume[/bold] after Ctrl-C or worse; a larger --games adds games, and more agents with the same --out add
    their matches; a changed Python file replaces its row. The folder gets tournament.html and .json, ratings and
    cross table as CSV and PNG.

    [bold]Examples[/bold]

    Who is the strongest on 5x5?
    [cyan]tengen tournament random alphabeta:depth=2 uct:playouts=500 zero:go5 --size 5 --komi 3.5[/cyan]

    With names, by time, one game at a time, so that they do not take it from each other:
    [cyan]tengen tournament "UCT=uct:seconds=1" "network and search=zero:go9,seconds=1" --workers 1[/cyan]

    A class, every file of a folder a player (their code runs on this machine), at most one second per move:
    [cyan]tengen tournament class/ --rules simple-go --komi 3.5 --seconds 1 --baseline alphabeta:depth=2[/cyan]

    Foreign engines too:
    [cyan]tengen tournament uct gnugo="gtp:gnugo --mode gtp" policy:go9 --anchor gnugo[/cyan]

    All generations of a run of `tengen learn generations`:
    [cyan]tengen tournament generations runs/simple-go-k3.5[/cyan] (see its --help)
    """
    import choix  # noqa: F401  what ratings and pictures need, so that it is not missed after the games
    import matplotlib  # noqa: F401
    from rich.console import Console

    from tengen.arena.tournament import Entrant, Tournament, saved_results

    given_specs = specs if baseline is None else [*specs, baseline]
    entrants = tuple(entrant for text in given_specs for entrant in Entrant.all_of(text))
    if baseline is not None:
        if anchor:
            raise ValueError("--baseline names the agent whose rating is 0: leave --anchor out")
        anchor = Entrant.of(baseline).name
    chosen = [entrant.spec for entrant in entrants]
    given = given_options(option, size=size, rules=rules, komi=komi, handicap=handicap, double_step=double_step)
    options = choose_options(choose_game(game, chosen), given, chosen)
    plan = Tournament(entrants, options, games, seed, opening_moves, max_moves, seconds, anchor)
    classes = [Path(text).expanduser().resolve().name for text in specs if Path(text).expanduser().is_dir()]
    name = plan.folder_name_of(classes[0]) if classes else plan.folder_name
    folder = Path("tournaments") / name if out is None else out
    stopped = False
    try:
        standings = _play(plan, folder, workers, worker_factory(cluster))
    except KeyboardInterrupt:
        standings, stopped = plan.standings(saved_results(plan, folder)), True
    console = Console(highlight=False)
    _show(console, plan, standings)
    if standings.games:
        console.print(f"Page          {folder / 'tournament.html'}", soft_wrap=True, markup=False)
    if stopped:
        of = games * len(plan.pairs)
        console.print(
            f"[yellow]Stopped after {standings.games} of {of} games: run the same command to resume.[/yellow]"
        )
        raise typer.Exit(130)


def _play(plan: "Tournament", folder: Path, workers: int | None, factory: "WorkerFactory") -> "Standings":
    """Run the tournament under a live table; without a terminal a line for each round."""
    from tengen.arena.tournament import run_tournament

    results: list[list[GameResult]] = [[] for _ in plan.pairs]
    total, rounds, shown = plan.games * len(plan.pairs), 0, -math.inf
    table: Table | None = None
    with Progress() as progress:

        def advance(pair: int, result: "GameResult") -> None:
            """Another game of a pair has ended."""
            nonlocal rounds, shown, table
            results[pair].append(result)
            if result.ending == "forfeit":
                a, b = plan.pairs[pair]
                progress.say(
                    f"{a.name} against {b.name}, game {result.game}: {result.result}, {result.reason}", "yellow"
                )
            before, rounds = rounds, min(map(len, results)) // 2
            if progress.console.is_terminal:
                if time.monotonic() - shown >= _REFRESH:
                    table, shown = _standings_table(plan, plan.standings(results)), time.monotonic()
                ended = sum(map(len, results))
                progress.update(f"{ended} of {total} games", ended / total, table)
            elif rounds > before:
                ratings = ", ".join(f"{one.name} {one.rating.elo:+.0f}" for one in plan.standings(results).players)
                progress.say(f"Round {rounds} of {plan.games // 2}: {ratings}")

        return run_tournament(plan, folder, workers=workers, worker_factory=factory, on_result=advance)


def _show(console: "Console", plan: "Tournament", standings: "Standings") -> None:
    """The table of a tournament and the lines beneath it."""
    console.print(_standings_table(plan, standings))
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


def _standings_table(plan: "Tournament", standings: "Standings") -> "Table":
    """Ratings and cross table in one: columns 1, 2, ... have the points, or their percentage, against these places. Of
    many agents there are only the ratings."""
    from rich.markup import escape
    from rich.table import Table

    from tengen.arena.results import describe_time

    game = plan.matches[0].game.describe(plan.options)
    points = len(standings.players) <= _IN_POINTS
    title = f"{escape(game)}: {standings.games} games, Elo over {escape(standings.anchor)}"
    table = Table(title=title, title_justify="left")
    table.add_column("", justify="right")
    table.add_column("agent", overflow="fold", min_width=12)
    places = [str(place) for place in range(1, len(standings.players) + 1)]
    columns = standings.players if len(places) <= _MOST_COLUMNS else ()
    for heading in ("Elo", "±", "score", *places[: len(columns)], "time/move"):
        table.add_column(heading, justify="right", no_wrap=True)
    for place, player in zip(places, standings.players):
        cells = [_cell(standings, player, rival, points) for rival in columns]
        elo, score = f"{player.rating.elo:+.0f}", f"{player.score.mean:.1%}" if player.score.games else "-"
        reach = f"{player.reach:.0f}" if player.reach else ""
        table.add_row(place, escape(player.name), elo, reach, score, *cells, describe_time(player.seconds_per_move))
    return table


def _cell(standings: "Standings", player: "Standing", rival: "Standing", points: bool) -> str:
    if player is rival:
        return "·"
    score = standings.table[player.name, rival.name]
    if not score.games:
        return ""
    return f"{score.points:g}/{score.games}" if points else f"{100 * score.mean:.0f}"


def generations(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Directories of `tengen learn generations`.")],
    games: Annotated[int, typer.Option("--games", "-n", help="Games of each pair.")] = 1000,
    random_moves: Annotated[int, typer.Option(help="Random moves that each game begins with.")] = 2,
    komi: Annotated[
        list[float] | None,
        typer.Option(help="Go: play at this komi; several are possible. That of the run if not given."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed gives other openings.")] = 1,
    workers: Annotated[int, typer.Option("--workers", "-w", help="Threads that play; 0: one a core.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables and pictures; crosstable/ in RUN if not given.")
    ] = None,
) -> None:
    """Play a round robin of the generations of a run, random moves (generation 0) included.

    Rows are generations of the first player (Black in Go), columns those of the second; a cell is the first player's
    score over --games greedy games, all played side by side. Averages are over a whole row or column, that of a column
    being the second player's. The folder gets each table as CSV, JSON and as a heat map (PNG).
    [bold]Run the same command to resume[/bold] after Ctrl-C or worse, or when there are new generations.

    [bold]Examples[/bold]

    [cyan]tengen tournament generations runs/simple-go-k3.5[/cyan]

    Several komi in one command, each with its own run:
    [cyan]tengen tournament generations runs/simple-go-k1.5 runs/simple-go-k2.5 runs/simple-go-k3.5[/cyan]

    The networks of one run at another komi than they learned:
    [cyan]tengen tournament generations runs/simple-go-k3.5 --komi 1.5 --komi 2.5 --out tables[/cyan]
    """
    import matplotlib  # noqa: F401  so that it is not missed after the games
    from rich.console import Console

    from tengen._machine import cores
    from tengen.arena.generation_table import TableSettings, play_table

    if out is not None and len(runs) > 1:
        raise ValueError("--out is for one run: leave it out, and each run gets its tables in its own directory")
    console = Console(highlight=False)
    for run in runs:
        for points in komi or [float("nan")]:
            folder = run / "crosstable" if out is None else out
            settings = TableSettings(games, random_moves, seed, points)

            def show(table: "GenerationTable", name: str = run.name) -> None:
                wanted = len(table.generations) ** 2
                progress.update(f"{name}  {len(table.pairs)} of {wanted} pairs", len(table.pairs) / wanted)

            with Progress() as progress:
                table = play_table(run, folder, settings, workers=workers or cores(), on_row=show)
            console.print(describe_table(table), markup=False, soft_wrap=True)
            console.print(generation_table(table))
            console.print(f"Tables and pictures   {folder}", markup=False, soft_wrap=True)


def describe_table(table: "GenerationTable") -> str:
    """What a cross table is of, in one line."""
    from tengen.games.game import get_game

    game, settings = get_game(table.options.game), table.settings
    about = f"{game.describe(table.options)}: score of {game.players[0]}, {settings.games:,} games a pair"
    return f"{about} after {settings.random_moves} random moves"


def generation_table(table: "GenerationTable") -> "Table":
    """A cross table for the terminal; ten generations fit into 80 columns."""
    from rich.table import Table

    from tengen.games.game import get_game

    game = get_game(table.options.game)
    found = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    heading, *rows, averages = ([str(cell) for cell in row] for row in table.rows())
    for name in heading:
        found.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        found.add_row(*row)
    found.add_row()
    found.add_row(game.players[1], *(f"{float(cell):.2f}" if cell else "" for cell in averages[1:]))
    return found


tournament = default_group("Round-robin tournament with Elo ratings.", {"agents": agents, "generations": generations})
