"""A round robin among generations of a run, and the ratings that follow from it.

    ratings.json    settings, every duel, every rating        ratings.png    the ratings over the generations

Each duel is written down when it is done, so a round robin that was stopped goes on where it was.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np

from tengen.arena.ratings import Rating, fit_ratings
from tengen.learn.duel import DuelResult
from tengen.learn.zero_config import read_config
from tengen.learn.zero_curves import draw_ratings
from tengen.learn.zero_generations import Generations
from tengen.learn.zero_workers import ZeroWorker
from tengen.runs.files import write_atomically
from tengen.runs.folder import FolderError, deferred_interrupts, read_metrics
from tengen.workers.calls import Workers
from tengen.workers.local import LocalWorkers

RATINGS_FILE: Final = "ratings.json"
PICTURE_FILE: Final = "ratings.png"
Duels = dict[tuple[int, int], DuelResult]
"""By the two generations, the lower one first; the result is the lower one's."""


@dataclass(frozen=True)
class RoundRobin:
    """Which generations meet, in how many games, with how many simulations for a move."""

    run: Path
    generations: tuple[int, ...]
    games: int
    simulations: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All duels."""
        return list(combinations(self.generations, 2))

    def play(
        self, workers: int = 0, on_progress: Callable[[int, int], None] = lambda done, of: None
    ) -> dict[int, Rating]:
        """Play the duels that have not been played yet, and rate; the results are in the run's directory, too.

        `on_progress` gets the number of duels done and the number of all. Ctrl-C ends it; what is done is kept.
        """
        duels = self._known()
        lacking = [pair for pair in self.pairs if pair not in duels]
        if lacking:
            config = read_config(self.run)
            spec, settings = config.game_spec(), config.self_play()
            hosts = LocalWorkers(workers, ZeroWorker, lambda number: (spec, settings, number))
            hosts.start()
            try:
                self._meet(hosts, Generations(self.run, config.backend), lacking, duels, on_progress)
            finally:
                hosts.close()
        ratings = fit_ratings({pair: duels[pair] for pair in self.pairs}, self.generations)
        self._write(duels, ratings)
        chain = Generations(self.run, "")
        chain.recall(read_metrics(self.run))
        write_atomically(self.run / PICTURE_FILE, draw_ratings(ratings, chain.elo))
        return ratings

    def _meet(
        self,
        workers: Workers,
        models: Generations,
        lacking: list[tuple[int, int]],
        duels: Duels,
        on_progress: Callable[[int, int], None],
    ) -> None:
        calls = workers.map(
            "duel",
            [(models.pairing(*pair), self.games, self.simulations, (self.simulations, *pair)) for pair in lacking],
        )
        with deferred_interrupts() as interrupted:
            while calls.unfinished:
                for pairing, result in calls.collect(0.2):
                    duels[pairing.first, pairing.second] = result
                    self._write(duels, {})
                on_progress(len(self.pairs) - calls.unfinished, len(self.pairs))
                if interrupted():
                    raise KeyboardInterrupt

    def _known(self) -> Duels:
        """The duels that were played before, with as many games and simulations."""
        try:
            there = json.loads((self.run / RATINGS_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        if (there["games"], there["simulations"]) != (self.games, self.simulations):
            return {}
        return {(one, other): DuelResult(*result) for one, other, *result in there["duels"]}

    def _write(self, duels: Duels, ratings: Mapping[int, Rating]) -> None:
        found: dict[str, Any] = {"games": self.games, "simulations": self.simulations}
        found["ratings"] = [{"generation": each, **asdict(rating)} for each, rating in ratings.items()]
        found["duels"] = [[*pair, *asdict(result).values()] for pair, result in sorted(duels.items())]
        write_atomically(self.run / RATINGS_FILE, (json.dumps(found, indent=1) + "\n").encode())


def round_robin(run: Path, generations: int = 8, games: int = 40, simulations: int = 0) -> RoundRobin:
    """A round robin of so many generations of a run, spread evenly from the first to the last."""
    config = read_config(run)
    there = sorted(int(path.stem[1:]) for path in (run / "models").glob("g*.safetensors"))
    if min(len(there), generations) < 2:
        asked = f"{run} has {len(there)}: let it learn for longer" if len(there) < 2 else f"not {generations}"
        raise FolderError(f"a round robin needs two generations at least, and {asked}")
    places = np.unique(np.linspace(0, len(there) - 1, min(generations, len(there))).round().astype(int))
    chosen = tuple(there[place] for place in places)
    return RoundRobin(run, chosen, games, simulations or config.duel_simulations or config.simulations)
