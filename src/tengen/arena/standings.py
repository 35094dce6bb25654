"""The standings of a tournament: ratings with intervals, and the cross table of who took how much from whom."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tengen.arena.ratings import Rating, fit_ratings
from tengen.arena.results import GameResult
from tengen.arena.statistics import Z95, Score
from tengen.arena.summary import MatchSummary, PlayerSummary, summarize


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
