"""What both players force from every position of a board up to 4x4, by retrograde analysis.

The nodes of the graph are positions (own, opp, mark) as the player to move sees them, up to symmetry, as in
`solve.bitboard`. A node has four *states*, by whether a pass came last, and by whether the player whose guarantee is
asked for (the claimant) is to move or not. The guarantee G of a state is the largest margin that the claimant forces
within some number of moves, so that a game without end is worth no more to it than the loss of the whole board:

    G(state) = max of G over the moves, if the claimant is to move
    G(state) = min of G over the moves, if its opponent is
    G(state) >= what is safe at once (`solve.bitboard`)

This is the least solution of these equations, found by sweeps that begin with the lowest values. The rank of a state
is the sweep that gave it its guarantee: the number of plies that it takes. So the claimant always has a move that keeps
the guarantee and lowers the rank, and all answers do the same or raise the guarantee: no state comes twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games.go.rules import POSITIONAL, TERRITORY_KEPT, RuleSet
from tengen.solve.bitboard import (
    board_points,
    count,
    forbidden,
    legal_points,
    margin,
    mark_after,
    mark_after_pass,
    play,
    position_key,
    safe_points,
)

# States of a node: the claimant is to move, or its opponent; so many more if a pass came last.
OURS: Final = 0
THEIRS: Final = 1
AFTER_PASS: Final = 2
_SPREAD: Final = -7046029254386353131  # 2^64 / golden ratio: multiplicative hashing


class Position(NamedTuple):
    """Bit sets: the stones of the player to move and of the other one, the mark; and 1 if a pass came last, else 0."""

    own: int
    opp: int
    mark: int
    passes: int


class Choice(NamedTuple):
    """A move, and what the claimant is guaranteed after it."""

    bit: int
    """The point; 0 for a pass."""
    guarantee: int
    """The claimant's margin."""
    rank: int
    """Plies from there until the guarantee is safe."""
    after: Position | None
    """None if the game is over."""


@dataclass(frozen=True)
class Solution:
    """The guarantees of both players in all positions that can come up in a game, of n nodes."""

    size: int
    rules: RuleSet
    keys: NDArray[np.int64]
    """[n] the positions, by `position_key`."""
    places: NDArray[np.int32]
    """[a power of 2] the nodes by the hash of their keys, -1 where there is none."""
    guarantees: NDArray[np.int8]
    """[n, 4] by state."""
    ranks: NDArray[np.uint8]
    """[n, 4] by state."""

    def guarantee(self, position: Position, ours: bool) -> tuple[int, int]:
        """(guarantee, rank) of the player to move, if `ours`, or of its opponent."""
        own, opp, mark, passes = position
        node = self.places[place_of(self.places, self.keys, position_key(own, opp, mark, 0, 0, self.size))]
        if node < 0:
            raise ValueError("no game leads to this position: the solution does not have it")
        state = (OURS if ours else THEIRS) + AFTER_PASS * passes
        return int(self.guarantees[node, state]), int(self.ranks[node, state])

    def choices(self, position: Position, ours: bool) -> list[Choice]:
        """All moves of the player to move, who is the claimant if `ours`."""
        own, opp, mark, passes = position
        board, flags = board_points(self.size), self.rules.flags
        ko = forbidden(mark, own, opp, board, flags)
        found = []
        for bit in _bits(int(legal_points(own, opp, ko, board, flags | (POSITIONAL if passes else 0)))):
            mine, yours, new_ko = play(own, opp, bit, board)
            new_mark = mark_after(own, opp, mine, yours, bit, new_ko, mark, board, flags)
            after = Position(int(yours), int(mine), int(new_mark), 0)
            found.append(Choice(bit, *self.guarantee(after, not ours), after))
        if not found or not flags & TERRITORY_KEPT:
            if passes:
                points = int(margin(own, opp, board))
                found.append(Choice(0, points if ours else -points, 0, None))
            else:
                after = Position(opp, own, int(mark_after_pass(own, opp, mark, board, flags)), 1)
                found.append(Choice(0, *self.guarantee(after, not ours), after))
        return found


def _bits(points: int) -> list[int]:
    return [1 << p for p in range(points.bit_length()) if points >> p & 1]


@kernel(inline=True)
def place_of(places, keys, key):  # type: ignore[no-untyped-def]
    """Where a key is in the hash table `places`, or could be put."""
    last = places.shape[0] - 1
    place = ((key ^ key >> 29) * _SPREAD) >> 20 & last
    while places[place] >= 0 and keys[places[place]] != key:
        place = place + 1 & last
    return place


MAX_SIZE: Final = 4
_ROOM: Final = {2: (1_000, 4_000), 3: (40_000, 300_000), 4: (6_000_000, 40_000_000)}  # nodes, moves
_POINTS: Final = (1 << 25) - 1

# Columns of what is known at once: the margin of own, and what is safe for own, for opp, and for opp after its pass.
_MARGIN, _OWN_SAFE, _OPP_SAFE, _OPP_SAFE_AFTER_PASS = range(4)

Report = Callable[[str], None]


