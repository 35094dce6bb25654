"""Networks for tests of search: one that knows nothing, and one with an opinion on everything; searchers for them."""

from math import prod
from typing import Any, Protocol

import numpy as np

from tengen.encode.encoder import Encoder
from tengen.games.batch import BatchedGame
from tengen.search.evaluation_cache import EvaluationCache
from tengen.search.gumbel import Gumbel, GumbelParameters
from tengen.search.leaves import NetworkEvaluation
from tengen.search.puct import Puct, PuctParameters
from tengen.search.rule import SearchRule
from tengen.search.searcher import Searcher


class Seen(Protocol):
    """A game as a network sees it: a `GameSpec`, or a game of the tests that is its own encoder."""

    @property
    def batch(self) -> BatchedGame: ...

    @property
    def encoder(self) -> Encoder: ...

    @property
    def shape(self) -> tuple[int, int, int]: ...


def rule_of(parameters: PuctParameters | GumbelParameters, **settings: Any) -> SearchRule:
    """The search rule that parameters belong to."""
    return Puct(parameters, **settings) if isinstance(parameters, PuctParameters) else Gumbel(parameters)


def searcher_of(
    game: Seen,
    network: Any,
    parameters: PuctParameters | GumbelParameters,
    *,
    cache: int | EvaluationCache = 1 << 14,
    rule: dict[str, Any] | None = None,
    **settings: Any,
) -> Searcher:
    """A searcher whose leaves a network evaluates; `rule`: settings of PUCT beside its parameters."""
    evaluation = NetworkEvaluation(game.batch, game.encoder, network, cache)
    return Searcher(game.batch, evaluation, rule_of(parameters, **(rule or {})), **settings)


class Uniform:
    """All actions are equally likely, all positions even."""

    architecture: Any = None

    def __init__(self, game: Seen) -> None:
        self.actions = game.batch.actions

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((len(planes), self.actions), np.float32), np.zeros(len(planes), np.float32)

    def another(self) -> "Uniform":
        return self


class Opinionated:
    """What it says depends on the position alone, down to the last bit, and on nothing sensible; it counts batches."""

    architecture: Any = None

    def __init__(self, game: Seen, seed: int = 1) -> None:
        self.actions, self.batches = game.batch.actions, list[int]()
        self.weights = np.random.default_rng(seed).integers(-(2**20), 2**20, (prod(game.shape), 3))

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.batches.append(len(planes))
        mixed = planes.reshape(len(planes), -1).astype(np.int64) @ self.weights  # exact, whatever the batch
        angles = (mixed[:, :1] * np.arange(1, self.actions + 1) + mixed[:, 1:2]) % 4096
        return np.sin(angles / 700.0).astype(np.float32), np.sin(mixed[:, 2] % 4096 / 500.0).astype(np.float32) * 0.7
