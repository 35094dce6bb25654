"""Tree search guided by a network, in many games at once: PUCT (AlphaGo Zero) or Gumbel search.

One round takes a leaf (or several) from every tree, lets the game's kernels set up the positions, evaluates them as
one batch and writes the results back: some ten calls for thousands of simulations. Trees stay from move to move.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tengen.nets.evaluator import Evaluator
from tengen.search.evaluation_cache import EvaluationCache, fill_in, look_up, new_cache
from tengen.search.gumbel import GumbelParameters, begin_gumbel, conclude_gumbel, schedules, select_by_gumbel
from tengen.search.lockstep import Lockstep
from tengen.search.puct import PuctParameters, mix_noise, prune_visits, select_by_puct
from tengen.search.tree import (
    EXPANDED,
    PENDING,
    TERMINAL,
    VIRTUAL_LOSS,
    action_value,
    clear_trees,
    expand_and_back_up,
    keep_subtrees,
    new_paths,
    new_trees,
)

_DEEPEST = 256  # actions in a path; what lies deeper is not explored further


class SearchResult(NamedTuple):
    """What a search says about n games."""

    visits: NDArray[np.int32]  # [n, A] N of the root's actions
    policy: NDArray[np.float32]  # [n, A] what a network should learn: shares of visits, or Gumbel's improved policy
    value: NDArray[np.float32]  # [n] of the position, for the player to move
    chosen: NDArray[np.int64]  # [n] the best action; with noise, one drawn by it in Gumbel search


@dataclass
class Counts:
    """How much work was done."""

    simulations: int = 0
    leaves: int = 0
    evaluations: int = 0


class Searcher:
    """The trees of up to `trees` games, and all the room that searching them takes.

    Tree b belongs to game b of the roots that every call is given. `parameters` say which search it is.
    """

    def __init__(
        self,
        game: Lockstep,
        evaluator: Evaluator,
        parameters: PuctParameters | GumbelParameters,
        *,
        trees: int = 1,
        nodes: int = 10_000,
        leaves: int = 1,
        cache: int | EvaluationCache = 1 << 14,
        seed: int | None = None,
    ) -> None:
        self.game, self.evaluator, self.parameters = game, evaluator, parameters
        self.counts = Counts()
        self.trees = new_trees(trees, nodes)
        self.cache = new_cache(cache, game.actions) if isinstance(cache, int) else cache
        self._spare = new_trees(1, nodes)
        self._leaves = leaves
        self._rng = np.random.default_rng(seed)
        room = trees * leaves
        self._paths = new_paths(room, _DEEPEST)
        self._positions = game.allocate(room)
        self._planes = np.zeros((room, game.planes, game.height, game.width), np.uint8)
        self._legal = np.zeros((room, game.actions), np.bool_)
        self._over, self._results = np.zeros(room, np.bool_), np.zeros(room, np.float32)
        self._keys, self._source = np.zeros(room, np.uint64), np.zeros(room, np.int64)
        self._missing = np.zeros(room, np.int64)
        self._logits, self._values = np.zeros((room, game.actions), np.float32), np.zeros(room, np.float32)
        self._remaining = np.zeros(trees, np.int64)
        self._before = np.zeros((trees, game.actions), np.int32)
        self._noise = np.zeros((trees, game.actions), np.float32)
        self._scores = np.zeros(game.actions, np.float32)

    def forget(self, index: NDArray[np.int64]) -> None:
        """Clear the trees of these games."""
        clear_trees(self.trees, index)

    def advance(self, actions: NDArray[np.int64]) -> None:
        """Follow one action in each of the first games, keeping what the trees know below it; -1 leaves one alone."""
        keep_subtrees(self.trees, actions, self._spare)

    def warm_up(self, roots: Any, index: NDArray[np.int64]) -> None:
        """Do once what the first searches would else have to wait for; forgets the trees of these games.

        Kernels are loaded, and the network is asked for batches of all sizes, for each of which it may get ready anew.
        """
        for count in range(1, len(self._planes) + 1):
            self.evaluator.evaluate(self._planes[:count])
        self.search(roots, index, 1)
        self.forget(index)

    def prepare(self, roots: Any, index: NDArray[np.int64]) -> None:
        """Evaluate those of these roots that have not been yet. None of the games may be over."""
        fresh = index[self.trees.stage[index, 0] != EXPANDED]
        for start in range(0, len(fresh), len(self._over)):
            part = fresh[start : start + len(self._over)]
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

    def search(
        self, roots: Any, index: NDArray[np.int64], simulations: int, noise: float = 0.0, alpha: float = 0.0
    ) -> SearchResult:
        """Search these games by so many simulations each. None of them may be over.

        `noise`: with PUCT the share of Dirichlet noise of this `alpha` (0: ten divided by the legal actions) in the
        root's priors; with Gumbel search the scale of the Gumbel noise, 1 in learning and 0 in play.
        """
        self.begin(roots, index, simulations, noise, alpha)
        while self.step(roots, index):
            pass
        return self.conclude(index)

    def begin(
        self, roots: Any, index: NDArray[np.int64], simulations: int, noise: float = 0.0, alpha: float = 0.0
    ) -> None:
        """Set out on a search; `step` does a round of it, `conclude` tells what was found, at any time."""
        self.prepare(roots, index)
        self._remaining[index] = simulations
        if isinstance(self.parameters, GumbelParameters):
            self._table, self._left = schedules(self.parameters.considered, simulations)
            self._noise[index] = noise * self._rng.gumbel(size=(len(index), self.game.actions)) if noise else 0.0
            begin_gumbel(self.trees, index, self._before)
        elif noise:
            shape = np.full((len(index), 1), alpha or 0.0)
            if not alpha:
                shape[:, 0] = 10.0 / np.maximum(1, self.trees.child_count[index, 0])
            mix_noise(self.trees, index, self._rng.standard_gamma(shape, (len(index), self.game.actions)), noise)

    def step(self, roots: Any, index: NDArray[np.int64]) -> int:
        """One round: a leaf or more of every tree with simulations left. Returns how many simulations; 0: all done."""
        before = int(self._remaining[index].sum())
        if isinstance(self.parameters, GumbelParameters):
            count = select_by_gumbel(
                self.trees, index, self._remaining, self._leaves, self.parameters,
                self._table, self._left, self._before, self._noise, self._scores, self._paths,
            )  # fmt: skip
        else:
            count = select_by_puct(self.trees, index, self._remaining, self._leaves, self.parameters, self._paths)
        done = before - int(self._remaining[index].sum())
        self.counts.simulations += done
        self.counts.leaves += count
        if count:
            self._finish(roots, count)
        return done

    def conclude(self, index: NDArray[np.int64]) -> SearchResult:
        """What the search has found."""
        n = len(index)
        visits, value = np.zeros((n, self.game.actions), np.int32), np.zeros(n, np.float32)
        read_roots(self.trees, index, visits, value)
        policy, chosen = visits.astype(np.float32), np.zeros(n, np.int64)
        if isinstance(self.parameters, GumbelParameters):
            conclude_gumbel(self.trees, index, self.parameters, self._before, self._noise, policy, value, chosen)
        else:
            best_actions(self.trees, index, chosen)
            policy /= np.maximum(1.0, policy.sum(axis=1, keepdims=True))
        return SearchResult(visits, policy, value, chosen)

    def pruned_policy(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """float32[n, A]: shares of visits without those that only PUCT's exploration asked for."""
        if isinstance(self.parameters, GumbelParameters):
            raise ValueError("policy-target pruning belongs to PUCT: Gumbel search needs none")
        visits, value = np.zeros((len(index), self.game.actions), np.int32), np.zeros(len(index), np.float32)
        read_roots(self.trees, index, visits, value)
        policy = visits.astype(np.float32)
        prune_visits(self.trees, index, self.parameters, policy)
        return np.asarray(policy / np.maximum(1.0, policy.sum(axis=1, keepdims=True)), np.float32)

    def _finish(self, roots: Any, count: int) -> None:
        """Set up, judge and evaluate the leaves of the first `count` paths, and write them to the trees."""
        game, paths = self.game, self._paths
        game.follow(roots, paths.tree[:count], paths.actions, paths.length[:count], self._positions)
        game.judge(self._positions, count, self._legal, self._over, self._results)
        game.encode(self._positions, count, self._planes)
        flat = self._planes.reshape(len(self._planes), -1)
        wanted = look_up(self.cache, flat, self._over, count, self._keys, self._source, self._missing)
        logits, values = (
            self.evaluator.evaluate(self._planes[:wanted]) if wanted else (self._logits[:0], self._values[:0])
        )
        if values is None:
            raise ValueError("tree search needs a network with a value head, and this one has none")
        fill_in(
            self.cache, self._over, count, self._keys, self._source, self._missing,
            logits, values, self._logits, self._values,
        )  # fmt: skip
        self.counts.evaluations += int(wanted)
        expand_and_back_up(self.trees, paths, count, self._legal, self._over, self._results, self._logits, self._values)


