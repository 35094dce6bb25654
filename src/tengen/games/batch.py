"""Many games side by side: what tree search, self-play and environments do with the rules, one kernel call for all.

A `BatchedGame` owns no position. It knows a game and its options; positions live in the game's own arrays (`allocate`),
which pass through here untouched. An *action* is an index of the policy.
"""

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_zeros
from tengen.games.kernels import copy, judge, key, play, player, restart, sensible
from tengen.games.state import AnyState, Options

GameArrays: TypeAlias = Any
"""Positions of many games, as a game's `allocate` makes them: a NamedTuple of arrays whose first axis is the game."""


class BatchedGame(ABC):
    """A game played on many boards at once.

    >>> import tengen
    >>> game = tengen.get_game("tictactoe")
    >>> batch: tengen.BatchedGame = game.batch(game.options())
    >>> batch.actions, len(batch.allocate(3).squares)
    (9, 3)
    """

    options: Options
    height: int
    width: int
    actions: int
    branching: int
    """How many actions a position has, at most or nearly so: trees are given room by it."""
    spread: float = 174.0
    """How certain the `evaluate` kernel is: with an evaluation of so much, the chance to win is 0.73."""

    @abstractmethod
    def allocate(self, count: int) -> GameArrays:
        """`count` games at the start position."""

    @abstractmethod
    def load(self, games: GameArrays, i: int, state: Any) -> None:
        """Make game i this friendly state, with its history."""

    def vary(self, games: GameArrays, index: NDArray[np.int64], spread: float, rng: np.random.Generator) -> None:  # noqa: B027
        """Let these games, just restarted, differ from the options where the game can: in Go by komi."""

    def mark_dead(self, games: GameArrays, i: int, points: frozenset[int]) -> None:
        """Count the stones on these points of game i as dead, in games that have territory."""
        raise NotImplementedError(f"{self.options.game} has no stones that are taken off at the end")

    def score(self, games: GameArrays, index: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """How these games stand: the first player's margin, float32[n], and the owner of every point, int8[n, H * W],
        1 the first player's and -1 the second's; 0 and int8[n, 0] where a game has no points to own."""
        return np.zeros(len(index), np.float32), np.zeros((len(index), 0), np.int8)

    def estimate(
        self, games: GameArrays, index: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int8], NDArray[np.bool_]]:
        """How these games, which are not over, would end if they were played out: margins and owners as in `score`, and
        where they are clear, bool[n]; nowhere in games that have no points to own."""
        return *self.score(games, index), np.zeros(len(index), np.bool_)

    def use_evaluation(self, number: int) -> None:  # noqa: B027
        """Let the `evaluate` kernel take this one of the game's `evaluations`."""

    def restart(self, games: GameArrays, index: NDArray[np.int64]) -> None:
        """Set these games back to the start position."""
        restart_games(games, index)

    def copy(
        self, source: GameArrays, source_index: NDArray[np.int64], target: GameArrays, target_index: NDArray[np.int64]
    ) -> None:
        """Copy games, histories included, from one array to another."""
        copy_games(source, source_index, target, target_index)

    def play(self, games: GameArrays, actions: NDArray[np.int64]) -> None:
        """Play one legal action in each of the first games; -1 leaves a game alone."""
        play_games(games, actions)

    def follow(
        self,
        roots: GameArrays,
        index: NDArray[np.int64],
        paths: NDArray[np.int16],
        lengths: NDArray[np.int64],
        leaves: GameArrays,
    ) -> None:
        """Make leaf l the game roots[index[l]] after the first lengths[l] actions of paths[l]; paths: int16[L, D]."""
        follow_paths(roots, index, paths, lengths, leaves)

    def judge(
        self,
        games: GameArrays,
        count: int,
        legal: NDArray[np.bool_],
        over: NDArray[np.bool_],
        values: NDArray[np.float32],
    ) -> None:
        """Of the first `count` games: which actions are legal (bool[n, A]), which games are over (bool[n]), and what
        those are worth to the player to move: 1, 0 or -1 (float32[n], 0 where the game goes on)."""
        judge_games(games, count, legal, over, values)

    def keep_sensible(self, games: GameArrays, count: int, legal: NDArray[np.bool_]) -> None:
        """Of the legal actions of the first `count` games (bool[n, A], none of them over), keep those that a policy
        needs to consider: in Go, those that neither fill an own eye nor are suicide; a pass where there are none."""
        keep_sensible_actions(games, count, legal)

    def to_play(self, games: GameArrays) -> NDArray[np.int8]:
        """int8[B]: 1 where the player who began is to move, else 2."""
        first = games
        while isinstance(first, tuple):  # some arrays of a game may lie in a tuple of their own
            first = first[0]
        players = np.empty(len(first), np.int8)
        write_players(games, players)
        return players

    def keys(self, games: GameArrays, count: int) -> NDArray[np.int64]:
        """int64[count]: what tells the positions of the first games apart, as transposition tables do."""
        found = np.empty(count, np.int64)
        write_keys(games, found)
        return found


