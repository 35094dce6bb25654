"""Games of matches played by workers: in other processes, or on a cluster.

A worker gets the match and the number of the game, and with them the model files that the specs name; it gives back the
result and the record, so that only who asked writes to the match's folder.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from tengen.agents.agent import Agent
from tengen.agents.registry import load_agent, spec_files, with_files
from tengen.arena.match import GameNumber, Match, Outcome, outcome_of, play_match_game, rehearse
from tengen.workers.calls import Calls, Hosts
from tengen.workers.sent_files import SentFile


class MatchPlayer:
    """Plays games of any matches."""

    def __init__(self) -> None:
        self._rehearsed: set[tuple[str, str]] = set()

    def play(self, number: GameNumber, match: Match, files: tuple[tuple[str, str], ...]) -> tuple[GameNumber, Outcome]:
        """Play a game; `files` has the path of each model here, by the path that specs name it by.

        An agent that cannot start here is an error, not a lost game: it may well start elsewhere.
        """

        def load(spec: str, seed: int) -> Agent:
            return load_agent(with_files(spec, dict(files)), seed)

        if (match.a, match.b) not in self._rehearsed:
            rehearse([match], load)
            self._rehearsed.add((match.a, match.b))
        return number, outcome_of(match, number[1], play_match_game(match, number[1], load))


class HostedGames:
    """Games of matches that workers play; iterating yields (number, outcome) as games end."""

    def __init__(self, matches: Sequence[Match], games: Sequence[GameNumber], hosts: Hosts, workers: int) -> None:
        files = [tuple(map(_sent, spec_files(match.a) + spec_files(match.b))) for match in matches]
        plain = [replace(match) for match in matches]  # without what they have computed
        self._calls = [(game, plain[game[0]], files[game[0]]) for game in games]
        self._workers = hosts(workers, MatchPlayer, lambda _: (), 0)
        self._closing = closing(self._workers)
        self._under_way: Calls | None = None
        self._ended: list[Any] = []

    def __enter__(self) -> "HostedGames":
        self._closing.__enter__()
        if self._calls:
            self._workers.start()
            self._under_way = self._workers.map("play", self._calls)
        return self

    def __exit__(self, *error: Any) -> None:
        self._closing.__exit__(*error)

    def __iter__(self) -> "HostedGames":
        return self

    def __next__(self) -> tuple[GameNumber, Outcome]:
        while not self._ended:
            if self._under_way is None or not self._under_way.unfinished:
                raise StopIteration
            self._ended = self._under_way.collect(1.0)  # the timeout lets Ctrl-C in
        number, outcome = self._ended.pop(0)
        return number, outcome


def _sent(path: str) -> tuple[str, SentFile]:
    """A path as a spec has it, with the file behind it."""
    return path, SentFile(Path(path).expanduser())
