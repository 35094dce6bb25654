"""Who is ahead, and by how much: a guess at an unfinished game, and the count of a finished one, in words."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, WHITE, opponent
from tengen.search.status import playout_ownership

_SURE = 0.5  # a point is given to a side that owns it in three playouts of four


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
    owners = np.where(black_share >= _SURE, BLACK, np.where(black_share <= -_SURE, WHITE, EMPTY))
    margin = round(2 * (float(black_share.sum()) - state.compensation)) / 2
    against = (owners != EMPTY) & (state.stones != EMPTY) & (owners != state.stones)
    return Estimate(margin, owners.astype(np.int8), frozenset(np.flatnonzero(against.ravel()).tolist()))


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
