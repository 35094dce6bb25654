"""A tournament: a round robin of any agents, every two of them in a match of the same conditions.

    tournament.toml    what is played, agents apart; a folder belongs to one tournament for ever
    matches/A-vs-B-…   the folder of each match: `results.py` explains it
    tournament.json …  the standings, in several forms: `tournament_report.py` lists them

All pairs have the same openings. They play in rounds: two games of each pair, from one opening and with colours
reversed, then the next two, so that a tournament that was stopped is balanced. Games are saved as they end, and the
same command resumes. Agents may join later: their matches are added to those that were played.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

from tengen.agents.registry import load_agent
from tengen.arena.match import Load, Match, run_matches
from tengen.arena.match import saved_results as saved_match
from tengen.arena.results import GameResult, keep_settings
from tengen.arena.tournament_report import Standings, standings_of, write_report
from tengen.games.state import Options
from tengen.runs.files import SettingValue
from tengen.workers.calls import WorkerFactory
from tengen.workers.local import this_machine


@dataclass(frozen=True)
class Entrant:
    """An agent of a tournament, with the name that tables and pictures give it."""

    name: str
    spec: str

    @classmethod
    def of(cls, text: str) -> "Entrant":
        """From `NAME=SPEC`, or from a spec that is its own name: `strong=uct:playouts=10000`, `random`."""
        before = text.partition(":")[0]
        name, equals, _ = before.partition("=")
        if not equals:
            return cls(text.strip(), text.strip())
        if not name.strip():
            raise ValueError(f"{text[:60]!r} has no name before its =: write NAME=SPEC, or the spec alone")
        return cls(name.strip(), text[len(name) + 1 :].strip())

    @classmethod
    def all_of(cls, text: str) -> "list[Entrant]":
        """Those that a word of the command line stands for: one, or of a folder every Python file in it.

        Files that begin with `_` or `test_` are no players.
        """
        folder = Path(text).expanduser()
        if not folder.is_dir():
            return [cls.of(text)]
        files = [file for file in sorted(folder.glob("*.py")) if not file.name.startswith(("_", "test_"))]
        if not files:
            raise ValueError(f"no player is in {folder}: put Python files there (`tengen agents new FILE` writes one)")
        return [cls(file.stem, str(file)) for file in files]


@dataclass(frozen=True)
class Tournament:
    """What is played. None stands for the default of the game; `Match` explains the settings."""

    entrants: tuple[Entrant, ...]
    options: Options
    games: int = 20
    """Games of each pair."""
    seed: int = 1
    opening_moves: int | None = None
    max_moves: int | None = None
    seconds: float | None = None
    anchor: str = ""
    """Name or spec of the agent whose rating is 0; empty: the first."""

    def __post_init__(self) -> None:
        if len(self.entrants) < 2:
            raise ValueError(f"a tournament of {len(self.entrants)} agent is not possible: give at least two")
        for what in ("name", "spec"):
            values = [getattr(entrant, what) for entrant in self.entrants]
            for value in values:
                if values.count(value) > 1:
                    raise ValueError(f"two agents have the {what} {value[:60]!r}: give each its own")
        if self.games < 2 or self.games % 2:
            raise ValueError(
                f"{self.games} games of each pair are not possible: give an even number, so that colours are balanced"
            )
        if self.anchor and not any(self.anchor in (entrant.name, entrant.spec) for entrant in self.entrants):
            names = ", ".join(entrant.name for entrant in self.entrants)
            raise ValueError(f"no agent is called {self.anchor[:60]!r} in this tournament: choose from {names}")
        assert self.matches  # which checks the rest

    @cached_property
    def pairs(self) -> tuple[tuple[Entrant, Entrant], ...]:
        """Who meets whom. Within a pair the order is by spec, so that it does not depend on how they were listed."""
        return tuple(
            (one, other) if one.spec < other.spec else (other, one) for one, other in combinations(self.entrants, 2)
        )

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """The match of each pair."""
        return tuple(
            Match(a.spec, b.spec, self.options, self.games, self.seed, self.opening_moves, self.max_moves, self.seconds)
            for a, b in self.pairs
        )

    @property
    def anchor_name(self) -> str:
        """The agent whose rating is 0."""
        named = [entrant.name for entrant in self.entrants if self.anchor in (entrant.name, entrant.spec)]
        return named[0] if named else self.entrants[0].name

    @property
    def settings(self) -> dict[str, SettingValue]:
        """All that decides how games go, but for the agents and the number of games, which may grow."""
        ours = ("a", "b", "a_code", "b_code")
        return {name: value for name, value in self.matches[0].settings.items() if name not in ours}

    @property
    def conditions(self) -> str:
        """One line for people."""
        return self.matches[0].conditions.replace("A and B move first in turn", "colours alternate")

    @property
    def warnings(self) -> list[str]:
        """A line for each agent whose model was trained on other games than this."""
        return list(dict.fromkeys(text for match in self.matches for text in match.warnings))

    @property
    def folder_name(self) -> str:
        """`go-5-agents-1f2e3d4c`: the same command finds its folder again, in whatever order it lists the agents."""
        return f"{self.options.game}-{len(self.entrants)}-agents-{self._digest(sorted(e.spec for e in self.entrants))}"

    def folder_name_of(self, folder: str) -> str:
        """`class-1f2e3d4c`: the folder for the players of a folder, whoever they are today."""
        return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', folder)[:40] or 'class'}-{self._digest(folder)}"

    def _digest(self, what: object) -> str:
        return hashlib.blake2b(json.dumps([self.settings, what], sort_keys=True).encode(), digest_size=4).hexdigest()

    def standings(self, results: Sequence[Sequence[GameResult]]) -> Standings:
        """Ratings and cross table after these results, a list for each of `pairs`."""
        agents = {entrant.name: entrant.spec for entrant in self.entrants}
        return standings_of(agents, [(a.name, b.name) for a, b in self.pairs], results, self.anchor_name)


def run_tournament(
    tournament: Tournament,
    folder: Path,
    *,
    workers: int | None = None,
    load: Load = load_agent,
    on_result: Callable[[int, GameResult], None] = lambda pair, result: None,
    report_every: float = 60.0,
    worker_factory: WorkerFactory = this_machine,
) -> Standings:
    """Play all games that the folder does not hold yet; the standings are in the folder, too.

    `workers`, `worker_factory`, `on_result` (which gets the pair's place in `pairs`) and KeyboardInterrupt are as in
    `run_match`. The report is written after a round if the last one is `report_every` seconds old, and at the end, also
    by Ctrl-C.
    """
    matches = _with_folders(tournament, folder)
    config = folder / "tournament.toml"
    if config.exists():  # else it is written when the agents have been started
        keep_settings(config, tournament.settings, "tournament")
    results: list[list[GameResult]] = [[] for _ in matches]
    last, rounds = time.monotonic(), 0

    def record(pair: int, result: GameResult) -> None:
        nonlocal last, rounds
        if not any(results):
            keep_settings(config, tournament.settings, "tournament")
        results[pair].append(result)
        on_result(pair, result)
        completed = min(map(len, results)) // 2
        if completed > rounds and time.monotonic() - last >= report_every:
            _report(tournament, folder, results)
            last = time.monotonic()
        rounds = completed

    try:
        run_matches(matches, workers, load, record, worker_factory)
    finally:
        if any(results):
            _report(tournament, folder, results)
    return tournament.standings(results)


def saved_results(tournament: Tournament, folder: Path) -> list[list[GameResult]]:
    """The results that the folder holds so far, a list for each pair."""
    return [saved_match(match, path) for match, path in _with_folders(tournament, folder)]


def _with_folders(tournament: Tournament, folder: Path) -> list[tuple[Match, Path]]:
    return [(match, folder / "matches" / match.folder_name) for match in tournament.matches]


def _report(tournament: Tournament, folder: Path, results: Sequence[Sequence[GameResult]]) -> None:
    title = tournament.matches[0].game.describe(tournament.options)
    matches = [str(path.relative_to(folder)) for _, path in _with_folders(tournament, folder)]
    write_report(
        folder,
        tournament.standings(results),
        title=title,
        conditions=tournament.conditions,
        settings=tournament.settings,
        games_wanted=tournament.games,
        matches=matches,
    )
