"""The agent that searches a tree: limits, the tree kept from move to move, the end of the game, analysis.

It is composed of the parts in `SearchParts`: how networks see the game, what leaves are worth, the rule of the search,
and who estimates ownership. Kinds of agents differ in these: a network with PUCT or Gumbel search (`zero.py`),
networks and rollouts with PUCT (`alphago.py`), playouts with PUCT (`uct.py`). They play every game.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tengen.agents.agent import AgentError, Decision
from tengen.agents.analysis import (
    Analysis,
    OwnershipEstimator,
    OwnershipSource,
    PlayoutOwnership,
    Watcher,
    check_avoided,
    estimator_for,
    is_solved,
    line_of_most_visits,
    of_decision,
    of_tree,
    over,
    with_scores,
)
from tengen.agents.explanation import Explanation, SteppedSearch, explain_root, values_of_moves
from tengen.agents.passing import Count, Pass, count_now
from tengen.agents.rehearsal import rehearse
from tengen.agents.training_conditions import refuse_other_games, warning
from tengen.games.batch import BatchedGame
from tengen.games.game import game_of, open_batch
from tengen.games.go import PASS
from tengen.games.state import RESIGN, AnyState, Options
from tengen.search.leaves import LeafEvaluation
from tengen.search.rule import SearchResult, SearchRule
from tengen.search.searcher import NODE_BYTES, Searcher
from tengen.search.tree import TERMINAL, action_value, find_child

if TYPE_CHECKING:
    from tengen.encode.encoder import Encoder
    from tengen.nets.model_file import ModelCard

_CLOCK_SHARE = 0.97  # of a time limit that goes to thinking
_ENDLESS = 1 << 30
_PLANNED_AT_ONCE = 1024  # simulations of an analysis that a rule plans ahead
_ROOMY = 2_000
_TRIAL_SIMULATIONS = 8
_REPORTED = 10  # how many moves a decision reports on
_ONLY = np.zeros(1, np.int64)  # the one tree that a player has

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


@dataclass(frozen=True)
class SearchParts:
    """What a search is composed of."""

    evaluation: Callable[[BatchedGame, np.random.Generator], LeafEvaluation]
    """What leaves are worth."""
    rule: Callable[[], SearchRule]
    """Where simulations go."""
    encoders: tuple["Encoder", ...] = ()
    """How the networks of the evaluation see positions."""
    ownership: Callable[[], OwnershipSource] = PlayoutOwnership
    """Who estimates whose the points of a Go board will be, for analysis."""
    value_network: Callable[[BatchedGame], LeafEvaluation | None] = lambda game: None
    """What the value network alone says of positions; None: there is none."""
    known: Callable[[AnyState], Decision | None] = lambda state: None
    """A decision that needs no search."""
    card: "ModelCard | None" = None
    """What the model was trained on; it plays no other game. None: every game."""


class SearchAgent:
    """Searches from the position on the board, keeps its tree from move to move, and explains its choice."""

    def __init__(
        self,
        name: str,
        parts: SearchParts,
        limits: Limits,
        *,
        batch: int = 0,
        threads: int = 1,
        rollout_weight: float = 0.0,
        temperature: float = 0.0,
        explore: float = 0.0,
        resign: float = 0.0,
        seed: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`batch`: leaves that a thread evaluates together; 0: one for few simulations, up to 16 for many.
        `rollout_weight`: lambda, the share of rollouts in a leaf's value. `temperature`: 0 plays the best move.
        `explore`: how much of the rule's noise is added at the root. `resign`: the chance to win below which a game
        with territory is given up."""
        self.name, self._parts = name, parts
        self._limits, self._temperature, self._explore, self._resign_below = limits, temperature, explore, resign
        self._threads, self._rollout_weight, self._batch = threads, rollout_weight, batch
        self._clock = clock
        self._rng = np.random.default_rng(seed)
        self._stop = threading.Event()
        self._game: BatchedGame | None = None
        self._searcher: Searcher | None = None
        self._root: AnyState | None = None
        self._dead: frozenset[int] = frozenset()
        self._is_partial = False  # whether the tree lacks moves that an analysis left out
        self._is_ending = False  # whether somebody has thought of passing in this game

    # ------------------------------------------------------------------------------------ being an agent

    def choose(self, state: AnyState, seconds: float | None = None, watcher: Watcher | None = None) -> Decision:
        """Search from `state` and decide, before the time is up where no other move can come first any more.

        `watcher` is shown the search.
        """
        if watcher is None:
            return self._think(state, seconds)
        estimator = self.ownership_estimator(state)
        decision = self._think(state, seconds, watch=self._watch(state, watcher, estimator))
        if self._searcher is not None and decision.nodes is not None:  # else it needed no search
            watcher.show(of_tree(self._searcher, 0, state, estimator, final=True))
        else:
            watcher.show(with_scores(of_decision(decision), estimator))
        return decision

    def _watch(self, state: AnyState, watcher: Watcher, estimator: OwnershipEstimator | None) -> Callable[[], None]:
        """What to call after every round of a search, for a watcher to be shown it now and then."""
        shown = self._clock()

        def watch() -> None:
            nonlocal shown
            if self._clock() - shown >= watcher.interval:
                assert self._searcher is not None
                watcher.show(of_tree(self._searcher, 0, state, estimator))
                shown = self._clock()

        return watch

    def _think(
        self,
        state: AnyState,
        seconds: float | None,
        to_the_end: bool = False,
        watch: Callable[[], None] | None = None,
    ) -> Decision:
        """`to_the_end`: use all of the time in any case. `watch` is called after every round of the search."""
        started = self._clock()
        self._refuse(state)
        self._stop.clear()
        if state.is_over:
            return Decision(PASS if game_of(state).territory else RESIGN, note="the game is over")
        limits = [limit for limit in (self._limits.seconds, seconds) if limit is not None]
        limit = min(limits) if limits else None
        deadline = None if limit is None else started + limit * _CLOCK_SHARE
        known = self._parts.known(state)
        if known is not None:
            return known
        searcher = self._searcher_for(state)
        count = self._count(state, limit) if self._is_ending or _has_passed(state) else None
        if count is not None:
            self._mark_dead(count.dead)
            if count.verdict is Pass.WINS:
                return Decision(PASS, 1.0, pv=(PASS,), note="passing ends the game, won")
        before = searcher.counts.simulations
        result = self._search(state, deadline, count, to_the_end, watch)
        if count is None and game_of(state).territory and state.move_of(int(result.chosen[0])) == PASS:
            count = self._count(state, limit)
            if count.margin < 0:
                self._mark_dead(count.dead)
                result = self._search(state, deadline, count, to_the_end, watch)
        note = f"{searcher.counts.simulations - before} simulations in {self._clock() - started:.1f} s"
        return self._decide(searcher, state, result, note + (", the tree is full" if searcher.is_full() else ""))

    def explain(self, state: AnyState, seconds: float | None = None) -> Explanation:
        """Search from `state` for the whole time; returns what is known of every legal move, not of the best only."""
        decision = self._think(state, seconds, to_the_end=True)
        if state.is_over:
            return Explanation(decision)
        searcher = self._searcher_for(state)
        explanation = explain_root(searcher, state, decision, self._rollout_weight)
        network = self._parts.value_network(searcher.game)
        if network is None:
            return explanation
        values = values_of_moves(searcher, self._roots(searcher, state), state, network)
        return replace(explanation, value_of_move=values)

    def analyse(
        self,
        state: AnyState,
        *,
        visits: int | None = None,
        seconds: float | None = None,
        interval: float = 0.1,
        avoid: Collection[int] = (),
    ) -> Iterator[Analysis]:
        """Search from `state` and show what is known: see `Analyst`."""
        self._refuse(state)
        check_avoided(state, avoid)
        self._stop.clear()
        limits = self._limits
        if visits is not None or seconds is not None:
            limits = Limits(visits, None if seconds == math.inf else seconds, limits.nodes)
        return self._snapshots(state, limits, interval, avoid)

    def stepped(self, state: AnyState) -> SteppedSearch:
        """The search of `state` one simulation at a time, from an empty tree; the agent's own tree is left alone."""
        self._refuse(state)
        game = self.new_batch(game_of(state).options_of(state))
        return SteppedSearch(
            state,
            game,
            self._parts.evaluation(game, self._rng),
            self.rule(),
            network=self._parts.value_network(game),
            rollouts=0 < self._rollout_weight < 1,
            seed=int(self._rng.integers(2**31)),
        )

    def check(self, state: AnyState) -> None:
        """Get ready to move at once; AgentError if this is not a game for this agent."""
        self._refuse(state)
        if self._searcher is None and not state.is_over:
            searcher = self._searcher_for(state)
            roots = self._roots(searcher, state)
            searcher.warm_up(roots, _ONLY)
            searcher.prepare(roots, _ONLY)
            searcher.forbid(0, state.action_of(state.legal_moves()[0]))  # as a pass that loses is
            searcher.forget(_ONLY)
            trial = SearchAgent(
                self.name,
                self._parts,
                Limits(_TRIAL_SIMULATIONS, None, 0),
                batch=self._batch,
                threads=self._threads,
                rollout_weight=self._rollout_weight,
                temperature=self._temperature,
                explore=self._explore,
                seed=1,
            )
            rehearse(trial, state)

    def warning(self, state: AnyState) -> str | None:
        """One line if this game is outside of what the model was trained on."""
        return None if self._parts.card is None else warning(self.name, self._parts.card, state)

    def stop(self) -> None:
        """Let a `choose` or `analyse` in another thread return with the best move so far."""
        self._stop.set()

    def close(self) -> None:
        """Free the tree."""
        self._searcher = self._root = self._game = None

    def _refuse(self, state: AnyState) -> None:
        """AgentError if this agent cannot play from this state."""
        if self._parts.card is not None:
            refuse_other_games(self.name, self._parts.card, state)
        try:
            self._opened(game_of(state).options_of(state))
        except ValueError as error:
            raise AgentError(f"{self.name} cannot play this: {error}") from None

    def _opened(self, options: Options) -> BatchedGame:
        """The game with these options, opened once for all moves."""
        if self._game is None or not fits(self._game.options, options):
            self._game = self.new_batch(options)
        return self._game

    # ------------------------------------------------------------------------ for searches of many positions

    def new_batch(self, options: Options) -> BatchedGame:
        """Many games with these options, as the evaluation needs them."""
        encoders = self._parts.encoders
        past, ages = max((each.past for each in encoders), default=0), any(each.ages for each in encoders)
        return open_batch(options, past, ages)

    def new_searcher(self, game: BatchedGame, *, trees: int = 1, nodes: int, leaves: int) -> Searcher:
        """Trees that are searched as the agent's own is."""
        return Searcher(
            game,
            self._parts.evaluation(game, self._rng),
            self.rule(),
            trees=trees,
            nodes=nodes,
            leaves=leaves,
            threads=self._threads,
            rollouts=0 < self._rollout_weight < 1,
            seed=int(self._rng.integers(2**63)),
        )

    def rule(self) -> SearchRule:
        """The rule that its searches go by."""
        return self._parts.rule()

    def ownership_estimator(self, state: AnyState) -> OwnershipEstimator | None:
        """Who estimates the score and the ownership of a position."""
        return estimator_for(self._parts.ownership(), state)

    # --------------------------------------------------------------------------------------- searching

    def _searcher_for(self, state: AnyState, limits: Limits | None = None) -> Searcher:
        """A searcher whose tree belongs to `state`, with room for these limits, or for the agent's own."""
        game, limits, kept = self._opened(game_of(state).options_of(state)), limits or self._limits, self._searcher
        nodes, leaves = limits.room(game.branching), self._leaves(limits)
        if kept is None or kept.game is not game or kept.nodes < nodes or kept.most_leaves < leaves:
            self._root, kept = None, self.new_searcher(game, nodes=nodes, leaves=leaves)
        self._searcher = kept
        actions = None if self._is_partial else actions_between(self._root, state)
        if actions is None:
            self._searcher.forget(_ONLY)
            self._is_ending, self._dead = False, frozenset()
        else:
            for action in actions:
                self._searcher.advance(np.array([action]))
        self._root, self._searcher.leaves, self._is_partial = state, leaves, False
        return self._searcher

    def _leaves(self, limits: Limits) -> int:
        """How many leaves a thread evaluates together."""
        most = 16 if limits.simulations is None else limits.simulations // (32 * self._threads)
        return self._batch or max(1, min(16, most))

    def _count(self, state: Any, limit: float | None) -> Count:
        """Count the position, and remember that the game is ending."""
        self._is_ending = True
        return count_now(state, limit)

    def _mark_dead(self, dead: frozenset[int]) -> None:
        """Let the tree be of these dead stones: what it knew with others is forgotten."""
        if dead != self._dead:
            self._dead = dead
            assert self._searcher is not None
            self._searcher.forget(_ONLY)

    def _roots(self, searcher: Searcher, state: AnyState) -> Any:
        roots = searcher.game.allocate(1)
        searcher.game.load(roots, 0, state)
        if self._dead:
            searcher.game.mark_dead(roots, 0, self._dead)
        return roots

    def _search(
        self,
        state: AnyState,
        deadline: float | None,
        count: Count | None,
        to_the_end: bool,
        watch: Callable[[], None] | None = None,
    ) -> SearchResult:
        """Simulate until the limit of simulations or of time is reached, the choice is certain, or `stop` is called."""
        searcher = self._searcher
        assert searcher is not None
        roots = self._roots(searcher, state)
        searcher.prepare(roots, _ONLY)
        if count is not None and count.verdict is Pass.LOSES:
            searcher.forbid(0, state.action_of(PASS))
        simulations = self._limits.simulations
        searcher.begin(roots, _ONLY, _ENDLESS if simulations is None else simulations, self._explore)
        may_decide = deadline is not None and not (to_the_end or self._temperature or self._explore)
        begun, known = self._clock(), searcher.counts.simulations
        now, last = begun, 0.0
        ahead = min(2, self._threads)  # rounds that have to fit in: another one, and what other threads begin meanwhile
        try:
            while not self._stop.is_set() and (deadline is None or now + ahead * last < deadline):
                if not searcher.step(roots, _ONLY) or is_solved(searcher):
                    break
                if watch is not None:
                    watch()
                before, now = now, self._clock()
                last = now - before
                if may_decide and deadline is not None:
                    rate = (searcher.counts.simulations - known) / max(now - begun, 1e-6)
                    if searcher.rule.is_decided(searcher.trees, 0, rate * (deadline - now)):
                        break
        finally:
            searcher.pause()
        return searcher.conclude(_ONLY)

    def _snapshots(
        self, state: AnyState, limits: Limits, interval: float, avoid: Collection[int]
    ) -> Iterator[Analysis]:
        """What `analyse` yields."""
        known = None if state.is_over else self._parts.known(state)
        if state.is_over or known is not None:
            yield over(state) if known is None else of_decision(known)
            return
        started = shown = self._clock()
        deadline = math.inf if limits.seconds is None else started + limits.seconds
        searcher = self._searcher_for(state, replace(limits, simulations=_roomy(limits.simulations)))
        if self._is_ending or _has_passed(state):
            self._count(state, limits.seconds)
        roots, estimator = self._roots(searcher, state), self.ownership_estimator(state)
        searcher.leaves = self._leaves(limits)
        if avoid:
            searcher.forget(_ONLY)
            searcher.prepare(roots, _ONLY)
            self._is_partial = True
            for move in set(avoid) & set(state.legal_moves()):
                searcher.forbid(0, state.action_of(move))
        searcher.begin(roots, _ONLY, 0)
        most = _ENDLESS if limits.simulations is None else limits.simulations
        goes_on = not self._stop.is_set()
        while goes_on and (left := most - int(searcher.trees.visits[0, 0])) > 0:
            searcher.begin(roots, _ONLY, min(left, _PLANNED_AT_ONCE))
            while goes_on and searcher.step(roots, _ONLY):
                now = self._clock()
                if self._stop.is_set() or now >= deadline or searcher.is_full() or is_solved(searcher):
                    goes_on = False
                elif now - shown >= interval:
                    yield of_tree(searcher, 0, state, estimator)
                    shown = self._clock()
                    goes_on = self._root is state  # the agent may have been asked something else meanwhile
        if self._root is state:
            yield of_tree(searcher, 0, state, estimator, final=True)

    # ---------------------------------------------------------------------------------------- deciding

    def _action(self, result: SearchResult) -> int:
        """The action to play: the best, or one drawn from the shares of visits by the temperature."""
        visits = result.visits[0]
        if self._temperature > 0 and visits.any():
            weights = (visits / visits.max()) ** (1.0 / self._temperature)
            return int(self._rng.choice(len(weights), p=weights / weights.sum()))
        return int(result.chosen[0])

    def _decide(self, searcher: Searcher, state: AnyState, result: SearchResult, note: str) -> Decision:
        """The search's result in the terms of the game."""
        action, visits, trees = self._action(result), result.visits[0], searcher.trees
        first = int(trees.first_child[0, 0])
        children = range(first, first + int(trees.child_count[0, 0]))
        order = sorted(children, key=lambda child: (-trees.visits[0, child], -trees.prior[0, child]))[:_REPORTED]
        moves = {child: state.move_of(int(trees.action[0, child])) for child in order}
        value = float(result.value[0] + 1) / 2
        chosen = int(find_child(trees, 0, 0, action))
        if trees.stage[0, chosen] == TERMINAL:  # what is certain need not be estimated
            value = _chance(searcher, chosen)
        decision = Decision(
            state.move_of(action),
            value,
            visits={moves[child]: int(trees.visits[0, child]) for child in order},
            values={moves[child]: _chance(searcher, child) for child in order if trees.visits[0, child]},
            priors={moves[child]: float(np.exp(trees.logit[0, child])) for child in order},
            pv=line_of_most_visits(searcher, 0, chosen, state)[0],
            note=note,
            nodes=int(visits.sum()),
        )
        if value < self._resign_below and game_of(state).territory:
            return replace(decision, move=RESIGN)
        return decision


