"""Counting: area (Tromp-Taylor, exact), territory, and which stones are dead.

Owners are EMPTY (neutral), BLACK or WHITE for every cell: a stone's own colour, or for an empty region the
one colour that it touches. Dead stones are those that random playouts from the final position mostly lose.

`final_owners` decides what a finished game is worth, for search, self-play and matches alike. Unconditional life, which
needs no playouts, is at the end.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import copy_into, kernel, stack_array, stack_zeros
from tengen.games.go.board import (
    BLACK,
    BORDER,
    EMPTY,
    KO,
    NO_CELL,
    PRISONERS_OF_BLACK,
    PRISONERS_OF_WHITE,
    SIZE,
    TO_PLAY,
    WHITE,
    Board,
    board_at,
    copy_board,
)
from tengen.games.go.playout import CANDIDATES, run_guided_playout
from tengen.games.go.rules import BY_TERRITORY, REMOVES_DEAD, SUICIDE
from tengen.games.go.strings import is_of_string

if TYPE_CHECKING:
    from tengen.games.go.state import State


@kernel
def owners(cells, size, owner):  # type: ignore[no-untyped-def]
    """Who owns each cell; cells: uint8[P] as `Board.color`, written to owner: uint8[P]."""
    stride = size + 1
    stack = stack_array(cells.shape[0], np.int64)
    region = stack_array(cells.shape[0], np.int64)
    copy_into(cells, owner)
    seen = stack_zeros(cells.shape[0], np.bool_)
    for row in range(1, size + 1):
        for start in range(row * stride + 1, row * stride + 1 + size):
            if cells[start] != EMPTY or seen[start]:
                continue
            touched = 0
            length = 0
            depth = 1
            stack[0] = start
            seen[start] = True
            while depth > 0:
                depth -= 1
                p = stack[depth]
                region[length] = p
                length += 1
                for q in (p - 1, p + 1, p - stride, p + stride):
                    c = cells[q]
                    if c == EMPTY:
                        if not seen[q]:
                            seen[q] = True
                            stack[depth] = q
                            depth += 1
                    elif c != BORDER:
                        touched |= c
            if touched == BLACK or touched == WHITE:
                for i in range(length):
                    owner[region[i]] = touched


@kernel
def add_owners(board, ownership):  # type: ignore[no-untyped-def]
    """Add +1 to ownership: int64[P] where Black owns a cell and -1 where White does; returns their sum."""
    owner = stack_array(board.color.shape[0], np.uint8)
    owners(board.color, board.info[SIZE], owner)
    return add_signs(owner, ownership)


@kernel
def add_signs(owner, ownership):  # type: ignore[no-untyped-def]
    """Add +1 to ownership: int64[P] where owner: uint8[P] is Black and -1 where it is White; returns their sum."""
    total = np.int64(0)
    for p in range(owner.shape[0]):
        sign = np.int64(owner[p] == BLACK) - np.int64(owner[p] == WHITE)
        ownership[p] += sign
        total += sign
    return total


@kernel
def area(board):  # type: ignore[no-untyped-def]
    """Black's points minus White's by Tromp-Taylor area scoring, without komi."""
    u = np.uint64
    stride = board.info[SIZE] + 1
    cells = stack_array(board.color.shape[0], np.uint8)  # empty points become BORDER once they are counted
    copy_into(board.color, cells)
    region = stack_array(cells.shape[0], np.uint16)
    total = np.int64(0)
    for start in range(stride + 1, stride * stride):
        c = cells[u(start)]
        if c == BLACK:
            total += 1
        elif c == WHITE:
            total -= 1
        elif c == EMPTY:
            region[0], length, done, touched = start, 1, 0, 0
            cells[u(start)] = BORDER
            while done < length:
                p = np.int64(region[u(done)])
                done += 1
                for q in (p - 1, p + 1, p - stride, p + stride):
                    c = cells[u(q)]
                    if c == EMPTY:
                        cells[u(q)] = BORDER
                        region[u(length)] = q
                        length += 1
                    elif c != BORDER:
                        touched |= c
            if touched == BLACK:
                total += length
            elif touched == WHITE:
                total -= length
    return total


@kernel
def areas(boards, out):  # type: ignore[no-untyped-def]
    """The area of B boards, written to out: int64[B]."""
    for i in range(out.shape[0]):
        out[i] = area(board_at(boards, i))


@kernel
def final_owners(board, flags, dead, owner):  # type: ignore[no-untyped-def]
    """Who owns each cell of a finished game, to owner: uint8[P].

    Where the rules (flags) take dead stones off, that is those in unconditional territory of the opponent, and strings
    all of whose stones are marked with their own colour in dead: uint8[P].
    """
    cells = stack_array(board.color.shape[0], np.uint8)
    copy_into(board.color, cells)
    if flags & REMOVES_DEAD:
        alive, territory = stack_array(cells.shape[0], np.bool_), stack_array(cells.shape[0], np.bool_)
        for color in (BLACK, WHITE):
            mark_unconditional_life(board, color, flags & SUICIDE != 0, alive, territory)
            for p in range(cells.shape[0]):
                if territory[p] and cells[p] == 3 - color:
                    cells[p] = EMPTY
        for p in range(cells.shape[0]):
            if dead[p] != EMPTY and dead[p] == board.color[p] and board.head[p] == p:
                _take_off_marked(board, p, dead, cells)
    owners(cells, board.info[SIZE], owner)


@kernel
def is_certain(board, flags):  # type: ignore[no-untyped-def]
    """Whether every stone is unconditionally alive, or stands in unconditional territory of the opponent."""
    cells = board.color.shape[0]
    alive, territory, decided = stack_array(cells, np.bool_), stack_array(cells, np.bool_), stack_zeros(cells, np.bool_)
    for color in (BLACK, WHITE):
        mark_unconditional_life(board, color, flags & SUICIDE != 0, alive, territory)
        for p in range(decided.shape[0]):
            decided[p] |= alive[p] or territory[p]
    for p in range(decided.shape[0]):
        c = board.color[p]
        if (c == BLACK or c == WHITE) and not decided[p]:
            return False
    return True


@kernel(inline=True)
def _take_off_marked(board, head, dead, cells):  # type: ignore[no-untyped-def]
    """Empty the cells of a string, unless it has grown by a stone that is not marked."""
    s = head
    while True:
        if dead[s] != board.color[s]:
            return
        s = board.next[s]
        if s == head:
            break
    while True:
        cells[s] = EMPTY
        s = board.next[s]
        if s == head:
            return


@kernel
def final_margin(board, flags, dead):  # type: ignore[no-untyped-def]
    """Black's points minus White's in a finished game, without komi, by `final_owners`: area, or by rules (flags) that
    count territory, the empty points and the prisoners, dead stones among them."""
    owner = stack_array(board.color.shape[0], np.uint8)
    final_owners(board, flags, dead, owner)
    margin = add_signs(owner, stack_zeros(owner.shape[0], np.int64))
    if flags & BY_TERRITORY:
        margin += board.info[PRISONERS_OF_BLACK] - board.info[PRISONERS_OF_WHITE]
        for p in range(owner.shape[0]):
            c = board.color[p]  # a stone is either dead, and then a prisoner, or no territory
            margin += np.int64(c == WHITE) - np.int64(c == BLACK)
    return margin


@kernel
def playout_owners(board, scratch, flags, count, rng, ownership):  # type: ignore[no-untyped-def]
    """Play `count` guided playouts and add their ends to ownership: int64[P], as `add_owners` does.

    Black and White begin in turn, so that the result does not hang on who is to move.
    """
    state = rng[0]
    first_player, found = stack_zeros(board.color.shape[0], np.uint8), stack_array(CANDIDATES, np.int64)
    for k in range(count):
        copy_board(board, scratch)
        scratch.info[KO] = NO_CELL
        scratch.info[TO_PLAY] = BLACK if k % 2 == 0 else WHITE
        state, _ = run_guided_playout(scratch, NO_CELL, NO_CELL, flags, found, first_player, state)
        add_owners(scratch, ownership)
    rng[0] = state


@kernel
def dead_cells(board, ownership, count, dead):  # type: ignore[no-untyped-def]
    """Mark in dead: bool[P] every stone of the strings whose points mostly end up the opponent's."""
    dead[:] = False
    for p in range(dead.shape[0]):
        c = board.color[p]
        if (c == BLACK or c == WHITE) and board.head[p] == p:
            total = 0
            stones = 0
            s = p
            while True:
                total += ownership[s]
                stones += 1
                s = board.next[s]
                if s == p:
                    break
            lost = -total if c == BLACK else total
            if 3 * lost > stones * count:  # owned by the opponent in two playouts of three
                while True:
                    dead[s] = True
                    s = board.next[s]
                    if s == p:
                        break


# ---------------------------------------------------------------------------------- unconditional life
# The stones that no enemy moves can capture, even if their owner always passes.
#
# The algorithm is that of D. B. Benson, "Life in the game of Go" (Information Sciences 10, 1976). For a colour:
#
# * a *region* is a maximal connected set of points that are not stones of that colour: empty or enemy;
#   strings of the colour with a stone beside it *enclose* it;
# * a region is *vital* to a string if every empty point of the region is a liberty of that string;
# * repeat until nothing changes: drop every string with fewer than two vital regions, then every region that
#   a dropped string helps to enclose. The strings that are left are unconditionally alive.
#
# The *territory* is made of the regions that are left and vital to a living string: the enemy cannot live in
# there, nor its stones escape. Other enclosed regions, however small, are not counted.
#
# Benson forbids suicide. Where the enemy may take off its own stones, it can empty points in the middle of a
# region, so with `suicide` a region is vital only if all its points, the enemy's stones too, touch the string.


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
