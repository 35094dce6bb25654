"""What a search knows of a position while it searches: the data behind every analysis that Tengen shows.

`Analyst.analyse` yields an `Analysis` again and again. GTP, the JSON engine, the terminal and the web build on it.
Chances, scores and ownership are always those of the player to move; the outputs convert them where others are usual.

**Ownership and score.** Whose the points of a Go board will be at the end, and so who leads by how many points.
A network's ownership head (or playouts) misjudges every position a little in favour of the player to move, or against
him. The move before and the move after are misjudged the other way, so an estimate is the mean over the positions of
a line of best play, in which the turns of both players weigh the same:

    line         the positions 1, 2, ..., n after the move, its reply, ...
    h            whose the points are by the network or by playouts, for the player to move in the position analysed
    estimate     (h1 / 2 + h2 + ... + h(n-1) + hn / 2) / (n - 1)

The estimate of the position is that of its best move: a mean over all moves would hold bad tries against the player.
A move without a reply yet is compared with the best move, both seen one move on.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tengen.agents.agent import Decision
from tengen.games import go
from tengen.games.game import game_of
from tengen.games.go import BLACK, PASS, WHITE
from tengen.games.state import NOBODY, RESIGN, AnyState
from tengen.search.life_and_death import dead_stones, playout_ownership
from tengen.search.searcher import Searcher
from tengen.search.tree import TERMINAL, action_value, find_child

if TYPE_CHECKING:
    from tengen.encode.encoder import Encoder
    from tengen.nets.evaluator import OwnershipEvaluator

_MOST_MOVES = 10  # of a position that are asked about
_LONGEST_ASKED = 8  # positions of a line that are asked about
_MOST_REMEMBERED = 2000  # positions
_PLAYOUTS, _PLAYOUTS_PER_POINT = 60, 0.5  # of a position: 100 on 9x9, 240 on 19x19, where results spread far more

Ownership = NDArray[np.float32]
"""float32[N * N]: 1 where a point will be the player's who is to move in the position analysed, -1 where it won't."""


class OwnershipSource(Protocol):
    """Who says whose the points will be."""

    knows_moves: bool
    """Whether it is quick enough to be asked about every move."""

    def of(self, states: Sequence[go.State]) -> NDArray[np.float32]:
        """float32[B, N * N] for B states of one game, each as its player to move sees it."""
        ...


class NetworkOwnership:
    """The ownership head of a network."""

    knows_moves = True

    def __init__(self, encoder: "Encoder", network: "OwnershipEvaluator") -> None:
        self._encoder, self._network = encoder, network

    def of(self, states: Sequence[go.State]) -> NDArray[np.float32]:
        """By one evaluation."""
        return self._network.evaluate(self._encoder.encode(states))


class PlayoutOwnership:
    """Guided playouts from the position, in which Black and White begin in turn."""

    knows_moves = False

    def of(self, states: Sequence[go.State]) -> NDArray[np.float32]:
        """One after another. The sum over the board has a standard error of about 3 points on 9x9 and 6 on 19x19."""
        found = []
        for state in states:
            playouts = round(_PLAYOUTS + _PLAYOUTS_PER_POINT * state.size**2)
            found.append(playout_ownership(state, playouts) * (1 if state.to_play == BLACK else -1))
        return np.array(found, np.float32)


@dataclass(frozen=True)
class Territory:
    """An estimate of one position, or of one move, for the player to move in the position analysed."""

    ownership: Ownership
    score: float
    """Points by which the player leads, komi and handicap counted."""


class OwnershipEstimator:
    """Estimates one position and its moves; remembers what it has asked."""

    def __init__(self, source: OwnershipSource, state: go.State) -> None:
        self._source, self._state = source, state
        self._compensation = state.compensation * (-1 if state.to_play == BLACK else 1)
        self._seen: dict[tuple[int, ...], Ownership | None] = {}

    def estimate(self, lines: Sequence[tuple[int, ...]]) -> tuple[Territory, Mapping[int, Territory]]:
        """The position's estimate and those of its moves, from the lines that begin with them, the best first.

        Moves are left out that the source is too slow for, or that end the game.
        """
        if len(self._seen) > _MOST_REMEMBERED:
            self._seen.clear()
        asked = [line[:_LONGEST_ASKED] for line in lines[: _MOST_MOVES if self._source.knows_moves else 1]]
        self._ask([(), *(line[: count + 1] for line in asked for count in range(len(line)))])
        root = self._seen[()]
        assert root is not None
        known = {line[0]: self._along(line) for line in asked}
        best = known.get(asked[0][0], []) if asked else []
        estimate = _balanced(best) if len(best) > 1 else _balanced([root, *best])
        moves = {}
        for move, positions in known.items():
            if len(positions) > 1:
                moves[move] = self._territory(_balanced(positions))
            elif positions and best:
                moves[move] = self._territory(estimate + positions[0] - best[0])
        return self._territory(estimate), moves if self._source.knows_moves else {}

    def _ask(self, lines: Sequence[tuple[int, ...]]) -> None:
        """Ask about the positions that these moves lead to, those that are new, together."""
        new: dict[tuple[int, ...], go.State] = {}
        states: dict[tuple[int, ...], go.State] = {(): self._state}
        for line in lines:
            if line not in states:
                before = states[line[:-1]]
                states[line] = before if before.is_over else before.play(line[-1])
            if line not in self._seen:
                self._seen[line] = None
                if not states[line].is_over:
                    new[line] = states[line]
        if new:
            for (line, state), found in zip(new.items(), self._source.of([*new.values()]), strict=True):
                self._seen[line] = found if state.to_play == self._state.to_play else -found

    def _along(self, line: tuple[int, ...]) -> list[Ownership]:
        """What is known of the positions of a line, up to the end of the game."""
        found = [self._seen[line[: count + 1]] for count in range(len(line))]
        return [each for each in found if each is not None]

    def _territory(self, ownership: Ownership) -> Territory:
        return Territory(np.clip(ownership, -1, 1), float(ownership.sum()) + self._compensation)


def _balanced(positions: Sequence[Ownership]) -> Ownership:
    """The mean, the first and the last counted by half: each player's turns weigh the same. One is taken as it is."""
    if len(positions) == 1:
        return positions[0]
    weights = np.ones(len(positions), np.float32)
    weights[0] = weights[-1] = 0.5
    mean: Ownership = np.tensordot(weights / weights.sum(), np.stack(positions), 1)
    return mean


def estimator_for(source: OwnershipSource | None, state: AnyState) -> OwnershipEstimator | None:
    """An estimator of a position of Go; None in other games."""
    return OwnershipEstimator(source, state) if source is not None and isinstance(state, go.State) else None


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
    """The move that this is about."""
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
