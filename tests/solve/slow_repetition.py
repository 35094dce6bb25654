"""`solve.check` for `slow_checker`: on a graph in Python, with strongly connected sets found by itself (Kosaraju).

A strategy is a graph: nodes are positions, with the stones on the board and who is to move; steps are the player's one
move or all of the opponent's. Superko asks what stood on the board before, so it matters only where steps lead back to
the same stones, that is within a strongly connected set of stones. A line that leaves such a set never returns. So it
is enough to follow, from each position where a line can enter a set, all lines within it, with their history:

* if the player's move is forbidden by superko, the proof fails;
* if a move of the opponent's is, it has one move less, which does no harm unless it has no other and may pass now.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

MOST_STEPS = 5_000_000


class RepetitionError(ValueError):
    """Superko spoils a strategy, or there are too many lines to tell."""


@dataclass
class Node:
    """A position of a strategy."""

    stones: bytes
    own: bool
    """Whether the player is to move, and not its opponent."""
    steps: list[tuple[Hashable, bool]] = field(default_factory=list)
    """Where moves lead, and whether they are passes; nothing if the promise is kept here."""


def check_repetition(nodes: dict[Hashable, Node], root: Hashable, situational: bool, forced: bool) -> None:
    """RepetitionError if superko forbids a move of the player's on some line.

    `situational`: a position is repeated only with the same player to move. `forced`: who has a move may not pass.
    """
    group = _groups(nodes)
    size: dict[int, int] = defaultdict(int)
    for number in group.values():
        size[number] += 1

    def within(one: Hashable) -> int | None:
        """The set of stones that a position belongs to, if lines can come back in it."""
        number = group[nodes[one].stones]
        return number if size[number] > 1 else None

    entries = {root} if within(root) is not None else set()
    for one, node in nodes.items():
        entries |= {to for to, _ in node.steps if within(to) is not None and within(to) != within(one)}
    left = MOST_STEPS
    for entry in entries:
        todo: list[tuple[Hashable, frozenset[tuple[bytes, bool]]]] = [(entry, frozenset())]
        while todo:
            left -= 1
            if left < 0:
                raise RepetitionError("there are too many lines that may repeat a position to follow them all")
            one, before = todo.pop()
            node = nodes[one]
            history = before | {_placed(node, situational)}
            free = []
            for to, is_pass in node.steps:
                if is_pass or _placed(nodes[to], situational) not in history:
                    free.append(to)
                elif node.own:
                    raise RepetitionError("the player's move repeats a position on some line")
            if node.steps and not free and forced:
                raise RepetitionError("on some line the opponent may pass, since all its moves repeat positions")
            todo += [(to, history) for to in free if within(to) == within(one)]


def _placed(node: Node, situational: bool) -> tuple[bytes, bool]:
    return node.stones, situational and node.own


def _groups(nodes: dict[Hashable, Node]) -> dict[bytes, int]:
    """The number of the strongly connected set that each arrangement of stones belongs to (Kosaraju)."""
    onward: dict[bytes, set[bytes]] = {node.stones: set() for node in nodes.values()}
    back: dict[bytes, set[bytes]] = {node.stones: set() for node in nodes.values()}
    for node in nodes.values():
        for to, _ in node.steps:
            target = nodes[to].stones
            if target != node.stones:
                onward[node.stones].add(target)
                back[target].add(node.stones)
    group: dict[bytes, int] = {}
    for stones in reversed(_finished(onward, onward)):
        if stones not in group:
            number, todo = len(group), [stones]
            group[stones] = number
            while todo:
                for other in back[todo.pop()]:
                    if other not in group:
                        group[other] = number
                        todo.append(other)
    return group


def _finished(onward: dict[bytes, set[bytes]], starts: Iterable[bytes]) -> list[bytes]:
    """All stones in the order in which a depth-first walk leaves them."""
    seen, order = set[bytes](), list[bytes]()
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        walk = [(start, iter(onward[start]))]
        while walk:
            stones, others = walk[-1]
            fresh = next((other for other in others if other not in seen), None)
            if fresh is None:
                order.append(stones)
                walk.pop()
            else:
                seen.add(fresh)
                walk.append((fresh, iter(onward[fresh])))
    return order
