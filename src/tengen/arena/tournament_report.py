"""The standings of a tournament (ratings with intervals, and who took how many points from whom), and their files.

tournament.json    settings, ratings, pairs          tournament.html    all of it as a page that needs no other file
ratings.csv        one line an agent                 ratings.png        ratings with 95% intervals
crosstable.csv     points against each opponent      crosstable.png     scores against each opponent as a heat map

The files are replaced whole, so they can be read at any time.
"""

import csv
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from tengen._pages import render_page
from tengen.arena.results import GameResult, MatchSummary, PlayerSummary, describe_time, finite, summarize
from tengen.arena.statistics import Z95, Rating, Score, describe_elo, fit_ratings
from tengen.runs.files import SettingValue, write_atomically


@dataclass(frozen=True)
class Forfeit:
    """A game that an agent lost by an error or an illegal move."""

    opponent: str
    game: int
    """Its number in the match of the two."""
    reason: str


@dataclass(frozen=True)
class Standing:
    """How one agent does."""

    name: str
    spec: str
    rating: Rating
    """In Elo, against the anchor."""
    score: Score
    """All its games."""
    as_first: Score
    """Those in which it moved first."""
    seconds_per_move: float
    """NaN if it has not moved yet."""
    forfeits: tuple[Forfeit, ...]

    @property
    def reach(self) -> float:
        """Half of the 95% interval of the rating."""
        return Z95 * self.rating.error


@dataclass(frozen=True)
class Standings:
    """A tournament so far."""

    players: tuple[Standing, ...]
    """The highest rating first."""
    table: Mapping[tuple[str, str], Score]
    """By (name, opponent's name), both ways round."""
    pairs: tuple[tuple[str, str], ...]
    """Who meets whom: A and B of each match."""
    anchor: str
    """Name of the agent whose rating is 0."""

    @property
    def games(self) -> int:
        """All games."""
        return sum(self.table[pair].games for pair in self.pairs)


def standings_of(
    specs: Mapping[str, str],
    pairs: Sequence[tuple[str, str]],
    results: Sequence[Sequence[GameResult]],
    anchor: str,
) -> Standings:
    """The standings of agents, whose `specs` are given by their names, after the results of each pair of names.

    Ratings are fitted to all games together, with a drawn game added to every pair: `ratings.py`.
    """
    summaries = [summarize(specs[a], specs[b], games) for (a, b), games in zip(pairs, results, strict=True)]
    table: dict[tuple[str, str], Score] = {}
    for (a, b), summary in zip(pairs, summaries):
        table[a, b], table[b, a] = summary.a.score, summary.b.score
    order = [anchor, *(name for name in specs if name != anchor)]
    ratings = fit_ratings({pair: table[pair] for pair in pairs}, order)
    players = [_standing(name, spec, ratings[name], pairs, summaries) for name, spec in specs.items()]
    players.sort(key=lambda player: -player.rating.elo)
    return Standings(tuple(players), table, tuple(pairs), anchor)


def _standing(
    name: str,
    spec: str,
    rating: Rating,
    pairs: Sequence[tuple[str, str]],
    summaries: Sequence[MatchSummary],
) -> Standing:
    sides: list[tuple[str, PlayerSummary]] = []
    for (a, b), summary in zip(pairs, summaries):
        if name in (a, b):
            sides.append((b, summary.a) if name == a else (a, summary.b))
    decisions = sum(side.decisions for _, side in sides)
    return Standing(
        name,
        spec,
        rating,
        score=sum((side.score for _, side in sides), Score(0, 0)),
        as_first=sum((side.as_first for _, side in sides), Score(0, 0)),
        seconds_per_move=sum(side.seconds for _, side in sides) / decisions if decisions else math.nan,
        forfeits=tuple(Forfeit(rival, game, reason) for rival, side in sides for game, reason in side.forfeits),
    )


def write_report(
    folder: Path,
    standings: Standings,
    *,
    title: str,
    conditions: str,
    settings: Mapping[str, SettingValue],
    games_wanted: int,
    matches: Sequence[str],
) -> None:
    """Write all files. `games_wanted`: of each pair; `matches`: the folder of each pair's match, within `folder`."""
    from tengen.arena.pictures import draw_crosstable, draw_ratings

    pictures = {"ratings": draw_ratings(standings, title), "crosstable": draw_crosstable(standings)}
    for name, picture in pictures.items():
        write_atomically(folder / f"{name}.png", picture)
    write_atomically(folder / "ratings.csv", as_csv(_rating_rows(standings)))
    write_atomically(folder / "crosstable.csv", as_csv(_cross_rows(standings)))
    found = {"settings": dict(settings), "games_wanted": games_wanted, **_as_json(standings, matches)}
    write_atomically(folder / "tournament.json", (json.dumps(found, indent=1) + "\n").encode())
    page = render_page(
        "tengen.arena",
        "tournament_page.html",
        pictures,
        title=escape(f"Tournament: {title}"),
        subtitle=escape(conditions),
        figures=_figures(standings, games_wanted),
        table=_html_table(standings),
        pairs=_html_pairs(standings, matches),
        forfeits=_html_forfeits(standings),
    )
    write_atomically(folder / "tournament.html", page)


