"""Gumbel search (Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022).

At the root, m actions are drawn without replacement (the top m of logit + Gumbel noise) and compared by sequential
halving: all get the same few visits, the better half goes on. Below the root, the action is chosen whose visits lag
most behind the improved policy

    pi' = softmax(logit + sigma(completed Q)),    sigma(q) = (c_visit + max N) * c_scale * q,

where actions without a visit take the mixed value v_mix of the node for their Q. pi' at the root is what a network
learns from: it is better than the network's own policy however few simulations there were. Q is scaled to 0..1 here.
"""

from functools import cache
from math import ceil, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen._kernel import kernel, stack_array
from tengen.search.rule import SearchResult, read_roots
from tengen.search.tree import (
    EXPANDED,
    PENDING,
    SOLVED_AT_ONCE,
    TERMINAL,
    UNSEEN,
    Paths,
    Trees,
    action_value,
    visit_leaf,
)


class GumbelParameters(NamedTuple):
    """What shapes the search.

    >>> import tengen
    >>> tengen.Gumbel(tengen.GumbelParameters(considered=8)).parameters.value_scale
    1.0
    """

    considered: int = 16  # m: how many actions are compared at the root
    visit_offset: float = 50.0  # c_visit
    value_scale: float = 1.0  # c_scale


class Gumbel:
    """The rule of Gumbel search, good with few simulations. `explore` scales the noise: 1 in learning, 0 in play.

    >>> import numpy as np
    >>> import tengen
    >>> game = tengen.get_game("microchess")
    >>> batch = game.batch(game.options())
    >>> searcher = tengen.Searcher(batch, tengen.PlayoutEvaluation(batch, seed=1), tengen.Gumbel(), seed=1)
    >>> result = searcher.search(batch.allocate(1), np.arange(1), simulations=16, explore=1.0)
    >>> round(float(result.policy.sum()), 3)
    1.0
    """

    def __init__(self, parameters: GumbelParameters | None = None) -> None:
        self.parameters = parameters or GumbelParameters()

    def attach(self, trees: Trees, actions: int) -> None:
        """Get ready for these trees."""
        count = len(trees.used)
        self._before = np.zeros((count, actions), np.int32)
        self._noise = np.zeros((count, actions), np.float32)
        self._scores = np.zeros(actions, np.float32)

    def begin(
        self, trees: Trees, index: NDArray[np.int64], simulations: int, explore: float, rng: np.random.Generator
    ) -> None:
        """Plan the halving, draw the noise, and note the visits that a kept tree comes with."""
        self._table, self._left = schedules(self.parameters.considered, simulations)
        self._noise[index] = explore * rng.gumbel(size=(len(index), self._noise.shape[1])) if explore else 0.0
        begin_gumbel(trees, index, self._before)

    def select(
        self, trees: Trees, index: NDArray[np.int64], remaining: NDArray[np.int64], leaves: int, paths: Paths
    ) -> int:
        """Walk down to up to `leaves` leaves of each tree; returns how many paths there are."""
        count = select_by_gumbel(
            trees, index, remaining, leaves, self.parameters,
            self._table, self._left, self._before, self._noise, self._scores, paths,
        )  # fmt: skip
        return int(count)

    def is_decided(self, trees: Trees, tree: int, simulations: float) -> bool:
        """Never: the choice hangs on values, which any simulation may change."""
        return False

    def conclude(self, trees: Trees, index: NDArray[np.int64]) -> SearchResult:
        """The winner of the halving, and the improved policy."""
        visits, value = read_roots(trees, index, self._noise.shape[1])
        policy, chosen = np.zeros(visits.shape, np.float32), np.zeros(len(index), np.int64)
        conclude_gumbel(trees, index, self.parameters, self._before, self._noise, policy, value, chosen)
        return SearchResult(visits, policy, policy, value, chosen)


