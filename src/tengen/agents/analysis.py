"""What a search knows of a position while it searches: the data behind every analysis that Tengen shows.

`Analyst.analyse` yields an `Analysis` again and again. GTP, the JSON engine, the terminal and the web build on it.
Chances, scores and ownership are always those of the player to move; the outputs convert them where others are usual.
"""

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from tengen.agents.agent import Decision
from tengen.agents.ownership import Ownership, OwnershipEstimator, Territory
from tengen.games import go
from tengen.games.game import game_of
from tengen.games.go import BLACK, PASS, WHITE
from tengen.games.state import NOBODY, RESIGN, AnyState
from tengen.search.life_and_death import dead_stones
from tengen.search.searcher import Searcher
from tengen.search.tree import TERMINAL, action_value, find_child

_LONGEST_LINE = 20
_DEVIATIONS = 1.96  # below the mean that a lower confidence bound is


@dataclass(frozen=True)
class MoveAnalysis:
    """What is known of one move.

    >>> import tengen
    >>> state = tengen.go.State.new(size=5, komi=3.5)
    >>> *_, last = tengen.load_analyst("zero:go5", seed=1).analyse(state, visits=50)
    >>> best = last.moves[0]
    >>> state.move_name(best.move), best.order, best.pv[0] == best.move, best.bound < best.chance
    ('C3', 0, True, True)
    """

    move: int
    visits: int
    """Simulations through the move; those with none come last."""
    chance: float
    """The chance, 0 to 1, that the player to move wins with it; that of the position where there is no visit."""
    prior: float
    """How likely the move looked before any search: shares of all legal moves, 1 together."""
    order: int
    """0: the move that the agent would play, then by visits."""
    pv: tuple[int, ...]
    """The line of most visits, beginning with the move."""
    pv_visits: tuple[int, ...]
    """The visits of each move of the line."""
    score: float | None = None
    """Points by which the player to move leads with it; None where nobody estimates them."""
    ownership: Ownership | None = field(default=None, repr=False)
    """float32[N * N]: 1 where a point will be the mover's, -1 where the opponent's; None as `score`."""

    @property
    def bound(self) -> float:
        """The lower confidence bound (LCB) of the chance, as if each visit were a game won or lost."""
        spread = math.sqrt(max(self.chance * (1 - self.chance), 1e-4) / max(self.visits, 1))
        return max(0.0, self.chance - _DEVIATIONS * spread)


@dataclass(frozen=True)
class Analysis:
    """A position at one moment of its search.

    >>> import tengen
    >>> state = tengen.go.State.new(size=5, komi=3.5)
    >>> agent = tengen.load_analyst("zero:go5", seed=1)
    >>> *_, last = agent.analyse(state, visits=100)
    >>> last.final, last.visits, state.move_name(last.moves[0].move), last.moves[0].order
    (True, 100, 'C3', 0)
    """

    visits: int
    """Simulations from the position, those of the tree kept from earlier positions and its own evaluation counted."""
    chance: float
    """The chance, 0 to 1, that the player to move wins."""
    moves: tuple[MoveAnalysis, ...]
    """Every legal move that the search may choose, best first; empty once the game is over."""
    score: float | None = None
    """Points by which the player to move leads, komi counted; None where nobody estimates them."""
    ownership: Ownership | None = None
    """float32[N * N], in the order of the points: 1 where a point will be the mover's, -1 where the opponent's."""
    final: bool = False
    """Whether the search has come to its end."""

    def __repr__(self) -> str:
        best = f", best={self.moves[0].move}" if self.moves else ""
        score = "" if self.score is None else f", score={self.score:.1f}"
        return f"Analysis(visits={self.visits}, chance={self.chance:.3f}{score}{best}, final={self.final})"


@dataclass(frozen=True)
class Watcher:
    """Who is shown the search of a `choose`, and how often."""

    show: Callable[[Analysis], None]
    interval: float = 0.1
    """Seconds between two snapshots."""


@runtime_checkable
class Analyst(Protocol):
    """An agent that can show what it thinks while it searches; `load_analyst` gives one.

    >>> import tengen
    >>> analyst: tengen.Analyst = tengen.load_analyst("mcts", seed=1)
    >>> [analysis.visits for analysis in analyst.analyse(tengen.microchess.State.new(), visits=20, interval=60)]
    [20]
    """

    name: str

    def choose(self, state: AnyState, seconds: float | None = None, watcher: Watcher | None = None) -> Decision:
        """Decide as every agent does; `watcher` is shown the search as it goes, and at its end in any case."""
        ...

    def close(self) -> None:
        """Free what the agent holds."""
        ...

    def analyse(
        self,
        state: AnyState,
        *,
        visits: int | None = None,
        seconds: float | None = None,
        interval: float = 0.1,
        avoid: Collection[int] = (),
    ) -> Iterator[Analysis]:
        """Search from `state`; yields what is known about every `interval` seconds, and at the end, which is `final`.

        The search ends when the position has so many visits, when so many seconds are over (`math.inf`: only then when
        `stop` is called, or nothing is left to find out), or when `stop` is called from another thread; where neither
        is given, at the agent's own limits. What the tree knows of positions of the same game is kept, but for searches
        that leave out some moves (`avoid`). Take the next element, or use the agent otherwise, from one thread at a
        time.
        """
        ...

    def stop(self) -> None:
        """End an analysis, or a `choose`, that another thread is in."""
        ...


