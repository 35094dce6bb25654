"""Many games in lock-step whose moves are drawn from policies: no search, one batch a player and turn.

A move is drawn from the softmax of the network's logits over the *sensible* actions, which in Go leave out moves that
fill an own eye and suicide (`games.kernels.sensible`, the sensibleness plane of AlphaGo). Like AlphaGo's policy, nobody
passes while there is anything else: games go on until little is left to count, and a policy cannot learn to win by
passing early, when the opponent may pass as well and a count of unfinished positions decides.

    play = PolicyPlay(batch, [PolicyPlayer(encoder, learner), PolicyPlayer(encoder, opponent)], seed=1)
    boards = batch.allocate(512)
    turns = play_to_end(play, boards, first, second)     # first, second: int64[512], who plays which side
    results = final_results(batch, boards, 512)
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array
from tengen.encode.encoder import Encoder
from tengen.games.batch import BatchedGame
from tengen.games.game import get_game, open_batch
from tengen.games.kernels import copy, judge, sensible
from tengen.games.options import Options
from tengen.nets.evaluator import Evaluator

_AT_ONCE = 256  # positions that a network sees together: larger batches leave the processor's cache


class PolicyPlayer(NamedTuple):
    """A network whose policy plays."""

    encoder: Encoder
    evaluator: Evaluator


class PlayedTurns(NamedTuple):
    """What happened in B games over D turns; games that are over wait for the others."""

    actions: NDArray[np.int16]  # [B, D] -1 after the end of a game
    players: NDArray[np.int8]  # [B, D] who moved: 1 the first player, 2 the second, 0 nobody
    chances: NDArray[np.float32]  # [B, D] how likely each action was to be drawn; 1 where nobody moved

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[B]: how many moves each game has."""
        lengths: NDArray[np.int64] = (self.actions >= 0).sum(axis=1)
        return lengths


def batch_for(options: Options, encoders: Sequence[Encoder]) -> BatchedGame:
    """Many games at once that all of these encoders can show."""
    return open_batch(options, max(each.past for each in encoders), any(each.ages for each in encoders))


class PolicyPlay:
    """Draws moves in many games. A player that is None draws among all sensible actions alike."""

    def __init__(self, game: BatchedGame, players: Sequence[PolicyPlayer | None], seed: int | Sequence[int]) -> None:
        """`game`: with all that the players' encoders look at, see `batch_for`."""
        self.game, self.players = game, tuple(players)
        self.chances = np.ones(0, np.float32)
        """float32[B]: how likely the actions of the last `choose` were to be drawn; 1 where there is none."""
        self._rng = np.random.default_rng(seed)
        self._make_room(1)

    def choose(self, boards: Any, movers: NDArray[np.int64], temperature: float = 1.0) -> NDArray[np.int64]:
        """int64[B]: an action for each of the first games, drawn by player movers[i] of int64[B]; -1 leaves a game out.

        Temperature 0 takes the likeliest. Where a game is over, the action is -1; `BatchedGame.play` leaves it alone.
        """
        actions = np.full(len(movers), -1, np.int64)
        self.chances = np.ones(len(movers), np.float32)
        for number, player in enumerate(self.players):
            index = np.flatnonzero(movers == number)
            if len(index) > len(self._logits):
                self._make_room(len(index))
            count = int(gather_games(boards, index, self._scratch, self._legal)) if len(index) else 0
            if count:
                self._evaluate(player, count)
                uniform = self._rng.random(count)
                draw_actions(self._logits[:count], self._legal, temperature, uniform, index, actions)
                if temperature > 0:
                    self.chances[index[:count]] = self._chances(actions[index[:count]], temperature)
        return actions

    def _evaluate(self, player: PolicyPlayer | None, count: int) -> None:
        """Write the logits of the first games of the scratch room."""
        if player is None:
            self._logits[:count] = 0.0
            return
        planes = np.empty((count, player.encoder.planes, self.game.height, self.game.width), np.uint8)
        player.encoder.encode_games(self._scratch, count, planes)
        for begin in range(0, count, _AT_ONCE):
            part = slice(begin, min(count, begin + _AT_ONCE))
            self._logits[part] = player.evaluator.evaluate(planes[part])[0]

    def _chances(self, actions: NDArray[np.int64], temperature: float) -> NDArray[np.float32]:
        """float32[n]: how likely an action is to be drawn in each of the first games of the scratch room."""
        count = len(actions)
        scaled = np.where(self._legal[:count], self._logits[:count] / np.float32(temperature), -np.inf)
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        chances: NDArray[np.float32] = weights[np.arange(count), actions] / weights.sum(axis=1)
        return chances

    def _make_room(self, count: int) -> None:
        self._scratch = self.game.allocate(count)
        self._legal = np.zeros((count, self.game.actions), np.bool_)
        self._logits = np.zeros((count, self.game.actions), np.float32)


