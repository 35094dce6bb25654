"""A search rule: how a tree search begins, where it goes next and what it concludes. PUCT and Gumbel search are two.

The tree, the positions and their evaluation are the same for all rules (`searcher.py`); a rule belongs to one searcher.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tengen import _plugins
from tengen._kernel import kernel
from tengen.search.tree import Paths, Trees


class SearchResult(NamedTuple):
    """The results of a search in n games.

    >>> import numpy as np
    >>> import tengen
    >>> game = tengen.get_game("tictactoe")
    >>> batch = game.batch(game.options())
    >>> searcher = tengen.Searcher(batch, tengen.PlayoutEvaluation(batch, seed=1), tengen.Puct(), seed=1)
    >>> result: tengen.SearchResult = searcher.search(batch.allocate(1), np.arange(1), simulations=50)
    >>> result.visits.shape, int(result.visits.sum())
    ((1, 9), 50)
    """

    visits: NDArray[np.int32]  # [n, A] N of the root's actions
    policy: NDArray[np.float32]  # [n, A] shares of visits, or Gumbel's improved policy
    target: NDArray[np.float32]  # [n, A] what a network should learn: the policy, or what pruning leaves of it
    value: NDArray[np.float32]  # [n] of the position, for the player to move
    chosen: NDArray[np.int64]  # [n] the best action; with noise, one drawn by it in Gumbel search


class SearchRule(Protocol):
    """Decides where simulations go.

    >>> import tengen
    >>> rule: tengen.SearchRule = tengen.Puct()
    """

    def attach(self, trees: Trees, actions: int) -> None:
        """Get ready for these trees, once."""
        ...

    def begin(
        self, trees: Trees, index: NDArray[np.int64], simulations: int, explore: float, rng: np.random.Generator
    ) -> None:
        """Start a search of these trees, whose roots are expanded; explore: 0 in play, 1 as in self-play."""
        ...

    def select(
        self, trees: Trees, index: NDArray[np.int64], remaining: NDArray[np.int64], leaves: int, paths: Paths
    ) -> int:
        """Walk down to up to `leaves` leaves of each tree that has simulations left by remaining: int64[B], and write
        the paths; returns how many need an evaluation."""
        ...

    def is_decided(self, trees: Trees, tree: int, simulations: float) -> bool:
        """Whether so many more simulations cannot change what the search of this tree chooses."""
        ...

    def conclude(self, trees: Trees, index: NDArray[np.int64]) -> SearchResult:
        """What the search has found, at any time."""
        ...


def own_rule(name: str) -> SearchRule:
    """The search rule that a plugin has registered by this name; ValueError if there is none."""
    found = _plugins.find("rule", name)
    if found is None:
        known = ", ".join(_plugins.names("rule")) or "none is registered: add --plugin FILE"
        raise ValueError(f"no search rule is called {name[:40]!r} ({known})")
    rule: SearchRule = found()
    return rule


def read_roots(trees: Trees, index: NDArray[np.int64], actions: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The visits of the roots' actions, int32[n, A], and the roots' mean values, float32[n]."""
    visits, value = np.zeros((len(index), actions), np.int32), np.zeros(len(index), np.float32)
    _read_roots(trees, index, visits, value)
    return visits, value


def cannot_be_overtaken(visits: NDArray[Any], simulations: float) -> bool:
    """Whether the most visited of these moves, visits[n], stays so whatever that many more simulations do."""
    if len(visits) < 2:
        return True
    second, first = np.partition(visits, len(visits) - 2)[-2:]
    return bool(first - second > simulations)


@kernel
def _read_roots(trees, index, visits, value):  # type: ignore[no-untyped-def]
    """Write the visits of the roots' actions, int32[n, A], and the roots' mean values, float32[n]."""
    for i in range(index.shape[0]):
        b = index[i]
        first = trees.first_child[b, 0]
        for child in range(first, first + trees.child_count[b, 0]):
            visits[i, trees.action[b, child]] = trees.visits[b, child]
        value[i] = -trees.value_sum[b, 0] / max(1, trees.visits[b, 0])
