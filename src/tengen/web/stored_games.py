"""Games that people play here, each in a file of its own, so that they survive a reload and a restart.

A file holds the game's own record (SGF, PGN, ...) and, beside it, what a record does not say: who plays, a resignation,
which stones are dead.
"""

import json
import re
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tengen._files import write_atomically
from tengen.games.game import Game, Record, game_of, get_game
from tengen.games.state import RESIGN, other_player
from tengen.web.clocks import Clock
from tengen.web.opponents import HUMAN

MOST_GAMES: Final = 1_000
"""The games that are kept; the oldest goes when another comes."""
_ID = re.compile(r"[A-Za-z0-9_-]{16}")
_FORMAT: Final = 1


@dataclass
class PlayedGame:
    """A game with its players. `state` is the newest position; all else is what a file holds beside the record."""

    id: str
    state: Any
    players: tuple[str, str]
    """The key of who plays each side: `human`, an opponent's key, or `spec:` and a spec."""
    specs: tuple[str, str]
    """The specs of the sides that agents play, else empty. For people to read: who thinks is looked up by `players`."""
    dead: frozenset[int] | None = None
    """The stones agreed to be dead once the game is over."""
    touched: float = field(default_factory=time.time)
    clock: Clock | None = None
    """The clocks of the people, if they play by one."""

    @property
    def game(self) -> Game:
        """The game's object."""
        return game_of(self.state)

    @property
    def winner_on_time(self) -> int:
        """Who has won because the other's time was over; 0: nobody."""
        return other_player(self.clock.lost) if self.clock is not None and self.clock.lost else 0

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, by its rules or on time."""
        return self.state.is_over or self.winner_on_time > 0

    @property
    def result(self) -> str:
        """As the game's records write it; empty while it goes on."""
        if self.winner_on_time:
            return self.game.forfeit(self.winner_on_time, on_time=True)
        return str(self.state.result()) if self.state.is_over else ""

    def write(self) -> str:
        """The game's own record: SGF, PGN, ..."""
        ending = ("time forfeit", self.result) if self.winner_on_time else ("", "")
        record = Record(*names(self), result=ending[1], termination=ending[0])
        return self.game.write(self.state, record).decode("utf-8")


def new_id() -> str:
    """A name that nobody can guess."""
    return secrets.token_urlsafe(12)


class StoredGames:
    """A folder of games. Not for two processes at once: the newest file wins."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, played: PlayedGame) -> None:
        """Write a game whole, or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path(played.id), json.dumps(as_json(played), ensure_ascii=False).encode())

    def load(self, name: str) -> PlayedGame:
        """The game of this name; ValueError if there is none."""
        try:
            return from_json(json.loads(self._path(name).read_text("utf-8")))
        except (OSError, KeyError, TypeError, IndexError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
            raise ValueError("there is no such game here any more") from None

    def remove(self, name: str) -> None:
        """Forget a game."""
        self._path(name).unlink(missing_ok=True)

    def newest(self, most: int) -> list[dict[str, Any]]:
        """What the files of the newest games say, the newest first."""
        found = list[dict[str, Any]]()
        for path in self._files()[:most]:
            try:
                found.append(json.loads(path.read_text("utf-8")))
            except (OSError, ValueError):
                continue
        return found

    def drop_oldest(self) -> None:
        """Keep the newest only."""
        for path in self._files()[MOST_GAMES:]:
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"), key=_age, reverse=True)

    def _path(self, name: str) -> Path:
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise ValueError("there is no such game here")
        return self._folder / f"{name}.json"


def as_json(played: PlayedGame) -> dict[str, Any]:
    """What a file holds."""
    state, game = played.state, played.game
    resigned = state.last_move == RESIGN and state.previous is not None
    return {
        "format": _FORMAT,
        "id": played.id,
        "game": game.name,
        "about": game.describe(game.options_of(state)),
        "record": played.write(),
        "resigned": resigned,
        "players": list(played.players),
        "specs": list(played.specs),
        "dead": None if played.dead is None else sorted(played.dead),
        "moves": state.move_number,
        "result": played.result,
        "touched": played.touched,
        "clock": None if played.clock is None else played.clock.to_json(),
    }


def from_json(fields: dict[str, Any]) -> PlayedGame:
    """The game of a file; KeyError, TypeError or ValueError if it is none."""
    game = get_game(str(fields["game"]))
    state, _ = game.read(str(fields["record"]).encode())
    if fields["resigned"] and not state.is_over:
        state = state.play(RESIGN)
    dead = None if fields["dead"] is None else frozenset(map(int, fields["dead"]))
    if dead is not None:
        state = state.with_dead(dead)
    first, second = map(str, fields["players"])
    specs = _kept_spec(first, fields["specs"][0]), _kept_spec(second, fields["specs"][1])
    clock = None if fields.get("clock") is None else Clock.from_json(fields["clock"])
    return PlayedGame(str(fields["id"]), state, (first, second), specs, dead, float(fields["touched"]), clock)


def names(played: PlayedGame) -> tuple[str, str]:
    """How a record calls the players: by their specs, people by `Human`."""
    first, second = (spec or "Human" for spec in played.specs)
    return first, second


def _kept_spec(player: str, spec: Any) -> str:
    return "" if player == HUMAN else str(spec)[:300] or player[:300]


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
