"""Every game as an environment for reinforcement learning: PettingZoo's for one game, arrays for thousands at once.

With PettingZoo (`pip install 'tengen[rl]'`), two agents take turns, and a mask gives the legal actions:

>>> from tengen import envs
>>> env = envs.env("go", size=5)
>>> env.reset(seed=1)
>>> for agent in env.agent_iter(max_iter=10):
...     observation, reward, termination, truncation, info = env.last()
...     env.step(None if termination or truncation else int(observation["action_mask"].argmax()))
>>> observation["observation"].shape
(17, 5, 5)

For a training loop of your own, `VectorEnv` plays many games with NumPy arrays in and out:

>>> many = envs.VectorEnv("go", boards=1000, size=5)
>>> observation, legal = many.reset(seed=1)
>>> observation, reward, terminated, legal = many.step(many.sample())
>>> observation.shape, legal.shape
((1000, 17, 5, 5), (1000, 26))
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from tengen.envs.vector import Step, VectorEnv
from tengen.games.state import AnyState

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pettingzoo import AECEnv, ParallelEnv

    from tengen.envs.game_env import SoloEnv

Observation: TypeAlias = "dict[str, NDArray[Any]]"
"""`observation`: uint8[planes, H, W], and `action_mask`: int8[A]."""

__all__ = ["Step", "VectorEnv", "env", "parallel_env", "solo_env"]


def env(
    game: str, *, encoder: str = "", max_cycles: int | None = None, render_mode: str | None = None, **options: Any
) -> "AECEnv[str, Observation, int | None]":
    """A game as a PettingZoo AEC environment.

    `options` are those of the game: `size`, `rules`, `komi`, ... Observations are a dict of `observation`,
    uint8[planes, H, W] as the player to move sees the board (by `encoder`, or the game's default), and `action_mask`,
    int8[A]. The winner's reward is 1 and the loser's -1; an illegal action loses the game. `max_cycles` truncates a
    game after so many moves of each agent. Render modes are `human` and `ansi`.

    >>> import tengen
    >>> env = tengen.envs.env("microchess", render_mode="ansi")
    >>> env.reset()
    >>> env.agents
    ['white_0', 'black_0']
    >>> env.step(env.action_space("white_0").sample())
    >>> env.agent_selection
    'black_0'
    """
    return _game_env().wrapped(game, options, encoder, None if max_cycles is None else 2 * max_cycles, render_mode)


def parallel_env(
    game: str, *, encoder: str = "", max_cycles: int | None = None, render_mode: str | None = None, **options: Any
) -> "ParallelEnv[str, Observation, int | None]":
    """A game as a PettingZoo parallel environment, one move a step: the action of who is not to move is ignored.

    `max_cycles` truncates a game after so many steps. All else is as in `env`.
    """
    made = _game_env()
    return made.turn_based_aec_to_parallel(made.wrapped(game, options, encoder, max_cycles, render_mode))


def solo_env(
    game: str,
    *,
    opponent: Callable[[AnyState], int] | None = None,
    player: int | None = None,
    encoder: str = "",
    **options: Any,
) -> "SoloEnv":
    """A game against an opponent as a Gymnasium environment, for libraries that know one agent: Stable-Baselines3, ...

    `opponent` chooses a move for a state; None: random moves. `player`: 1 moves first, 2 second, None is drawn for each
    game. Observations are the planes, uint8[planes, H, W]; `action_masks()` gives the legal actions.

    >>> import tengen
    >>> env = tengen.envs.solo_env("tictactoe", player=1)
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, env.action_masks().sum()
    ((2, 3, 3), np.int64(9))
    >>> observation, reward, terminated, truncated, info = env.step(4)
    >>> int(env.action_masks().sum())
    7
    """
    _game_env()
    from tengen.envs.game_env import SoloEnv

    return SoloEnv(game, options, encoder, opponent, player)


def _game_env() -> Any:
    """The module that needs PettingZoo; ImportError in one line if that is missing."""
    try:
        from tengen.envs import game_env
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pettingzoo", "gymnasium"):
            raise
        raise ImportError("tengen.envs.env needs PettingZoo: pip install 'tengen[rl]'") from None
    return game_env
