"""Games and studies on disk, each in a file of its own, so that they survive a reload and a restart.

The file of a game holds its own record (SGF, PGN, ...) and, beside it, what a record does not say: who plays, a
resignation, which stones are dead. That of a study holds the record that it began with, and what was added to it:
moves, the results of analysis, and the position that was shown last.
"""

import base64
import json
import os
import re
import secrets
import threading
import time
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, Final

from tengen.games.game import AnyGame, Record, game_of, get_game
from tengen.games.state import RESIGN, other_player
from tengen.runs.files import make_folder, write_atomically
from tengen.search.life_and_death import describe_count
from tengen.serve.review import PositionEstimate
from tengen.web.clocks import GameClock
from tengen.web.opponents import HUMAN
from tengen.web.study import Source, Study, read_study

MOST_GAMES: Final = 1_000
"""The games that are kept; the oldest goes when another comes."""
_ID = re.compile(r"[A-Za-z0-9_-]{16}")
_GAME_FORMAT: Final = 1

MOST_STUDIES: Final = 1_000
"""The studies that are kept; the oldest goes when another comes."""
_STUDY_FORMAT: Final = 1
_LISTED: Final = ("id", "title", "about", "names", "result", "positions")


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
    clock: GameClock | None = None
    """The clocks of the people, if they play by one."""
    resigned: int = 0
    """Who resigned while the other was to move, which the record does not say."""
    visitor: str = ""
    """The address that the game was begun from; empty: not known."""

    @property
    def game(self) -> AnyGame:
        """The game's object."""
        return game_of(self.state)

    @property
    def winner_on_time(self) -> int:
        """Who has won because the other's time was over; 0: nobody."""
        return other_player(self.clock.lost) if self.clock is not None and self.clock.lost else 0

    @property
    def winner_beside_the_board(self) -> int:
        """Who has won on time, or because the other resigned out of turn; 0: nobody."""
        return self.winner_on_time or (other_player(self.resigned) if self.resigned else 0)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, by its rules, on time or by a resignation."""
        return self.state.is_over or self.winner_beside_the_board > 0

    @property
    def result(self) -> str:
        """As the game's records write it; empty while it goes on."""
        if self.winner_on_time:
            return self.game.forfeit(self.winner_on_time, on_time=True)
        if self.resigned:
            return self.game.forfeit(other_player(self.resigned)).replace("+F", "+R")
        return str(self.state.result()) if self.state.is_over else ""

    def write(self) -> str:
        """The game's own record: SGF, PGN, ..."""
        termination = "time forfeit" if self.winner_on_time else "resignation" if self.resigned else ""
        record = Record(*names_of(self), result=self.result if termination else "", termination=termination)
        return self.game.write(self.state, record).decode("utf-8")


def is_id(name: Any) -> bool:
    """Whether something could be a name that `new_id` has given."""
    return isinstance(name, str) and _ID.fullmatch(name) is not None


def new_id() -> str:
    """A name that nobody can guess."""
    return secrets.token_urlsafe(12)


