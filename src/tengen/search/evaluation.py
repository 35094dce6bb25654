"""What a position is worth without looking further: the leaves of minimax and alpha-beta.

An evaluation takes a state and returns points, komi and handicap counted, *as the player to move sees them*.
Any function of that type serves; the named ones are

* `area`: Tromp-Taylor area as the board stands. Exact at the end of a game, blind before walls are closed.
* `influence`: Bouzy's estimate of territory ("Mathematical Morphology Applied to Computer Go", 2003): stones
  radiate (dilation), then what rests on too little shrinks (erosion). Strings that the player to move can
  capture at once count as gone. With n dilations and n(n-1)+1 erosions a lone stone ends with itself only.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numba import njit

from tengen.games.go import BLACK, EMPTY, WHITE, GameState
from tengen.games.go import score as score_kernels
from tengen.games.go.board import BORDER, NO_CELL, PASSES, SIZE, TO_PLAY, atari_cell

Evaluation = Callable[[GameState], float]

_STONE: Final = 128  # what a stone radiates from, in Bouzy's scale
_DILATIONS: Final = 4
_EROSIONS: Final = _DILATIONS * (_DILATIONS - 1) + 1


def area(state: GameState) -> float:
    """The area that each player holds now."""
    return _seen_by_player(state, float(score_kernels.area(state.board)))


def influence(state: GameState) -> float:
    """The area that each player seems about to hold."""
    return _seen_by_player(state, float(influence_area(state.board)))


EVALUATIONS: Final[dict[str, Evaluation]] = {"area": area, "influence": influence}


def get_evaluation(name: str) -> Evaluation:
    """The evaluation of this name; ValueError with all names if there is none."""
    if name not in EVALUATIONS:
        raise ValueError(f"no evaluation is called {name[:40]!r}: choose from {', '.join(EVALUATIONS)}")
    return EVALUATIONS[name]


def final_points(state: GameState) -> float:
    """The exact points at the end of a game, every stone on the board alive; 0 for a game without result.

    A search plays on until dead stones are gone, so it never has to guess which ones are dead.
    """
    if state.board.info[PASSES] < 2:  # over without two passes: void by repetition
        return 0.0
    margin = state.score(dead=())
    return margin if state.to_play == BLACK else -margin


def chance(points: float, size: int) -> float:
    """A rough chance, 0 to 1, of winning with this many points: a logistic curve, wider on bigger boards."""
    return 0.5 * (1.0 + math.tanh(points / size))


def _seen_by_player(state: GameState, black_area: float) -> float:
    margin = black_area - state.compensation
    return margin if state.to_play == BLACK else -margin


# --------------------------------------------------------------------------------------------- kernels


@njit(cache=True, nogil=True)
def influence_area(board):  # type: ignore[no-untyped-def]
    """Black's points minus White's by Bouzy's dilations and erosions, without komi."""
    now = np.zeros(board.color.shape[0], np.int64)
    after = np.zeros(board.color.shape[0], np.int64)
    for p in range(now.shape[0]):
        c = board.color[p]
        if c == BLACK or c == WHITE:
            if c == board.info[TO_PLAY] or atari_cell(board.liberties[board.head[p]]) == NO_CELL:
                now[p] = _STONE if c == BLACK else -_STONE
    for _ in range(_DILATIONS):
        _dilate(board, now, after)
        now, after = after, now
    for _ in range(_EROSIONS):
        _erode(board, now, after)
        now, after = after, now
    total = 0
    for p in range(now.shape[0]):
        total += np.sign(now[p])
    return total


@njit(cache=True, nogil=True)
def _dilate(board, now, after):  # type: ignore[no-untyped-def]
    """Each point that no enemy touches gains one for each friendly neighbour."""
    stride = board.info[SIZE] + 1
    for p in range(now.shape[0]):
        after[p] = now[p]
        if board.color[p] != BORDER:
            black = white = 0
            for q in (p - 1, p + 1, p - stride, p + stride):
                black += now[q] > 0
                white += now[q] < 0
            if now[p] >= 0 and white == 0:
                after[p] += black
            if now[p] <= 0 and black == 0:
                after[p] -= white


@njit(cache=True, nogil=True)
def _erode(board, now, after):  # type: ignore[no-untyped-def]
    """Each point loses one for each neighbour that is not friendly, down to nothing."""
    stride = board.info[SIZE] + 1
    for p in range(now.shape[0]):
        after[p] = now[p]
        if board.color[p] != BORDER and now[p] != EMPTY:
            sign = np.sign(now[p])
            strangers = 0
            for q in (p - 1, p + 1, p - stride, p + stride):
                strangers += board.color[q] != BORDER and now[q] * sign <= 0
            after[p] = sign * max(abs(now[p]) - strangers, 0)
