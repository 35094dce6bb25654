"""What every game has to offer to kernels: six small functions over arrays of many games, and some it may add.

A game keeps its positions in a NamedTuple of arrays with a leading axis [B], one entry a game. Its rules file writes
these functions for that NamedTuple and hands them to `implement`. Search, self-play and environments call them by the
names here, inside kernels of their own: Numba picks the game's function by the type of `games` and compiles one
specialised kernel for each game, with nothing to decide at run time. `docs/add-a-game.md` walks through it.

    implement(TicTacToeGames, restart=..., copy=..., play=..., judge=..., player=..., key=...)

    @kernel
    def play_all(games, actions):
        for i in range(actions.shape[0]):
            play(games, i, actions[i])          # the function of whichever game `games` belongs to

An *action* is an index of the policy. Values are 1, 0 or -1, as the player to move sees them.

`moves`, `ending`, `evaluate` and `gain` are for alpha-beta, which counts in whole numbers: hundredths of a point or of
a pawn.

>>> from tengen import kernels
>>> kernels.kernel.__name__, kernels.implement.__name__
('kernel', 'implement')
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numba.extending import overload

from tengen._kernel import INLINED, stack_array
from tengen._kernel import kernel as kernel  # for the rules of a game, too

__all__ = ["implement", "kernel", "key", "playout"]

WIN: Final = 1_000_000
"""What a game won is worth to alpha-beta, where nothing but winning counts; above all that `evaluate` may say."""

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
    sensible: Callable[..., Any] | None = None,
    playout: Callable[..., Any] | None = None,
    moves: Callable[..., Any] | None = None,
    ending: Callable[..., Any] | None = None,
    evaluate: Callable[..., Any] | None = None,
    gain: Callable[..., Any] | None = None,
    quiescence: bool = False,
) -> None:
    """Name the kernels that work on `games`, a NamedTuple class; what is None has a default that suits every game.

    `quiescence`: alpha-beta goes on beyond its depth with the moves whose gain is 0 or more, until there are none.
    """
    _KERNELS[games] = {
        "restart": restart,
        "copy": copy,
        "play": play,
        "judge": judge,
        "player": player,
        "key": key,
        "sensible": sensible or _all_sensible,
        "playout": playout or random_playout,
        "moves": moves or _legal_actions,
        "ending": ending or _ending_by_moves,
        "evaluate": evaluate or _no_evaluation,
        "gain": gain or _no_gain,
        "has_quiescence": _yes if quiescence else _no,
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


def sensible(games: Any, i: Any, legal: Any) -> Any:
    """Take out of legal: bool[A], as `judge` wrote it, the actions that no policy needs to consider, such as filling an
    own eye in Go; at least one stays."""
    raise NotImplementedError("called inside kernels only")


def playout(games: Any, i: Any, legal: Any, state: Any) -> Any:
    """Play game i to its end in place by the game's own idea of a playout; legal: bool[A] is scratch room.

    state: of the random numbers, a non-zero uint64. Returns (state, value for the player who was to move).
    """
    raise NotImplementedError("called inside kernels only")


def moves(games: Any, i: Any, actions: Any) -> Any:
    """Write the legal actions to actions: int16[A]; returns (count, value, forced).

    With none the game is over, and `value` says what it is worth to the player to move: WIN, 0 or -WIN, or less than
    that where a game is played for points. `forced`: every action matters, however quiet (the king is in check).
    """
    raise NotImplementedError("called inside kernels only")


def ending(games: Any, i: Any, actions: Any) -> Any:
    """Whether game i is over, and its value as `moves` has it; actions: int16[A] is scratch room."""
    raise NotImplementedError("called inside kernels only")


def evaluate(games: Any, i: Any) -> Any:
    """How good game i, which is not over, looks to the player to move: an int64 in the game's own small unit."""
    raise NotImplementedError("called inside kernels only")


def gain(games: Any, i: Any, action: Any) -> Any:
    """How promising an action looks before it is tried: an int64, -4096 to 2**30; below 0, it changes nothing at once
    (is quiet)."""
    raise NotImplementedError("called inside kernels only")


def has_quiescence(games: Any) -> Any:
    """Whether alpha-beta goes on beyond its depth with moves that are not quiet; known when a kernel is compiled."""
    raise NotImplementedError("called inside kernels only")


# Random numbers by xorshift64: the state is one uint64 that is not 0.