def solve_board(size: int, rules: RuleSet, goal: int | None = None, report: Report = lambda text: None) -> Solution:
    """Solve a whole board: a moment up to 3x3, some ten seconds on 4x4 with half a gigabyte of memory.

    With a `goal`, a larger margin is worth no more than that, and ranks are those of the shortest ways to the goal.
    """
    if rules.scoring != "area":
        raise ValueError(f"{rules.name} rules count territory: the solver knows only rules that count area")
    board = board_points(size)
    if size > MAX_SIZE:
        raise ValueError(f"size {size} is not possible: whole boards are solved up to {MAX_SIZE}x{MAX_SIZE}")
    report("making all positions")
    nodes, moves = _ROOM[size]
    keys, passed = np.empty(nodes, np.int64), np.empty(nodes, np.int32)
    first, after = np.empty(nodes + 1, np.int64), np.empty(moves, np.int32)
    places = np.full(1 << (2 * nodes).bit_length(), -1, np.int32)
    found = _build(keys, first, after, passed, places, size, board, rules.flags)
    keys, first, passed = keys[:found], first[: found + 1], passed[:found]
    goal, known = size * size if goal is None else goal, np.empty((found, 4), np.int8)
    _know(keys, board, -size * size, goal, known)
    old = known[:, [_OWN_SAFE, _OPP_SAFE, _OWN_SAFE, _OPP_SAFE_AFTER_PASS]]
    new, ranks = old.copy(), np.zeros((found, 4), np.uint8)
    changed, sweep = 1, 0
    while changed:
        sweep += 1
        report(f"{found:,} positions, sweep {sweep}")
        changed = _sweep(first, after, passed, known, goal, old, new, ranks, sweep)
        old, new = new, old
    if sweep > np.iinfo(ranks.dtype).max:
        raise RuntimeError(f"{sweep} sweeps are more than ranks can count")
    return Solution(size, rules, keys, places, old, ranks)


@kernel
def unpack(key):  # type: ignore[no-untyped-def]
    """(own, opp, mark) of a key."""
    mark = key >> 50 & 31
    return key & _POINTS, key >> 25 & _POINTS, np.int64(1) << (mark - 1) if mark else np.int64(0)


@kernel
def _add(places, keys, key, nodes):  # type: ignore[no-untyped-def]
    """The node of a key, and how many nodes there are with it."""
    place = place_of(places, keys, key)
    if places[place] >= 0:
        return places[place], nodes
    places[place] = nodes
    keys[nodes] = key
    return np.int32(nodes), nodes + 1


@kernel
def _build(keys, first, after, passed, places, size, board, flags):  # type: ignore[no-untyped-def]
    """Make all nodes that the empty board leads to: the moves of a node lead to after[first[node]:first[node + 1]], its
    pass to passed[node], -1 where the rules forbid it. Returns how many there are."""
    none = np.int64(0)
    _, nodes = _add(places, keys, position_key(none, none, none, 0, 0, size), 0)
    moves = node = 0
    while node < nodes:
        if nodes + count(board) >= keys.shape[0] or moves + count(board) >= after.shape[0]:
            raise RuntimeError("there are more positions than was made room for")
        first[node] = moves
        own, opp, mark = unpack(keys[node])
        legal = legal_points(own, opp, forbidden(mark, own, opp, board, flags), board, flags)
        passed[node] = -1
        if legal == 0 or flags & TERRITORY_KEPT == 0:
            new_mark = mark_after_pass(own, opp, mark, board, flags)
            passed[node], nodes = _add(places, keys, position_key(opp, own, new_mark, 0, 0, size), nodes)
        while legal:
            p = legal & -legal
            legal ^= p
            new_own, new_opp, ko = play(own, opp, p, board)
            new_mark = mark_after(own, opp, new_own, new_opp, p, ko, mark, board, flags)
            after[moves], nodes = _add(places, keys, position_key(new_opp, new_own, new_mark, 0, 0, size), nodes)
            moves += 1
        node += 1
    first[nodes] = moves
    return nodes


@kernel
def _know(keys, board, floor, goal, known):  # type: ignore[no-untyped-def]
    """Set the columns of `known`; what is safe is worth at least `floor` and at most `goal`."""
    points = count(board)
    for node in range(keys.shape[0]):
        own, opp, _ = unpack(keys[node])
        known[node, _MARGIN] = margin(own, opp, board)
        known[node, _OWN_SAFE] = min(goal, max(floor, 2 * count(safe_points(own, opp, board)) - points))
        kept = safe_points(opp, own, board)
        known[node, _OPP_SAFE] = min(goal, max(floor, 2 * count(kept) - points))
        known[node, _OPP_SAFE_AFTER_PASS] = floor if kept & own else known[node, _OPP_SAFE]


@kernel
def _sweep(first, after, passed, known, goal, old, new, ranks, sweep):  # type: ignore[no-untyped-def]
    """Set the new guarantees of all states by the old ones of what they lead to; returns how many rose."""
    risen = 0
    for node in range(passed.shape[0]):
        to = passed[node]
        for passes in range(2):
            best, worst = -128, 127
            for k in range(first[node], first[node + 1]):
                child = after[k]
                if passes and child == to:  # the suicide of one stone, which brings back the position before the pass
                    continue
                best, worst = max(best, old[child, THEIRS]), min(worst, old[child, OURS])
            if to >= 0:
                ours = known[node, _MARGIN] if passes else old[to, AFTER_PASS + THEIRS]
                theirs = -known[node, _MARGIN] if passes else old[to, AFTER_PASS + OURS]
                best, worst = max(best, min(ours, goal)), min(worst, min(theirs, goal))
            for role in (OURS, THEIRS):
                state, value = AFTER_PASS * passes + role, best if role == OURS else worst
                new[node, state] = old[node, state]
                if value > old[node, state]:
                    new[node, state], ranks[node, state] = value, sweep
                    risen += 1
    return risen
