"""Whether superko can spoil a strategy: the lines of a proof that come back to stones they had before.

A strategy is a graph: nodes are positions, with the stones on the board and who is to move; steps are the player's one
move or all of the opponent's. Superko asks what stood on the board before, so it matters only where steps lead back to
the same stones, that is within a strongly connected set of stones. A line that leaves such a set never returns. So it
is enough to follow, from each position where a line can enter a set, all lines within it, with their history:

* if the player's move is forbidden by superko, the proof fails;
* if a move of the opponent's is, it has one move less, which does no harm unless it has no other and may pass now.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tengen.games.go.rules import RuleSet

Name = TypeVar("Name", bound=Hashable)
MOST_STEPS = 5_000_000


class RepetitionError(ValueError):
    """Superko spoils a strategy, or there are too many lines to tell."""


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
