"""Unconditional life: the stones that no enemy moves can capture, even if their owner always passes.

The algorithm is that of D. B. Benson, "Life in the game of Go" (Information Sciences 10, 1976). For a colour:

* a *region* is a maximal connected set of points that are not stones of that colour: empty or enemy;
  strings of the colour with a stone beside it *enclose* it;
* a region is *vital* to a string if every empty point of the region is a liberty of that string;
* repeat until nothing changes: drop every string with fewer than two vital regions, then every region that
  a dropped string helps to enclose. The strings that are left are unconditionally alive.

The *territory* is made of the regions that are left and vital to a living string: the enemy cannot live in
there, nor its stones escape. Other enclosed regions, however small, are not counted.

Benson forbids suicide. Where the enemy may take off its own stones, it can empty points in the middle of a
region, so with `suicide` a region is vital only if all its points, the enemy's stones too, touch the string.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array, stack_zeros
from tengen.games.go.board import BLACK, BORDER, EMPTY, NO_CELL, SIZE, WHITE, Board
from tengen.games.go.strings import is_of_string

if TYPE_CHECKING:
    from tengen.games.go.state import State

_NO_REGION = -1
_CANDIDATES = 4  # a region's first empty point touches at most four strings, and only they can find it vital


def unconditional_life(
    position: "State | Board", color: int, suicide: bool | None = None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(alive, territory): bool[size, size] each, the living stones of `color` and the regions they own.

    `suicide` says whether the enemy may take its own stones off; None asks the state's rules, and is no for a
    bare board.
    """
    if color not in (BLACK, WHITE):
        raise ValueError(f"colour {color} cannot live: choose BLACK ({BLACK}) or WHITE ({WHITE})")
    board = position if isinstance(position, Board) else position.board
    if suicide is None:
        suicide = not isinstance(position, Board) and position.rules.suicide
    alive = np.empty(board.color.shape, np.bool_)
    territory = np.empty(board.color.shape, np.bool_)
    mark_unconditional_life(board, color, suicide, alive, territory)
    size = int(board.info[SIZE])
    rows = slice(size + 1, (size + 1) * (size + 1))
    return (
        alive[rows].reshape(size, size + 1)[:, 1:].copy(),
        territory[rows].reshape(size, size + 1)[:, 1:].copy(),
    )


# --------------------------------------------------------------------------------------------- kernels


@kernel
def mark_unconditional_life(board, color, suicide, alive, territory):  # type: ignore[no-untyped-def]
    """Write Benson's verdict on `color` to alive: bool[P] (its stones) and territory: bool[P] (other points).

    Returns the number of living strings. `suicide`: whether the enemy may take its own stones off.
    """
    cells = board.color
    region_of = stack_array(cells.shape[0], np.int16)
    region_of[:] = _NO_REGION
    members = stack_array(cells.shape[0], np.int64)  # the points of region r: members[starts[r]:starts[r + 1]]
    starts = stack_zeros(cells.shape[0] + 1, np.int64)
    regions = _find_regions(board, color, region_of, members, starts)

    vital_to = stack_zeros(regions * _CANDIDATES, np.int64).reshape(regions, _CANDIDATES)  # heads, then NO_CELL
    vital_regions = stack_zeros(cells.shape[0], np.int64)  # at the head of a string: how many regions it has
    for r in range(regions):
        for i in range(_find_vital(board, color, suicide, members[starts[r] : starts[r + 1]], vital_to[r])):
            vital_regions[vital_to[r, i]] += 1

    closed = stack_array(regions, np.bool_)
    closed[:] = True
    living = _drop_strings(board, color, region_of, vital_to, vital_regions, closed, alive)
    for p in range(cells.shape[0]):
        r = region_of[p]
        territory[p] = r != _NO_REGION and closed[r] and vital_to[r, 0] != NO_CELL
    return living


@kernel
def _find_regions(board, color, region_of, members, starts):  # type: ignore[no-untyped-def]
    """Number the regions in region_of: int16[P] and list their points; returns how many there are."""
    cells = board.color
    stride = board.info[SIZE] + 1
    regions = 0
    end = 0
    for start in range(cells.shape[0]):
        if cells[start] == color or cells[start] == BORDER or region_of[start] != _NO_REGION:
            continue
        region_of[start] = regions
        members[end] = start
        done, end = end, end + 1
        while done < end:
            p = members[done]
            done += 1
            for q in (p - 1, p + 1, p - stride, p + stride):
                if cells[q] != color and cells[q] != BORDER and region_of[q] == _NO_REGION:
                    region_of[q] = regions
                    members[end] = q
                    end += 1
        regions += 1
        starts[regions] = end
    return regions


@kernel
def _find_vital(board, color, suicide, points, vital_to):  # type: ignore[no-untyped-def]
    """Write the heads of the strings that the region of these points is vital to; returns how many."""
    stride = board.info[SIZE] + 1
    count = -1  # until the first point that has to be a liberty, whose strings are the candidates
    for p in points:
        if board.color[p] != EMPTY and not suicide:
            continue
        if count < 0:
            count = 0
            for q in (p - 1, p + 1, p - stride, p + stride):
                if board.color[q] == color and not _is_among(board.head[q], vital_to, count):
                    vital_to[count] = board.head[q]
                    count += 1
        else:
            kept = 0
            for i in range(count):
                if _touches(board, p, color, vital_to[i], stride):
                    vital_to[kept] = vital_to[i]
                    kept += 1
            count = kept
    count = max(count, 0)
    vital_to[count:] = NO_CELL
    return count


@kernel(inline=True)
def _is_among(head, heads, count):  # type: ignore[no-untyped-def]
    for i in range(count):
        if heads[i] == head:
            return True
    return False


@kernel(inline=True)
def _touches(board, p, color, head, stride):  # type: ignore[no-untyped-def]
    """Whether a stone of this string stands beside p."""
    return (
        is_of_string(board, p - 1, color, head)
        or is_of_string(board, p + 1, color, head)
        or is_of_string(board, p - stride, color, head)
        or is_of_string(board, p + stride, color, head)
    )


@kernel
def _drop_strings(board, color, region_of, vital_to, vital_regions, closed, alive):  # type: ignore[no-untyped-def]
    """Drop strings with fewer than two vital regions, and the regions that they open, until all others stay.

    Marks the stones that are left in alive: bool[P]; returns the number of their strings.
    """
    cells = board.color
    for p in range(cells.shape[0]):
        alive[p] = cells[p] == color
    living = -1
    dropped = True
    while dropped:
        dropped = False
        living = 0
        for p in range(cells.shape[0]):
            if alive[p] and board.head[p] == p:
                if vital_regions[p] < 2:
                    _drop(board, p, region_of, vital_to, vital_regions, closed, alive)
                    dropped = True
                else:
                    living += 1
    return living


@kernel
def _drop(board, first, region_of, vital_to, vital_regions, closed, alive):  # type: ignore[no-untyped-def]
    """Drop the string with this head, and open every region beside it."""
    stride = board.info[SIZE] + 1
    s = first
    while True:
        alive[s] = False
        for q in (s - 1, s + 1, s - stride, s + stride):
            r = region_of[q]
            if r != _NO_REGION and closed[r]:
                closed[r] = False
                for head in vital_to[r]:
                    vital_regions[head] -= 1  # at NO_CELL, where there are fewer, nobody looks
        s = np.int64(board.next[s])
        if s == first:
            return