@cache
def halving_schedule(considered: int, simulations: int) -> NDArray[np.int32]:
    """int32[simulations]: how many visits the action has to have that the i-th simulation goes through.

    Sequential halving without any state: the actions still compared are those with exactly so many visits.
    """
    if considered <= 1:
        return np.arange(simulations, dtype=np.int32)
    rounds = ceil(log2(considered))
    schedule: list[int] = []
    visits = [0] * considered
    left = considered
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            schedule += visits[:left]
            for i in range(left):
                visits[i] += 1
        left = max(2, left // 2)
    return np.array(schedule[:simulations], np.int32)


@cache
def schedules(considered: int, simulations: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The schedule for every number of actions to compare, and how many actions are left at each of its simulations.

    Both int32[considered + 1, simulations].
    """
    table = np.stack([halving_schedule(m, simulations) for m in range(considered + 1)])
    return table, np.stack([np.bincount(schedule)[schedule] for schedule in table]).astype(np.int32)


@kernel
def improve(trees, b, node, parameters, scores):  # type: ignore[no-untyped-def]
    """Write logit + sigma(completed Q) of a node's children to scores: float32[>= children]; returns their count."""
    u = np.uint64
    first, count = trees.first_child[b, node], np.int64(trees.child_count[b, node])
    visits, logit = trees.visits[b], trees.logit[b]
    total, most = np.int64(0), np.int64(0)
    weight, weighted = np.float32(0.0), np.float32(0.0)
    for child in range(first, first + count):
        n = visits[u(child)]
        if n > 0:
            total += n
            most = max(most, np.int64(n))
            prior = max(np.exp(logit[u(child)]), np.float32(1e-30))
            weight += prior
            weighted += prior * action_value(trees, b, u(child))
    mixed = trees.value[b, node]
    if total > 0:
        mixed = (mixed + total * (weighted / weight)) / np.float32(1 + total)
    scale = np.float32(0.5 * parameters.value_scale * (parameters.visit_offset + most))
    for i in range(count):
        child = first + i
        n = visits[u(child)]
        q = action_value(trees, b, u(child)) if n > 0 else mixed
        scores[u(i)] = logit[u(child)] + scale * (q + np.float32(1.0))
    return count


@kernel
def softmax(scores, count):  # type: ignore[no-untyped-def]
    """Turn the first `count` scores into probabilities, in place."""
    highest, total = scores[0], np.float32(0.0)
    for i in range(count):
        highest = max(highest, scores[i])
    for i in range(count):
        scores[i] = np.exp(scores[i] - highest)
        total += scores[i]
    for i in range(count):
        scores[i] /= total


@kernel
def best_below_root(trees, b, node, parameters, scores):  # type: ignore[no-untyped-def]
    """The child whose visits lag most behind the improved policy."""
    count = improve(trees, b, node, parameters, scores)
    softmax(scores, count)
    first = trees.first_child[b, node]
    total = 0
    for child in range(first, first + count):
        total += trees.visits[b, child]
    share = np.float32(1.0) / np.float32(1 + total)
    best, best_lag = np.int64(first), np.float32(-np.inf)
    for i in range(count):
        lag = scores[i] - trees.visits[b, first + i] * share
        if lag > best_lag:
            best, best_lag = np.int64(first + i), lag
    return best


@kernel
def best_at_root(trees, b, before, noise, wanted, parameters, scores):  # type: ignore[no-untyped-def]
    """Of the root's children with `wanted` visits in this search the one with the best noise + logit + sigma(Q).

    before: int32[A] holds the visits from earlier searches, noise: float32[A] the Gumbel noise, by action.
    """
    count = improve(trees, b, 0, parameters, scores)
    first = trees.first_child[b, 0]
    best, best_score = np.int64(-1), np.float32(-np.inf)
    for i in range(count):
        child = first + i
        action = trees.action[b, child]
        if trees.visits[b, child] - before[action] == wanted:
            score = noise[action] + scores[i]
            if score > best_score:
                best, best_score = np.int64(child), score
    return best


@kernel
def begin_gumbel(trees, index, before):  # type: ignore[no-untyped-def]
    """Note the visits that the roots' children have already, in before: int32[B, A]."""
    for i in range(index.shape[0]):
        b = index[i]
        first = trees.first_child[b, 0]
        for child in range(first, first + trees.child_count[b, 0]):
            before[b, trees.action[b, child]] = trees.visits[b, child]


@kernel
def select_by_gumbel(trees, index, remaining, leaves, parameters, table, left, before, noise, scores, paths):  # type: ignore[no-untyped-def]
    """Walk down the trees of index: int64[n] to leaves that need an evaluation; returns how many there are.

    As `select_by_puct`. table, left: int32[m + 1, simulations] from `schedules`; before: int32[B, A];
    noise: float32[B, A]; scores: float32[A] is scratch room. Actions are never compared while one of them waits for
    an evaluation: its virtual loss would drop it.
    """
    count = 0
    depth_limit = paths.actions.shape[1]
    simulations = table.shape[1]
    for i in range(index.shape[0]):
        b = index[i]
        considered = min(np.int64(table.shape[0] - 1), np.int64(trees.child_count[b, 0]))
        found = solved = 0
        begun = simulations - remaining[b]
        while remaining[b] > 0 and found < leaves and solved < SOLVED_AT_ONCE:
            now = simulations - remaining[b]
            if found > 0 and left[considered, now] != left[considered, begun]:
                break
            paths.tree[count] = b
            wanted = table[considered, now]
            node, depth = np.int64(0), 0
            paths.nodes[count, 0] = 0
            while trees.stage[b, node] == EXPANDED and depth < depth_limit:
                if depth == 0:
                    node = best_at_root(trees, b, before[b], noise[b], wanted, parameters, scores)
                else:
                    node = best_below_root(trees, b, node, parameters, scores)
                paths.actions[count, depth] = trees.action[b, node]
                depth += 1
                paths.nodes[count, depth] = node
            paths.length[count] = depth
            stage = visit_leaf(trees, paths, count, 1, True)
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
def conclude_gumbel(trees, index, parameters, before, noise, policies, values, chosen):  # type: ignore[no-untyped-def]
    """What the search has found at the roots: improved policies, float32[n, A], values, float32[n], winners, int64[n].

    The winner is an action solved as won, or else the best by noise + logit + sigma(Q) of those with the most visits in
    this search; what is solved as lost comes last. The value is what the improved policy expects: the mean of all
    simulations would be that of moves which nobody wants to play, for sequential halving gives the bad ones as many
    visits as the good ones for a while.
    """
    scores = stack_array(policies.shape[1], np.float32)
    for i in range(index.shape[0]):
        b = index[i]
        first, count = trees.first_child[b, 0], np.int64(trees.child_count[b, 0])
        improve(trees, b, 0, parameters, scores)
        best_rank, best_score = np.int64(-2), np.float32(-np.inf)
        for k in range(count):
            action = trees.action[b, first + k]
            rank, score = np.int64(trees.visits[b, first + k] - before[b, action]), noise[b, action] + scores[k]
            if trees.stage[b, first + k] == TERMINAL and trees.value[b, first + k] != 0.0:
                rank = np.int64(1 << 40) if trees.value[b, first + k] < 0 else np.int64(-1)
            if rank > best_rank or (rank == best_rank and score > best_score):
                chosen[i], best_rank, best_score = action, rank, score
        softmax(scores, count)
        policies[i] = 0.0
        expected, weight = np.float32(0.0), np.float32(0.0)
        for k in range(count):
            policies[i, trees.action[b, first + k]] = scores[k]
            if trees.visits[b, first + k] > 0:
                expected += scores[k] * action_value(trees, b, first + k)
                weight += scores[k]
        values[i] = expected / weight if weight > 0 else trees.value[b, 0]
