"""How long a search may go on: a number of nodes, a time, or both.

A search calls `spend` at every node. The clock is passed in, so that tests need not wait for a real one.
"""

import time
from collections.abc import Callable

Clock = Callable[[], float]


class BudgetSpent(Exception):
    """Raised inside a search to leave it at once; the search catches it and returns the best it knows."""


class Budget:
    """Counts nodes, and raises `BudgetSpent` at the node that would exceed a limit."""

    def __init__(
        self, seconds: float | None = None, nodes: int | None = None, clock: Clock = time.perf_counter
    ) -> None:
        self.nodes = 0
        self._clock = clock
        self._begin = clock()
        self._deadline = None if seconds is None else self._begin + seconds
        self._limit = nodes

    def spend(self) -> None:
        """Count one node."""
        if self._limit is not None and self.nodes >= self._limit:
            raise BudgetSpent
        if self._deadline is not None and self._clock() >= self._deadline:
            raise BudgetSpent
        self.nodes += 1

    @property
    def elapsed(self) -> float:
        """Seconds since the budget was made."""
        return self._clock() - self._begin
