"""PUCT, the selection rule of AlphaGo and AlphaGo Zero: down the tree by

    a = argmax Q(s, a) + c * P(s, a) * sqrt(N(s)) / (1 + N(s, a))

Q is the mean value of the simulations through a, as the player who chooses sees it. For actions without any it is
that of the node, less `fpu_reduction` for each unit of the root of the priors explored so far (first-play urgency);
or 0, as in the first publications, where `fpu_zero` is set.

AlphaGo (Silver et al. 2016) has c = 5, calls it c_u, and gives a leaf children at its visit number n_thr, `threshold`
here; before that, and at the limit of depth, each visit evaluates the leaf once more. AlphaGo Zero expands at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel
from tengen.search.rule import SearchResult, cannot_be_overtaken, read_roots
from tengen.search.tree import (
    EXPANDED,
    PENDING,
    SOLVED_AT_ONCE,
    TERMINAL,
    UNSEEN,
    Paths,
    Trees,
    action_value,
    known_value,
    visit_leaf,
)


class PuctParameters(NamedTuple):
    """What shapes the search.

    >>> import tengen
    >>> tengen.Puct(tengen.PuctParameters(exploration=2.0)).parameters.threshold
    1
    """

    exploration: float = 1.5  # c: how much the prior counts
    fpu_reduction: float = 0.2  # how much worse than the node an action without visits looks: times sqrt(explored P)
    fpu_zero: bool = False  # whether such an action looks like a draw instead
    threshold: int = 1  # n_thr: the visit at which a leaf is expanded
    depth: int = 0  # actions in a path at most, beyond which nothing is expanded; 0: as many as there is room for


class Puct:
    """The rule of AlphaGo and AlphaGo Zero: search where value and prior are high and visits are few.

    `noise` is the share of Dirichlet noise in the root's priors when a search explores, `alpha` its parameter (0: ten
    divided by the legal actions). With `prune`, what a network should learn leaves out the visits that only
    exploration asked for.

    >>> import tengen
    >>> tengen.Puct().parameters.exploration
    1.5
    """

    def __init__(
        self,
        parameters: PuctParameters | None = None,
        *,
        noise: float = 0.25,
        alpha: float = 0.0,
        prune: bool = False,
    ) -> None:
        self.parameters = parameters or PuctParameters()
        self._noise, self._alpha, self._prune = noise, alpha, prune
        self._actions = 0

    def attach(self, trees: Trees, actions: int) -> None:
        """Get ready for these trees."""
        self._actions = actions

    def begin(
        self, trees: Trees, index: NDArray[np.int64], simulations: int, explore: float, rng: np.random.Generator
    ) -> None:
        """Mix noise into the priors at the roots, if the search explores."""
        if explore:
            shape = np.full((len(index), 1), self._alpha)
            if not self._alpha:
                shape[:, 0] = 10.0 / np.maximum(1, trees.child_count[index, 0])
            drawn = rng.standard_gamma(shape, (len(index), self._actions))
            mix_noise(trees, index, drawn, explore * self._noise)

    def select(
        self, trees: Trees, index: NDArray[np.int64], remaining: NDArray[np.int64], leaves: int, paths: Paths
    ) -> int:
        """Walk down to up to `leaves` leaves of each tree; returns how many paths there are."""
        return int(select_by_puct(trees, index, remaining, leaves, self.parameters, paths))

    def is_decided(self, trees: Trees, tree: int, simulations: float) -> bool:
        """Whether no other action of the root can get more visits than the most visited one has."""
        first = int(trees.first_child[tree, 0])
        return cannot_be_overtaken(trees.visits[tree, first : first + int(trees.child_count[tree, 0])], simulations)

    def conclude(self, trees: Trees, index: NDArray[np.int64]) -> SearchResult:
        """The most visited actions, and the shares of visits."""
        visits, value = read_roots(trees, index, self._actions)
        chosen = np.zeros(len(index), np.int64)
        best_actions(trees, index, chosen)
        policy = _shares(visits.astype(np.float32))
        target = policy
        if self._prune:
            pruned = visits.astype(np.float32)
            prune_visits(trees, index, self.parameters, pruned)
            target = _shares(pruned)
        return SearchResult(visits, policy, target, value, chosen)


def _shares(visits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(visits / np.maximum(1.0, visits.sum(axis=1, keepdims=True)), np.float32)


# --------------------------------------------------------------------------------------------- kernels


@kernel(inline=True)
def best_by_puct(trees, b, node, parameters):  # type: ignore[no-untyped-def]
    """The child of an expanded node that PUCT goes to next."""
    u = np.uint64
    first, count = trees.first_child[b, node], trees.child_count[b, node]
    visits, prior = trees.visits[b], trees.prior[b]
    seen = np.float32(0.0)
    for child in range(first, first + count):
        if visits[u(child)] > 0:
            seen += prior[u(child)]
    unseen_value = np.float32(0.0)
    if not parameters.fpu_zero:  # virtual losses of this node are wins to who chooses here: leave them out
        unseen_value = known_value(trees, b, node) - np.float32(parameters.fpu_reduction) * np.sqrt(seen)
    scale = np.float32(parameters.exploration) * np.sqrt(np.float32(visits[node]))
    best, best_score = first, np.float32(-np.inf)
    for child in range(first, first + count):
        n = visits[u(child)]
        q = action_value(trees, b, u(child)) if n > 0 else unseen_value
        score = q + scale * prior[u(child)] / np.float32(1 + n)
        if score > best_score:
            best, best_score = child, score
    return best


@kernel
def select_by_puct(trees, index, remaining, leaves, parameters, paths):  # type: ignore[no-untyped-def]
    """Walk down the trees of index: int64[n] to leaves that need an evaluation; returns how many there are.

    Up to `leaves` paths of each tree that has simulations left by remaining: int64[B] are written to `paths`.
    Simulations that end in a solved position need no evaluation: they are written back at once, and the next begins.
    """
    count = 0
    depth_limit = np.int64(paths.actions.shape[1])
    if parameters.depth > 0:
        depth_limit = min(depth_limit, np.int64(parameters.depth))
    for i in range(index.shape[0]):
        b = index[i]
        found = solved = 0
        while remaining[b] > 0 and found < leaves and solved < SOLVED_AT_ONCE:
            paths.tree[count] = b
            node, depth = np.int64(0), 0
            paths.nodes[count, 0] = 0
            while trees.stage[b, node] == EXPANDED and depth < depth_limit:
                node = np.int64(best_by_puct(trees, b, node, parameters))
                paths.actions[count, depth] = trees.action[b, node]
                depth += 1
                paths.nodes[count, depth] = node
            paths.length[count] = depth
            stage = visit_leaf(trees, paths, count, parameters.threshold, depth < depth_limit)
            if stage == PENDING:
                break
            remaining[b] -= 1
            if stage == UNSEEN:
                count += 1
                found += 1
            else:
                solved += 1
    return count


@kernel
def mix_noise(trees, index, noise, share):  # type: ignore[no-untyped-def]
    """Mix Dirichlet noise into the priors at the roots; noise: float64[n, A] of gamma draws, share: its weight."""
    for i in range(index.shape[0]):
        b = index[i]
        first, count = trees.first_child[b, 0], trees.child_count[b, 0]
        total = 0.0
        for child in range(first, first + count):
            total += noise[i, trees.action[b, child]]
        for child in range(first, first + count):
            drawn = noise[i, trees.action[b, child]] / total if total > 0 else 1.0 / count
            clean = np.exp(trees.logit[b, child])
            trees.prior[b, child] = (1.0 - share) * clean + share * drawn


@kernel
def prune_visits(trees, index, parameters, visits):  # type: ignore[no-untyped-def]
    """Policy-target pruning (Wu 2019): take from visits: float32[n, A] what only exploration asked for.

    A root action keeps the fewest visits with which PUCT would not prefer it to the most visited one; of actions
    left with a single visit nothing remains.
    """
    for i in range(index.shape[0]):
        b = index[i]
        first, count = trees.first_child[b, 0], trees.child_count[b, 0]
        best = first
        for child in range(first, first + count):
            if trees.visits[b, child] > trees.visits[b, best]:
                best = child
        if trees.visits[b, best] == 0:
            continue
        scale = parameters.exploration * np.sqrt(float(trees.visits[b, 0]))
        best_q = action_value(trees, b, best)
        best_score = best_q + scale * trees.prior[b, best] / (1 + trees.visits[b, best])
        for child in range(first, first + count):
            n = trees.visits[b, child]
            if child == best or n == 0:
                continue
            gap = best_score - action_value(trees, b, child)
            fewest = scale * trees.prior[b, child] / gap - 1 if gap > 0 else float(n)
            kept = min(float(n), max(0.0, np.ceil(fewest)))
            visits[i, trees.action[b, child]] = kept if kept > 1 else 0.0


@kernel
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
