"""Why an agent likes which move: Figure 5 of AlphaGo (Silver et al. 2016), as numbers and as panels of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tengen.agents.agent import Agent, AgentError, Decision
from tengen.games.batch import BatchedGame, GameArrays
from tengen.games.state import AnyState
from tengen.search.leaves import LeafEvaluation, new_leaves
from tengen.search.puct import Puct
from tengen.search.rule import SearchRule
from tengen.search.searcher import Searcher
from tengen.search.tree import EXPANDED, TERMINAL, action_value, known_value

_NODES: Final = 300_000
_ENDLESS: Final = 1 << 30
_ONLY = np.zeros(1, np.int64)


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


def values_of_moves(
    searcher: Searcher, roots: GameArrays, state: AnyState, network: LeafEvaluation
) -> dict[int, float]:
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


@dataclass(frozen=True)
class SearchNode:
    """A node of the tree, as it is now."""

    number: int
    """Its index in the tree; 0 is the root."""
    action: int | None
    """What leads to it, an index of the policy; None for the root."""
    visits: int
    value_sum: float
    """W, from -1 (lost) to 1 (won) for each visit, for the player whose move leads here."""
    q: float | None
    """W / N, exact once the node is solved; None without a visit."""
    prior: float
    bonus: float
    """u, by which PUCT explores; 0 for the root."""
    value: float | None
    """What the leaf was evaluated as, for the player to move there; None before its first visit."""
    rollout_sum: float | None
    """W of the rollouts alone, where the search keeps them."""
    stage: str
    """`unseen`, `expanded` or `solved`."""
    children: int


@dataclass(frozen=True)
class Visit:
    """A node that a simulation went through, and what it had before."""

    number: int
    visits: int
    value_sum: float


class SteppedSearch:
    """The search of one position by PUCT, from an empty tree, one simulation at a time."""

    def __init__(
        self,
        state: AnyState,
        game: BatchedGame,
        evaluation: LeafEvaluation,
        rule: SearchRule,
        *,
        network: LeafEvaluation | None = None,
        rollouts: bool = False,
        seed: int = 0,
    ) -> None:
        """`network`: the value network alone, where there is one."""
        if not isinstance(rule, Puct):
            raise ValueError("only a search by PUCT goes one simulation at a time: choose zero, alphago or mcts")
        if state.is_over:
            raise ValueError("the game is over: there is nothing to search")
        self._rule, self._state = rule, state
        self._searcher = Searcher(game, evaluation, rule, nodes=_NODES, rollouts=rollouts, seed=seed)
        self._roots = game.allocate(1)
        game.load(self._roots, 0, state)
        self._searcher.begin(self._roots, _ONLY, _ENDLESS)
        self.values: Mapping[int, float] = {}
        """What the value network says of the position after each move: the chance of the player to move."""
        if network is not None:
            self.values = values_of_moves(self._searcher, self._roots, state, network)

    @property
    def simulations(self) -> int:
        """How many there were."""
        return self._searcher.counts.simulations

    def step(self) -> list[Visit]:
        """One simulation; returns the nodes that it went through, the root first. Empty: the tree is full."""
        trees = self._searcher.trees
        if self._searcher.is_full():
            return []
        before, sums = (each[0, : int(trees.used[0])].copy() for each in (trees.visits, trees.value_sum))
        if not self._searcher.step(self._roots, _ONLY):
            return []
        changed = np.flatnonzero(trees.visits[0, : len(before)] != before)
        return [Visit(int(n), int(before[n]), float(sums[n])) for n in changed]  # children come after their parents

    def node(self, number: int, parent: int | None = None) -> SearchNode:
        """A node by its number; ValueError if there is none. `parent`: for its u."""
        trees = self._searcher.trees
        if not 0 <= number < int(trees.used[0]):
            raise ValueError(f"the tree has no node {number}")
        visits, stage = int(trees.visits[0, number]), int(trees.stage[0, number])
        bonus = 0.0
        if parent is not None:
            scale = self._rule.parameters.exploration * float(np.sqrt(trees.visits[0, parent]))
            bonus = scale * float(trees.prior[0, number]) / (1 + visits)
        return SearchNode(
            number,
            None if number == 0 else int(trees.action[0, number]),
            visits,
            float(trees.value_sum[0, number]),
            float(action_value(trees, 0, number)) if visits else None,
            float(trees.prior[0, number]),
            bonus,
            float(trees.value[0, number]) if visits else None,
            float(trees.rollout_sum[0, number]) if trees.rollout_sum.shape[1] else None,
            "expanded" if stage == EXPANDED else "solved" if stage == TERMINAL else "unseen",
            int(trees.child_count[0, number]),
        )

    def children(self, number: int) -> list[SearchNode]:
        """The children of a node, the largest Q + u first; for unvisited ones Q is what PUCT takes in its place."""
        self.node(number)
        trees = self._searcher.trees
        first, count = int(trees.first_child[0, number]), int(trees.child_count[0, number])
        found = [self.node(child, number) for child in range(first, first + count)]
        guess = self.first_play_urgency(number)
        return sorted(found, key=lambda each: -((guess if each.q is None else each.q) + each.bonus))

    def first_play_urgency(self, number: int) -> float:
        """Q of the children of a node that have no visit yet."""
        trees, parameters = self._searcher.trees, self._rule.parameters
        if parameters.fpu_zero or not trees.visits[0, number]:
            return 0.0
        first, count = int(trees.first_child[0, number]), int(trees.child_count[0, number])
        children = slice(first, first + count)
        seen = float(trees.prior[0, children][trees.visits[0, children] > 0].sum())
        return float(known_value(trees, 0, number)) - parameters.fpu_reduction * float(np.sqrt(seen))

    def line(self, number: int) -> list[int]:
        """The numbers of the nodes from the root to a node."""
        trees, line = self._searcher.trees, [number]
        while line[-1] != 0:
            first = trees.first_child[0, : int(trees.used[0])]
            count = trees.child_count[0, : int(trees.used[0])]
            parents = np.flatnonzero((count > 0) & (first <= line[-1]) & (line[-1] < first + count))
            line.append(int(parents[0]))
        return line[::-1]

    def state_at(self, number: int) -> Any:
        """The position of a node."""
        state: AnyState = self._state
        for each in self.line(number)[1:]:
            state = state.play(state.move_of(int(self._searcher.trees.action[0, each])))
        return state


_LEAST_VISITED: Final = 0.005  # share of the visits from which on a move's Q is shown


@runtime_checkable
class Explains(Protocol):
    """An agent that knows more about the moves than its decisions say."""

    def explain(self, state: AnyState, seconds: float | None = None) -> Explanation:
        """Think as `choose` does, and give what is known of every legal move."""
        ...


@dataclass(frozen=True)
class Panel:
    """What one board shows: a number for each move, or a line of play."""

    title: str
    short: str
    """The title in the table."""
    numbers: Mapping[int, float] = field(default_factory=dict)
    is_share: bool = False
    """Whether the numbers are shares, 1 together; else they are chances to win."""
    line: tuple[int, ...] = ()


def explain_position(agent: Agent, state: AnyState) -> tuple[Decision, list[Panel]]:
    """What an agent chooses and why, as boards in the order of AlphaGo's Figure 5, those that apply.

    AgentError if the agent knows nothing of moves but the one that it chooses.
    """
    if isinstance(agent, Explains):
        found = agent.explain(state)
        decision, priors, visits = found.decision, found.prior, _shares(found.visits)
        values = [
            Panel("Value of each move", "value", found.value_of_move),
            Panel("Q from values", "Q values", _well_known(found.q_value, visits)),
            Panel("Q from rollouts", "Q rollouts", _well_known(found.q_rollout, visits)),
        ]
    else:
        decision = agent.choose(state)
        priors, visits = decision.priors, _shares(decision.visits)
        values = [Panel("Chance to win, by search", "chance", _well_known(decision.values, visits))]
    if len(priors) > 1 and max(priors.values()) - min(priors.values()) < 1e-6:
        priors = {}  # all moves alike: there is no policy
    shares = [Panel("Prior", "prior", priors, is_share=True), Panel("Visits", "visits", visits, is_share=True)]
    panels = [panel for panel in (*values, *shares) if panel.numbers]
    if not panels:
        reason = decision.note or "it gives no numbers of moves"
        remedy = "choose an agent that searches or has a policy"
        raise AgentError(f"{agent.name} explains nothing here, {reason}: {remedy}")
    if len(decision.pv) > 1:
        panels.append(Panel("Principal variation", "line", line=decision.pv))
    return decision, panels


def best_moves(panels: Sequence[Panel], most: int = 8) -> list[int]:
    """The moves that matter most: by visits, or else by the last numbers that there are."""
    ranked = [panel.numbers for panel in panels if panel.numbers]
    moves = {move for numbers in ranked for move in numbers}
    return sorted(moves, key=lambda move: [-numbers.get(move, -1.0) for numbers in reversed(ranked)])[:most]


def _well_known(values: Mapping[int, float], visits: Mapping[int, float]) -> dict[int, float]:
    """The means of moves that have had their share of visits; those of others are noise."""
    least = min(_LEAST_VISITED, max(visits.values(), default=0.0))
    return {move: value for move, value in values.items() if visits.get(move, 0.0) >= least}


def _shares(visits: Mapping[int, int]) -> dict[int, float]:
    total = sum(visits.values())
    return {move: count / total for move, count in visits.items() if count} if total else {}
