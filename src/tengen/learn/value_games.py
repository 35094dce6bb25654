"""Games for value learning, of each of which one position is kept (Silver et al. 2016, "Reinforcement learning of value
networks"): successive positions of a game share one result, and a network would learn the games by heart.

    U drawn from 1 ... last_move;  moves 1 ... U - 1 by the supervised policy;  move U at random among all legal points;
    then the policy that learned by reinforcement to the end.

The position after move U is the one to learn from; what follows was played by the policy whose results are to be
predicted. Games that end before it are left out. Many games go side by side (`search.policy_play`); a game that ends
makes room for the next, and all games that were begun are finished, so that long ones are not left out.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.data.records import digest_of
from tengen.encode.registry import get_encoder
from tengen.games.go.positions import WHITE_BIT
from tengen.games.go.rules import GoOptions
from tengen.learn.value_config import PositionSettings
from tengen.nets.evaluator import load_evaluator
from tengen.search.policy_play import PolicyPlay, PolicyPlayer, batch_for

_NOBODY, _SUPERVISED, _REINFORCED = -1, 0, 1  # who moves
_SLOTS = 512  # games side by side


class ValueGames(NamedTuple):
    """G games up to the one position that is learned from, and the move after it.

    Game g has moves[offsets[g] : offsets[g + 1]]; the position is the one before the last of these.
    """

    moves: NDArray[np.uint16]  # [T] as in `games.go.positions`
    offsets: NDArray[np.int64]  # [G + 1]
    komi: NDArray[np.float32]  # [G]
    margin: NDArray[np.float32]  # [G] Black's points minus White's and komi at the end of the game
    digest: NDArray[np.uint64]  # [G] of the whole game: decides whether it is a test game


class ValuePlayer:
    """Plays the games."""

    def __init__(self, settings: PositionSettings) -> None:
        self._settings = settings
        self._players = tuple(_player(model) for model in (settings.policy, settings.rl))
        options = GoOptions(size=settings.size, rules=settings.rules, komi=settings.komi)
        self._game = batch_for(options, [player.encoder for player in self._players])

    def play(self, number: int, games: int) -> tuple[int, ValueGames]:
        """Chunk `number`: begin so many games; returns the number and those that last beyond their position.

        The same number gives the same games, whichever worker plays them.
        """
        rng = np.random.default_rng((self._settings.seed, number))
        play = PolicyPlay(self._game, self._players, seed=(self._settings.seed, number, 1))
        table = _Table(self._game, self._settings, min(_SLOTS, games), games, rng)
        while table.active.any():
            movers, at_random = table.movers()
            before = np.where(movers == _SUPERVISED, movers, _NOBODY)
            after = np.where(movers == _REINFORCED, movers, _NOBODY)
            actions = play.choose(table.boards, before)
            actions = np.maximum(actions, play.choose(table.boards, after, self._settings.temperature))
            if len(at_random):
                actions[at_random] = table.random_points(at_random)
            table.play(actions)
        return number, _join(table.finished)


def _player(model: str) -> PolicyPlayer:
    evaluator, card = load_evaluator(model, "fastest")
    if card.game != "go" or not evaluator.architecture.policy:
        raise ValueError(f"{model} holds no policy for Go: it cannot play the games")
    return PolicyPlayer(get_encoder(card.encoder), evaluator)


class _Table:
    """The games under way, each in a slot."""

    def __init__(self, game: Any, settings: PositionSettings, slots: int, games: int, rng: np.random.Generator) -> None:
        self._game, self._settings, self._rng, self._waiting = game, settings, rng, games
        self.boards = game.allocate(slots)
        self.active = np.zeros(slots, np.bool_)
        self.finished: list[tuple[NDArray[np.uint16], float, float, int]] = []
        self._position = np.zeros(slots, np.int64)  # U: how many moves the position to learn from has
        self._ply = np.zeros(slots, np.int64)
        self._actions = np.zeros((slots, game.limit), np.uint16)
        self._legal = np.zeros((slots, game.actions), np.bool_)
        self._over, self._values = np.zeros(slots, np.bool_), np.zeros(slots, np.float32)
        self._begin(np.arange(slots))

    def movers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[S]: who moves in each slot; and the slots in which a move is drawn at random."""
        before = self._ply < self._position - 1
        turn = np.where(before, _SUPERVISED, _REINFORCED)
        at_random = self.active & (self._ply == self._position - 1)
        return np.where(self.active & ~at_random, turn, _NOBODY), np.flatnonzero(at_random)

    def random_points(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """A legal point for each of these slots, all alike; -1 where there is none, or the game is over."""
        self._game.judge(self.boards, len(self.active), self._legal, self._over, self._values)
        points = self._legal[index, :-1]
        drawn = np.where(points, self._rng.random(points.shape), -1.0)
        return np.where(points.any(axis=1), drawn.argmax(axis=1), -1)

    def play(self, actions: NDArray[np.int64]) -> None:
        """Play an action in every slot; a game for which there is none (-1) is finished, and another one begins."""
        going = np.flatnonzero(self.active & (actions >= 0))
        self._actions[going, self._ply[going]] = actions[going]
        self._game.play(self.boards, actions)
        self._ply[going] += 1
        ended = np.flatnonzero(self.active & (actions < 0))
        if len(ended):
            self._finish(ended[self._ply[ended] > self._position[ended]])
            self._begin(ended)

    def _finish(self, ended: NDArray[np.int64]) -> None:
        if not len(ended):
            return
        margins, _ = self._game.score(self.boards, ended)
        colors = np.where(np.arange(self._game.limit) % 2, WHITE_BIT, 0).astype(np.uint16)
        for i, margin in zip(ended, margins):
            codes = (self._actions[i] | colors)[: self._ply[i]]
            komi = float(self.boards.komi[i])
            digest = digest_of(self._settings.size, np.array([int(2 * komi) & 0xFFFF], np.uint16), codes)
            self.finished.append((codes[: self._position[i] + 1].copy(), komi, float(margin), digest))

    def _begin(self, index: NDArray[np.int64]) -> None:
        """Start games in these slots for as long as there are some to start."""
        used, free = np.split(index, [min(len(index), self._waiting)])
        self._waiting -= len(used)
        self.active[used], self.active[free] = True, False
        self._game.restart(self.boards, used)
        self._game.vary(self.boards, used, self._settings.komi_spread, self._rng)
        self._position[used] = self._rng.integers(1, self._settings.last_move + 1, len(used))
        self._ply[used] = 0


def _join(games: list[tuple[NDArray[np.uint16], float, float, int]]) -> ValueGames:
    lengths = [len(codes) for codes, _, _, _ in games]
    return ValueGames(
        np.concatenate([codes for codes, _, _, _ in games]) if games else np.zeros(0, np.uint16),
        np.cumsum([0, *lengths], dtype=np.int64),
        np.array([komi for _, komi, _, _ in games], np.float32),
        np.array([margin for _, _, margin, _ in games], np.float32),
        np.array([digest for _, _, _, digest in games], np.uint64),
    )