def _has_passed(state: AnyState) -> bool:
    """Whether the opponent has just passed, so that another pass ends the game."""
    return game_of(state).territory and state.last_move == PASS


def _chance(searcher: Searcher, child: int) -> float:
    """The chance to win with the move that leads to a child of the root."""
    return (float(action_value(searcher.trees, 0, child)) + 1) / 2


def _roomy(visits: int | None) -> int | None:
    """Visits that a tree for analysis has room for: many, so that it stays when more are asked for."""
    return None if visits is None else max(visits, _ROOMY)


def fits(kept: Options, wanted: Options) -> bool:
    """Whether a searcher set up for one game serves for another: the same, with as much room or more."""
    if type(kept) is not type(wanted):
        return False
    room = getattr(kept, "limit", 0)
    if room < getattr(wanted, "limit", 0):
        return False
    return kept == (replace(wanted, limit=room) if hasattr(wanted, "limit") else wanted)  # type: ignore[call-arg]


def actions_between(root: AnyState | None, state: AnyState) -> list[int] | None:
    """The actions that lead from the position searched last to this one; None if it is another game."""
    actions: list[int] = []
    here: AnyState = state
    while root is not None and here is not root:
        before, move = here.previous, here.last_move
        if before is None or move is None or here.move_number <= root.move_number:
            return None
        if here.to_play == before.to_play or getattr(here, "last_color", before.to_play) != before.to_play:
            return None  # someone moved out of turn
        actions.append(before.action_of(move))
        here = before
    return None if root is None else actions[::-1]


def machine_memory() -> int:
    """Bytes of memory that this machine has; 4 GiB where that is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 << 30
