"""Capturing dead stones by play, which KGS asks for when the players disagree about them (`kgs-genmove_cleanup`).

A pass in answer to that command means "every stone on the board is alive". So it is played only when no stone of the
opponent is dead any more, or when no move brings the capture of one nearer.
"""

from collections.abc import Callable, Iterator

import numpy as np

from tengen.games import go
from tengen.games.go import PASS
from tengen.games.go.coordinates import from_cell, to_cell
from tengen.games.go.state import opponent
from tengen.games.go.strings import liberty_cells, liberty_count
from tengen.search.status import dead_stones, is_settled, search_ownership

_PLAYOUTS = 4000
_MANY = 99


def cleanup_move(state: go.State, choose: Callable[[], int]) -> int:
    """The move of the player to move: the agent's (`choose`), or one that captures dead stones of the opponent.

    Where every point is settled there is nothing else to play for, and the agent is not asked.
    """
    if not state.rules.removes_dead:
        return choose()
    ownership = search_ownership(state, _PLAYOUTS)
    dead = state.dead_by_ownership(ownership, _PLAYOUTS)
    if not any(state.color_at(point) == opponent(state.to_play) for point in dead):
        return choose()
    move = PASS if is_settled(state, ownership, _PLAYOUTS) else choose()
    if move != PASS:
        return move
    captures = capturing_move(state, dead)
    return choose() if captures is None else captures


def capturing_move(state: go.State, dead: frozenset[int]) -> int | None:
    """A move on a liberty of a dead string of the opponent that puts no living stones at risk; None if there is none.

    First come captures, then moves beside the strings with the fewest liberties.
    """
    own = {point for point in range(state.size**2) if state.color_at(point) == state.to_play} - dead
    for move in _approaches(state, dead, own):
        if not own & dead_stones(state.play(move), _PLAYOUTS):
            return move
    return None


def _approaches(state: go.State, dead: frozenset[int], own: set[int]) -> Iterator[int]:
    """Legal liberties of dead strings of the opponent, the most urgent first; none puts living stones in atari."""
    size, found = state.size, np.empty(len(state.board.color), np.int64)
    urgency: dict[int, int] = {}
    for point in dead:
        if state.color_at(point) == opponent(state.to_play):
            count = liberty_cells(state.board, to_cell(point, size), found)
            for cell in found[:count]:
                liberty = from_cell(int(cell), size)
                urgency[liberty] = min(count, urgency.get(liberty, count))
    ranked = []
    for move, liberties in urgency.items():
        if not state.is_legal(move):
            continue
        after = state.play(move)
        left = int(liberty_count(after.board, to_cell(move, size), _MANY))
        joined = any(after.board.head[to_cell(point, size)] == after.board.head[to_cell(move, size)] for point in own)
        if liberties == 1 or left > 1 or not joined:
            ranked.append((liberties, left < 2, -left, move))
    return (move for *_, move in sorted(ranked))
