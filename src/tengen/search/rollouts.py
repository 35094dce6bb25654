"""The rollouts of a search: a game played on from each leaf by quick moves, to see who wins it.

By a fast policy (`FastRollouts`), as the game itself plays out (`PlayoutEvaluation`), or by a small network, as here.
"""

import copy
from typing import Any, Self

import numpy as np

from tengen.games.batch import BatchedGame
from tengen.search.fast_model import FastPolicy
from tengen.search.fast_rollouts import FastRollouts
from tengen.search.leaves import LeafEvaluation, Leaves, PlayoutEvaluation
from tengen.search.policy_play import PolicyPlay, PolicyPlayer, final_results, gather_games

RolloutPolicy = FastPolicy | PolicyPlayer
"""Who plays rollouts."""


def rollouts_of(game: BatchedGame, policy: RolloutPolicy | None, limit: int = 0, *, seed: int) -> LeafEvaluation:
    """One rollout from each leaf, of at most `limit` moves (0: to the end); without a policy, a playout of the game."""
    if policy is None:
        return PlayoutEvaluation(game, seed=seed)
    if isinstance(policy, PolicyPlayer):
        return NetworkRollouts(game, policy, limit, seed=seed)
    return FastRollouts(game, policy, limit=limit, seed=seed)


class NetworkRollouts:
    """The result of a game from each leaf whose moves are drawn from a network; all legal actions are alike.

    The leaves of a batch are played out in lock-step, so that the network sees them together. Nobody passes while there
    is another sensible move.
    """

    def __init__(self, game: BatchedGame, player: PolicyPlayer, limit: int = 0, *, seed: int | None = None) -> None:
        """`game`: with all that the player's encoder looks at. After `limit` moves the board is counted as it is."""
        if limit < 0:
            raise ValueError(f"rollouts of {limit} moves are not possible: give 1 or more, or 0 for no limit")
        self._game, self._player, self._limit = game, player, limit
        self._seeds = np.random.default_rng(seed)
        self._prepare()

    def evaluate(self, games: Any, count: int, leaves: Leaves) -> int:
        """Play every leaf out once that is not over."""
        if count > len(self._legal):
            self._make_room(len(leaves.over))
        index = np.flatnonzero(~leaves.over[:count])
        playing = int(gather_games(games, index, self._boards, self._legal))
        if not playing:
            return 0
        index = index[:playing]
        sign = np.where(self._game.to_play(self._boards)[:playing] == 1, 1.0, -1.0)
        movers, moves = np.zeros(playing, np.int64), 0
        while (movers == 0).any() and not 0 < self._limit <= moves:
            actions = self._play.choose(self._boards, movers)
            self._game.play(self._boards, actions)
            movers[actions < 0] = -1
            moves += 1
        leaves.values[index] = sign * final_results(self._game, self._boards, playing)
        leaves.logits[index] = 0.0
        return playing

    def warm_up(self, most: int) -> None:
        """Ask for batches of all sizes, for each of which the network may get ready anew."""
        planes = np.zeros((most, self._player.encoder.planes, self._game.height, self._game.width), np.uint8)
        for count in range(1, most + 1):
            self._player.evaluator.evaluate(planes[:count])

    def another(self) -> Self:
        """The same for another thread, with the next of its seeds."""
        twin = copy.copy(self)
        twin._prepare()
        return twin

    def _prepare(self) -> None:
        self._play = PolicyPlay(self._game, [self._player], int(self._seeds.integers(2**63)))
        self._make_room(1)

    def _make_room(self, count: int) -> None:
        self._boards = self._game.allocate(count)
        self._legal = np.zeros((count, self._game.actions), np.bool_)