def play_to_end(
    play: PolicyPlay,
    boards: Any,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    temperature: float = 1.0,
) -> PlayedTurns:
    """Play the first B games to their end; first, second: int64[B], which player has the first player's moves in each,
    and which one the second's."""
    actions: list[NDArray[np.int16]] = []
    players: list[NDArray[np.int8]] = []
    chances: list[NDArray[np.float32]] = []
    running = np.ones(len(first), np.bool_)
    while running.any():
        player = play.game.to_play(boards)[: len(first)]
        drawn = play.choose(boards, np.where(running, np.where(player == 1, first, second), -1), temperature)
        play.game.play(boards, drawn)
        running = drawn >= 0
        actions.append(drawn.astype(np.int16))
        players.append(np.where(running, player, 0).astype(np.int8))
        chances.append(play.chances)
    played = slice(0, len(actions) - 1)  # nobody moved in the last turn
    return PlayedTurns(
        np.stack(actions, axis=1)[:, played], np.stack(players, axis=1)[:, played], np.stack(chances, axis=1)[:, played]
    )


def final_results(game: BatchedGame, boards: Any, count: int) -> NDArray[np.int8]:
    """int8[count]: how the first games, which are over, ended for the first player: 1 won, 0 drawn, -1 lost.

    Where a game is counted, it is counted as in self-play and matches, with dead stones taken off.
    """
    if get_game(game.options.game).territory:
        return np.sign(game.score(boards, np.arange(count))[0]).astype(np.int8)
    legal, over = np.zeros((count, game.actions), np.bool_), np.zeros(count, np.bool_)
    values = np.zeros(count, np.float32)
    game.judge(boards, count, legal, over, values)
    return np.where(game.to_play(boards)[:count] == 1, values, -values).astype(np.int8)


# --------------------------------------------------------------------------------------------- kernels


@kernel
def gather_games(games, index, scratch, legal):  # type: ignore[no-untyped-def]
    """Copy those games of index: int64[n] that go on to the front of scratch, their sensible actions to
    legal: bool[n, A], and their numbers to the front of index; returns how many they are."""
    count = 0
    for k in range(index.shape[0]):
        i = index[k]
        over, _ = judge(games, i, legal[count])
        if not over:
            sensible(games, i, legal[count])
            copy(games, i, scratch, count)
            index[count] = i
            count += 1
    return count


@kernel
def draw_actions(logits, legal, temperature, uniform, index, actions):  # type: ignore[no-untyped-def]
    """Draw actions[index[k]] from the softmax of logits[k] / temperature over legal[k]; temperature 0: the likeliest.

    logits: float32[n, A]; legal: bool[m, A], m >= n; uniform: float64[n], 0 to 1; index: int64[m]; actions: int64[B].
    """
    weights = stack_array(logits.shape[1], np.float64)
    for k in range(logits.shape[0]):
        best = -1
        for a in range(logits.shape[1]):
            if legal[k, a] and (best < 0 or logits[k, a] > logits[k, best]):
                best = a
        if temperature > 0:
            total = 0.0
            for a in range(logits.shape[1]):
                weights[a] = np.exp((logits[k, a] - logits[k, best]) / temperature) if legal[k, a] else 0.0
                total += weights[a]
            left = uniform[k] * total
            for a in range(logits.shape[1]):  # should rounding carry us past the end, it is the likeliest
                left -= weights[a]
                if left < 0:
                    best = a
                    break
        actions[index[k]] = best
