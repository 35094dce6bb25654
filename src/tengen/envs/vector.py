"""`VectorEnv`: thousands of games a call, NumPy in and NumPy out, for people who train with a loop of their own.

A step is one call of a kernel and one of an encoder for all boards. It holds no lock meanwhile: to use more cores, give
each of several threads an environment of its own.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.encode.game_spec import GameSpec
from tengen.games.game import get_game
from tengen.games.kernels import copy, judge, next_random, play, player, random_below


class Step(NamedTuple):
    """What a step leads to on B boards. The arrays are the environment's own: the next step overwrites them."""

    observation: NDArray[np.uint8]  # [B, planes, H, W] as the player to move sees the board
    reward: NDArray[np.float32]  # [B] 1, 0 or -1 for the player who has just moved; 0 while a game goes on
    terminated: NDArray[np.bool_]  # [B] whether the action ended a game; the board then shows the start of a new one
    legal: NDArray[np.bool_]  # [B, A] which actions are legal next


class VectorEnv:
    """Many games of one kind side by side, each restarted as it ends.

    `options` are those of the game: `size`, `rules`, ... `encoder` names what makes the observations, by default
    the game's usual encoder. With None there are none, uint8[B, 0, H, W], for loops that need no planes.

    The same arrays are returned by every call: copy what you keep. A reward belongs to the player who has just moved.
    On a board that has ended, `reward` is that of the game that ended, while `observation` and `legal` are those of the
    next game; if you need the values of final positions, they are the rewards.

    >>> import tengen
    >>> env = tengen.envs.VectorEnv("microchess", boards=256)
    >>> observation, legal = env.reset(seed=1)
    >>> ended = 0
    >>> for _ in range(100):
    ...     observation, reward, terminated, legal = env.step(env.sample())
    ...     ended += int(terminated.sum())
    >>> observation.shape, ended > 100
    ((256, 21, 5, 4), True)
    """

    def __init__(self, game: str, boards: int, *, encoder: str | None = "", **options: Any) -> None:
        if boards < 1:
            raise ValueError(f"{boards} boards are not possible: give at least 1")
        kind = get_game(game)
        self.spec = GameSpec(kind.options.of(options), encoder or "")
        self.boards, self.actions = boards, self.spec.batch.actions
        planes, height, width = self.spec.shape
        self._shows = encoder is not None
        self._games, self._start = self.spec.batch.allocate(boards), self.spec.batch.allocate(1)
        self.spec.batch.load(self._start, 0, kind.new(self.spec.options))
        self._actions = np.zeros(boards, np.int64)
        self._rng = np.ones(1, np.uint64)
        self._step = Step(
            np.zeros((boards, planes if self._shows else 0, height, width), np.uint8),
            np.zeros(boards, np.float32),
            np.zeros(boards, np.bool_),
            np.zeros((boards, self.actions), np.bool_),
        )
        self.reset()

    @property
    def to_play(self) -> NDArray[np.int8]:
        """int8[B]: 1 where the player who began is to move, else 2."""
        return self.spec.batch.to_play(self._games)

    def reset(self, seed: int | None = None) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Begin anew on all boards: observation and legal actions. `seed` is that of `sample`."""
        self._rng[0] = np.random.default_rng(seed).integers(1, 2**63)
        start = np.zeros(self.boards, np.int64)
        self.spec.batch.copy(self._start, start, self._games, np.arange(self.boards))
        over, values = np.zeros(self.boards, np.bool_), np.zeros(self.boards, np.float32)
        self.spec.batch.judge(self._games, self.boards, self._step.legal, over, values)
        self._observe()
        return self._step.observation, self._step.legal

    def step(self, actions: NDArray[np.integer[Any]]) -> Step:
        """Play one action on every board, int[B]; ValueError, with nothing played, if one is not legal."""
        np.copyto(self._actions, actions)
        _, reward, terminated, legal = self._step
        wrong = int(step_games(self._games, self._start, self._actions, reward, terminated, legal))
        if wrong >= 0:
            raise ValueError(
                f"action {self._actions[wrong]} is not legal on board {wrong}: choose where `legal` is true"
            )
        self._observe()
        return self._step

    def sample(self) -> NDArray[np.int64]:
        """int64[B]: a random legal action for every board."""
        actions = np.empty(self.boards, np.int64)
        draw_actions(self._step.legal, self._rng, actions)
        return actions

    def _observe(self) -> None:
        if self._shows:
            self.spec.encoder.encode_games(self._games, self.boards, self._step.observation)


# --------------------------------------------------------------------------------------------- kernels


@kernel
def step_games(games, start, actions, reward, terminated, legal):  # type: ignore[no-untyped-def]
    """Play actions: int64[B], and set boards whose game is over back to the one game of `start`.

    legal: bool[B, A] is read and then written. Returns -1, or the first board whose action is not legal: nothing has
    been played then.
    """
    for i in range(actions.shape[0]):
        if not 0 <= actions[i] < legal.shape[1] or not legal[i, actions[i]]:
            return i
    for i in range(actions.shape[0]):
        mover = player(games, i)
        play(games, i, actions[i])
        terminated[i], value = judge(games, i, legal[i])
        reward[i] = value if player(games, i) == mover else np.float32(0.0) - value
        if terminated[i]:
            copy(start, 0, games, i)
            judge(games, i, legal[i])
    return -1


@kernel
def draw_actions(legal, rng, actions):  # type: ignore[no-untyped-def]
    """Draw one of the legal actions of every board, bool[B, A], to actions: int64[B]; rng: uint64[1]."""
    state = rng[0]
    for i in range(legal.shape[0]):
        count = 0
        for action in range(legal.shape[1]):
            count += legal[i, action]
        state = next_random(state)
        left = random_below(state, count)
        for action in range(legal.shape[1]):
            if legal[i, action]:
                if left == 0:
                    actions[i] = action
                    break
                left -= 1
    rng[0] = state
