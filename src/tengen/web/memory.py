"""How much memory games and studies take, and the most that all of them together may: records are cheap to send."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

MOST_OF_STUDIES: Final = 640_000_000
"""Bytes that all studies may hold."""
MOST_OF_GAMES: Final = 320_000_000
"""Bytes that all games in memory may hold; others are in their files."""
MOST_OF_ONE: Final = 160_000_000
"""Bytes of one game or study."""
_OBJECT: Final = 1_500  # what a state takes beside its arrays


def weight_of(states: Iterable[Any]) -> int:
    """Bytes that these states hold, each with the arrays that are its own."""
    return sum(_OBJECT + sum(map(_bytes, _parts(state))) for state in states)


def weight_of_game(state: Any) -> int:
    """Bytes that a state holds together with all before it; ValueError if that is too much."""
    states = [state]
    while states[-1].previous is not None:
        states.append(states[-1].previous)
    return check_weight(weight_of(states))


def check_weight(weight: int) -> int:
    """The weight of a game or study; ValueError if it is too much."""
    if weight > MOST_OF_ONE:
        raise ValueError(f"this game would take {weight // 1_000_000} MB of memory: at most {MOST_OF_ONE // 1_000_000}")
    return weight


def _parts(state: Any) -> Iterable[Any]:
    names = [name for kind in type(state).__mro__ for name in getattr(kind, "__slots__", ())]
    return [getattr(state, name, None) for name in names] or list(vars(state).values())


def _bytes(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes if part.base is None else 0
    return sum(map(_bytes, part)) if isinstance(part, tuple) and hasattr(part, "_fields") else 0
