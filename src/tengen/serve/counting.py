"""Who is ahead in a game of Go, and by how much: a guess at an unfinished game, and the count of a finished one."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, WHITE, opponent
from tengen.search.status import on_points, playout_ownership, search_ownership

_PLAYOUTS: Final = 1_000
_OWNED: Final = 0.5  # a point is given to a side that owns it in three playouts of four
_SETTLED: Final = 0.8  # of the playouts in which a point has the same owner, less those in which it has the other one
_OPEN: Final = 4  # a board is open while more than one point in so many is nobody's


@dataclass(frozen=True)
class Estimate:
    """What playouts expect of a game."""

    margin: float
    """Black's points minus White's, komi counted, to the nearest half."""
    owners: NDArray[np.int8]
    """int8[size, size]: the side that will own each point, EMPTY where that is open."""
    dead: frozenset[int]
    """Stones on points that will be the opponent's."""


def estimate(state: go.State, playouts: int = 400, seed: int = 1) -> Estimate:
    """Play the game to its end many times and see who owns what on average."""
    black_share = playout_ownership(state, playouts, seed).reshape(state.size, state.size)
    owners = np.where(black_share >= _OWNED, BLACK, np.where(black_share <= -_OWNED, WHITE, EMPTY))
    margin = round(2 * (float(black_share.sum()) - state.compensation)) / 2
    against = (owners != EMPTY) & (state.stones != EMPTY) & (owners != state.stones)
    return Estimate(margin, owners.astype(np.int8), frozenset(np.flatnonzero(against.ravel()).tolist()))


def is_open(state: go.State) -> bool:
    """Whether so much of a board is nobody's, or so few stones are there, that a pass is likely to be a slip."""
    empty, points = state.stones == EMPTY, state.size**2
    neutral = empty & (state.ownership(()) == EMPTY)
    return not state.is_over and (int(neutral.sum()) * _OPEN > points or int((~empty).sum()) * _OPEN < points)


def result_is_open(state: go.State) -> bool:
    """Whether the player to move, who would win if the game were counted now, could still lose it by playing on."""
    ownership = search_ownership(state, _PLAYOUTS)
    dead = state.dead_by_ownership(ownership, _PLAYOUTS) if state.rules.removes_dead else frozenset()
    margin = state.score(dead) if state.to_play == BLACK else -state.score(dead)
    unsettled = int((np.abs(on_points(ownership, state.size)) < _SETTLED * _PLAYOUTS).sum())
    return 0 < margin <= 2 * unsettled


def group_at(state: go.State, point: int) -> frozenset[int]:
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


def describe_margin(margin: float, verb: str) -> str:
    """`Black wins by 3.5`, with the verb that is given; `a draw` for none."""
    return f"{'Black' if margin > 0 else 'White'} {verb} {abs(margin):g}" if margin else "A draw"


def describe_count(state: go.State, dead: Collection[int]) -> str:
    """How both sides' points come about by the rules, and which stones were dead."""
    bonus = state.rules.bonus(state.handicap) if state.rules.scoring == "area" else 0
    extras = f" + {state.komi:g} komi" if state.komi else ""
    extras += f" + {bonus:g} for handicap" if bonus else ""
    points = {color: _points(state, dead, color) for color in (BLACK, WHITE)}
    return f"Black {points[BLACK]}, White {points[WHITE]}{extras}; {_describe_dead(state, dead)}."


def _points(state: go.State, dead: Collection[int], color: int) -> str:
    mine, alive = state.ownership(dead) == color, state.stones != EMPTY
    if state.rules.scoring == "area":
        return str(int(mine.sum()))
    alive.ravel()[list(dead)] = False
    prisoners = state.captures[color - 1] + sum(state.color_at(point) == opponent(color) for point in dead)
    return f"{int((mine & ~alive).sum())} + {prisoners} prisoners"


def _describe_dead(state: go.State, dead: Collection[int]) -> str:
    colors = [state.color_at(point) for point in dead]
    counts = [f"{colors.count(color)} {name}" for color, name in ((BLACK, "black"), (WHITE, "white"))
              if color in colors]  # fmt: skip
    return f"dead: {' and '.join(counts)}" if counts else "no dead stones"
