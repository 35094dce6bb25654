"""Counting a game of Go that is over: which stones are dead, and whose the points are."""

from typing import Any, Final

import numpy as np

from tengen.games.go import BLACK, EMPTY, State
from tengen.search.status import on_points, search_ownership
from tengen.serve.estimate import describe_count
from tengen.web.stored_games import PlayedGame

_PLAYOUTS: Final = 1_000
_SURE: Final = 0.8  # of the playouts in which a point has the same owner, less those in which it has the other one
_OPEN: Final = 4  # a board is open while more than one point in so many is nobody's


def is_open(state: State) -> bool:
    """Whether so much of a board is nobody's, or so few stones are there, that a pass is likely to be a slip."""
    empty, points = state.stones == EMPTY, state.size**2
    neutral = empty & (state.ownership(()) == EMPTY)
    return not state.is_over and (int(neutral.sum()) * _OPEN > points or int((~empty).sum()) * _OPEN < points)


def result_is_open(state: State) -> bool:
    """Whether the player to move, who would win if the game were counted now, could still lose it by playing on."""
    ownership = search_ownership(state, _PLAYOUTS)
    dead = state.dead_by_ownership(ownership, _PLAYOUTS) if state.rules.removes_dead else frozenset()
    margin = state.score(dead) if state.to_play == BLACK else -state.score(dead)
    unsettled = int((np.abs(on_points(ownership, state.size)) < _SURE * _PLAYOUTS).sum())
    return 0 < margin <= 2 * unsettled


def is_to_be_counted(played: PlayedGame) -> bool:
    """Whether a game has ended in a way that its stones are to be counted, and nobody has done so."""
    state = played.state
    return (
        played.dead is None
        and not played.resigned
        and played.game.territory
        and state.is_over
        and state.end_reason == "score"
    )


def group_at(state: Any, point: int) -> frozenset[int]:
    """The stones of one colour that are connected with a point, also across empty points: they live or die together."""
    stones, size = state.stones, state.size
    color = int(stones.ravel()[point]) if 0 <= point < size * size else EMPTY
    if color == EMPTY:
        raise ValueError("there is no stone")
    seen, todo = {point}, [point]
    while todo:
        row, col = divmod(todo.pop(), size)
        for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            if 0 <= r < size and 0 <= c < size and stones[r, c] in (color, EMPTY) and r * size + c not in seen:
                seen.add(r * size + c)
                todo.append(r * size + c)
    return frozenset(p for p in seen if stones.ravel()[p] == color)


def count_of(played: PlayedGame) -> dict[str, Any]:
    """Who owns what, with the dead stones taken off, as a page shows it."""
    state, dead = played.state, played.dead or frozenset()
    owners = state.ownership(dead)
    return {
        "dead": [state.move_name(point) for point in sorted(dead)],
        "owners": "".join(str(int(owner)) for owner in owners.ravel()),
        "margin": state.score(dead),
        "text": describe_count(state, dead),
        "correctable": state.rules.removes_dead,
    }
