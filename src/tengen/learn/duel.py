"""A duel: many games between two models at once, to see which one is better.

Games come in pairs with the same random opening, each model beginning once. The gate of the zero loop and the round
robins of its generations are made of duels; `arena.match` is for any agents, one game at a time. `policy_duel` is the
same for policies that play without search.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tengen.encode.game_spec import GameSpec
from tengen.encode.registry import get_encoder
from tengen.games.options import Options
from tengen.nets.evaluator import Evaluator, load_evaluator
from tengen.search.gumbel import Gumbel
from tengen.search.leaves import NetworkEvaluation
from tengen.search.policy_play import PolicyPlay, PolicyPlayer, batch_for, final_results, play_to_end
from tengen.search.rule import SearchRule
from tengen.search.searcher import Searcher

_NODES = 8_000_000  # of all trees of a searcher, 33 bytes each


@dataclass(frozen=True)
class DuelResult:
    """How the first model did against the second."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        """All games."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """The share of points, a draw being half a point."""
        return (self.wins + self.draws / 2) / max(1, self.games)

    def __add__(self, other: "DuelResult") -> "DuelResult":
        return DuelResult(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)


def duel(
    spec: GameSpec,
    first: Path | Evaluator,
    second: Path | Evaluator,
    *,
    games: int = 100,
    simulations: int = 32,
    rule: Callable[[], SearchRule] = Gumbel,
    opening_plies: int = 2,
    seed: int = 1,
    backend: str = "int8",
) -> DuelResult:
    """Play `games` games (rounded up to pairs) of the first model against the second, in parts if they are many."""
    evaluators = [load_evaluator(model, backend)[0] if isinstance(model, Path) else model for model in (first, second)]
    game, pairs, rng = spec.batch, (games + 1) // 2, np.random.default_rng(seed)
    nodes = 1 + (simulations + 1) * 2 * game.branching
    at_once = max(1, min(pairs, _NODES // (2 * nodes)))
    result = DuelResult(0, 0, 0)
    for begun in range(0, pairs, at_once):
        count = min(at_once, pairs - begun)
        searchers = [
            Searcher(
                game,
                NetworkEvaluation(game, spec.encoder, evaluator),
                rule(),
                trees=2 * count,
                nodes=nodes,
                seed=seed,
            )
            for evaluator in evaluators
        ]
        result += _play_pairs(spec, searchers, count, simulations, opening_plies, rng)
    return result


def _play_pairs(
    spec: GameSpec,
    searchers: list[Searcher],
    pairs: int,
    simulations: int,
    opening_plies: int,
    rng: np.random.Generator,
) -> DuelResult:
    """Two games from each of so many random openings, all at once."""
    game, count = spec.batch, 2 * pairs
    boards = game.allocate(count)
    legal, over = np.zeros((count, game.actions), np.bool_), np.zeros(count, np.bool_)
    results = np.zeros(count, np.float32)
    for _ in range(opening_plies):
        game.judge(boards, count, legal, over, results)
        drawn = (legal[::2] * rng.random((pairs, game.actions))).argmax(axis=1)
        game.play(boards, np.where(over, -1, np.repeat(drawn, 2)))
    begins = np.tile([1, 2], pairs)  # as which player the first model plays
    game.judge(boards, count, legal, over, results)
    while not over.all():
        players = game.to_play(boards)
        actions = np.full(count, -1, np.int64)
        for searcher, mine in zip(searchers, (players == begins, players != begins), strict=True):
            index = np.flatnonzero(mine & ~over)
            if len(index):
                actions[index] = searcher.search(boards, index, simulations).chosen
        game.play(boards, actions)
        for searcher in searchers:
            searcher.advance(actions)
        game.judge(boards, count, legal, over, results)
    return _result(final_results(game, boards, count) * np.where(begins == 1, 1, -1))


def policy_duel(
    options: Options,
    first: Path | PolicyPlayer,
    second: Path | PolicyPlayer,
    *,
    games: int = 400,
    temperature: float = 1.0,
    seed: int = 1,
    backend: str = "fastest",
) -> DuelResult:
    """Play `games` games (rounded up to an even number) of one policy against another, all at once and without search.

    Each has the first move in half of them. With temperature 0 all games of a half are the same.
    """
    players = [load_player(model, backend) if isinstance(model, Path) else model for model in (first, second)]
    game, half = batch_for(options, [player.encoder for player in players]), (games + 1) // 2
    boards, begins = game.allocate(2 * half), np.repeat([0, 1], half)
    play_to_end(PolicyPlay(game, players, seed), boards, begins, 1 - begins, temperature)
    return _result(final_results(game, boards, 2 * half) * np.where(begins == 0, 1, -1))


def load_player(model: str | Path, backend: str = "fastest") -> PolicyPlayer:
    """A model's policy, ready to play."""
    evaluator, card = load_evaluator(model, backend)
    return PolicyPlayer(get_encoder(card.encoder), evaluator)


def _result(points: NDArray[np.int8]) -> DuelResult:
    """Of games that ended so for the first model: 1, 0 or -1 each."""
    return DuelResult(int((points > 0).sum()), int((points == 0).sum()), int((points < 0).sum()))