@runtime_checkable
class NetworkAnalyst(Analyst, Protocol):
    """An analyst with a network that can be asked alone."""

    def look(self, state: AnyState) -> Analysis:
        """What the network says of a position and its moves, without any search."""
        ...


def check_avoided(state: AnyState, avoid: Collection[int]) -> None:
    """ValueError if no move would be left to search."""
    if avoid and not state.is_over and not set(state.legal_moves()) - set(avoid):
        raise ValueError("no legal move is left to analyse: avoid fewer moves")


def over(state: AnyState) -> Analysis:
    """Of a game that is over: who has won, and in Go that was counted by how much."""
    winner = state.winner()
    found = Analysis(0, 0.5 if winner in (NOBODY, None) else float(winner == state.to_play), (), final=True)
    if not isinstance(state, go.State) or state.last_move != PASS:
        return found
    dead, sign = dead_stones(state), 1 if state.to_play == BLACK else -1
    owners = state.ownership(dead).ravel()
    ownership = sign * ((owners == BLACK).astype(np.float32) - (owners == WHITE).astype(np.float32))
    return replace(found, score=sign * state.score(dead), ownership=ownership)


def of_decision(decision: Decision) -> Analysis:
    """Of a move that needed no search."""
    chance = 0.5 if decision.value is None else decision.value
    moves = (MoveAnalysis(decision.move, 0, chance, 1.0, 0, decision.pv, (0,) * len(decision.pv)),)
    return Analysis(0, chance, moves if decision.move != RESIGN else (), final=True)


def of_tree(
    searcher: Searcher, tree: int, state: AnyState, estimator: OwnershipEstimator | None = None, *, final: bool = False
) -> Analysis:
    """What a tree says of its root, `state`, whose search has begun."""
    trees, result = searcher.trees, searcher.conclude(np.array([tree]))
    chosen = int(find_child(trees, tree, 0, int(result.chosen[0])))
    chance = (float(result.value[0]) + 1) / 2
    if trees.stage[tree, chosen] == TERMINAL:  # what is certain need not be estimated
        chance = (float(action_value(trees, tree, chosen)) + 1) / 2
    first = int(trees.first_child[tree, 0])
    children = range(first, first + int(trees.child_count[tree, 0]))
    order = sorted(children, key=lambda c: (c != chosen, -trees.visits[tree, c], -trees.logit[tree, c]))
    moves: list[MoveAnalysis] = []
    for place, child in enumerate(order):
        move, visits = state.move_of(int(trees.action[tree, child])), int(trees.visits[tree, child])
        pv, counts = line_of_most_visits(searcher, tree, child, state) if visits else ((move,), (0,))
        q = min(1.0, max(-1.0, float(action_value(trees, tree, child)))) if visits else 2 * chance - 1
        prior = float(np.exp(trees.logit[tree, child]))
        moves.append(MoveAnalysis(move, visits, (q + 1) / 2, prior, place, pv, counts))
    return with_scores(Analysis(int(trees.visits[tree, 0]), chance, tuple(moves), final=final), estimator)


def with_scores(analysis: Analysis, estimator: OwnershipEstimator | None) -> Analysis:
    """The same with scores and ownership, where somebody estimates them."""
    if estimator is None:
        return analysis
    root, known = estimator.estimate([each.pv for each in analysis.moves if each.visits])
    moves = tuple(_with_territory(each, known.get(each.move)) for each in analysis.moves)
    return replace(analysis, moves=moves, score=root.score, ownership=root.ownership)


def _with_territory(move: MoveAnalysis, known: Territory | None) -> MoveAnalysis:
    return move if known is None else replace(move, score=known.score, ownership=known.ownership)


def is_solved(searcher: Searcher, tree: int = 0) -> bool:
    """Whether no more simulation can change the choice: a move wins for certain, or all moves are solved."""
    trees, first = searcher.trees, int(searcher.trees.first_child[tree, 0])
    children = slice(first, first + int(trees.child_count[tree, 0]))
    solved = trees.stage[tree, children] == TERMINAL
    return bool(solved.all() or (solved & (trees.value[tree, children] < 0)).any())


def line_of_most_visits(
    searcher: Searcher, tree: int, child: int, state: AnyState
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The line that begins with the move to a child of the root, `state`, and the visits of its moves."""
    trees, node, is_numbered_alike = searcher.trees, child, game_of(state).actions_are_moves
    line, visits = [state.move_of(int(trees.action[tree, child]))], [int(trees.visits[tree, child])]
    while len(line) < _LONGEST_LINE:
        first, count = int(trees.first_child[tree, node]), int(trees.child_count[tree, node])
        if not count:
            break
        node = first + int(trees.visits[tree, first : first + count].argmax())
        if not trees.visits[tree, node]:
            break
        if not is_numbered_alike:
            state = state.play(line[-1])
        line.append(state.move_of(int(trees.action[tree, node])))
        visits.append(int(trees.visits[tree, node]))
    return tuple(line), tuple(visits)
