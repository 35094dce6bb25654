"""The folder of a match: its settings, a line per finished game, and the games themselves.

    match.toml       what is played; a folder belongs to one match only
    results.jsonl    one GameResult per line, in the order in which games ended
    games/0007.sgf   the record of game 7 (.pgn for Microchess), written before its line

A line is written, flushed and synced when its game is over, so that `kill -9` at any moment loses only games
under way. It may leave a torn last line, which is dropped when the folder is opened again.

`summarize` turns results into the numbers that tables and `--json-file` show.
"""

import json
import math
import tomllib
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tengen.arena.statistics import Score, describe_elo
from tengen.games.game import AnyGame
from tengen.runs.files import SettingValue, make_folder, remove_cut_off, settings_as_toml, write_atomically
from tengen.runs.folder import FolderError, LineFile, compare_settings

Player = Literal["a", "b"]


def other(player: Player) -> Player:
    """The opponent of A or B."""
    return "b" if player == "a" else "a"


@dataclass(frozen=True)
class GameResult:
    """How one game of a match went: a line of results.jsonl."""

    game: int
    """1 for the first game of the match."""
    first: Player
    """Who moved first."""
    winner: Player | None
    """None for a draw or a void game."""
    result: str
    """As the game's records write it."""
    ending: str
    reason: str
    """What the loser of a forfeit did wrong."""
    moves: int
    """Length of the game, passes and the opening included."""
    decisions: tuple[int, int]
    """How many moves (a, b) chose."""
    seconds: tuple[float, float]
    """How long (a, b) thought in all."""

    def to_json(self) -> str:
        """One line, without its end; `check` is a checksum of what stands before it."""
        text = json.dumps(asdict(self))
        return f'{text[:-1]}, "check": "{_checksum(text)}"}}'

    @classmethod
    def from_json(cls, line: bytes, black_first: bool = True) -> "GameResult":
        """The inverse of `to_json`; ValueError if it is not one. Older lines name who had Black, not who was first."""
        try:
            values = json.loads(line)
            check = values.pop("check", None)  # older lines have none
            if check is not None and check != _checksum(json.dumps(values)):
                raise ValueError("it is not what was written")
            if "black" in values:
                black = values.pop("black")
                values["first"] = black if black_first else other(black)
            return cls(**values | {name: tuple(values[name]) for name in ("decisions", "seconds")})
        except (AttributeError, TypeError, KeyError, UnicodeDecodeError) as error:
            raise ValueError(f"not a game result: {error}") from None


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


class MatchFolder:
    """An open folder of a match; only one process can have it open."""

    def __init__(self, path: Path, settings: Mapping[str, SettingValue], game: AnyGame) -> None:
        """Make the folder, or open it again; FolderError if it belongs to another match."""
        self.path = path
        self._game = game
        self.games = path / "games"
        make_folder(self.games)
        black_first = game.players[0] == "Black"
        self._log = LineFile(
            path / "results.jsonl",
            lambda line: GameResult.from_json(line, black_first),
            in_use=f"the match in {path} is being played by another process: wait for its end, or choose another --out",
            remedy="delete the line, and its game is played again",
        )
        try:
            if self._log.path.stat().st_size and not (path / "match.toml").exists():
                raise FolderError(f"{path} has results but no match.toml: choose another --out")
            keep_settings(path / "match.toml", settings, "match")
            remove_cut_off(path)
            self._log.keep()
            self.results: dict[int, GameResult] = {}
            for result in self._log.lines():
                self.results.setdefault(result.game, result)
        except BaseException:
            self._log.close()
            raise

    def record(self, result: GameResult, moves: bytes) -> None:
        """Keep a finished game: its record first, then its line."""
        write_atomically(self.record_path(result.game), moves)
        self._log.append(result.to_json().encode())
        self.results[result.game] = result

    def record_path(self, game: int) -> Path:
        """Where the record of a game is."""
        return self.games / f"{game:04d}{self._game.suffix}"

    def close(self) -> None:
        """Let go of the folder."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def keep_settings(path: Path, settings: Mapping[str, SettingValue], kind: str) -> None:
    """Write the settings of a match or tournament; where they are already, FolderError if they are others."""
    if not path.exists():
        write_atomically(path, settings_as_toml(settings).encode())
        return
    try:
        there: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FolderError(f"{path} cannot be read ({error}): repair it, or choose another --out") from None
    compare_settings(there, settings, f"{path.parent} holds another {kind}")


@dataclass(frozen=True)
class PlayerSummary:
    """One agent's side of a match."""

    spec: str
    """The agent, as you gave it."""
    as_first: Score
    """Its games in which it moved first."""
    as_second: Score
    """Its games in which it moved second."""
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
    """Both sides of a match, and what the games were like.

    >>> import tengen
    >>> summary: tengen.MatchSummary = tengen.play_match("random", "random", game="tictactoe", games=2)
    >>> summary.a.spec, summary.games, summary.endings
    ('random', 2, {'rules': 2})
    """

    a: PlayerSummary
    """The first agent's side."""
    b: PlayerSummary
    """The second agent's side."""
    games: int
    """How many games there were."""
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
            "mean_moves": finite(self.mean_moves),
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
        "seconds_per_move": finite(player.seconds_per_move),
        "forfeits": [{"game": game, "reason": reason} for game, reason in player.forfeits],
    }


def _score_json(score: Score) -> dict[str, Any]:
    return {
        "wins": score.wins,
        "losses": score.losses,
        "draws": score.draws,
        "score": finite(score.mean),
        "score_interval": list(score.interval),
        "elo": finite(score.elo),
        "elo_interval": [finite(bound) for bound in score.elo_interval],
    }


def finite(value: float) -> float | None:
    """A number for JSON, which knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None
