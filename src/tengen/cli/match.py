"""`tengen match`: two agents play many games, and the table shows which is stronger and how sure that is."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tengen.cli.options import (
    Cluster,
    DoubleStep,
    GameName,
    Handicap,
    JsonFile,
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
    formerly,
    given_options,
    worker_factory,
)
from tengen.cli.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tengen.arena.match import Match
    from tengen.arena.results import GameResult, MatchSummary, PlayerSummary
    from tengen.workers.calls import WorkerFactory


@formerly(json_file="json")
def match(
    a: Annotated[str, typer.Argument(help="Spec of the first agent, such as uct:playouts=1000.")],
    b: Annotated[str, typer.Argument(help="Spec of the second agent.")],
    game: GameName = None,
    size: Size = None,
    rules: Rules = None,
    komi: Komi = None,
    handicap: Handicap = None,
    double_step: DoubleStep = None,
    option: OtherOptions = None,
    games: Annotated[int, typer.Option("--games", "-n", help="How many games.")] = 40,
    seed: Annotated[int, typer.Option(help="Another seed gives other openings and other games.")] = 1,
    opening_moves: OpeningMoves = None,
    first: Annotated[
        str, typer.Option(help="Who moves first (Black in Go, White in Microchess): alternate, a or b.")
    ] = "alternate",
    max_moves: MaxMoves = None,
    seconds: Seconds = None,
    workers: Workers = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for games and results; matches/A-vs-B-... if not given.")
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Play a match between two agents, also foreign GTP and UCI engines, and see which is stronger.

    Colours alternate, and both colours get the same random opening. A draw
    is half a point each. An agent that crashes, hangs or plays an illegal
    move loses that game. Games are saved as they end, as SGF or PGN. [bold]Run the
    same command to resume[/bold] after Ctrl-C or worse; a larger --games adds games.

    [bold]Examples[/bold]

    Two of our own:
    [cyan]tengen match uct:playouts=1000 random --games 10[/cyan]

    Against GNU Go:
    [cyan]tengen match uct:playouts=20000 "gtp:gnugo --mode gtp --level 10"[/cyan]

    Microchess, against Fairy-Stockfish:
    [cyan]tengen match alphabeta:seconds=0.1 uci:fairy-stockfish,skill=5,movetime=100 --game microchess[/cyan]

    By time, one game at a time, so that they do not take it from each other:
    [cyan]tengen match uct:seconds=1 alphabeta:seconds=1 --workers 1[/cyan]

    For a script:
    [cyan]tengen match uct:playouts=100 uct:playouts=200 -n 400 --json-file out.json[/cyan]
    """
    from rich.console import Console

    from tengen.arena.match import Match, saved_results
    from tengen.arena.results import summarize

    given = given_options(option, size=size, rules=rules, komi=komi, handicap=handicap, double_step=double_step)
    options = choose_options(choose_game(game, [a, b]), given, [a, b])
    plan = Match(a, b, options, games, seed, opening_moves, max_moves, seconds, first)
    folder = Path("matches") / plan.folder_name if out is None else out
    stopped = False
    try:
        results = _play(plan, folder, workers, worker_factory(cluster))
    except KeyboardInterrupt:
        results, stopped = saved_results(plan, folder), True
    summary = summarize(a, b, results)
    if json_file is not None:
        _write_json(json_file, plan, folder, summary)
    console = Console(highlight=False)
    _show(console, plan, summary)
    console.print(f"Games         {folder / 'games'}", soft_wrap=True, markup=False)
    if stopped:
        console.print(
            f"[yellow]Stopped after {len(results)} of {games} games: run the same command to resume.[/yellow]"
        )
        raise typer.Exit(130)


def _play(plan: "Match", folder: Path, workers: int | None, factory: "WorkerFactory") -> "list[GameResult]":
    """Run the match under a progress bar."""
    from tengen.arena.match import run_match
    from tengen.arena.results import score_of

    with Progress() as progress:
        ended: list[GameResult] = []

        def advance(result: "GameResult") -> None:
            ended.append(result)
            score = score_of("a", ended)
            text = f"{score.points:g}-{score.reversed.points:g}  {len(ended)} of {plan.games} games"
            progress.update(text, len(ended) / plan.games)
            if result.ending == "forfeit":
                progress.say(f"game {result.game}: {result.result}, {result.reason}", "yellow")

        progress.update(f"0-0  {plan.games} games", 0.0)
        return run_match(plan, folder, workers=workers, worker_factory=factory, on_result=advance)


def _show(console: "Console", plan: "Match", summary: "MatchSummary") -> None:
    """The table of a match and the lines beneath it."""
    from tengen.arena.statistics import describe_elo

    players = plan.game.players
    console.print(_table(plan.game.describe(plan.options), players, summary))
    console.print(f"Conditions    {plan.conditions}", soft_wrap=True)
    for text in plan.warnings:
        console.print(text, style="yellow", markup=False, soft_wrap=True)
    score = summary.a.score
    console.print(f"Score of A    {score}" + ("; draws count half" if score.draws else ""))
    for name, part in zip(players, (summary.a.as_first, summary.a.as_second)):
        console.print(f"  as {name}    {part}")
    console.print(f"Elo A over B  {describe_elo(score)}")
    if summary.games:
        endings = ", ".join(f"{count} by {ending}" for ending, count in sorted(summary.endings.items()))
        console.print(f"Games ended   {endings}; {summary.mean_moves:.0f} moves on average", soft_wrap=True)
    for player in (summary.a, summary.b):
        for reason, numbers in _by_reason(player).items():
            console.print(f"Forfeited     {player.spec}: {reason} (game {numbers})", soft_wrap=True, markup=False)


def _table(title: str, players: tuple[str, str], summary: "MatchSummary") -> "Table":
    from rich.markup import escape
    from rich.table import Table

    from tengen.arena.results import describe_time

    table = Table(title=title, title_justify="left")
    table.add_column("agent", overflow="fold")
    for heading in ("won", "lost", "drawn", *(f"as {color}" for color in players), "time/move"):
        table.add_column(heading, justify="right")
    for letter, player in (("A", summary.a), ("B", summary.b)):
        score = player.score
        table.add_row(
            f"{letter}  {escape(player.spec)}",
            *map(str, (score.wins, score.losses, score.draws)),
            *(f"{part.points:g}/{part.games}" for part in (player.as_first, player.as_second)),
            describe_time(player.seconds_per_move),
        )
    return table


def _by_reason(player: "PlayerSummary") -> dict[str, str]:
    """What went wrong -> the games in which it did."""
    numbers: dict[str, list[str]] = {}
    for game, reason in player.forfeits:
        numbers.setdefault(reason, []).append(str(game))
    return {reason: ", ".join(games) for reason, games in numbers.items()}


def _write_json(path: Path, plan: "Match", folder: Path, summary: "MatchSummary") -> None:
    from tengen.runs.files import write_atomically

    report = {
        "settings": plan.settings,
        "games_wanted": plan.games,
        "folder": str(folder),
        **summary.to_json(plan.game.players),
    }
    write_atomically(path, (json.dumps(report, indent=2) + "\n").encode())