def _as_json(standings: Standings, matches: Sequence[str]) -> dict[str, Any]:
    """Plain numbers; what is unknown is None."""
    agents = []
    for rank, player in enumerate(standings.players, 1):
        rating = player.rating
        agents.append(
            {
                "rank": rank,
                "name": player.name,
                "spec": player.spec,
                "elo": rating.elo,
                "elo_error": rating.error,
                "elo_interval": [rating.elo - player.reach, rating.elo + player.reach],
                "wins": player.score.wins,
                "losses": player.score.losses,
                "draws": player.score.draws,
                "score": finite(player.score.mean),
                "score_as_first": finite(player.as_first.mean),
                "seconds_per_move": finite(player.seconds_per_move),
                "forfeits": [
                    {"opponent": one.opponent, "game": one.game, "reason": one.reason} for one in player.forfeits
                ],
            }
        )
    pairs = []
    for (a, b), match in zip(standings.pairs, matches, strict=True):
        score = standings.table[a, b]
        counts = {"wins": score.wins, "losses": score.losses, "draws": score.draws}
        interval = list(score.interval)
        pairs.append(
            {"a": a, "b": b, **counts, "score": finite(score.mean), "score_interval": interval, "folder": match}
        )
    return {"anchor": standings.anchor, "games": standings.games, "agents": agents, "pairs": pairs}


def _rating_rows(standings: Standings) -> list[list[object]]:
    columns = ("rank", "name", "spec", "elo", "elo_low", "elo_high", "games", "wins", "losses", "draws", "score")
    rows: list[list[object]] = [[*columns, "seconds_per_move", "forfeits"]]
    for rank, player in enumerate(standings.players, 1):
        elo, score = player.rating.elo, player.score
        bounds = [f"{value:.1f}" for value in (elo, elo - player.reach, elo + player.reach)]
        counts = [score.games, score.wins, score.losses, score.draws]
        means = [_number(score.mean), _number(player.seconds_per_move)]
        rows.append([rank, player.name, player.spec, *bounds, *counts, *means, len(player.forfeits)])
    return rows


def _cross_rows(standings: Standings) -> list[list[object]]:
    names = [player.name for player in standings.players]
    rows: list[list[object]] = [["points of", *(f"against {name}" for name in names)]]
    for name in names:
        rows.append([name, *("" if name == rival else f"{standings.table[name, rival].points:g}" for rival in names)])
    return rows


def _figures(standings: Standings, games_wanted: int) -> str:
    """The figures that one looks for first."""
    best = standings.players[0]
    found = {
        "strongest": escape(best.name),
        f"Elo over {escape(standings.anchor)}": f"{best.rating.elo:+.0f} ± {best.reach:.0f}",
        "agents": f"{len(standings.players)}",
        "games": f"{standings.games:,} of {games_wanted * len(standings.pairs):,}",
    }
    return "".join(f"<div><b>{value}</b><span>{name}</span></div>" for name, value in found.items())


def _html_table(standings: Standings) -> str:
    """Ratings and cross table in one."""
    places = "".join(f"<th>{rank}</th>" for rank in range(1, len(standings.players) + 1))
    rows = [
        f"<tr><th></th><th>agent</th><th>Elo</th><th>95%</th><th>games</th><th>score</th>{places}<th>time/move</th></tr>"
    ]
    for rank, player in enumerate(standings.players, 1):
        cells = "".join(f"<td>{_cell(standings, player, rival)}</td>" for rival in standings.players)
        spec = "" if player.spec == player.name else f"<br><small>{escape(player.spec)}</small>"
        rows.append(
            f"<tr><td>{rank}</td><td>{escape(player.name)}{spec}</td><td>{player.rating.elo:+.0f}</td>"
            f"<td>± {player.reach:.0f}</td><td>{player.score.games}</td><td>{player.score.mean:.1%}</td>{cells}"
            f"<td>{describe_time(player.seconds_per_move)}</td></tr>"
        )
    return "".join(rows)


def _cell(standings: Standings, player: Standing, rival: Standing) -> str:
    if player is rival:
        return ""
    score = standings.table[player.name, rival.name]
    return f"{score.points:g}/{score.games}" if score.games else ""


def _html_pairs(standings: Standings, matches: Sequence[str]) -> str:
    rows = []
    for (a, b), match in zip(standings.pairs, matches, strict=True):
        score = standings.table[a, b]
        counts = f"{score.wins} won, {score.losses} lost, {score.draws} drawn"
        elo = escape(describe_elo(score))
        link = f'<a href="{escape(match)}/games">games</a>'
        rows.append(
            f"<tr><td>{escape(a)} against {escape(b)}</td><td>{counts}</td><td>{score}</td><td>{elo}</td>"
            f"<td>{link}</td></tr>"
        )
    return "".join(rows)


def _html_forfeits(standings: Standings) -> str:
    lines = [
        f"<li>{escape(player.name)} against {escape(one.opponent)}, game {one.game}: {escape(one.reason)}</li>"
        for player in standings.players
        for one in player.forfeits
    ]
    return f"<h2>Games lost by errors</h2><ul>{''.join(lines)}</ul>" if lines else ""


def as_csv(rows: Iterable[Sequence[object]]) -> bytes:
    """Rows as a CSV file."""
    file = StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().encode()


def _number(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else ""
