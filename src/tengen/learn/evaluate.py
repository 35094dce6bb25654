"""A trained policy against the moves of games that it has never seen."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tengen.data.dataset import Dataset, Selection, Split, select
from tengen.encode.go import get_go_encoder
from tengen.learn.fast_policy import measure_fast_policy
from tengen.learn.loader import PositionLoader
from tengen.learn.measure import PolicyMeasures
from tengen.nets.bundled import find_model
from tengen.nets.evaluator import load_evaluator
from tengen.nets.model_file import ModelCard, read_card
from tengen.search.fast_model import NETWORK as FAST_POLICY
from tengen.search.fast_model import FastPolicy

BATCH = 256


@dataclass(frozen=True)
class ModelEvaluation:
    """How well a model predicts the moves of a dataset."""

    model: str
    card: ModelCard
    data: str
    split: str
    games: int
    measures: PolicyMeasures

    @property
    def top1_error(self) -> float:
        """The standard error of top-1, were positions independent."""
        share = self.measures.top1
        return math.sqrt(share * (1.0 - share) / max(1, self.measures.positions))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        described: dict[str, Any] = {"model": self.model, "network": self.card.network, "encoder": self.card.encoder}
        described |= {"size": self.card.size, "data": self.data, "split": self.split, "games": self.games}
        return described | self.measures.as_dict() | {"top1_standard_error": round(self.top1_error, 5)}


def evaluate_policy(
    model: str,
    data: str | Path,
    split: Split = "test",
    positions: int = 0,
    *,
    min_rank: int | None = None,
    seed: int = 0,
    backend: str = "openvino",
    threads: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, wanted: None,
) -> ModelEvaluation:
    """Measure a policy model, by bundled name or path, on `positions` of the split drawn at random; 0 for all.

    Seed 0 draws in the order in which training validates. A fast policy is measured on whole games. `on_progress`
    gets the number of positions done and the number of all.
    """
    card = read_card(find_model(model))
    games = select(Dataset.open(data), split, size=card.size, min_rank=min_rank)
    if card.network == FAST_POLICY:
        games = _games_with(games, positions, seed)
        measures = measure_fast_policy(FastPolicy.load(find_model(model)), games)
        return ModelEvaluation(str(model), card, str(data), split, len(games.rows), measures)
    if not card.architecture().policy:
        raise ValueError(f"{model} is a value network and predicts no moves: measure it by `tengen learn value-error`")
    evaluator, _ = load_evaluator(model, backend, threads)
    loader = PositionLoader(games, get_go_encoder(card.encoder), batch=BATCH, seed=seed, symmetries=False)
    wanted = min(positions, loader.positions) if positions else loader.positions
    measures = PolicyMeasures()
    for start in range(0, wanted, BATCH):
        batch = loader.batch_at(start, min(BATCH, wanted - start))
        measures.add_batch(*evaluator.evaluate(batch.planes), batch)
        on_progress(measures.positions, wanted)
    return ModelEvaluation(str(model), card, str(data), split, len(games.rows), measures)


def _games_with(games: Selection, positions: int, seed: int) -> Selection:
    """As few games as have so many positions, drawn at random; 0 for all."""
    order = np.random.default_rng(seed).permutation(len(games.rows))
    count = int(np.searchsorted(np.cumsum(games.lengths[order]), positions)) + 1 if positions else len(order)
    chosen = np.sort(order[:count])
    return Selection(games.rows[chosen], games.game_moves, games.lengths[chosen], games.size)