@njit(cache=True, nogil=True)
def read_roots(trees, index, visits, value):  # type: ignore[no-untyped-def]
    """Write the visits of the roots' actions, int32[n, A], and the roots' mean values, float32[n]."""
    for i in range(index.shape[0]):
        b = index[i]
        first = trees.first_child[b, 0]
        for child in range(first, first + trees.child_count[b, 0]):
            visits[i, trees.action[b, child]] = trees.visits[b, child]
        value[i] = -trees.value_sum[b, 0] / max(1, trees.visits[b, 0])


@njit(cache=True, nogil=True)
def best_actions(trees, index, chosen):  # type: ignore[no-untyped-def]
    """Write the best action at the roots to chosen: int64[n].

    That is one solved as won; else, of those not solved as lost, the one with the most visits, of equals the one with
    the better Q, and before anything is visited the one that the network likes best; what is solved as lost comes last.
    """
    for i in range(index.shape[0]):
        b = index[i]
        first = trees.first_child[b, 0]
        best, best_rank, best_q = first, np.int64(-1), np.float32(-1.0)
        for child in range(first, first + trees.child_count[b, 0]):
            n = np.int64(trees.visits[b, child])
            rank, q = n, np.float32(-1.0)
            if n > 0:
                q = action_value(trees, b, child)
                if trees.stage[b, child] == TERMINAL and q != 0.0:
                    rank = np.int64(1 << 40) if q > 0 else np.int64(-1)
            liked = q == best_q and trees.logit[b, child] > trees.logit[b, best]
            if rank > best_rank or (rank == best_rank and (q > best_q or liked)):
                best, best_rank, best_q = child, rank, q
        chosen[i] = trees.action[b, best]
