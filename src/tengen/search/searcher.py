"""Tree search in many games at once: a rule says where to go, a leaf evaluation what is found there.

One round takes a leaf (or several) from every tree, lets the game's kernels set up the positions, evaluates them as
one batch and writes the results back: some ten calls for thousands of simulations. Trees stay from move to move.

>>> from tengen.games.game import get_game
>>> game = get_game("microchess")
>>> batch = game.batch(game.options())
>>> searcher = Searcher(batch, PlayoutEvaluation(batch, seed=1), Puct(), seed=1)
>>> result = searcher.search(batch.allocate(1), np.arange(1), simulations=100)
>>> int(result.visits.sum())
100
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import BatchedGame
from tengen.search.leaves import LeafEvaluation, PlayoutEvaluation, new_leaves
from tengen.search.puct import Puct
from tengen.search.rule import SearchResult, SearchRule
from tengen.search.tree import (
    EXPANDED,
    PENDING,
    VIRTUAL_LOSS,
    clear_trees,
    drop_root_action,
    expand_and_back_up,
    keep_subtrees,
    new_paths,
    new_trees,
)

__all__ = ["Counts", "PlayoutEvaluation", "Puct", "Searcher"]

NODE_BYTES = 33  # of a tree's arrays
_DEEPEST = 256  # actions in a path; what lies deeper is not explored further


@dataclass
class Counts:
    """How much work was done."""

    simulations: int = 0
    leaves: int = 0
    evaluations: int = 0


class Searcher:
    """The trees of up to `trees` games, and all the room that searching them takes.

    Tree b belongs to game b of the roots that every call is given.

    >>> import numpy as np
    >>> import tengen
    >>> game = tengen.get_game("go")
    >>> batch = game.batch(game.options.of({"size": 5}))
    >>> searcher = tengen.Searcher(batch, tengen.PlayoutEvaluation(batch, seed=1), tengen.Puct(), trees=2, seed=1)
    >>> roots = batch.allocate(2)
    >>> batch.load(roots, 1, tengen.go.State.new(size=5).play(tengen.go.from_gtp("C3", 5)))
    >>> result = searcher.search(roots, np.arange(2), simulations=300)
    >>> result.visits.sum(axis=1).tolist(), bool(result.value[1] < result.value[0])
    ([300, 300], True)
    """

    def __init__(
        self,
        game: BatchedGame,
        evaluation: LeafEvaluation,
        rule: SearchRule,
        *,
        trees: int = 1,
        nodes: int = 10_000,
        leaves: int = 1,
        seed: int | None = None,
    ) -> None:
        """`nodes`: room of each tree. `leaves`: how many leaves of a tree are evaluated together."""
        self.game, self.evaluation, self.rule = game, evaluation, rule
        self.counts = Counts()
        self.trees = new_trees(trees, nodes)
        rule.attach(self.trees, game.actions)
        self._spare = new_trees(1, nodes)
        self._most_leaves = leaves
        self._rng = np.random.default_rng(seed)
        self._paths = new_paths(trees * leaves, _DEEPEST)
        self._positions = game.allocate(trees * leaves)
        self._leaves = new_leaves(trees * leaves, game.actions)
        self._remaining = np.zeros(trees, np.int64)

    def forget(self, index: NDArray[np.int64]) -> None:
        """Clear the trees of these games."""
        clear_trees(self.trees, index)

    def advance(self, actions: NDArray[np.int64]) -> None:
        """Follow one action in each of the first games, keeping what the trees know below it; -1 leaves one alone."""
        keep_subtrees(self.trees, actions, self._spare)

    def warm_up(self, roots: Any, index: NDArray[np.int64]) -> None:
        """Do once what the first searches would else have to wait for; forgets the trees of these games."""
        self.evaluation.warm_up(len(self._leaves.over))
        self.search(roots, index, 1)
        self.forget(index)

    def prepare(self, roots: Any, index: NDArray[np.int64]) -> None:
        """Evaluate those of these roots that have not been yet. None of the games may be over."""
        fresh = index[self.trees.stage[index, 0] != EXPANDED]
        room = len(self._leaves.over)
        for start in range(0, len(fresh), room):
            part = fresh[start : start + room]
            self.trees.stage[part, 0] = PENDING
            self._paths.tree[: len(part)] = part
            self._paths.length[: len(part)] = 0
            self._paths.nodes[: len(part), 0] = 0
            self.trees.visits[part, 0] += 1
            self.trees.value_sum[part, 0] -= VIRTUAL_LOSS
            self.trees.under_way[part, 0] += 1
            self._finish(roots, len(part))
        if (self.trees.stage[fresh, 0] != EXPANDED).any():
            raise ValueError("a game that is over cannot be searched, nor one whose moves have no room in its tree")

    def forbid(self, tree: int, action: int) -> None:
        """Leave an action of the root, which is prepared, out of this search and of the tree."""
        drop_root_action(self.trees, tree, action)

    def search(self, roots: Any, index: NDArray[np.int64], simulations: int, explore: float = 0.0) -> SearchResult:
        """Search these games by so many simulations each. None of them may be over.

        explore: how much of the rule's noise is added at the roots, 0 in play and 1 in self-play.
        """
        self.begin(roots, index, simulations, explore)
        while self.step(roots, index):
            pass
        return self.conclude(index)

    def begin(self, roots: Any, index: NDArray[np.int64], simulations: int, explore: float = 0.0) -> None:
        """Start a search; `step` does a round of it, `conclude` gives what was found, at any time."""
        self.prepare(roots, index)
        self._remaining[index] = simulations
        self.rule.begin(self.trees, index, simulations, explore, self._rng)

    def step(self, roots: Any, index: NDArray[np.int64]) -> int:
        """One round: a leaf or more of every tree with simulations left. Returns how many simulations; 0: all done."""
        before = int(self._remaining[index].sum())
        count = self.rule.select(self.trees, index, self._remaining, self._most_leaves, self._paths)
        done = before - int(self._remaining[index].sum())
        self.counts.simulations += done
        self.counts.leaves += count
        if count:
            self._finish(roots, count)
        return done

    def conclude(self, index: NDArray[np.int64]) -> SearchResult:
        """What the search has found."""
        return self.rule.conclude(self.trees, index)

    def is_full(self, tree: int = 0) -> bool:
        """Whether a tree has no room left for the children of another leaf."""
        return bool(self.trees.used[tree] + self.game.branching > self.trees.action.shape[1])

    def _finish(self, roots: Any, count: int) -> None:
        """Set up and evaluate the leaves of the first `count` paths, and write them to the trees."""
        game, paths, leaves = self.game, self._paths, self._leaves
        game.follow(roots, paths.tree[:count], paths.actions, paths.length[:count], self._positions)
        game.judge(self._positions, count, leaves.legal, leaves.over, leaves.results)
        self.counts.evaluations += self.evaluation.evaluate(self._positions, count, leaves)
        expand_and_back_up(
            self.trees, paths, count, leaves.legal, leaves.over, leaves.results, leaves.logits, leaves.values
        )