class StoredGames:
    """A folder of games, for one process at a time.

    Files are ordered by their times, which always go up: a clock that is set back does not make a game an old one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._newest = 0  # time of the newest file, in nanoseconds

    def save(self, played: PlayedGame) -> None:
        """Write a game whole, or not at all."""
        make_folder(self._folder, 0o700)  # who plays here is nobody else's business
        path = self._path(played.id)
        write_atomically(path, json.dumps(game_as_json(played), ensure_ascii=False).encode())
        with self._lock:
            if not self._newest:
                self._newest = max((int(_age(file) * 1e9) for file in self._folder.glob("*.json")), default=0)
            now = path.stat().st_mtime_ns
            if now <= self._newest:
                now = self._newest + 1_000_000
                os.utime(path, ns=(now, now))
            self._newest = now

    def load(self, name: str) -> PlayedGame:
        """The game of this name; ValueError if there is none."""
        try:
            return game_from_json(json.loads(self._path(name).read_text("utf-8")))
        except (OSError, KeyError, TypeError, IndexError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
            raise ValueError("there is no such game here any more") from None

    def remove(self, name: str) -> None:
        """Forget a game."""
        self._path(name).unlink(missing_ok=True)

    def newest(self, most: int, visitor: str = "") -> list[dict[str, Any]]:
        """What the files of the newest games say, the newest first: those of a visitor if one is given."""
        found = list[dict[str, Any]]()
        for path in self._files():
            fields = _fields_of(path)
            if fields and (not visitor or fields.get("visitor", "") in ("", visitor)):
                found.append(fields)
            if len(found) == most:
                break
        return found

    def drop_oldest(self, most: int = MOST_GAMES) -> None:
        """Keep so many games: of the visitor who has the most of them, the oldest one goes, again and again."""
        files = self._files()
        if len(files) <= most:
            return
        by_visitor: dict[str, list[Path]] = {}
        for path in files:
            by_visitor.setdefault(str(_fields_of(path).get("visitor", "")), []).append(path)
        for _ in range(len(files) - most):
            max(by_visitor.values(), key=len).pop().unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"), key=_age, reverse=True)

    def _path(self, name: str) -> Path:
        if not is_id(name):
            raise ValueError("there is no such game here")
        return self._folder / f"{name}.json"


def game_as_json(played: PlayedGame) -> dict[str, Any]:
    """What a file holds."""
    state, game = played.state, played.game
    resigned = state.last_move == RESIGN and state.previous is not None
    return {
        "format": _GAME_FORMAT,
        "id": played.id,
        "game": game.name,
        "about": game.describe(game.options_of(state)),
        "record": played.write(),
        "resigned": resigned,
        "resigned_out_of_turn": played.resigned,
        "players": list(played.players),
        "specs": list(played.specs),
        "dead": None if played.dead is None else sorted(played.dead),
        "moves": state.move_number,
        "result": played.result,
        "touched": played.touched,
        "clock": None if played.clock is None else played.clock.to_json(),
        "visitor": played.visitor,
    }


def game_from_json(fields: dict[str, Any]) -> PlayedGame:
    """The game of a file; KeyError, TypeError or ValueError if it is none."""
    game = get_game(str(fields["game"]))
    state, _ = game.read(str(fields["record"]).encode())
    if fields["resigned"] and not state.is_over:
        state = state.play(RESIGN)
    dead = None if fields["dead"] is None else frozenset(map(int, fields["dead"]))
    if dead is not None:
        state = game.with_dead(state, dead)
    first, second = map(str, fields["players"])
    specs = _kept_spec(first, fields["specs"][0]), _kept_spec(second, fields["specs"][1])
    clock = None if fields.get("clock") is None else GameClock.from_json(fields["clock"])
    touched, visitor = float(fields["touched"]), str(fields.get("visitor", ""))
    quitter = int(fields.get("resigned_out_of_turn", 0))
    return PlayedGame(str(fields["id"]), state, (first, second), specs, dead, touched, clock, quitter, visitor)


def names_of(played: PlayedGame) -> tuple[str, str]:
    """How a record calls the players: by their specs, people by `Human`."""
    first, second = (spec or "Human" for spec in played.specs)
    return first, second


def _kept_spec(player: str, spec: Any) -> str:
    return "" if player == HUMAN else str(spec)[:300] or player[:300]


def _fields_of(path: Path) -> dict[str, Any]:
    """What a file holds; nothing if it is none of ours."""
    try:
        fields = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def is_to_be_counted(played: PlayedGame) -> bool:
    """Whether a game has ended in a way that its stones are to be counted, and nobody has done so."""
    state = played.state
    return (
        played.dead is None
        and not played.resigned
        and played.game.territory
        and state.is_over
        and state.end_reason == "score"
    )


def count_of(played: PlayedGame) -> dict[str, Any]:
    """Who owns what, with the dead stones taken off, as a page shows it."""
    state, dead = played.state, played.dead or frozenset()
    owners = state.ownership(dead)
    return {
        "dead": [state.move_name(point) for point in sorted(dead)],
        "owners": "".join(str(int(owner)) for owner in owners.ravel()),
        "margin": state.score(dead),
        "text": describe_count(state, dead),
        "correctable": state.rules.removes_dead,
    }


class StoredStudies:
    """A folder of studies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, name: str, study: Study) -> None:
        """Write a study whole, or not at all."""
        make_folder(self._folder)
        write_atomically(self._path(name), json.dumps(study_as_json(name, study), ensure_ascii=False).encode())

    def load(self, name: str) -> Study:
        """The study of this name; ValueError if there is none."""
        try:
            return study_from_json(json.loads(self._path(name).read_text("utf-8")))
        except (OSError, KeyError, TypeError, IndexError, ValueError, RecursionError):
            raise ValueError("this study has gone: load its record again") from None

    def remove(self, name: str) -> None:
        """Forget a study."""
        self._path(name).unlink(missing_ok=True)

    def newest(self, most: int) -> list[dict[str, Any]]:
        """What is shown of the newest studies in a list, the newest first."""
        found = list[dict[str, Any]]()
        for path in self._files()[:most]:
            try:
                fields = json.loads(path.read_text("utf-8"))
                found.append({name: fields[name] for name in _LISTED} | {"touched": path.stat().st_mtime})
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
        return found

    def drop_oldest(self) -> None:
        """Keep the newest only."""
        for path in self._files()[MOST_STUDIES:]:
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        found = list[tuple[float, Path]]()
        for path in self._folder.glob("*.json"):
            try:
                found.append((path.stat().st_mtime, path))
            except OSError:
                continue
        return [path for _, path in sorted(found, reverse=True)]

    def _path(self, name: str) -> Path:
        if not is_id(name):
            raise ValueError("there is no such study here")
        return self._folder / f"{name}.json"


def study_as_json(name: str, study: Study) -> dict[str, Any]:
    """What a file holds."""
    source = study.source
    assert source is not None
    judged = {str(number): astuple(node.estimate) for number, node in enumerate(study.nodes) if node.estimate}
    return {
        "format": _STUDY_FORMAT,
        "id": name,
        "title": study.game.title,
        "about": study.game.describe(study.game.options_of(study.nodes[0].state)),
        "names": list(study.names),
        "result": study.result,
        "positions": len(study.nodes),
        "record": base64.b64encode(source.text.encode("utf-8", "surrogatepass")).decode(),
        "encoding": source.encoding,
        "game": source.game,
        "added": [[node.parent, node.move] for node in study.nodes[study.read :]],
        "judged": judged,
        "at": study.at,
    }


def study_from_json(fields: dict[str, Any]) -> Study:
    """The study of a file; KeyError, TypeError or ValueError if it is none."""
    text = base64.b64decode(fields["record"]).decode("utf-8", "surrogatepass")
    study = read_study(Source(text, str(fields["encoding"]), int(fields["game"])))
    study.names = str(fields["names"][0]), str(fields["names"][1])
    study.result = str(fields["result"])
    for parent, move in fields["added"]:
        study.play(int(parent), str(move))
    for number, (visits, chance, score, best, line) in fields["judged"].items():
        points = None if score is None else float(score)
        study.node(int(number)).estimate = PositionEstimate(
            int(visits), float(chance), points, str(best), tuple(map(str, line))
        )
    study.at = int(fields["at"])
    study.node(study.at)
    return study
