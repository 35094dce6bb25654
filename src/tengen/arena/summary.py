"""A match in numbers, as its table shows them and `--json-file` writes them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tengen.arena.results import GameResult, Player
from tengen.arena.statistics import Score, describe_elo


@dataclass(frozen=True)
class PlayerSummary:
    """One agent's side of a match."""

    spec: str
    as_first: Score
    """Its games in which it moved first."""
    as_second: Score
    decisions: int
    """How many moves it chose."""
    seconds: float
    """How long it thought in all."""
    forfeits: tuple[tuple[int, str], ...]
    """(game, what went wrong) for each game that it lost by an error or an illegal move."""

    @property
    def score(self) -> Score:
        """All its games."""
        return self.as_first + self.as_second

    @property
    def seconds_per_move(self) -> float:
        """Mean thinking time; NaN if it never moved."""
        return self.seconds / self.decisions if self.decisions else math.nan


@dataclass(frozen=True)
class MatchSummary:
    """Both sides of a match, and what the games were like."""

    a: PlayerSummary
    b: PlayerSummary
    games: int
    mean_moves: float
    """NaN before the first game."""
    endings: dict[str, int]
    """How many games ended in which way."""

    def __str__(self) -> str:
        """One line: who played whom, and A's score with its interval and the difference in Elo."""
        score = self.a.score
        games = f"{score.wins} wins, {score.losses} losses, {score.draws} draws"
        return f"{self.a.spec} against {self.b.spec}: {games}, {score}, Elo {describe_elo(score)}"

    def to_json(self, players: tuple[str, str]) -> dict[str, Any]:
        """Plain numbers; what is unknown or infinite is None. `players`: what first and second are called."""
        return {
            "games": self.games,
            "mean_moves": _finite(self.mean_moves),
            "endings": self.endings,
            "a": _player_json(self.a, players),
            "b": _player_json(self.b, players),
        }


def summarize(spec_a: str, spec_b: str, results: Sequence[GameResult]) -> MatchSummary:
    """The summary of these games, in whatever order they ended."""
    results = sorted(results, key=lambda result: result.game)
    endings: dict[str, int] = {}
    for result in results:
        endings[result.ending] = endings.get(result.ending, 0) + 1
    return MatchSummary(
        a=_player("a", spec_a, results),
        b=_player("b", spec_b, results),
        games=len(results),
        mean_moves=sum(result.moves for result in results) / len(results) if results else math.nan,
        endings=endings,
    )


def score_of(player: Player, results: Iterable[GameResult]) -> Score:
    """Wins, losses and draws of one player."""
    winners = [result.winner for result in results]
    draws = winners.count(None)
    wins = winners.count(player)
    return Score(wins, len(winners) - wins - draws, draws)


def describe_time(seconds: float) -> str:
    """A thinking time for people: `1.02 s`, `3.4 ms`; `-` where it is not known."""
    if math.isnan(seconds):
        return "-"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def _player(player: Player, spec: str, results: Sequence[GameResult]) -> PlayerSummary:
    side = 0 if player == "a" else 1
    lost = [result for result in results if result.winner not in (player, None)]
    return PlayerSummary(
        spec=spec,
        as_first=score_of(player, (result for result in results if result.first == player)),
        as_second=score_of(player, (result for result in results if result.first != player)),
        decisions=sum(result.decisions[side] for result in results),
        seconds=sum(result.seconds[side] for result in results),
        forfeits=tuple((result.game, result.reason) for result in lost if result.ending == "forfeit"),
    )


def _player_json(player: PlayerSummary, players: tuple[str, str]) -> dict[str, Any]:
    return {
        "spec": player.spec,
        **_score_json(player.score),
        f"as_{players[0].lower()}": _score_json(player.as_first),
        f"as_{players[1].lower()}": _score_json(player.as_second),
        "seconds_per_move": _finite(player.seconds_per_move),
        "forfeits": [{"game": game, "reason": reason} for game, reason in player.forfeits],
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {
        "wins": score.wins,
        "losses": score.losses,
        "draws": score.draws,
        "score": _finite(score.mean),
        "score_interval": list(score.interval),
        "elo": _finite(score.elo),
        "elo_interval": [_finite(bound) for bound in score.elo_interval],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
