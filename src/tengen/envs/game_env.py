"""One game at a time, as PettingZoo sees it (agents take turns, and a mask gives the legal actions) and as Gymnasium
does (one agent against an opponent, for libraries without turns). Needs the extra `rl`."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from tengen.encode.game_spec import GameSpec
from tengen.games.game import get_game
from tengen.games.state import FIRST, SECOND, AnyState, other_player

__all__ = ["GameEnv", "SoloEnv", "turn_based_aec_to_parallel", "wrapped"]

RENDER_MODES = ("human", "ansi")


def wrapped(
    game: str, options: Mapping[str, Any], encoder: str, max_moves: int | None, render_mode: str | None
) -> AECEnv:
    """The environment inside PettingZoo's usual wrappers: an illegal action loses, calls out of order are errors."""
    env = GameEnv(game, options, encoder, max_moves, render_mode)
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


class LegalActions(spaces.Discrete):
    """The actions of an agent. Without a mask, `sample` draws among those that are legal now, if it is its turn."""

    def __init__(self, env: "GameEnv", agent: str) -> None:
        super().__init__(env.spec.batch.actions)
        self._env, self._agent = env, agent

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """A random action."""
        if mask is None and probability is None:
            legal = self._env.action_mask(self._agent)
            mask = legal if legal.any() else None
        return super().sample(mask=mask, probability=probability)


class GameEnv(AECEnv):  # type: ignore[misc]
    """One game after another, by the same kernels as search and self-play.

    `position` is the state of the game under way.
    """

    def __init__(
        self, game: str, options: Mapping[str, Any], encoder: str, max_moves: int | None, render_mode: str | None
    ) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"no render mode is called {render_mode[:40]!r}: choose from {', '.join(RENDER_MODES)}")
        if max_moves is not None and max_moves < 1:
            raise ValueError("max_cycles has to be at least 1")
        super().__init__()
        kind = get_game(game)
        self.metadata = {"name": game, "render_modes": list(RENDER_MODES), "is_parallelizable": False, "render_fps": 2}
        self.render_mode = render_mode
        self.spec = GameSpec(kind.options.of(options), encoder)
        self.possible_agents = [f"{player.lower()}_0" for player in kind.players]
        self.agents: list[str] = []
        self._max_moves = max_moves
        self._games = self.spec.batch.allocate(1)
        self._planes = np.zeros((1, *self.spec.shape), np.uint8)
        self._legal = np.zeros((1, self.spec.batch.actions), np.bool_)
        self._over, self._value = np.zeros(1, np.bool_), np.zeros(1, np.float32)
        mask = spaces.Box(0, 1, (self.spec.batch.actions,), np.int8)
        planes = spaces.Box(0, self.spec.encoder.largest, self.spec.shape, np.uint8)
        self._observation_spaces = {
            agent: spaces.Dict({"observation": planes, "action_mask": mask}) for agent in self.possible_agents
        }
        self._action_spaces = {agent: LegalActions(self, agent) for agent in self.possible_agents}

    def __str__(self) -> str:
        return self.spec.options.game

    def observation_space(self, agent: str) -> spaces.Dict:
        """What `observe` gives."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> LegalActions:
        """Indices of the policy."""
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a game. The rules have nothing random in them: `seed` is that of the action spaces' `sample`."""
        if seed is not None:
            for number, space in enumerate(self._action_spaces.values()):
                space.seed(seed + number)
        self.position = self.spec.game.new(self.spec.options)
        self.spec.batch.load(self._games, 0, self.position)
        self.agents = self.possible_agents[:]
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._moves = 0
        self._look()

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """The board as the player to move sees it, for either agent, and what this agent may do now."""
        self.spec.encoder.encode_games(self._games, 1, self._planes)
        return {"observation": self._planes[0].copy(), "action_mask": self.action_mask(agent)}

    def action_mask(self, agent: str) -> NDArray[np.int8]:
        """int8[A]: 1 where an action is legal; all zeros if it is not this agent's turn, or the game is over."""
        turn = bool(self.agents) and agent == self.agent_selection and not self.terminations[agent]
        return self._legal[0].astype(np.int8) if turn else np.zeros(self._legal.shape[1], np.int8)

    def step(self, action: Any) -> None:
        """Play a legal action for the agent whose turn it is; None once the game is over."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not self._legal[0, action]:
            raise ValueError(f"action {action} is not legal: choose where the action mask is 1")
        self._cumulative_rewards[agent] = 0.0
        self.position = self.position.play(self.position.move_of(int(action)))
        self.spec.batch.play(self._games, np.array([action], np.int64))
        self._moves += 1
        self._look()
        if self._over[0]:
            self.terminations = dict.fromkeys(self.agents, True)
        elif self._max_moves is not None and self._moves >= self._max_moves:
            self.truncations = dict.fromkeys(self.agents, True)
        value = float(self._value[0])
        self.rewards = {each: value if each == self.agent_selection else 0.0 - value for each in self.agents}
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def render(self) -> str | None:
        """The position as text: printed, or returned in the mode `ansi`."""
        if self.render_mode == "ansi":
            return str(self.position)
        if self.render_mode == "human":
            print(self.position)
        return None

    def close(self) -> None:
        """Nothing to free."""

    def _look(self) -> None:
        """Whose turn it is, what is legal, and whether the game is over."""
        self.spec.batch.judge(self._games, 1, self._legal, self._over, self._value)
        self.agent_selection = self.possible_agents[int(self.spec.batch.to_play(self._games)[0]) - 1]


# ------------------------------------------------------------------------------------------------------------ one agent

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