@kernel(inline=True)
def next_random(state):  # type: ignore[no-untyped-def]
    """The successor of a non-zero uint64."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@kernel(inline=True)
def random_below(state, n):  # type: ignore[no-untyped-def]
    """An integer in [0, n) from the high bits of a random uint64 (multiply-shift, no division)."""
    return np.int64(((state >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
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
        if count == 0:  # rules that leave nothing to do and no result: a fault, which should not hang the program
            return state, np.float32(0.0)
        state = next_random(state)
        left = random_below(state, count)
        for action in range(legal.shape[0]):
            if legal[action]:
                if left == 0:
                    play(games, i, action)
                    break
                left -= 1


@kernel
def _legal_actions(games, i, actions):  # type: ignore[no-untyped-def]
    legal = stack_array(actions.shape[0], np.bool_)
    over, value = judge(games, i, legal)
    count = 0
    if not over:
        for action in range(legal.shape[0]):
            if legal[action]:
                actions[count] = action
                count += 1
    return count, np.int64(WIN * value), False


@kernel
def _ending_by_moves(games, i, actions):  # type: ignore[no-untyped-def]
    count, value, _ = moves(games, i, actions)
    return count == 0, value


@kernel(inline=True)
def _all_sensible(games, i, legal):  # type: ignore[no-untyped-def]
    pass


@kernel(inline=True)
def _no_evaluation(games, i):  # type: ignore[no-untyped-def]
    return np.int64(0)


@kernel(inline=True)
def _no_gain(games, i, action):  # type: ignore[no-untyped-def]
    return np.int64(-1)


@kernel(inline=True)
def _yes(games):  # type: ignore[no-untyped-def]
    return True


@kernel(inline=True)
def _no(games):  # type: ignore[no-untyped-def]
    return False


def _kernel(name: str, games: Any) -> Callable[..., Any]:
    """The game's function for a Numba type."""
    kind = getattr(games, "instance_class", None)
    if kind not in _KERNELS:
        raise TypeError(f"{kind or games} is not known as the games of anything: call `implement` for it")
    return _KERNELS[kind][name]


@overload(restart, jit_options=INLINED)
def _restart(games, i):  # type: ignore[no-untyped-def]
    kernel = _kernel("restart", games)
    return lambda games, i: kernel(games, i)


@overload(copy, jit_options=INLINED)
def _copy(source, i, target, j):  # type: ignore[no-untyped-def]
    kernel = _kernel("copy", source)
    return lambda source, i, target, j: kernel(source, i, target, j)


@overload(play, jit_options=INLINED)
def _play(games, i, action):  # type: ignore[no-untyped-def]
    kernel = _kernel("play", games)
    return lambda games, i, action: kernel(games, i, action)


@overload(judge, jit_options=INLINED)
def _judge(games, i, legal):  # type: ignore[no-untyped-def]
    kernel = _kernel("judge", games)
    return lambda games, i, legal: kernel(games, i, legal)


@overload(player, jit_options=INLINED)
def _player(games, i):  # type: ignore[no-untyped-def]
    kernel = _kernel("player", games)
    return lambda games, i: kernel(games, i)


@overload(key, jit_options=INLINED)
def _key(games, i):  # type: ignore[no-untyped-def]
    kernel = _kernel("key", games)
    return lambda games, i: kernel(games, i)


@overload(sensible, jit_options=INLINED)
def _sensible(games, i, legal):  # type: ignore[no-untyped-def]
    kernel = _kernel("sensible", games)
    return lambda games, i, legal: kernel(games, i, legal)


@overload(playout, jit_options=INLINED)
def _playout(games, i, legal, state):  # type: ignore[no-untyped-def]
    kernel = _kernel("playout", games)
    return lambda games, i, legal, state: kernel(games, i, legal, state)


@overload(moves, jit_options=INLINED)
def _moves(games, i, actions):  # type: ignore[no-untyped-def]
    kernel = _kernel("moves", games)
    return lambda games, i, actions: kernel(games, i, actions)


@overload(ending, jit_options=INLINED)
def _ending(games, i, actions):  # type: ignore[no-untyped-def]
    kernel = _kernel("ending", games)
    return lambda games, i, actions: kernel(games, i, actions)


@overload(evaluate, jit_options=INLINED)
def _evaluate(games, i):  # type: ignore[no-untyped-def]
    kernel = _kernel("evaluate", games)
    return lambda games, i: kernel(games, i)


@overload(gain, jit_options=INLINED)
def _gain(games, i, action):  # type: ignore[no-untyped-def]
    kernel = _kernel("gain", games)
    return lambda games, i, action: kernel(games, i, action)


@overload(has_quiescence, jit_options=INLINED)
def _has_quiescence(games):  # type: ignore[no-untyped-def]
    kernel = _kernel("has_quiescence", games)
    return lambda games: kernel(games)
