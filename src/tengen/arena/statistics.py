"""What results of matches mean: scores with 95% intervals, differences in Elo, and ratings of many players.

A draw counts as half a win. The interval is Wilson's (1927): with n games, mean score p and z = 1.96,

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)

which stays inside [0, 1] and is of use even after 0 or 100%. Draws vary less than wins and losses, so with
many draws it is wider than need be. Elo is the logistic curve, p = 1 / (1 + 10^(-difference/400)); its
interval is the image of the score's.

A tournament, or a round robin of a run's generations, rates all players at once by the Bradley-Terry model, fitted by
`choix` (Maystre and Grossglauser 2015). While a run learns, each new model is rated by its duels with a few past ones,
whose ratings stand (`rating_against`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Z95: Final = 1.959963984540054
"""The normal distribution has 95% of its mass within this many standard deviations."""


@dataclass(frozen=True)
class Score:
    """Games won, lost and drawn by one player against another.

    >>> import tengen
    >>> score = tengen.Score(wins=6, losses=3, draws=1)
    >>> score.mean, round(score.elo), str(score)
    (0.65, 108, '65.0% (95%: 35.4% to 86.3%)')
    """

    wins: int
    """Games won."""
    losses: int
    """Games lost."""
    draws: int = 0
    """Games drawn, and void ones."""

    @classmethod
    def of(cls, results: NDArray[np.int8]) -> Self:
        """Of games that ended so for this player: 1 won, 0 drawn, -1 lost."""
        return cls(int((results > 0).sum()), int((results < 0).sum()), int((results == 0).sum()))

    @property
    def games(self) -> int:
        """All games."""
        return self.wins + self.losses + self.draws

    @property
    def points(self) -> float:
        """Wins, and half a point for each draw."""
        return self.wins + self.draws / 2

    @property
    def mean(self) -> float:
        """Points per game, 0 to 1; NaN before the first game."""
        return self.points / self.games if self.games else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true score lies with 95% confidence."""
        return wilson_interval(self.points, self.games)

    @property
    def elo(self) -> float:
        """How much stronger than its opponent this player is, in Elo; infinite after 0 or 100%."""
        return elo_difference(self.mean)

    @property
    def elo_interval(self) -> tuple[float, float]:
        """Where the true difference in Elo lies with 95% confidence; either end may be infinite."""
        low, high = self.interval
        return elo_difference(low), elo_difference(high)

    @property
    def reversed(self) -> "Score":
        """The same games as the opponent sees them."""
        return Score(self.losses, self.wins, self.draws)

    def __add__(self, other: "Score") -> "Score":
        return Score(self.wins + other.wins, self.losses + other.losses, self.draws + other.draws)

    def __str__(self) -> str:
        """`55.0% (95%: 39.8% to 69.3%)`."""
        if not self.games:
            return "no games"
        low, high = self.interval
        return f"{self.mean:.1%} (95%: {low:.1%} to {high:.1%})"


def wilson_interval(points: float, games: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's interval for the chance of a win after `points` of `games`; (0, 1) when there are none."""
    if not 0 <= points <= games:
        raise ValueError(f"{points} points of {games} games are not possible")
    if games == 0:
        return 0.0, 1.0
    p, zz = points / games, z * z / games
    middle, spread = p + zz / 2, z * math.sqrt(p * (1 - p) / games + zz / (4 * games))
    low = 0.0 if points == 0 else (middle - spread) / (1 + zz)
    high = 1.0 if points == games else (middle + spread) / (1 + zz)
    return low, high


def elo_difference(score: float) -> float:
    """The difference in Elo that gives this expected score: 0.76 is about 200; 0 and 1 are infinite."""
    if score <= 0:
        return -math.inf
    if score >= 1:
        return math.inf
    return -400 * math.log10(1 / score - 1)


def expected_score(difference: float) -> float:
    """The expected score of a player stronger by this many Elo; the inverse of `elo_difference`."""
    return 1 / (1 + math.pow(10, -difference / 400))


def describe_elo(score: Score) -> str:
    """`+35 (95%: -72 to +141)`; where one side won everything, the one bound that is known: `> +249`."""
    low, high = score.elo_interval
    if math.isinf(low) and math.isinf(high):
        return "unknown"
    if math.isinf(high):
        return f"> {_signed(low)} (95%)"
    if math.isinf(low):
        return f"< {_signed(high)} (95%)"
    return f"{_signed(score.elo)} (95%: {_signed(low)} to {_signed(high)})"


def _signed(elo: float) -> str:
    """A whole number with its sign; never -0."""
    return f"{round(elo):+d}"


ELO: Final = 400.0 / math.log(10.0)
"""Elo points of one natural unit of strength."""

PlayerKey = TypeVar("PlayerKey")


@dataclass(frozen=True)
class Rating:
    """How strong a player is, against the first of them all."""

    elo: float
    error: float
    """Standard error of the difference from the first player."""
    games: int
    score: float
    """The share of points it took."""


def rating_against(meetings: Sequence[tuple[float, Score]]) -> float:
    """The Elo at which these results against players of known Elo are the likeliest.

    One drawn game is added to every meeting, so that a clean sweep gives a number, too.
    """
    if not meetings:
        raise ValueError("a rating needs at least one duel")
    points = sum(result.wins + result.draws / 2 + 0.5 for _, result in meetings)
    low = min(elo for elo, _ in meetings) - 4000.0
    high = max(elo for elo, _ in meetings) + 4000.0
    for _ in range(60):
        middle = (low + high) / 2
        expected = sum((result.games + 1) / (1 + math.exp((elo - middle) / ELO)) for elo, result in meetings)
        low, high = (middle, high) if expected < points else (low, middle)
    return (low + high) / 2


def fit_ratings(
    results: Mapping[tuple[PlayerKey, PlayerKey], Score], players: Sequence[PlayerKey]
) -> dict[PlayerKey, Rating]:
    """The Bradley-Terry ratings of players from their meetings; the first player has 0.

    A draw is half a win for both. One drawn game is added to every meeting, so that no rating is infinite.
    """
    import choix

    place = {player: i for i, player in enumerate(players)}
    wins: NDArray[np.float64] = np.zeros((len(players), len(players)))
    for (one, other), result in results.items():
        i, j = place[one], place[other]
        wins[i, j] += result.wins + result.draws / 2 + 0.5
        wins[j, i] += result.losses + result.draws / 2 + 0.5
    strengths = np.asarray(choix.ilsr_pairwise_dense(wins))
    elo, errors = ELO * (strengths - strengths[0]), ELO * _errors(wins, strengths)
    played, points = wins + wins.T, wins.sum(axis=1)
    meetings = (played > 0).sum(axis=1)
    return {
        player: Rating(
            float(elo[i]),
            float(errors[i]),
            round(float(played[i].sum() - meetings[i])),
            float((points[i] - meetings[i] / 2) / max(1.0, played[i].sum() - meetings[i])),
        )
        for player, i in place.items()
    }


def _errors(wins: NDArray[np.float64], strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of the differences from the first strength, by the information matrix at the maximum."""
    expected = 1.0 / (1.0 + np.exp(strengths[None, :] - strengths[:, None]))
    information = -(wins + wins.T) * expected * expected.T
    np.fill_diagonal(information, 0.0)
    np.fill_diagonal(information, -information.sum(axis=1))
    errors = np.zeros(len(strengths))
    if len(strengths) > 1:  # with the first strength held at 0 the rest of the matrix can be inverted
        errors[1:] = np.sqrt(np.diag(np.linalg.inv(information[1:, 1:])))
    return errors
