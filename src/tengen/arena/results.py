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
from typing import IO, Any, Literal, Self

from tengen._files import (
    Setting,
    append_line,
    make_folder,
    remove_cut_off,
    settings_as_toml,
    try_lock,
    write_atomically,
)
from tengen.games.game import Game

Player = Literal["a", "b"]


def other(player: Player) -> Player:
    """The opponent of A or B."""
    return "b" if player == "a" else "a"


class MatchFolderError(ValueError):
    """A folder that holds something else than this match, or is in use."""


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

    def __init__(self, path: Path, settings: Mapping[str, Setting], game: Game) -> None:
        """Make the folder, or open it again; MatchFolderError if it belongs to another match."""
        self.path = path
        self._game = game
        self.games = path / "games"
        make_folder(self.games)
        self._log: IO[bytes] = open(path / "results.jsonl", "a+b", buffering=0)
        try:
            self._lock()
            self._check(settings)
            remove_cut_off(path)
            self.results = self._read()
        except BaseException:
            self._log.close()
            raise

    def record(self, result: GameResult, moves: bytes) -> None:
        """Keep a finished game: its record first, then its line."""
        write_atomically(self.record_path(result.game), moves)
        append_line(self._log, result.to_json().encode())
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

    def _lock(self) -> None:
        """Hold the results as long as they are open."""
        if not try_lock(self._log):
            raise MatchFolderError(
                f"the match in {self.path} is being played by another process: wait for it to end, "
                "or choose another --out"
            )

    def _check(self, settings: Mapping[str, Setting]) -> None:
        """Compare the folder's settings with ours, or write ours where there are none."""
        path = self.path / "match.toml"
        if not path.exists() and self._log.tell():
            raise MatchFolderError(f"{self.path} has results but no match.toml: choose another --out")
        keep_settings(path, settings, "match")

    def _read(self) -> dict[int, GameResult]:
        """All results by game; a torn last line is cut off, so that the next line starts afresh."""
        self._log.seek(0)
        results: dict[int, GameResult] = {}
        lines, good = self._log.read().splitlines(keepends=True), 0
        for number, line in enumerate(lines, 1):
            try:
                if not line.endswith(b"\n"):
                    raise ValueError("the line has no end")
                result = GameResult.from_json(line, self._game.players[0] == "Black")
            except ValueError as error:
                if number == len(lines):
                    break
                raise MatchFolderError(
                    f"line {number} of {self.path / 'results.jsonl'} is damaged ({error}): delete the line, "
                    "and its game is played again"
                ) from None
            results.setdefault(result.game, result)
            good += len(line)
        self._log.truncate(good)
        return results


def keep_settings(path: Path, settings: Mapping[str, Setting], kind: str) -> None:
    """Write the settings of a match or tournament; where they are already, MatchFolderError if they are others."""
    if not path.exists():
        write_atomically(path, settings_as_toml(settings).encode())
        return
    try:
        there: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MatchFolderError(f"{path} cannot be read ({error}): repair it, or choose another --out") from None
    for name in {**settings, **there}:
        if there.get(name) != settings.get(name):
            raise MatchFolderError(
                f"{path.parent} holds another {kind}, with {name} {there.get(name)!r} where you ask for "
                f"{settings.get(name)!r}: choose another --out, or delete that folder"
            )
