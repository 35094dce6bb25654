"""Many games in lock-step whose moves are those with the best value one ply ahead, or random ones.

In every turn all children of all games, each the position after a legal move, are set up by a kernel, encoded, and
evaluated as one batch, repeated positions once. A finished game is worth its result. This is the greedy player of the
Simple-Go lecture. In Go only *sensible* moves are considered, as in `policy_play`; under Simple-Go's rules these are
all legal moves.

    play = ValuePlay(batch, [evaluation, None])                   # the second player moves at random
    actions = play.choose(boards, movers, at_random, uniform)     # movers: int64[B], who moves in each game
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array
from tengen.games.batch import BatchedGame
from tengen.games.kernels import copy, ending, judge, play, restart, sensible
from tengen.games.xorshift import next_random, random_below
from tengen.search.leaves import LeafEvaluation, new_leaves

_ROOM = 16_384  # children that are set up together, each a game with its history


class Children(NamedTuple):
    """The positions after every considered move of some games."""

    parent: NDArray[np.int64]  # [n] the number of the game
    action: NDArray[np.int64]  # [n]
    value: NDArray[np.float32]  # [n] to the player who made the move, -1 to 1


class ValuePlay:
    """Chooses moves in many games. A player is an evaluation of leaves, or None: it moves at random."""

    def __init__(self, game: BatchedGame, players: Sequence[LeafEvaluation | None]) -> None:
        """`game`: with all that the evaluations' encoders look at."""
        self.game, self.players = game, tuple(players)
        self.evaluations = 0
        """Positions that networks were asked about so far."""
        self.children = 0
        """Positions whose value was wanted so far."""
        self._legal = np.zeros((0, game.actions), np.bool_)
        self._scratch: Any = None

    def choose(
        self, boards: Any, movers: NDArray[np.int64], at_random: NDArray[np.bool_], uniform: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """int64[B]: an action for each of the first games, by player movers[i] of int64[B], or at random where
        at_random: bool[B] says so, by uniform: float64[B], 0 to 1; -1 where the game is over or movers[i] is -1."""
        count = len(movers)
        actions = np.full(count, -1, np.int64)
        if len(self._legal) < count:
            self._legal = np.zeros((count, self.game.actions), np.bool_)
        legal = self._legal[:count]
        choices = np.empty(count, np.int64)
        consider(boards, movers, legal, choices)
        nobody = np.array([player is None for player in self.players], np.bool_)
        drawn = (choices > 0) & (at_random | nobody[movers] | (choices == 1))
        draw_alike(legal, drawn, choices, uniform, actions)
        for number in range(len(self.players)):
            index = np.flatnonzero((choices > 0) & ~drawn & (movers == number))
            for children in self._evaluated(boards, index, legal, number):
                take_best(children.parent, children.action, children.value, actions)
        return actions

    def values(self, boards: Any, number: int, player: int) -> dict[int, float]:
        """The value of every considered action of game `number` to its mover, by the evaluation of this player."""
        legal = np.zeros((number + 1, self.game.actions), np.bool_)
        movers = np.full(number + 1, -1, np.int64)
        movers[number] = player
        consider(boards, movers, legal, np.empty(number + 1, np.int64))
        found: dict[int, float] = {}
        for children in self._evaluated(boards, np.array([number]), legal, player):
            found |= {int(action): float(value) for action, value in zip(children.action, children.value)}
        return found

    def _evaluated(
        self, boards: Any, index: NDArray[np.int64], legal: NDArray[np.bool_], number: int
    ) -> Iterator[Children]:
        """The children of these games, some thousand at a time, all of a game together."""
        player = self.players[number]
        if not len(index):
            return
        assert player is not None
        if self._scratch is None:
            self._scratch = self.game.allocate(_ROOM)
            self._leaves = new_leaves(_ROOM, self.game.actions)._replace(
                legal=np.zeros((_ROOM, 0), np.bool_), logits=np.zeros((_ROOM, 0), np.float32)
            )
            self._parent, self._action = np.zeros(_ROOM, np.int64), np.zeros(_ROOM, np.int64)
        leaves, begin = self._leaves, 0
        while begin < len(index):
            begin, count = make_children(
                boards, index, begin, legal, self._scratch, self._parent, self._action, leaves.over, leaves.results
            )
            leaves.over[count:] = True
            self.evaluations += player.evaluate(self._scratch, count, leaves)
            self.children += count
            values = -np.where(leaves.over[:count], leaves.results[:count], leaves.values[:count])
            yield Children(self._parent[:count], self._action[:count], values)


def play_at_random(game: BatchedGame, boards: Any, count: int, seed: int) -> NDArray[np.int16]:
    """Play the first games to their end from the start position, moves being drawn among the sensible ones, all alike;
    returns the actions, int16[count, D], -1 after the end of a game."""
    longest = 64
    while True:
        actions = np.full((count, longest), -1, np.int16)
        length = int(random_games(boards, actions, np.zeros(game.actions, np.bool_), np.uint64(seed | 1)))
        if length <= longest:
            return np.ascontiguousarray(actions[:, :length])
        longest *= 2


# --------------------------------------------------------------------------------------------- kernels


@kernel
def consider(games, movers, legal, choices):  # type: ignore[no-untyped-def]
    """Write the sensible actions of the games with movers[i] >= 0 to legal: bool[B, A], and to choices:
    int64[B] how many there are, 0 where a game is over or has no mover."""
    choices[:] = 0
    for i in range(movers.shape[0]):
        if movers[i] >= 0:
            over, _ = judge(games, i, legal[i])
            if not over:
                sensible(games, i, legal[i])
                for action in range(legal.shape[1]):
                    choices[i] += legal[i, action]


@kernel
def draw_alike(legal, drawn, choices, uniform, actions):  # type: ignore[no-untyped-def]
    """Where drawn: bool[B], write one of the choices[i] legal actions to actions: int64[B]; uniform: float64[B]."""
    for i in range(drawn.shape[0]):
        if drawn[i]:
            left = min(np.int64(uniform[i] * choices[i]), choices[i] - 1)
            for action in range(legal.shape[1]):
                if legal[i, action]:
                    if left == 0:
                        actions[i] = action
                        break
                    left -= 1


@kernel
def make_children(games, index, begin, legal, children, parent, action, over, results):  # type: ignore[no-untyped-def]
    """Set up the children of games index[begin], index[begin + 1], ... for as long as there is room for all of a game.

    index: int64[n]; legal: bool[B, A]. Writes children, and for each of them parent, action: int64[L], whether it is
    over: bool[L], and results: float32[L], what it is worth to who is to move there. Returns (the index where to go on,
    how many children).
    """
    count, k = 0, begin
    scratch = stack_array(legal.shape[1], np.int16)
    while k < index.shape[0] and count + legal.shape[1] <= parent.shape[0]:
        i = index[k]
        for a in range(legal.shape[1]):
            if legal[i, a]:
                copy(games, i, children, count)
                play(children, count, a)
                over[count], value = ending(children, count, scratch)
                results[count] = np.sign(value) if over[count] else 0
                parent[count], action[count] = i, a
                count += 1
        k += 1
    return k, count


@kernel
def take_best(parent, action, value, actions):  # type: ignore[no-untyped-def]
    """Write the action of the best child of each game to actions: int64[B]; of equals the first."""
    best = np.float32(0.0)
    for k in range(parent.shape[0]):
        if k == 0 or parent[k] != parent[k - 1] or value[k] > best:
            best = value[k]
            actions[parent[k]] = action[k]


@kernel
def random_games(games, actions, legal, state):  # type: ignore[no-untyped-def]
    """Play random games from the start; actions: int16[B, D] is given their moves. Returns the longest length.

    legal: bool[A] is scratch room; state: of the random numbers, a non-zero uint64.
    """
    longest = 0
    for i in range(actions.shape[0]):
        restart(games, i)
        length = 0
        while True:
            over, _ = judge(games, i, legal)
            if over:
                break
            sensible(games, i, legal)
            choices = 0
            for action in range(legal.shape[0]):
                choices += legal[action]
            state = next_random(state)
            left = random_below(state, choices)
            for action in range(legal.shape[0]):
                if legal[action]:
                    if left == 0:
                        play(games, i, action)
                        if length < actions.shape[1]:
                            actions[i, length] = action
                        break
                    left -= 1
            length += 1
        longest = max(longest, length)
    return longest
