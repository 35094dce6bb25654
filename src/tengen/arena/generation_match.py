"""Generations of value networks against each other: greedy games in lock-step, after a few random moves.

Greedy players are deterministic, so that every game begins with random moves (two in the Simple-Go lecture), the same
ones for a pair and a seed whoever else plays.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tengen.games.batch import BatchedGame
from tengen.search.leaves import LeafEvaluation
from tengen.search.policy_play import final_results
from tengen.search.value_play import ValuePlay


class PairResult(NamedTuple):
    """Games of one generation as the first player against another as the second."""

    wins: int
    """Of the first player."""
    draws: int
    losses: int

    @property
    def score(self) -> float:
        """Points of the first player a game."""
        return (self.wins + 0.5 * self.draws) / max(1, self.wins + self.draws + self.losses)


def play_pairs(
    game: BatchedGame,
    players: Mapping[int, LeafEvaluation | None],
    pairs: Sequence[tuple[int, int]],
    *,
    games: int = 1000,
    random_moves: int = 2,
    seed: int = 1,
) -> list[PairResult]:
    """Play `games` games of each pair, all at once; a pair is the first player's generation and the second's.

    `players`: the generations by number; None moves at random.
    """
    numbers = list(players)
    play = ValuePlay(game, [players[number] for number in numbers])
    count = games * len(pairs)
    boards = game.allocate(count)
    seats = [np.repeat([numbers.index(pair[side]) for pair in pairs], games) for side in (0, 1)]
    sources = [np.random.default_rng((seed, *pair)) for pair in pairs]
    running, move = np.ones(count, np.bool_), 0
    while running.any():
        uniform = np.concatenate([source.random(games) for source in sources])
        at_random = np.full(count, move < random_moves)
        actions = play.choose(boards, np.where(running, seats[move % 2], -1), at_random, uniform)
        game.play(boards, actions)
        running, move = actions >= 0, move + 1
    results = final_results(game, boards, count).reshape(len(pairs), games)
    return [PairResult(*(int((row == result).sum()) for result in (1, 0, -1))) for row in results]
