"""Check a certificate by the rules of the game alone: nothing of the solver's search is in here.

Every entry is looked at (`solve.check_positions`): its move must be legal, and after it every move of the opponent must
lead to another entry, or to where the statement holds: the game is over with the margin, or enough points are safe (the
proof is in docs/solver.md). So a player who follows the entries never comes to a position without a move.

Superko, and that lines end, come last. Superko asks what stood on the board before, so it matters only where steps lead
back to the same stones, that is within a strongly connected set of boards; a line that leaves such a set never returns.
In most sets the player's moves have an order, so that none of them can repeat a board. In the others all lines are
followed with their history.

Tests hold all this against a slower check, which walks through the strategy with `go.State`.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.games import go
from tengen.games.go.board import NO_CELL
from tengen.games.go.rules import RuleSet, get_rules
from tengen.solve.certificate import Certificate, position_code
from tengen.solve.check_positions import (
    FAULTS,
    KEPT,
    LOST,
    CertificateError,
    Entries,
    Goal,
    answer,
    check_entries,
    goal_of,
    least_image,
    new_work,
    replies,
)

NOWHERE = -1
Name = TypeVar("Name", bound=Hashable)
MOST_STEPS = 5_000_000


@dataclass(frozen=True)
class Checked:
    """What was looked at."""

    positions: int
    """Positions of the player's, up to symmetry."""
    moves: int
    """Moves of both players."""
    ended: int
    """Lines that ended, in a finished game or with enough safe points."""
    circles: int
    """Positions in which lines could come back to the same stones, and which were followed with their history."""


def check(
    certificate: Certificate, report: Callable[[int], None] = lambda positions: None, threads: int = 0
) -> Checked:
    """Look at the whole strategy; CertificateError at the first fault. `threads` 0: one a core."""
    keys, rules = certificate.keys, get_rules(certificate.statement.rules)
    goal = goal_of(certificate)
    if not np.all(keys[:-1] < keys[1:]):
        raise CertificateError("the positions are not in order: the file is damaged")
    starts = check_start(certificate, goal)
    entries = check_entries(certificate, goal, report, threads)
    lines = Lines(certificate, goal, entries, starts)
    try:
        for doors in lines.doors().values():
            check_repetition(doors, lines.node, rules)
    except RepetitionError as error:
        raise CertificateError(str(error)) from None
    ended = int(entries.ends.sum())
    moves = int(np.count_nonzero(entries.after >= 0)) + len(entries.reply) + ended
    return Checked(len(keys), moves, ended, int(np.count_nonzero(lines.circles())))


def check_start(certificate: Certificate, goal: Goal) -> list[int]:
    """The entries that the strategy begins with: one, or those after all first moves of the opponent."""
    statement = certificate.statement
    number, _ = position_code(statement.state)
    first = [number]
    if statement.to_play != statement.color:
        work = new_work(statement.size)
        count = replies(work, goal, number, statement.to_play)
        first = [int(one if one < 0 else least_image(work, one)[0]) for one in work.reached[:count]]
    if LOST in first:
        raise CertificateError(f"at the start: {FAULTS[LOST]}")
    places = [certificate.place(one) for one in first if one != KEPT]
    if None in places:
        raise CertificateError("at the start: the certificate has no move")
    return sorted({place for place in places if place is not None})


class RepetitionError(ValueError):
    """Superko spoils a strategy, or there are too many lines to check."""


# ---------------------------------------------------------------------------- lines that can come back
# From each position where a line can enter a set, all lines within it are followed with their history:
#
# * if the player's move is forbidden by superko, the proof fails;
# * if a move of the opponent's is, it has one move less, which does no harm unless it has no other and may pass now.

NodeName = tuple[int, bool]
"""A position as it stands, not up to symmetry, and whether the player is to move."""


@dataclass
class Node(Generic[Name]):
    """A position of a strategy."""

    stones: Hashable
    own: bool
    """Whether the player is to move, and not its opponent."""
    inside: Hashable
    """The set of stones that it belongs to: a line that leaves it does not come back."""
    steps: list[tuple[Name | None, bool]] = field(default_factory=list)
    """Where moves lead, and whether they are passes; None for a line that ends."""


