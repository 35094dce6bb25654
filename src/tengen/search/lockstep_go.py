"""Go for tree search and self-play: `Lockstep` over the kernels of `games/go/lockstep.py`."""

import numpy as np
from numpy.typing import NDArray

from tengen.encode.encoder import get_encoder
from tengen.games.go import GameState, get_rules
from tengen.games.go.board import MOVES, TO_PLAY, board_at, copy_board
from tengen.games.go.coordinates import check_size, from_policy, to_policy
from tengen.games.go.lockstep import (
    GoGames,
    allocate_games,
    copy_games,
    count_games,
    follow_paths,
    judge_games,
    play_games,
    restart_games,
)
from tengen.games.go.positions import PAST, Positions
from tengen.search.lockstep import GameSpec

_NEED_AGES = ("alphago", "alphago49")
_SNAPSHOTS = {"zero": PAST, "oneplane": 1}  # encoders that look at the past, or at the present as its newest part


class GoLockstep:
    """Many games of Go on boards of one size, counted by area as they stand."""

    def __init__(self, spec: GameSpec) -> None:
        if spec.encoder in _NEED_AGES:
            raise ValueError(f"self-play does not know the encoder {spec.encoder}: take compact-komi, compact or zero")
        rules = get_rules(spec.rules)
        if rules.scoring != "area":
            raise ValueError(f"games are counted by area here, which {rules.name} rules do not: take chinese")
        self.spec = spec
        self.height = self.width = check_size(spec.size)
        self.actions = self.branching = spec.size**2 + 1
        self.limit = spec.limit or 3 * spec.size**2
        self._flags, self._komi = rules.flags, rules.check_komi(spec.komi)
        self._encoder = get_encoder(spec.encoder)
        self.planes = self._encoder.planes
        self._past = _SNAPSHOTS.get(spec.encoder, 0)

    def allocate(self, count: int) -> GoGames:
        """`count` empty boards."""
        games = allocate_games(self.height, count, self.limit, self._past)
        self.restart(games, np.arange(count))
        return games

    def restart(self, games: GoGames, index: NDArray[np.int64]) -> None:
        """Empty the boards of these games."""
        restart_games(games, index, self.height, self._flags)

    def copy(
        self, source: GoGames, source_index: NDArray[np.int64], target: GoGames, target_index: NDArray[np.int64]
    ) -> None:
        """Copy games with their histories."""
        copy_games(source, source_index, target, target_index)

    def play(self, games: GoGames, actions: NDArray[np.int64]) -> None:
        """Play one legal action in each of the first games; -1 leaves a game alone."""
        play_games(games, actions, self._flags)

    def follow(
        self,
        roots: GoGames,
        index: NDArray[np.int64],
        paths: NDArray[np.int16],
        lengths: NDArray[np.int64],
        leaves: GoGames,
    ) -> None:
        """Make leaf l the game roots[index[l]] after the first lengths[l] actions of paths[l]."""
        follow_paths(roots, index, paths, lengths, leaves, self._flags)

    def judge(
        self,
        games: GoGames,
        count: int,
        legal: NDArray[np.bool_],
        over: NDArray[np.bool_],
        values: NDArray[np.float32],
    ) -> None:
        """Legal actions, ends and results of the first `count` games."""
        judge_games(games, count, self._flags, self._komi, self.limit, legal, over, values)

    def encode(self, games: GoGames, count: int, planes: NDArray[np.uint8]) -> None:
        """Write the first `count` games to planes: uint8[n, C, N, N]."""
        no_ages = np.empty((count, 0), np.int16)
        flat = planes[:count].reshape(count, self.planes, self.height * self.width)
        komi = np.full(count, self._komi, np.float32)
        self._encoder.kernel(Positions(games.boards, games.past, no_ages, komi), flat)

    def to_play(self, games: GoGames) -> NDArray[np.int8]:
        """int8[B]: BLACK or WHITE."""
        return games.boards.info[:, TO_PLAY].astype(np.int8)

    def count_up(self, games: GoGames, index: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """How these games stand: Black's margin float32[n], and the owner of every point int8[n, N * N], 1 Black's."""
        margins = np.empty(len(index), np.float32)
        ownership = np.empty((len(index), self.height * self.width), np.int8)
        count_games(games, index, self._komi, margins, ownership)
        return margins, ownership

    def load(self, games: GoGames, i: int, state: GameState) -> None:
        """Make game i this state; ValueError if it has gone on for too long for the arrays here."""
        if state.size != self.height:
            raise ValueError(f"the game is on {state.size}x{state.size}, and this is set up for {self.height}")
        length = len(state.history)
        if length >= games.history.shape[1]:
            raise ValueError(f"a game of {length - 1} moves is too long here: the limit is {self.limit}")
        copy_board(state.board, board_at(games.boards, i))
        games.boards.info[i, MOVES] = length - 1  # a game that began with set-up stones counts from there
        games.history[i, :length] = state.history
        games.length[i] = length
        back: GameState | None = state
        for turn in range(self._past):
            games.past[i, turn] = 0 if back is None else back.stones.ravel()
            back = None if back is None else back.previous

    def action_of(self, state: GameState, move: int) -> int:
        """A point's or a pass's index in the policy."""
        return to_policy(move, state.size)

    def move_of(self, state: GameState, action: int) -> int:
        """The point or pass at an index of the policy."""
        return from_policy(action, state.size)
