"""Tree search in many games at once: a rule says where to go, a leaf evaluation what is found there.

One round takes a leaf (or several) from every tree, lets the game's kernels set up the positions, evaluates them as
one batch and writes the results back: some ten calls for thousands of simulations. Trees stay from move to move.

Several threads can search the same trees, each by rounds of its own: while the leaves of one are with the network,
another plays its rollouts out. One at a time selects or writes back; leaves under evaluation look lost to the others
(virtual loss). With one thread, the same seed gives the same search.

>>> import numpy as np
>>> import tengen
>>> game = tengen.get_game("microchess")
>>> batch = game.batch(game.options())
>>> searcher = tengen.Searcher(batch, tengen.PlayoutEvaluation(batch, seed=1), tengen.Puct(), seed=1)
>>> result = searcher.search(batch.allocate(1), np.arange(1), simulations=100)
>>> int(result.visits.sum())
100
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import BatchedGame, GameArrays
from tengen.search.leaves import LeafEvaluation, Leaves, new_leaves
from tengen.search.rule import SearchResult, SearchRule
from tengen.search.tree import (
    EXPANDED,
    PENDING,
    VIRTUAL_LOSS,
    Paths,
    clear_trees,
    drop_root_action,
    expand_and_back_up,
    keep_subtrees,
    new_paths,
    new_trees,
)

NODE_BYTES = 37  # of a tree's arrays, with sums of rollouts
_DEEPEST = 256  # actions in a path; what lies deeper is not explored further


@dataclass
class Counts:
    """How much work was done."""

    simulations: int = 0
    batches: int = 0
    leaves: int = 0
    evaluations: int = 0


class _Worker(NamedTuple):
    """What one thread of a search works with."""

    evaluation: LeafEvaluation
    paths: Paths
    positions: Any  # of the leaves
    leaves: Leaves


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
        threads: int = 1,
        rollouts: bool = False,
        seed: int | None = None,
    ) -> None:
        """`nodes`: room of each tree. `leaves`: how many leaves of a tree a thread evaluates together, at most; the
        attribute of that name can be lowered between searches. `rollouts`: keep what the evaluation's rollouts say
        apart as well, in `trees.rollout_sum`."""
        self.game, self.evaluation, self.rule = game, evaluation, rule
        self.leaves, self.most_leaves, self.nodes = leaves, leaves, nodes
        self.counts = Counts()
        self.trees = new_trees(trees, nodes, rollouts)
        rule.attach(self.trees, game.actions)
        self._spare = new_trees(1, nodes, rollouts)
        self._rng = np.random.default_rng(seed)
        others = (evaluation.another() for _ in range(threads - 1))
        self._workers = [_new_worker(game, each, trees * leaves) for each in (evaluation, *others)]
        self._remaining = np.zeros(trees, np.int64)
        self._turn = threading.Condition()  # held by the thread that selects or writes back
        self._helpers: list[threading.Thread] = []  # of all workers but the first, which is the caller's
        self._busy = 0  # workers whose leaves are under evaluation
        self._is_pausing = False
        self._failure: BaseException | None = None  # of a helper

    def forget(self, index: NDArray[np.int64]) -> None:
        """Clear the trees of these games."""
        self.pause()
        clear_trees(self.trees, index)

    def advance(self, actions: NDArray[np.int64]) -> None:
        """Follow one action in each of the first games, keeping what the trees know below it; -1 leaves one alone."""
        self.pause()
        keep_subtrees(self.trees, actions, self._spare)

    def warm_up(self, roots: GameArrays, index: NDArray[np.int64]) -> None:
        """Do once what the first searches would else have to wait for; forgets the trees of these games."""
        for worker in self._workers:
            worker.evaluation.warm_up(len(worker.leaves.over))
        self.search(roots, index, 1)
        self.advance(np.full(len(self.trees.used), -1))
        self.forget(index)

    def prepare(self, roots: GameArrays, index: NDArray[np.int64]) -> None:
        """Evaluate those of these roots that have not been yet. None of the games may be over."""
        self.pause()
        fresh = index[self.trees.stage[index, 0] != EXPANDED]
        worker = self._workers[0]
        paths, room = worker.paths, len(worker.leaves.over)
        for start in range(0, len(fresh), room):
            part = fresh[start : start + room]
            self.trees.stage[part, 0] = PENDING
            paths.tree[: len(part)] = part
            paths.length[: len(part)] = 0
            paths.nodes[: len(part), 0] = 0
            paths.expands[: len(part)] = True
            self.trees.visits[part, 0] += 1
            self.trees.value_sum[part, 0] -= VIRTUAL_LOSS
            self.trees.under_way[part, 0] += 1
            with self._all_or_nothing():
                self._finish(worker, roots, len(part))
        if (self.trees.stage[fresh, 0] != EXPANDED).any():
            raise ValueError("a game that is over cannot be searched, nor one whose moves have no room in its tree")

    def forbid(self, tree: int, action: int) -> None:
        """Leave an action of the root, which is prepared, out of this search and of the tree."""
        drop_root_action(self.trees, tree, action)

    def search(
        self, roots: GameArrays, index: NDArray[np.int64], simulations: int, explore: float = 0.0
    ) -> SearchResult:
        """Search these games by so many simulations each. None of them may be over.

        explore: how much of the rule's noise is added at the roots, 0 in play and 1 in self-play.
        """
        self.begin(roots, index, simulations, explore)
        while self.step(roots, index):
            pass
        return self.conclude(index)

    def begin(self, roots: GameArrays, index: NDArray[np.int64], simulations: int, explore: float = 0.0) -> None:
        """Start a search; `step` does a round of it, `conclude` gives what was found, at any time."""
        self.prepare(roots, index)
        self._remaining[index] = simulations
        self.rule.begin(self.trees, index, simulations, explore, self._rng)

    def step(self, roots: GameArrays, index: NDArray[np.int64]) -> int:
        """One round: a leaf or more of every tree with simulations left. Returns how many simulations; 0: all done.

        With several threads the others work on after this, until `pause` or `conclude`.
        """
        with self._all_or_nothing():
            if not self._helpers:
                self._start_helpers(roots, index)
            return self._round(self._workers[0], roots, index)

    def pause(self) -> None:
        """Let the other threads finish what they have begun; `step` lets them continue."""
        self._stop_helpers()
        if self._failure is not None:
            with self._all_or_nothing():
                raise self._failure

    def conclude(self, index: NDArray[np.int64]) -> SearchResult:
        """What the search has found."""
        self.pause()
        return self.rule.conclude(self.trees, index)

    def is_full(self, tree: int = 0) -> bool:
        """Whether a tree has no room left for the children of another leaf."""
        return bool(self.trees.used[tree] + self.game.branching > self.trees.action.shape[1])

    # ----------------------------------------------------------------------------------------- threads

    def _start_helpers(self, roots: GameArrays, index: NDArray[np.int64]) -> None:
        for worker in self._workers[1:]:
            helper = threading.Thread(target=self._help, args=(worker, roots, index), name="search", daemon=True)
            self._helpers.append(helper)
            helper.start()

    def _stop_helpers(self) -> None:
        with self._turn:
            self._is_pausing = True
            self._turn.notify_all()
        for helper in self._helpers:
            helper.join()
        self._helpers.clear()
        self._is_pausing = False

    def _help(self, worker: _Worker, roots: GameArrays, index: NDArray[np.int64]) -> None:
        """Round after round, until nothing is left to do or somebody calls `pause`."""
        try:
            while not self._is_pausing and self._round(worker, roots, index):
                pass
        except BaseException as error:  # for the caller of `step`
            with self._turn:
                self._failure = self._failure or error
                self._turn.notify_all()

    def _round(self, worker: _Worker, roots: GameArrays, index: NDArray[np.int64]) -> int:
        """Select leaves, evaluate them and write them back; returns how many simulations these are."""
        with self._turn:
            done, count = self._select(worker, index)
            while not done and self._busy and not self._is_pausing:  # the others hold all that could be selected
                self._turn.wait()
                done, count = self._select(worker, index)
            if not count:
                return done
            self._busy += 1
        try:
            self._finish(worker, roots, count)
        finally:
            with self._turn:
                self._busy -= 1
                self._turn.notify_all()
        return done

    def _select(self, worker: _Worker, index: NDArray[np.int64]) -> tuple[int, int]:
        """Walk down the trees; returns the number of simulations and how many of these need an evaluation."""
        if self._failure is not None:
            raise self._failure
        before = int(self._remaining[index].sum())
        count = self.rule.select(self.trees, index, self._remaining, self.leaves, worker.paths)
        done = before - int(self._remaining[index].sum())
        self.counts.simulations += done
        self.counts.leaves += count
        self.counts.batches += count > 0
        return done, count

    def _finish(self, worker: _Worker, roots: GameArrays, count: int) -> None:
        """Set up and evaluate the leaves of the first `count` paths, and write them to the trees."""
        game, (evaluation, paths, positions, leaves) = self.game, worker
        game.follow(roots, paths.tree[:count], paths.actions, paths.length[:count], positions)
        game.judge(positions, count, leaves.legal, leaves.over, leaves.results)
        evaluations = evaluation.evaluate(positions, count, leaves)
        with self._turn:
            self.counts.evaluations += evaluations
            expand_and_back_up(
                self.trees, paths, count,
                leaves.legal, leaves.over, leaves.results, leaves.logits, leaves.values, leaves.rollouts,
            )  # fmt: skip

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Forget the trees if a round is not brought to its end: they would wait for its values for ever."""
        try:
            yield
        except BaseException:
            self._stop_helpers()
            self._failure = None
            clear_trees(self.trees, np.arange(len(self.trees.used)))
            raise


def _new_worker(game: BatchedGame, evaluation: LeafEvaluation, room: int) -> _Worker:
    """Room for so many leaves."""
    paths = new_paths(room, _DEEPEST)
    leaves = new_leaves(room, game.actions)._replace(expands=paths.expands)
    return _Worker(evaluation, paths, game.allocate(room), leaves)
