"""What every game has to offer to kernels: seven small functions over arrays of many games.

A game keeps its positions in a NamedTuple of arrays with a leading axis [B], one entry a game. Its rules file writes
these functions for that NamedTuple and hands them to `implement`. Search, self-play and environments call them by the
names here, inside kernels of their own: Numba picks the game's function by the type of `games` and compiles one
specialised kernel for each game, with nothing to decide at run time. `docs/add-a-game.md` walks through it.

    implement(TicTacToeGames, restart=..., copy=..., play=..., judge=..., player=..., key=...)

    @njit(cache=True, nogil=True)
    def play_all(games, actions):
        for i in range(actions.shape[0]):
            play(games, i, actions[i])          # the function of whichever game `games` belongs to

An *action* is an index of the policy. Values are 1, 0 or -1, as the player to move sees them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from tengen.games.xorshift import next_random, random_below

_KERNELS: dict[type, dict[str, Callable[..., Any]]] = {}


def implement(
    games: type,
    *,
    restart: Callable[..., Any],
    copy: Callable[..., Any],
    play: Callable[..., Any],
    judge: Callable[..., Any],
    player: Callable[..., Any],
    key: Callable[..., Any],
    playout: Callable[..., Any] | None = None,
    evaluate: Callable[..., Any] | None = None,
    gain: Callable[..., Any] | None = None,
) -> None:
    """Name the kernels that work on `games`, a NamedTuple class; what is None has a default that suits every game."""
    _KERNELS[games] = {
        "restart": restart,
        "copy": copy,
        "play": play,
        "judge": judge,
        "player": player,
        "key": key,
        "playout": playout or random_playout,
        "evaluate": evaluate or _no_evaluation,
        "gain": gain or _no_gain,
    }


def restart(games: Any, i: Any) -> Any:
    """Set game i back to the start position."""
    raise NotImplementedError("called inside kernels only")


def copy(source: Any, i: Any, target: Any, j: Any) -> Any:
    """Copy game i of `source`, with all that the rules remember of it, to game j of `target`."""
    raise NotImplementedError("called inside kernels only")


def play(games: Any, i: Any, action: Any) -> Any:
    """Play a legal action in game i."""
    raise NotImplementedError("called inside kernels only")


def judge(games: Any, i: Any, legal: Any) -> Any:
    """Write which actions are legal to legal: bool[A], none if the game is over; returns (over, value)."""
    raise NotImplementedError("called inside kernels only")


def player(games: Any, i: Any) -> Any:
    """Whose turn it is: 1 for who began, 2 for the other."""
    raise NotImplementedError("called inside kernels only")


def key(games: Any, i: Any) -> Any:
    """An int64 that tells positions apart, the player to move included, for transposition tables."""
    raise NotImplementedError("called inside kernels only")


def playout(games: Any, i: Any, legal: Any, state: Any) -> Any:
    """Play game i to its end in place by the game's own idea of a playout; legal: bool[A] is scratch room.

    state: of the random numbers, a non-zero uint64. Returns (state, value for the player who was to move).
    """
    raise NotImplementedError("called inside kernels only")


def evaluate(games: Any, i: Any) -> Any:
    """How good game i, which is not over, looks to the player to move: an int64 in the game's own small unit."""
    raise NotImplementedError("called inside kernels only")


def gain(games: Any, i: Any, action: Any) -> Any:
    """How promising an action looks before it is tried: an int64; below 0, it changes nothing at once (is quiet)."""
    raise NotImplementedError("called inside kernels only")


@njit(cache=True, nogil=True)
def random_playout(games, i, legal, state):  # type: ignore[no-untyped-def]
    """The playout that every game has: all legal actions are equally likely."""
    mover = player(games, i)
    while True:
        over, value = judge(games, i, legal)
        if over:
            return state, value if player(games, i) == mover else -value
        count = 0
        for action in range(legal.shape[0]):
            count += legal[action]
        state = next_random(state)
        left = random_below(state, count)
        for action in range(legal.shape[0]):
            if legal[action]:
                if left == 0:
                    play(games, i, action)
                    break
                left -= 1


@njit(cache=True, nogil=True, forceinline=True)
def _no_evaluation(games, i):  # type: ignore[no-untyped-def]
    return np.int64(0)


@njit(cache=True, nogil=True, forceinline=True)
def _no_gain(games, i, action):  # type: ignore[no-untyped-def]
    return np.int64(-1)


def _kernel(name: str, games: Any) -> Callable[..., Any]:
    """The game's function for a Numba type."""
    kind = getattr(games, "instance_class", None)
    if kind not in _KERNELS:
        raise TypeError(f"{kind or games} is not known as the games of anything: call `implement` for it")
    return _KERNELS[kind][name]


@overload(restart)
def _restart(games, i):  # type: ignore[no-untyped-def]
    kernel = _kernel("restart", games)
    return lambda games, i: kernel(games, i)


@overload(copy)
def _copy(source, i, target, j):  # type: ignore[no-untyped-def]
    kernel = _kernel("copy", source)
    return lambda source, i, target, j: kernel(source, i, target, j)


@overload(play)
def _play(games, i, action):  # type: ignore[no-untyped-def]
    kernel = _kernel("play", games)
    return lambda games, i, action: kernel(games, i, action)


@overload(judge)
def _judge(games, i, legal):  # type: ignore[no-untyped-def]
    kernel = _kernel("judge", games)
    return lambda games, i, legal: kernel(games, i, legal)


@overload(player)
def _player(games, i):  # type: ignore[no-untyped-def]
    kernel = _kernel("player", games)
    return lambda games, i: kernel(games, i)


@overload(key)
def _key(games, i):  # type: ignore[no-untyped-def]
    kernel = _kernel("key", games)
    return lambda games, i: kernel(games, i)


@overload(playout)
def _playout(games, i, legal, state):  # type: ignore[no-untyped-def]
    kernel = _kernel("playout", games)
    return lambda games, i, legal, state: kernel(games, i, legal, state)


@overload(evaluate)
def _evaluate(games, i):  # type: ignore[no-untyped-def]
    kernel = _kernel("evaluate", games)
    return lambda games, i: kernel(games, i)


@overload(gain)
def _gain(games, i, action):  # type: ignore[no-untyped-def]
    kernel = _kernel("gain", games)
    return lambda games, i, action: kernel(games, i, action)
