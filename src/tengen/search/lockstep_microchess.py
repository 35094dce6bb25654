"""Microchess for tree search and self-play: `Lockstep` over the kernels of `games/microchess/lockstep.py`."""

import numpy as np
from numpy.typing import NDArray

from tengen.encode.microchess import get_microchess_encoder
from tengen.games.microchess import ACTIONS, FILES, RANKS, GameState, rule_flags
from tengen.games.microchess.board import CASTLING, RULES, TO_PLAY, Board, allocate, board_at, copy_board
from tengen.games.microchess.lockstep import copy_games, follow_paths, judge_games, play_games, restart_games
from tengen.games.microchess.tables import UNKNOWN, Tables
from tengen.search.lockstep import GameSpec

_BRANCHING = 64  # positions with more moves are rare; a tree without room goes on evaluating, but no longer grows


class MicrochessLockstep:
    """Many games of Microchess by one set of rules."""

    def __init__(self, spec: GameSpec) -> None:
        self.spec = spec
        self.height, self.width, self.actions, self.branching = RANKS, FILES, ACTIONS, _BRANCHING
        self._flags = rule_flags(spec.rules, spec.double_step)
        self._encoder = get_microchess_encoder(spec.encoder)
        self.planes = self._encoder.planes
        self._tables: Tables | None = None

    def use_tables(self, tables: Tables) -> None:
        """Judge positions that the endgame tables know by them, as if the game ended there. Standard rules only."""
        if self.spec.rules != "standard":
            raise ValueError(f"endgame tables hold under standard rules, and not under {self.spec.rules}")
        self._tables = tables

    def allocate(self, count: int) -> Board:
        """`count` games at the start position."""
        games = allocate(count)
        self.restart(games, np.arange(count))
        return games

    def restart(self, games: Board, index: NDArray[np.int64]) -> None:
        """Set these games back to the start position."""
        restart_games(games, index, self._flags)

    def copy(
        self, source: Board, source_index: NDArray[np.int64], target: Board, target_index: NDArray[np.int64]
    ) -> None:
        """Copy games with what they remember of their past."""
        copy_games(source, source_index, target, target_index)

    def play(self, games: Board, actions: NDArray[np.int64]) -> None:
        """Play one legal action in each of the first games; -1 leaves a game alone."""
        play_games(games, actions)

    def follow(
        self,
        roots: Board,
        index: NDArray[np.int64],
        paths: NDArray[np.int16],
        lengths: NDArray[np.int64],
        leaves: Board,
    ) -> None:
        """Make leaf l the game roots[index[l]] after the first lengths[l] actions of paths[l]."""
        follow_paths(roots, index, paths, lengths, leaves)

    def judge(
        self,
        games: Board,
        count: int,
        legal: NDArray[np.bool_],
        over: NDArray[np.bool_],
        values: NDArray[np.float32],
    ) -> None:
        """Legal actions, ends and results of the first `count` games."""
        judge_games(games, count, legal, over, values)
        if self._tables is not None:
            going_on = np.flatnonzero(~over[:count])
            info = games.info[going_on]
            known, _ = self._tables.probe_many(games.squares[going_on], info[:, TO_PLAY], info[:, CASTLING])
            found = going_on[known != UNKNOWN]
            over[found], legal[found] = True, False
            values[found] = known[known != UNKNOWN]

    def encode(self, games: Board, count: int, planes: NDArray[np.uint8]) -> None:
        """Write the first `count` games to planes: uint8[n, C, 5, 4]."""
        self._encoder.encode_boards(games, count, planes)

    def to_play(self, games: Board) -> NDArray[np.int8]:
        """int8[B]: WHITE or BLACK."""
        return games.info[:, TO_PLAY].astype(np.int8)

    def count_up(self, games: Board, index: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Nothing: chess knows no points."""
        return np.zeros(len(index), np.float32), np.zeros((len(index), 0), np.int8)

    def load(self, games: Board, i: int, state: GameState) -> None:
        """Make game i this state, played on by the rules of this lockstep."""
        copy_board(state.board, board_at(games, i))
        games.info[i, RULES] = self._flags

    def action_of(self, state: GameState, move: int) -> int:
        """A move's index in the policy."""
        return state.action_of(move)

    def move_of(self, state: GameState, action: int) -> int:
        """The move at an index of the policy."""
        return state.move_of(action)
