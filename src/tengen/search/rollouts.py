"""The rollouts of a search: a game played on from each leaf by quick moves, to see who wins it. AlphaGo's z.

| rollouts            | whose moves                      | for                     |
|---------------------|----------------------------------|-------------------------|
| `FastRollouts`      | a fast policy's                  | Go, on boards of any size |
| `NetworkRollouts`   | a network's, drawn in lock-step  | every game              |
| `PlayoutEvaluation` | the game's own idea of a playout | every game (`leaves`)   |

`FastRollouts` divides scores by a temperature below 1, so that likely moves come more often than the policy predicts
them: on 9x9 this made the errors of rollouts smaller (`docs/models.md`).
"""

import copy
from itertools import islice
from typing import Final, NamedTuple, Self

import numpy as np

from tengen._kernel import kernel
from tengen.games.batch import BatchedGame, GameArrays
from tengen.games.go.batch import FLAGS, BatchedGo
from tengen.games.go.board import BLACK, PASSES, TO_PLAY, Board, allocate, board_at, copy_board
from tengen.games.go.score import area, final_margin
from tengen.search.fast_playout import (
    DrawRoom,
    Tracker,
    copy_tracker,
    new_draw_room,
    new_tracker,
    run_fast_playout,
    track,
)
from tengen.search.fast_policy import FastPolicy
from tengen.search.fast_shapes import shape_tables
from tengen.search.leaves import LeafEvaluation, Leaves, PlayoutEvaluation
from tengen.search.lockstep import PolicyPlay, PolicyPlayer, final_results, gather_games, play_in_lockstep

ROLLOUT_TEMPERATURE: Final = 0.6

RolloutPolicy = FastPolicy | PolicyPlayer
"""What chooses the moves of rollouts."""


def rollouts_of(game: BatchedGame, policy: RolloutPolicy | None, limit: int = 0, *, seed: int) -> LeafEvaluation:
    """One rollout from each leaf, of at most `limit` moves (0: to the end); without a policy, a playout of the game."""
    if policy is None:
        return PlayoutEvaluation(game, seed=seed)
    if isinstance(policy, PolicyPlayer):
        return NetworkRollouts(game, policy, limit, seed=seed)
    return FastRollouts(game, policy, limit=limit, seed=seed)


class FastRollouts:
    """The mean result of rollouts by a fast policy, for Go on boards of every size; all legal actions are alike.

    Each has scratch room of its own, so threads need one each (`another`); they share the policy's tables.

    >>> import numpy as np
    >>> import tengen
    >>> game = tengen.get_game("go")
    >>> batch = game.batch(game.options.of({"size": 9}))
    >>> rollouts = tengen.FastRollouts(batch, tengen.load_fast_policy(size=9), seed=1)
    >>> searcher = tengen.Searcher(batch, rollouts, tengen.Puct(), seed=1)
    >>> int(searcher.search(batch.allocate(1), np.arange(1), simulations=50).visits.sum())
    50
    """

    def __init__(
        self,
        game: BatchedGame,
        policy: FastPolicy,
        playouts: int = 1,
        limit: int = 0,
        seed: int | None = None,
        temperature: float = ROLLOUT_TEMPERATURE,
    ) -> None:
        """`playouts` for each leaf, of at most `limit` moves (0: three times the points of the board)."""
        if not isinstance(game, BatchedGo):
            raise ValueError(f"a fast policy plays Go, not {game.options.game}: use the game's own playouts, guided")
        if playouts < 1 or limit < 0:
            raise ValueError(f"{playouts} rollouts of at most {limit} moves are not possible: give at least 1, and 0")
        self._playouts, self._limit = playouts, limit or 3 * game.height**2
        self._tables, self._factors = shape_tables(), policy.factors(game.height, temperature)
        self._size, self._seeds = game.height, np.random.default_rng(seed)
        self._prepare()

    def _prepare(self) -> None:
        """Scratch room and random numbers of its own."""
        self._room = new_rollout_room(self._size)
        self._rng = np.array([self._seeds.integers(1, 2**63)], np.uint64)
        self.moves = 0
        """Moves played so far."""

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Play every game that is not over to its end."""
        leaves.logits[:count] = 0.0
        done, moves = roll_out_leaves(
            games, count, leaves.over, self._playouts, self._limit, self._tables, self._factors, self._room, self._rng,
            leaves.values,
        )  # fmt: skip
        self.moves += moves
        return int(done)

    def warm_up(self, most: int) -> None:
        """Nothing to wait for but the kernel, which the first search loads."""

    def another(self) -> Self:
        """The same for another thread, with the next of its seeds."""
        twin = copy.copy(self)
        twin._prepare()
        return twin


class RolloutRoom(NamedTuple):
    """Scratch room for rollouts from one leaf at a time."""

    board: Board
    first: Tracker  # of the leaf
    tracker: Tracker
    draw: DrawRoom


def new_rollout_room(size: int) -> RolloutRoom:
    """Scratch room for boards of this size."""
    return RolloutRoom(allocate(size), new_tracker(size), new_tracker(size), new_draw_room(size))


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

    def evaluate(self, games: GameArrays, count: int, leaves: Leaves) -> int:
        """Play every leaf out once that is not over."""
        if count > len(self._legal):
            self._make_room(len(leaves.over))
        index = np.flatnonzero(~leaves.over[:count])
        playing = int(gather_games(games, index, self._boards, self._legal))
        if not playing:
            return 0
        index = index[:playing]
        sign = np.where(self._game.to_play(self._boards)[:playing] == 1, 1.0, -1.0)
        turns = play_in_lockstep(
            self._game,
            self._boards,
            playing,
            lambda _, running: self._play.choose(self._boards, np.where(running, 0, -1)),
        )
        for _ in islice(turns, self._limit or None):
            pass
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


# --------------------------------------------------------------------------------------------- kernels


@kernel
def roll_out_leaves(  # type: ignore[no-untyped-def]
    games, count, over, playouts, limit, tables, factors, room, rng, values
):
    """Write the mean result of rollouts of the first games to values: float32[L], for the player to move.

    Returns (how many games were played out, moves). The end is counted by area, also of a rollout that was cut off.
    """
    flags = games.rules[FLAGS]
    state, done, moves = rng[0], 0, 0
    for k in range(count):
        if over[k]:
            continue
        board = board_at(games.boards, k)
        sign = np.float32(1.0) if board.info[TO_PLAY] == BLACK else np.float32(-1.0)
        done += 1
        if board.info[PASSES] >= 2:
            values[k] = sign * np.sign(final_margin(board, flags, games.dead[k]) - games.komi[k])
            continue
        track(board, room.first, tables, factors, flags)
        total = np.float32(0.0)
        for _ in range(playouts):
            copy_board(board, room.board)
            copy_tracker(room.first, room.tracker)
            last, before = np.int64(games.recent[k, 0]), np.int64(games.recent[k, 1])
            state, n = run_fast_playout(
                room.board, room.tracker, tables, factors, last, before, flags, limit, room.draw, state
            )
            moves += n
            total += np.sign(area(room.board) - games.komi[k])
        values[k] = sign * total / np.float32(playouts)
    rng[0] = state
    return done, moves
