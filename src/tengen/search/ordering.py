"""Which move to look at first. Alpha-beta prunes most when the best move comes first.

A static score for each move, as a kernel: captures above all, then saving stones from atari, then moves near
the last one, then the middle before the edge. A pass comes after every move that does no harm on its face,
and filling an eye of one's own comes last of all: a search that keeps the first of equally good moves
therefore never fills an eye without a reason.
"""

from typing import Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tengen.games.go import PASS, GameState
from tengen.games.go.board import BORDER, EMPTY, NO_CELL, SIZE, is_only_liberty
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye

PASS_SCORE: Final = -1_000
_EYE_SCORE: Final = -2_000
_CAPTURE, _RESCUE, _NEARBY = 1_000, 300, 20


def static_scores(state: GameState, moves: list[int]) -> NDArray[np.int64]:
    """int64[len(moves)]: how promising each move of the player to move looks, the higher the better."""
    scores = np.empty(len(moves), np.int64)
    last = state.last_move
    near = NO_CELL if last is None or last < 0 else to_cell(last, state.size)
    score_moves(state.board, np.array(moves, np.int64), state.to_play, state.rules.flags, near, scores)
    return scores


def best_looking_first(state: GameState, moves: list[int]) -> list[int]:
    """The moves by falling static score; equals stay in their order."""
    scores = dict(zip(moves, static_scores(state, moves).tolist()))
    return sorted(moves, key=lambda move: -scores[move])


@njit(cache=True, nogil=True)
def score_moves(board, moves, color, flags, near, scores):  # type: ignore[no-untyped-def]
    """Score moves: int64[n] (points or PASS) into scores: int64[n]; near: the cell of the last move."""
    size = board.info[SIZE]
    stride = size + 1
    for i in range(moves.shape[0]):
        if moves[i] == PASS:
            scores[i] = PASS_SCORE
            continue
        row, col = moves[i] // size, moves[i] % size
        p = (row + 1) * stride + col + 1
        if is_eye(board, p, color, flags):
            scores[i] = _EYE_SCORE
            continue
        found = min(row, col, size - 1 - row, size - 1 - col)
        for q in (p - 1, p + 1, p - stride, p + stride):
            c = board.color[q]
            if c == EMPTY or c == BORDER:
                continue
            if is_only_liberty(board.liberties[board.head[q]], p):
                found += _RESCUE if c == color else _CAPTURE
            if q == near:
                found += _NEARBY
        scores[i] = found
