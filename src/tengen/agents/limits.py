"""How long a tree search thinks about a move, and how much memory its tree may take."""

import os
from dataclasses import dataclass

from tengen.search.searcher import NODE_BYTES

_MEMORY_SHARE = 0.125  # of the machine's memory that a tree may take
_MOST_PER_SECOND = 50_000  # simulations, more than any network or playout allows


@dataclass(frozen=True)
class Limits:
    """How long to think about a move."""

    simulations: int | None
    seconds: float | None
    nodes: int
    """Room for the tree; 0: as much as the other limits can need and an eighth of the machine's memory can hold."""

    def room(self, branching: int) -> int:
        """Nodes for the tree of a game with so many actions in a position."""
        if self.nodes:
            return self.nodes
        # Trees are copied through another of the same size.
        most = int(machine_memory() * _MEMORY_SHARE) // (2 * NODE_BYTES)
        wanted = most
        if self.simulations is not None:
            wanted = 4 * (self.simulations + 2) * branching  # what is kept from earlier moves is as large again
        elif self.seconds is not None:
            wanted = int(4 * (self.seconds * _MOST_PER_SECOND + 2) * branching)
        return max(1_000, min(most, wanted))


def machine_memory() -> int:
    """Bytes of memory that this machine has; 4 GiB where that is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 << 30
