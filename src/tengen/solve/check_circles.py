"""Where the lines of a strategy can come back to the same stones: strongly connected sets of boards, in a kernel.

A board is stones up to symmetry, whoever is to move. Each entry of a certificate leads from its board, by the player's
move, to one board, and from there, by the opponent's replies, to boards of other entries. Boards that differ only by
symmetry count as one, so there may be more circles here than in a game, but no fewer.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel

NOWHERE = -1


class Steps(NamedTuple):
    """The steps of a strategy with n entries, on V boards."""

    board: NDArray[np.int32]  # [n] the board of an entry, not falling
    after: NDArray[np.int32]  # [n] the board after its move; NOWHERE if the line ends there
    first: NDArray[np.int64]  # [n + 1] where its replies begin in `reply`
    reply: NDArray[np.int32]  # [...] the entries that replies lead to


def connected_sets(steps: Steps, boards: int) -> NDArray[np.int32]:
    """int32[V]: for each board the number of the strongly connected set that it is in, be it alone there. Steps lead to
    the same or to a lower number."""
    order = np.argsort(steps.after, kind="stable").astype(np.int32)
    every = np.arange(boards + 1)
    own = np.searchsorted(steps.board, every).astype(np.int64)
    other = np.searchsorted(steps.after[order], every).astype(np.int64)
    found = np.empty(boards, np.int32)
    _tarjan(steps, order, own, other, found)
    return found


@kernel(allocates=True)
def _tarjan(steps, order, own, other, found):  # type: ignore[no-untyped-def]
    """Tarjan (1972), without recursion. Entries own[v] to own[v + 1] are on board v, and after the moves of the entries
    order[other[v]] to order[other[v + 1]] it is the opponent's turn on it."""
    boards = found.shape[0]
    visited = np.zeros(boards, np.int32)  # when a board was come to first, from 1 on
    lowest = np.zeros(boards, np.int32)
    on_stack = np.zeros(boards, np.bool_)
    stack, walk = np.empty(boards, np.int32), np.empty(boards, np.int32)
    entry, place = np.zeros(boards, np.int64), np.zeros(boards, np.int64)  # steps of a board taken so far
    clock = np.int32(0)
    waiting, sets = 0, 0
    for start in range(boards):
        if visited[start]:
            continue
        depth = 0
        walk[0] = start
        while depth >= 0:
            v = walk[depth]
            if not visited[v]:
                clock += 1
                visited[v] = lowest[v] = clock
                stack[waiting], on_stack[v] = v, True
                waiting += 1
            to = _next_step(steps, order, own, other, v, entry, place)
            if to >= 0:
                if not visited[to]:
                    depth += 1
                    walk[depth] = to
                elif on_stack[to]:
                    lowest[v] = min(lowest[v], visited[to])
                continue
            if lowest[v] == visited[v]:
                while True:
                    waiting -= 1
                    w = stack[waiting]
                    on_stack[w] = False
                    found[w] = sets
                    if w == v:
                        break
                sets += 1
            depth -= 1
            if depth >= 0:
                lowest[walk[depth]] = min(lowest[walk[depth]], lowest[v])


@kernel
def _next_step(steps, order, own, other, v, entry, place):  # type: ignore[no-untyped-def]
    """The board that the next step from v leads to; NOWHERE when all have been taken."""
    while own[v] + entry[v] < own[v + 1]:
        to = steps.after[own[v] + entry[v]]
        entry[v] += 1
        if to != NOWHERE:
            return to
    taken = own[v + 1] - own[v]
    while other[v] + entry[v] - taken < other[v + 1]:
        e = order[other[v] + entry[v] - taken]
        if steps.first[e] + place[v] < steps.first[e + 1]:
            place[v] += 1
            return steps.board[steps.reply[steps.first[e] + place[v] - 1]]
        entry[v] += 1
        place[v] = 0
    return np.int32(NOWHERE)


@kernel
def mark_doors(steps, found, is_circle, own_doors, other_doors):  # type: ignore[no-untyped-def]
    """Mark in bool[n] each the entries, and the entries after whose moves, lines can come from elsewhere into a set
    with circles, by is_circle: bool[sets]."""
    for e in range(steps.board.shape[0]):
        after = steps.after[e]
        if after == NOWHERE:
            continue
        inside = found[after]
        other_doors[e] = is_circle[inside] and inside != found[steps.board[e]]
        for k in range(steps.first[e], steps.first[e + 1]):
            reached = found[steps.board[steps.reply[k]]]
            if is_circle[reached] and reached != inside:
                own_doors[steps.reply[k]] = True


@kernel(allocates=True)
def mark_reached(first, reply, starts, reached):  # type: ignore[no-untyped-def]
    """Mark in reached: bool[n] the entries that lines from the first ones, starts: int64[k], lead to; `first` and
    `reply` as in Steps."""
    todo = np.empty(reached.shape[0], np.int32)
    length = 0
    for start in starts:
        if not reached[start]:
            reached[start] = True
            todo[length] = start
            length += 1
    while length > 0:
        length -= 1
        e = todo[length]
        for k in range(first[e], first[e + 1]):
            to = reply[k]
            if not reached[to]:
                reached[to] = True
                todo[length] = to
                length += 1
