"""Why a tree search likes which move: what AlphaGo's authors show in Figure 5 (Silver et al. 2016), as numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tengen.agents.agent import Decision
from tengen.games.state import AnyState
from tengen.search.leaves import LeafEvaluation, new_leaves
from tengen.search.searcher import Searcher
from tengen.search.tree import EXPANDED


@dataclass(frozen=True)
class Explanation:
    """A decision with what the search knows of every legal move; what an agent does not compute is empty.

    Moves are as in the game's state. Values are the chance, 0 to 1, that the player to move wins.
    """

    decision: Decision
    value_of_move: Mapping[int, float] = field(default_factory=dict)
    """What the value network says of the position after the move, without any search; exact where the game ends."""
    q_value: Mapping[int, float] = field(default_factory=dict)
    """The mean of the value network over the simulations through the move (visited moves only)."""
    q_rollout: Mapping[int, float] = field(default_factory=dict)
    """The mean of the rollouts over the same simulations."""
    prior: Mapping[int, float] = field(default_factory=dict)
    """What the policy network says: the shares of all legal moves, 1 together."""
    visits: Mapping[int, int] = field(default_factory=dict)
    """Simulations through the move."""
    pv: tuple[int, ...] = ()
    """The line of most visits, beginning with the move that was chosen."""


def explain_root(searcher: Searcher, state: AnyState, decision: Decision, rollout_weight: float) -> Explanation:
    """What the tree of `state` says about its moves; `rollout_weight`: lambda, the share of rollouts in leaf values."""
    trees = searcher.trees
    if trees.stage[0, 0] != EXPANDED:  # a move that needed no search
        return Explanation(decision, pv=decision.pv)
    first = int(trees.first_child[0, 0])
    children = np.arange(first, first + int(trees.child_count[0, 0]))
    moves = {int(child): state.move_of(int(trees.action[0, child])) for child in children}
    seen = children[trees.visits[0, children] > 0]
    total = trees.value_sum[0, seen].astype(np.float64)
    rollouts = total
    if rollout_weight < 1 and trees.rollout_sum.shape[1]:
        rollouts = trees.rollout_sum[0, seen].astype(np.float64)

    def means(sums: NDArray[np.float64]) -> dict[int, float]:
        chances = (np.clip(sums / trees.visits[0, seen], -1, 1) + 1) / 2
        return {moves[int(child)]: float(chance) for child, chance in zip(seen, chances, strict=True)}

    return Explanation(
        decision,
        q_value=means((total - rollout_weight * rollouts) / (1 - rollout_weight)) if rollout_weight < 1 else {},
        q_rollout=means(rollouts) if rollout_weight > 0 else {},
        prior={moves[int(child)]: float(np.exp(trees.logit[0, child])) for child in children},
        visits={moves[int(child)]: int(trees.visits[0, child]) for child in children},
        pv=decision.pv,
    )


def values_of_moves(searcher: Searcher, roots: Any, state: AnyState, network: LeafEvaluation) -> dict[int, float]:
    """The chance to win after each legal move of roots[0], by one evaluation of all positions that they lead to."""
    game = searcher.game
    root = new_leaves(1, game.actions)
    game.judge(roots, 1, root.legal, root.over, root.results)
    actions = np.flatnonzero(root.legal[0])
    count = len(actions)
    positions, leaves = game.allocate(count), new_leaves(count, game.actions)
    game.follow(
        roots, np.zeros(count, np.int64), actions[:, None].astype(np.int16), np.ones(count, np.int64), positions
    )
    game.judge(positions, count, leaves.legal, leaves.over, leaves.results)
    network.evaluate(positions, count, leaves)
    values = np.where(leaves.over, leaves.results, leaves.values)  # to the opponent
    return {state.move_of(int(action)): float(1 - value) / 2 for action, value in zip(actions, values, strict=True)}
