"""The games of a supervised run: those it learns from, and the test positions on which it is validated."""

from collections.abc import Iterator

from tengen.data.dataset import Dataset, Selection, Split, select
from tengen.encode.go import get_go_encoder
from tengen.learn.loader import Batch, PositionLoader
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


def validation_batches(config: SupervisedConfig) -> Iterator[Batch]:
    """The same test positions every time, drawn evenly from all test games."""
    games = chosen_games(config, "test")
    encoder = get_go_encoder(config.encoder)
    loader = PositionLoader(games.game_moves, games.rows, encoder, config.size, batch=256, seed=0, symmetries=False)
    wanted = min(config.validate, loader.positions)
    for start in range(0, wanted, 256):
        yield loader.batch_at(start, min(256, wanted - start))