class Steps(NamedTuple):
    """The steps of a strategy with n entries, on V boards."""

    board: NDArray[np.int32]  # [n] the board of an entry, not falling
    after: NDArray[np.int32]  # [n] the board after its move; NOWHERE if the line ends there
    first: NDArray[np.int64]  # [n + 1] where its replies begin in `reply`
    reply: NDArray[np.int32]  # [...] the entries that replies lead to


class Lines:
    """The lines of a strategy: `sets` numbers the strongly connected sets of its boards, as `connected_sets` does."""

    def __init__(self, certificate: Certificate, goal: Goal, entries: Entries, starts: list[int]) -> None:
        self._certificate, self._goal, self.work = certificate, goal, new_work(goal.size)
        own, (root, _) = certificate.keys >> 6, position_code(certificate.statement.state)
        self._boards = np.unique(np.concatenate([own, entries.after[entries.after >= 0], [root >> 6]]))
        after = np.where(entries.after >= 0, np.searchsorted(self._boards, entries.after), NOWHERE)
        # One more entry, on a board of its own, stands for what was before the start; its replies are the first ones.
        before = len(self._boards), np.searchsorted(self._boards, root >> 6)
        self.steps = Steps(
            np.append(np.searchsorted(self._boards, own), before[0]).astype(np.int32),
            np.append(after, before[1]).astype(np.int32),
            np.concatenate([[0], np.cumsum(np.append(entries.sizes, len(starts)), dtype=np.int64)]),
            np.append(entries.reply, np.array(starts, np.int32)),
        )
        self.sets = connected_sets(self.steps, len(self._boards) + 1)
        self._is_circle = np.bincount(self.sets) > 1
        ordered = ordered_sets(self.steps, self.sets, self._is_circle, np.append(entries.ends > 0, False))
        self._is_circle[list(ordered)] = False
        self.node = cache(self._node)

    def circles(self) -> NDArray[np.bool_]:
        """bool[n]: the entries from which a move of the player's might come back to the same stones."""
        inside: NDArray[np.bool_] = self._is_circle[self.sets[self.steps.board[:-1]]]
        return inside

    def doors(self) -> dict[int, list[NodeName]]:
        """For each set in which the player might come back to the same stones, the positions where lines come in.

        In one image, for the others are the same: unless the set has a board that is its own image, where the move that
        stands for all images may not be an image of itself. Then in all of them."""
        keys, statement = self._certificate.keys, self._certificate.statement
        own_doors, other_doors = np.zeros((2, len(keys) + 1), np.bool_)
        mark_doors(self.steps, self.sets, self._is_circle, own_doors, other_doors)
        positions = [(int(key), True) for key in keys[own_doors[:-1]]]
        for key in keys[other_doors[:-1]]:
            ((to, _),) = self.node((int(key), True)).steps
            assert to is not None
            positions.append(to)
        boards = np.flatnonzero(self._is_circle[self.sets[:-1]])
        symmetric = {int(self.sets[board]) for board in boards if len(self._images(int(self._boards[board]) << 6)) < 8}
        found = defaultdict[int, list[NodeName]](list)
        for number, own in positions:
            inside = self.set_of(number)
            assert inside is not None
            images = self._images(number) if inside in symmetric else [number]
            found[inside] += [(image, own) for image in images]
        if other_doors[-1]:
            root, _ = position_code(statement.state)
            found[int(self.sets[self.steps.after[-1]])].append((root, statement.to_play == statement.color))
        return found

    def board_of(self, number: int) -> int | None:
        """Which board a position has; None if it is none of the strategy's."""
        board = int(least_image(self.work, number >> 6 << 6)[0] >> 6)
        place = int(np.searchsorted(self._boards, board))
        return place if place < len(self._boards) and self._boards[place] == board else None

    def set_of(self, number: int) -> int | None:
        """The set of a position's board; None if the strategy does not have it."""
        board = self.board_of(number)
        return None if board is None else int(self.sets[board])

    def _node(self, position: NodeName) -> Node[NodeName]:
        number, own = position
        goal, work = self._goal, self.work
        steps: list[tuple[NodeName | None, bool]] = []
        if own:
            key, image = least_image(work, number)
            place = self._certificate.place(int(key))
            assert place is not None
            move = int(self._certificate.moves[place])
            reached = int(answer(work, goal, number, -1 if move < 0 else work.images[image, move]))
            steps.append((None if reached == KEPT else (reached, False), move < 0))
        else:
            count = replies(work, goal, number, go.BLACK + go.WHITE - goal.color)
            for cell, reached in zip(work.moves[:count].tolist(), work.reached[:count].tolist(), strict=True):
                steps.append((None if reached == KEPT else (reached, True), cell == NO_CELL))
        return Node(number >> 6, own, self.set_of(number), steps)

    def _images(self, number: int) -> list[int]:
        """A position in all its images, each once."""
        stones = np.array([(number >> 6) // 3**point % 3 for point in range(self._goal.size**2)], np.int64)
        powers = 3 ** np.arange(len(stones), dtype=np.int64)
        codes = (stones[self.work.images] @ powers) * 64 + (number & 1)
        mark = (number >> 1) % 32
        if mark:
            codes += (self.work.places[:, mark - 1] + 1) * 2
        return sorted(set(codes.tolist()))


def check_repetition(
    entries: Iterable[Name], node_of: Callable[[Name], Node[Name]], rules: RuleSet, most: int = MOST_STEPS
) -> None:
    """RepetitionError if superko forbids a move of the player's on some line from one of the entries, or if there are
    more than `most` steps to follow."""
    situational, left = rules.ko != "positional", most
    for entry in entries:
        todo: list[tuple[Name, frozenset[tuple[Hashable, bool]]]] = [(entry, frozenset())]
        while todo:
            left -= 1
            if left < 0:
                raise RepetitionError("there are too many lines that may repeat a position to follow them all")
            one, before = todo.pop()
            node = node_of(one)
            history = before | {_placed(node, situational)}
            free = []
            for to, is_pass in node.steps:
                if to is None or is_pass or _placed(node_of(to), situational) not in history:
                    free.append(to)
                elif node.own:
                    raise RepetitionError("the player's move repeats a position on some line")
            if not free and rules.forced_play:
                raise RepetitionError("on some line the opponent may pass, since all its moves repeat positions")
            todo += [(to, history) for to in free if to is not None and node_of(to).inside == node.inside]


def _placed(node: Node[Name], situational: bool) -> tuple[Hashable, bool]:
    return node.stones, situational and node.own


# ---------------------------------------------------------------------- sets whose moves have an order
# Say that each board of a set gets a height, such that after a reply within the set the player's next move leads lower
# than its last one did, and lower than the board it moves from. Then no board after a move of the player's stood before
# on the line: not after one of its own moves, for those led higher, and not before one, for that board is higher than
# what came after. There are such heights if, and only if, these steps have no circle.


def ordered_sets(
    steps: Steps, sets: NDArray[np.int32], is_circle: NDArray[np.bool_], may_end: NDArray[np.bool_]
) -> set[int]:
    """The sets with circles in which superko forbids no move of the player's, and leaves the opponent one.

    `sets`: int32[V] of `connected_sets`; `is_circle`: bool[sets]; `may_end`: bool[n], whether some reply to an entry
    ends the line."""
    higher = defaultdict[int, dict[int, set[int]]](lambda: defaultdict(set))  # by set: for boards, those above them
    short_of_moves = set[int]()
    for e in np.flatnonzero((steps.after != NOWHERE) & is_circle[sets[steps.after]]).tolist():
        board, after = int(steps.board[e]), int(steps.after[e])
        inside = int(sets[after])
        above = higher[inside]
        if sets[board] == inside and board != after:
            above[after].add(board)
        replies = steps.reply[steps.first[e] : steps.first[e + 1]]
        staying = replies[sets[steps.board[replies]] == inside]
        for lower in steps.after[staying].tolist():
            if lower != NOWHERE and sets[lower] == inside:
                above[lower].add(after)
        # A move that leaves the set repeats nothing, and a pass (the same board) is never forbidden.
        if not may_end[e] and len(staying) == len(replies) and not np.any(steps.board[staying] == after):
            short_of_moves.add(inside)
    return {number for number in higher.keys() - short_of_moves if _has_order(higher[number])}


def _has_order(above: dict[int, set[int]]) -> bool:
    try:
        TopologicalSorter(above).prepare()
    except CycleError:
        return False
    return True


# ----------------------------------------------------------------------------- strongly connected sets
# A board is stones up to symmetry, with either player to move. Each entry of a certificate leads from its board, by the
# player's move, to one board, and from there, by the opponent's replies, to boards of other entries. Boards that differ
# only by symmetry count as one, so there may be more circles here than in a game, but no fewer.


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
