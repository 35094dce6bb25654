"""The folder of a match: its settings, a line per finished game, and the games themselves.

    match.toml       what is played; a folder belongs to one match for ever
    results.jsonl    one GameResult per line, in the order in which games ended
    games/0007.sgf   the record of game 7 (.pgn for Microchess), written before its line

A line is written, flushed and synced when its game is over, so that `kill -9` at any moment loses only games
under way. It may leave a torn last line, which is dropped when the folder is opened again.
"""

import json
import tomllib
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tengen.games.game import Game
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

    def __init__(self, path: Path, settings: Mapping[str, SettingValue], game: Game) -> None:
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
