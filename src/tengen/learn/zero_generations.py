"""The generations of a run: the model that each round left, which of them is the best, and how strong each is.

models/g0000.safetensors     the network before it has learned anything; g0001 after the first round, and so on
best.safetensors             the one that plays: the newest, or the last one that passed the gate
last.safetensors             the newest
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tengen.arena.ratings import rating_against
from tengen.learn.duel import DuelResult
from tengen.learn.zero_workers import Pairing
from tengen.runs.files import write_atomically
from tengen.workers.calls import Calls, Workers
from tengen.workers.sent_files import SentFile

_STEP_BACK: Final = 4  # past opponents are the last, the 4th last, the 16th last... of the models that have a rating


def model_path(run: Path, generation: int) -> Path:
    """Where a run keeps the model of a generation."""
    return run / "models" / f"g{generation:04d}.safetensors"


@dataclass
class Generations:
    """The models of a run, as in its metrics."""

    run: Path
    backend: str
    champion: int = 0
    elo: dict[int, float] = field(default_factory=lambda: {0: 0.0})
    """Of the generations that have a rating."""

    def recall(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Take in the lines of metrics of completed rounds."""
        for line in lines:
            if "generation" in line:
                self.champion = line["champion"]
                if "elo" in line:
                    self.elo[line["generation"]] = line["elo"]

    def backend_of(self, generation: int) -> str:
        """What runs it: the first one comes before there are positions to calibrate 8 bits on."""
        return "openvino" if generation == 0 and self.backend == "int8" else self.backend

    def path(self, generation: int) -> Path:
        """Its model file."""
        return model_path(self.run, generation)

    def opponents(self, generation: int, count: int) -> list[int]:
        """Up to so many past generations to be rated against."""
        rated = [each for each in self.elo if each < generation]
        places = [min(len(rated), _STEP_BACK**i) for i in range(count)]
        return list(dict.fromkeys(rated[-place] for place in places if place))

    def begin_duels(
        self, workers: Workers, generation: int, games: Mapping[int, int], simulations: int, seed: int
    ) -> Calls:
        """Let a generation meet others in so many games each, shared out among the workers."""
        calls = []
        for opponent, count in games.items():
            pairing = self.pairing(generation, opponent)
            pairs, parts = (count + 1) // 2, min(workers.count, (count + 1) // 2)
            for part in range(parts):
                share = 2 * (pairs // parts + (part < pairs % parts))
                calls.append((pairing, share, simulations, (seed, generation, opponent, part)))
        return workers.map("duel", calls)

    def pairing(self, first: int, second: int) -> Pairing:
        """Two generations with what runs them."""
        models = SentFile(self.path(first)), SentFile(self.path(second))
        return Pairing(first, second, models, (self.backend_of(first), self.backend_of(second)))

    def rate(self, generation: int, results: Mapping[int, DuelResult]) -> float:
        """Give a generation its rating by its duels with rated ones."""
        known = [(self.elo[opponent], result) for opponent, result in results.items() if opponent in self.elo]
        self.elo[generation] = round(rating_against(known), 1)
        return self.elo[generation]

    def publish(self, generation: int, promoted: bool) -> None:
        """Make it the last, and the best if it was promoted."""
        model = self.path(generation).read_bytes()
        write_atomically(self.run / "last.safetensors", model)
        if promoted:
            self.champion = generation
            write_atomically(self.run / "best.safetensors", model)