# --------------------------------------------------------------------------------------------- kernels


@kernel
def restart_games(games, index):  # type: ignore[no-untyped-def]
    """Set the games of index: int64[n] back to the start position."""
    for k in range(index.shape[0]):
        restart(games, index[k])


@kernel
def copy_games(source, source_index, target, target_index):  # type: ignore[no-untyped-def]
    """Copy games from one array of them to another; both indices: int64[n]."""
    for k in range(source_index.shape[0]):
        copy(source, source_index[k], target, target_index[k])


@kernel
def play_games(games, actions):  # type: ignore[no-untyped-def]
    """Play one legal action in each of the first games; actions: int64[n], -1 to leave a game alone."""
    for i in range(actions.shape[0]):
        if actions[i] >= 0:
            play(games, i, actions[i])


@kernel
def follow_paths(roots, index, paths, lengths, leaves):  # type: ignore[no-untyped-def]
    """Make leaf l the game roots[index[l]] after the first lengths[l] actions of paths[l].

    index, lengths: int64[L]; paths: int16[L, D].
    """
    for leaf in range(index.shape[0]):
        copy(roots, index[leaf], leaves, leaf)
        for k in range(lengths[leaf]):
            play(leaves, leaf, np.int64(paths[leaf, k]))


@kernel
def judge_games(games, count, legal, over, values):  # type: ignore[no-untyped-def]
    """Of the first `count` games: legal: bool[n, A], over: bool[n], values: float32[n]."""
    for i in range(count):
        over[i], values[i] = judge(games, i, legal[i])


@kernel
def keep_sensible_actions(games, count, legal):  # type: ignore[no-untyped-def]
    """Take actions that are not sensible out of legal: bool[n, A]."""
    for i in range(count):
        sensible(games, i, legal[i])


@kernel
def write_players(games, players):  # type: ignore[no-untyped-def]
    """Write whose turn it is in the first games to players: int8[n]."""
    for i in range(players.shape[0]):
        players[i] = player(games, i)


@kernel
def write_keys(games, keys):  # type: ignore[no-untyped-def]
    """Write the keys of the first games to keys: int64[n]."""
    for i in range(keys.shape[0]):
        keys[i] = key(games, i)


# ----------------------------------------------------------------------------------------------- perft


def perft(batch: BatchedGame, state: AnyState, depth: int) -> int:
    """How many sequences of `depth` legal moves a state has; a game that is over has none."""
    if depth <= 0:
        return 1
    games = batch.allocate(depth)
    batch.load(games, 0, state)
    return int(count_leaves(games, np.zeros((depth, batch.actions), np.bool_)))


@kernel
def count_leaves(games, legal):  # type: ignore[no-untyped-def]
    """Perft of game 0, to the depth of legal: bool[depth, A]; the other games are room for the way down."""
    depth, actions = legal.shape
    tried = stack_zeros(depth, np.int64)  # actions of each level that are done
    judge(games, 0, legal[0])
    leaves, level = 0, 0
    while level >= 0:
        if level + 1 == depth:
            leaves += legal[level].sum()
            level -= 1
            continue
        while tried[level] < actions and not legal[level, tried[level]]:
            tried[level] += 1
        if tried[level] == actions:
            level -= 1
            continue
        copy(games, level, games, level + 1)
        play(games, level + 1, tried[level])
        tried[level] += 1
        level += 1
        tried[level] = 0
        judge(games, level, legal[level])
    return leaves
