"""The games of a supervised run: those it learns from, what they teach, and the positions on which it is validated."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tengen.data.dataset import RULE_NAMES, USUAL_RULES, Dataset, Selection, Split, select
from tengen.encode.go import get_go_encoder
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.supervised_config import SupervisedConfig


def chosen_games(config: SupervisedConfig, split: Split) -> Selection:
    """The games that a run learns from (split train) or is tested on (split test)."""
    return select(
        Dataset.open(config.data),
        split,
        (config.games or None) if split == "train" else None,
        size=config.size,
        min_rank=config.min_rank or None,
        years=(config.first_year, config.last_year) if (config.first_year, config.last_year) != (0, 9999) else None,
        handicap={"any": None, "only": True, "none": False}[config.handicap],
        seed=config.seed,
    )


def rules_learned(config: SupervisedConfig) -> dict[str, Any]:
    """For a model's card: the rule set that most training games name, and the komi of all but their outermost 2%."""
    games = chosen_games(config, "train")
    rules = Dataset.open(config.data).columns["rules"][games.rows]
    komi = games.game_moves.komi[games.rows]
    low, high = np.quantile(komi, (0.01, 0.99), method="nearest").tolist()
    name = RULE_NAMES[np.bincount(rules[rules > 0], minlength=1).argmax()] or USUAL_RULES
    return {"rules": name, "komi": [low - config.komi_spread, high + config.komi_spread]}


def validation_batches(config: SupervisedConfig) -> Iterator[RecordBatch]:
    """The same test positions every time, drawn evenly from all test games."""
    encoder = get_go_encoder(config.encoder)
    loader = PositionLoader(chosen_games(config, "test"), encoder, batch=256, seed=0, symmetries=False)
    wanted = min(config.validate, loader.positions)
    for start in range(0, wanted, 256):
        yield loader.batch_at(start, min(256, wanted - start))
