"""Life, death and who is ahead, read by search: which stones are dead, is all settled, and what will the count be?

Plain playouts misjudge groups that live or die by one exact move. Here a short UCT search runs from the
position twice, once with each player to move, and every simulation votes on the owner of every point. What
lives only if its owner moves first is unsettled, and counts as alive. An unfinished game is estimated by guided
playouts; `describe_count` says how the count of a finished one comes about.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go import BLACK, EMPTY, WHITE, opponent
from tengen.games.go.board import BORDER, KO, NO_CELL, PASSES, TO_PLAY, allocate, copy_board
from tengen.games.go.coordinates import to_cell
from tengen.games.go.score import playout_owners
from tengen.search.uct import UctParameters, UctRoot, new_scratch, new_tree, simulate


def dead_stones(state: go.State, playouts: int = 4000, seed: int = 1) -> frozenset[int]:
    """The stones to take off before counting; none under rules that take nothing off."""
    if not state.rules.removes_dead:
        return frozenset()
    return state.dead_by_ownership(search_ownership(state, playouts, seed), playouts)


def settle(state: go.State, playouts: int = 4000, seed: int = 1) -> go.State:
    """The same finished game with its dead stones agreed on, so that its result is that of careful reading."""
    return state.with_dead(dead_stones(state, playouts, seed))


def is_settled(state: go.State, ownership: NDArray[np.int64], playouts: float) -> bool:
    """Whether simulations agree, in more than nine of ten, on the owner of every single point."""
    on_board = state.board.color != BORDER
    return bool(np.all(np.abs(ownership[on_board]) >= 0.8 * playouts))


def playout_ownership(state: go.State, playouts: int = 400, seed: int = 1) -> NDArray[np.float64]:
    """float64[N * N]: whose each point is at the end of guided playouts, from 1 (always Black's) to -1 (White's)."""
    size, board = state.size, state.board
    totals, rng = np.zeros(len(board.color), np.int64), np.array([2 * seed + 1], np.uint64)
    playout_owners(board, allocate(size), state.rules.flags, playouts, rng, totals)
    return on_points(totals, size) / playouts


def on_points(of_cells: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """int64[N * N]: what is known of the cells of a board, int64[P], in the order of its points."""
    return of_cells[[to_cell(point, size) for point in range(size * size)]]


def search_ownership(state: go.State, playouts: int, seed: int = 1) -> NDArray[np.int64]:
    """int64[P]: over all simulations, +1 where a cell ended up Black's and -1 where it was White's."""
    rng = np.array([2 * seed + 1], np.uint64)
    ownership = np.zeros(len(state.board.color), np.int64)
    komi = state.compensation
    for color in (BLACK, WHITE):
        board = allocate(state.size)
        copy_board(state.board, board)
        board.info[TO_PLAY], board.info[KO], board.info[PASSES] = color, NO_CELL, 0
        scratch = new_scratch(state.size, state.history)
        dead = np.zeros(len(board.color), np.uint8)
        root = UctRoot(board, NO_CELL, NO_CELL, len(state.history), state.rules.flags, komi, dead, True)
        tree = new_tree(playouts // 2 * state.size * state.size // 2 + 1000)
        simulate(tree, root, scratch, UctParameters(margin_weight=1.0), playouts // 2, rng)
        ownership += scratch.ownership
    return ownership


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
