"""The games of a supervised run: those it learns from, what they teach, and the positions on which it is validated."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tengen.data.dataset import RULE_NAMES, USUAL_RULES, Dataset, Selection, Split, select
from tengen.encode.go import get_go_encoder
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.supervised_config import SupervisedConfig


class ChosenGames(NamedTuple):
    """The games of a run; their dataset is opened, and its checksum computed, once for all."""

    dataset: Dataset
    train: Selection
    """Those to learn from."""
    test: Selection


def choose_games(config: SupervisedConfig) -> ChosenGames:
    """The games of a run; DatasetError if there are none."""
    dataset = Dataset.open(config.data)
    return ChosenGames(dataset, _select(config, dataset, "train"), _select(config, dataset, "test"))


def _select(config: SupervisedConfig, dataset: Dataset, split: Split) -> Selection:
    return select(
        dataset,
        split,
        (config.games or None) if split == "train" else None,
        size=config.size,
        min_rank=config.min_rank or None,
        years=(config.first_year, config.last_year) if (config.first_year, config.last_year) != (0, 9999) else None,
        handicap={"any": None, "only": True, "none": False}[config.handicap],
        seed=config.seed,
    )


def rules_learned(config: SupervisedConfig, games: ChosenGames) -> dict[str, Any]:
    """For a model's card: the rule set that most training games name, and the komi of all but their outermost 2%."""
    rules = games.dataset.columns["rules"][games.train.rows]
    komi = games.train.game_moves.komi[games.train.rows]
    low, high = np.quantile(komi, (0.01, 0.99), method="nearest").tolist()
    name = RULE_NAMES[np.bincount(rules[rules > 0], minlength=1).argmax()] or USUAL_RULES
    return {"rules": name, "komi": [low - config.komi_spread, high + config.komi_spread]}


def validation_batches(config: SupervisedConfig, tests: Selection) -> Iterator[RecordBatch]:
    """The same test positions every time, drawn evenly from all test games."""
    encoder = get_go_encoder(config.encoder)
    loader = PositionLoader(tests, encoder, batch=256, seed=0, symmetries=False)
    wanted = min(config.validate, loader.positions)
    for start in range(0, wanted, 256):
        yield loader.batch_at(start, min(256, wanted - start))
