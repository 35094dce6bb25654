"""Test positions as a trained network sees them: where it would play, and where the player did."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tengen.data.dataset import Dataset, Selection, position_of
from tengen.encode.go import get_go_encoder
from tengen.games import go
from tengen.learn.loader import PositionLoader
from tengen.nets.evaluator import load_evaluator

_DRAWN = 512  # positions to choose the samples from


@dataclass(frozen=True)
class Sample:
    """One position, the move that was played and the probabilities that the network gave."""

    state: go.State
    game: int
    """Row of the dataset."""
    ply: int
    """How many moves had been played before."""
    played: int
    """A move as `go.State` writes it."""
    policy: NDArray[np.float32]  # [N * N + 1], the last for passing

    @property
    def guesses(self) -> list[tuple[int, float]]:
        """The three likeliest moves with their probabilities."""
        best = np.argsort(-self.policy, kind="stable")[:3]
        return [(self.state.move_of(int(i)), float(self.policy[i])) for i in best]

    @property
    def probability(self) -> float:
        """Of the move that was played."""
        return float(self.policy[self.state.action_of(self.played)])

    @property
    def rank(self) -> int:
        """1 if the move that was played was the likeliest, and so on."""
        return int((self.policy > self.probability).sum()) + 1


def draw_samples(model: Path, dataset: Dataset, games: Selection, count: int = 12, seed: int = 0) -> list[Sample]:
    """Positions from all phases of the games, in the order of their move numbers; the same ones for every model."""
    evaluator, card = load_evaluator(model)
    loader = PositionLoader(games, get_go_encoder(card.encoder), batch=1, seed=seed, symmetries=False)
    drawn = loader.batch_at(0, min(_DRAWN, loader.positions))
    order = np.argsort(drawn.plies, kind="stable")
    at = np.linspace(0, len(order) - 1, min(count, len(order)) * 2 + 1)[1::2].astype(np.int64)
    chosen = order[at]
    logits = evaluator.evaluate(np.ascontiguousarray(drawn.planes[chosen]))[0]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    policies = powers / powers.sum(axis=1, keepdims=True)
    samples = []
    for policy, game, ply in zip(policies, drawn.games[chosen].tolist(), drawn.plies[chosen].tolist()):
        state = position_of(dataset, game, ply)
        samples.append(Sample(state, game, ply, dataset.move_of(game, ply)[1], policy))
    return samples
