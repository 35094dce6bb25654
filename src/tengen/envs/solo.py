"""A game against an opponent as Gymnasium sees it: one agent, for libraries without turns. Needs the extra `rl`."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from tengen.encode.game_spec import GameSpec
from tengen.games.game import get_game
from tengen.games.state import FIRST, SECOND, AnyState, other_player

Opponent = Callable[[AnyState], int]
"""Chooses a move, as `lambda state: agent.choose(state).move` does."""


class SoloEnv(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """One player's view of a game. The opponent's moves are part of `reset` and `step`.

    `action_masks()` gives the legal actions, as sb3-contrib asks for them; `info["action_mask"]` has them too.
    """

    observation_space: spaces.Box  # type: ignore[assignment]
    action_space: spaces.Discrete

    def __init__(
        self, game: str, options: Mapping[str, Any], encoder: str, opponent: Opponent | None, player: int | None
    ) -> None:
        if player not in (None, FIRST, SECOND):
            raise ValueError(f"player {player} is not possible: give 1 (moves first), 2, or None (drawn for each game)")
        self.game_spec = GameSpec(get_game(game).options.of(options), encoder)
        self._opponent, self._player = opponent, player
        self._games = self.game_spec.batch.allocate(1)
        self._planes = np.zeros((1, *self.game_spec.shape), np.uint8)
        self._legal = np.zeros((1, self.game_spec.batch.actions), np.bool_)
        self._over, self._value = np.zeros(1, np.bool_), np.zeros(1, np.float32)
        self.observation_space = spaces.Box(0, self.game_spec.encoder.largest, self.game_spec.shape, np.uint8)
        self.action_space = spaces.Discrete(self.game_spec.batch.actions)
        self.position: AnyState = self.game_spec.game.new(self.game_spec.options)
        self.player = player or FIRST

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begin a game; the opponent moves first where it is its turn."""
        super().reset(seed=seed)
        self.position = self.game_spec.game.new(self.game_spec.options)
        self.player = self._player or int(self.np_random.integers(FIRST, SECOND + 1))
        self._look()
        self._let_opponent_move()
        return self._observation(), {"action_mask": self.action_masks()}

    def step(self, action: Any) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Play an action, and the opponent's answer. The reward comes at the end: 1 won, -1 lost, 0 a draw.

        An illegal action loses the game.
        """
        if self._over[0] or not self._legal[0, int(action)]:
            self._legal[:], lost = False, not self._over[0]
            self._over[0] = True
            return self._observation(), -1.0 if lost else 0.0, True, False, {"action_mask": self.action_masks()}
        self.position = self.position.play(self.position.move_of(int(action)))
        self._look()
        self._let_opponent_move()
        reward = 0.0
        if self._over[0]:
            mine = self.position.to_play == self.player
            reward = float(self._value[0]) if mine else 0.0 - float(self._value[0])
        return self._observation(), reward, bool(self._over[0]), False, {"action_mask": self.action_masks()}

    def action_masks(self) -> NDArray[np.bool_]:
        """bool[A]: which actions are legal now."""
        return np.array(self._legal[0], np.bool_)

    def _let_opponent_move(self) -> None:
        while not self._over[0] and self.position.to_play == other_player(self.player):
            if self._opponent is None:
                move = self.position.move_of(int(self.np_random.choice(np.flatnonzero(self._legal[0]))))
            else:
                move = self._opponent(self.position)
            self.position = self.position.play(move)
            self._look()

    def _look(self) -> None:
        """What is legal, and whether the game is over."""
        self.game_spec.batch.load(self._games, 0, self.position)
        self.game_spec.batch.judge(self._games, 1, self._legal, self._over, self._value)
        if self.position.is_over and not self._over[0]:  # the opponent has resigned
            self._over[0], self._legal[:] = True, False
            self._value[0] = 1.0 if self.position.winner() == self.position.to_play else -1.0

    def _observation(self) -> NDArray[np.uint8]:
        self.game_spec.encoder.encode_games(self._games, 1, self._planes)
        return np.array(self._planes[0], np.uint8)
