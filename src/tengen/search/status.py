"""Life and death at the end of a game, read by search: which stones are dead, and is all settled?

Plain playouts misjudge groups that live or die by one exact move. Here a short UCT search runs from the
position twice, once with each player to move, and every simulation votes on the owner of every point. What
lives only if its owner moves first is unsettled, and counts as alive.
"""

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go import BLACK, WHITE
from tengen.games.go.board import BORDER, KO, NO_CELL, PASSES, TO_PLAY, allocate, copy_board
from tengen.games.go.coordinates import to_cell
from tengen.games.go.score import playout_owners
from tengen.search.uct import UctParameters, UctRoot, new_scratch, simulate
from tengen.search.uct_tree import new_tree


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
