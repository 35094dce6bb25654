"""A tournament in the terminal: its standings as a table, which changes as games end."""

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tengen.arena.results import GameResult
from tengen.arena.summary import describe_time

if TYPE_CHECKING:
    from tengen.arena.standings import Standing, Standings
    from tengen.arena.tournament import Tournament

_IN_POINTS = 6  # up to so many agents the table gives points; of more there is room for percents
_REFRESH = 1.0  # seconds between two tables


def standings_table(plan: "Tournament", standings: "Standings") -> Table:
    """Ratings and cross table in one: columns 1, 2, ... have the points, or their percentage, against these places."""
    game = plan.matches[0].game.describe(plan.options)
    points = len(standings.players) <= _IN_POINTS
    title = f"{escape(game)}: {standings.games} games, Elo over {escape(standings.anchor)}"
    table = Table(title=title, title_justify="left")
    table.add_column("", justify="right")
    table.add_column("agent", overflow="fold", min_width=12)
    places = [str(place) for place in range(1, len(standings.players) + 1)]
    for heading in ("Elo", "±", "score", *places, "time/move"):
        table.add_column(heading, justify="right", no_wrap=True)
    for place, player in zip(places, standings.players):
        cells = [_cell(standings, player, rival, points) for rival in standings.players]
        elo, score = f"{player.rating.elo:+.0f}", f"{player.score.mean:.1%}" if player.score.games else "-"
        reach = f"{player.reach:.0f}" if player.reach else ""
        table.add_row(place, escape(player.name), elo, reach, score, *cells, describe_time(player.seconds_per_move))
    return table


class TournamentScreen:
    """What is shown while a tournament is played: a live table, or without a terminal a line a round."""

    def __init__(self, plan: "Tournament", console: Console) -> None:
        self._plan, self._console = plan, console
        self._results: list[list[GameResult]] = [[] for _ in plan.pairs]
        self._rounds, self._shown = 0, -math.inf
        self._bar = Progress(
            BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), console=console
        )
        self._task = self._bar.add_task("", total=plan.games * len(plan.pairs))
        self._live = Live(self._bar, console=console, transient=True, auto_refresh=console.is_terminal)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def add(self, pair: int, result: GameResult) -> None:
        """Another game of a pair has ended."""
        self._results[pair].append(result)
        if result.ending == "forfeit":
            a, b = self._plan.pairs[pair]
            line = f"{a.name} against {b.name}, game {result.game}: {result.result}, {result.reason}"
            self._console.print(line, style="yellow", markup=False, soft_wrap=True)
        rounds = min(map(len, self._results)) // 2
        if self._console.is_terminal:
            self._bar.advance(self._task)
            if time.monotonic() - self._shown >= _REFRESH:
                self._live.update(Group(standings_table(self._plan, self._standings()), self._bar))
                self._shown = time.monotonic()
        elif rounds > self._rounds:
            self._say_round(rounds)
        self._rounds = rounds

    def _standings(self) -> "Standings":
        return self._plan.standings(self._results)

    def _say_round(self, rounds: int) -> None:
        ratings = ", ".join(f"{player.name} {player.rating.elo:+.0f}" for player in self._standings().players)
        line = f"Round {rounds} of {self._plan.games // 2}: {ratings}"
        self._console.print(line, markup=False, soft_wrap=True)


def _cell(standings: "Standings", player: "Standing", rival: "Standing", points: bool) -> str:
    if player is rival:
        return "·"
    score = standings.table[player.name, rival.name]
    if not score.games:
        return ""
    return f"{score.points:g}/{score.games}" if points else f"{100 * score.mean:.0f}"
