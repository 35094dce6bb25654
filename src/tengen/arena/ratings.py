"""Ratings: who is how much stronger, in Elo points (400 of them are ten to one).

A tournament, or a round robin of a run's generations, rates all players at once by the Bradley-Terry model, fitted by
`choix` (Maystre and Grossglauser 2015). While a run learns, each new model is rated by its duels with a few past ones,
whose ratings stand (`rating_against`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

ELO: Final = 400.0 / math.log(10.0)
"""Elo points of one natural unit of strength."""

PlayerKey = TypeVar("PlayerKey")


class Outcomes(Protocol):
    """What one player got against another: `arena.statistics.Score`, or the result of a duel."""

    @property
    def wins(self) -> int:
        """Games won."""
        ...

    @property
    def draws(self) -> int:
        """Games drawn."""
        ...

    @property
    def losses(self) -> int:
        """Games lost."""
        ...

    @property
    def games(self) -> int:
        """All games."""
        ...


@dataclass(frozen=True)
class Rating:
    """How strong a player is, against the first of them all."""

    elo: float
    error: float
    """Standard error of the difference from the first player."""
    games: int
    score: float
    """The share of points it took."""


def rating_against(meetings: Sequence[tuple[float, Outcomes]]) -> float:
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
    results: Mapping[tuple[PlayerKey, PlayerKey], Outcomes], players: Sequence[PlayerKey]
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
