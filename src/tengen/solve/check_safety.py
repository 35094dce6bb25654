"""The checker's own safe points, in kernels: as defined in `solve.safety`, but with lists of points, strings and
regions on the board of the rules engine, so that no code is shared with the search."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.board import BORDER, EMPTY, SIZE, cell_count


class SafetyWork(NamedTuple):
    """Room for one board of P cells. Strings are named by their heads, regions by numbers."""

    region: NDArray[np.int16]  # [P] the number of the region of each cell, -1 on stones of the player
    regions: NDArray[np.int16]  # [P, 2] points of each region, and stones of the opponent in it
    touched: NDArray[np.int16]  # [P, P] points of a region that are beside a string
    alive: NDArray[np.bool_]  # [P] by the head of a string
    part: NDArray[np.int64]  # [P] a connected set of cells, or those still to visit
    seen: NDArray[np.bool_]  # [P]


def safety_work(size: int) -> SafetyWork:
    """Room for boards of this size."""
    cells = cell_count(size)
    return SafetyWork(
        np.zeros(cells, np.int16),
        np.zeros((cells, 2), np.int16),
        np.zeros((cells, cells), np.int16),
        np.zeros(cells, np.bool_),
        np.zeros(cells, np.int64),
        np.zeros(cells, np.bool_),
    )


@kernel
def count_safe(board, own, work):  # type: ignore[no-untyped-def]
    """(how many points the player `own` keeps, how many stones of the opponent are among them)."""
    count = _find_regions(board, own, work)
    if count < 2 or not _find_alive(board, own, count, work):
        return 0, 0
    size = board.info[SIZE]
    points, stones = 0, 0
    for p in range(board.color.shape[0]):
        work.seen[p] = board.color[p] == BORDER
        if board.color[p] == own and work.alive[board.head[p]]:
            work.seen[p] = True
            points += 1
    for start in range(board.color.shape[0]):
        if work.seen[start]:
            continue
        length = _collect(board, start, size + 1, work)
        inner, inner_own, opponents = 0, 0, 0
        for k in range(length):
            p = work.part[k]
            opponents += board.color[p] == 3 - own
            if not _is_beside_alive(board, p, own, work):
                inner += 1
                inner_own += board.color[p] == own
        if inner <= 1 and (inner_own == 0 or opponents == 0):
            points += length
            stones += opponents
    return points, stones


@kernel
def _collect(board, start, stride, work):  # type: ignore[no-untyped-def]
    """List in `part` all cells that are connected to `start` without going over seen ones; returns how many."""
    work.part[0], length, done = start, 1, 0
    work.seen[start] = True
    while done < length:
        p = work.part[done]
        done += 1
        for q in (p - 1, p + 1, p - stride, p + stride):
            if not work.seen[q]:
                work.seen[q] = True
                work.part[length] = q
                length += 1
    return length


@kernel
def _find_regions(board, own, work):  # type: ignore[no-untyped-def]
    """Number the regions, and count their points, the opponent's stones in them and the points beside each string.
    Returns how many regions there are; if only one, no more is done."""
    stride = board.info[SIZE] + 1
    for p in range(board.color.shape[0]):
        work.region[p] = -1
        work.seen[p] = board.color[p] == BORDER or board.color[p] == own
    count = 0
    for start in range(board.color.shape[0]):
        if work.seen[start]:
            continue
        length = _collect(board, start, stride, work)
        work.regions[count, 0], work.regions[count, 1] = length, 0
        work.touched[count, :] = 0
        for k in range(length):
            p = work.part[k]
            work.region[p] = count
            work.regions[count, 1] += board.color[p] != EMPTY
            neighbours = (p - 1, p + 1, p - stride, p + stride)
            for i in range(4):
                if board.color[neighbours[i]] != own:
                    continue
                head, counted = board.head[neighbours[i]], False
                for j in range(i):
                    counted |= board.color[neighbours[j]] == own and board.head[neighbours[j]] == head
                if not counted:
                    work.touched[count, head] += 1
        count += 1
    return count


@kernel
def _find_alive(board, own, count, work):  # type: ignore[no-untyped-def]
    """Mark the strings that are left when all without two vital regions have been dropped; False if there are none."""
    cells = board.color.shape[0]
    for head in range(cells):
        work.alive[head] = board.color[head] == own and board.head[head] == head
    while True:
        dropped, kept = False, False
        for r in range(count):  # as `alive` is at the beginning of a round: a region is closed by it
            closed = True
            for head in range(cells):
                closed &= work.touched[r, head] == 0 or work.alive[head]
            work.part[r] = closed
        for head in range(cells):
            if not work.alive[head]:
                continue
            vital = 0
            for r in range(count):
                vital += work.part[r] and _is_vital(board, r, head, work)
            if vital < 2:
                work.alive[head] = False
                dropped = True
            else:
                kept = True
        if not dropped or not kept:
            return kept


@kernel
def _is_vital(board, r, string, work):  # type: ignore[no-untyped-def]
    """Whether region r, whose borders are alive, is vital to a string, given by its head."""
    missing = work.regions[r, 0] - work.touched[r, string]
    if missing == 0:
        return True
    if missing > 1 or work.regions[r, 1] > 0:
        return False
    for head in range(board.color.shape[0]):
        if head != string and work.touched[r, head] > 0:
            return False
    stride = board.info[SIZE] + 1
    for p in range(board.color.shape[0]):
        if work.region[p] != r:
            continue
        beside, ways = False, 0
        for q in (p - 1, p + 1, p - stride, p + stride):
            beside |= board.color[q] == board.color[string] and board.head[q] == string
            ways += work.region[q] == r
        if not beside:
            return ways >= 2
    return False


@kernel
def _is_beside_alive(board, p, own, work):  # type: ignore[no-untyped-def]
    stride = board.info[SIZE] + 1
    for q in (p - 1, p + 1, p - stride, p + stride):
        if board.color[q] == own and work.alive[board.head[q]]:
            return True
    return False
