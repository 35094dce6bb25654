"""Players that search by playouts, without a network: UCT with RAVE and guided playouts in Go (`uct`), and plain
Monte-Carlo tree search (`mcts`): PUCT with playouts at the leaves, for every game, or with the values of networks.
"""

import math
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tengen.agents.agent import Decision
from tengen.agents.analysis import (
    Analysis,
    MoveAnalysis,
    OwnershipEstimator,
    PlayoutOwnership,
    Watcher,
    check_avoided,
    estimator_for,
    of_decision,
    over,
    with_scores,
)
from tengen.agents.passing import Count, Pass, count_now
from tengen.agents.rehearsal import rehearse
from tengen.agents.search_agent import Limits, SearchAgent, SearchParts
from tengen.games import go
from tengen.games.go import EMPTY, PASS, RESIGN
from tengen.games.go.board import NO_CELL
from tengen.games.go.coordinates import from_cell, to_cell
from tengen.games.state import AnyState
from tengen.search.leaves import PlayoutEvaluation
from tengen.search.life_and_death import is_settled
from tengen.search.puct import Puct, PuctParameters
from tengen.search.rule import cannot_be_overtaken
from tengen.search.uct import (
    UctParameters,
    UctRoot,
    UctScratch,
    UctTree,
    clear_tree,
    copy_subtree,
    find_child,
    most_visited,
    new_scratch,
    new_tree,
    simulate,
)

if TYPE_CHECKING:
    from tengen.search.generations import GenerationValues


@dataclass(frozen=True)
class MctsSettings:
    """Monte-Carlo tree search with random playouts, in every game; or with a generation of value networks."""

    model: str = ""
    """A run of `tengen learn generations`, or a file of one: its values take the place of playouts, and its policy, if
    it has one, that of all moves being equally likely."""
    generation: int = 0
    """Which generation of a run; 0: the newest."""
    playouts: int | None = None
    """Playouts for a move at most; 2000 where no time is given either, with a model 100."""
    seconds: float | None = None
    """Seconds per move."""
    exploration: float = 1.0
    """c of PUCT, every move being equally likely at first."""
    batch: int = 0
    """Leaves played out together; 0: one for few playouts, up to 16 for many."""
    resign: float = 0.0
    """Games with territory: resign below this chance to win; 0: never."""
    seed: int | None = None
    nodes: int = 0
    """Room for the tree; 0: what the limits can need, up to an eighth of the machine's memory."""

    def __post_init__(self) -> None:
        if self.playouts is not None and not 1 <= self.playouts <= 100_000_000:
            raise ValueError(f"mcts:playouts={self.playouts} is not possible: give 1 or more")
        if self.seconds is not None and not 0 < self.seconds < 1e6:
            raise ValueError(f"mcts:seconds={self.seconds} is not a time: give seconds for a move, such as 0.5")
        if not 0 <= self.exploration < 1e6:
            raise ValueError(f"mcts:exploration={self.exploration} is not possible: give 0 or more")
        if not 0 <= self.batch <= 1024:
            raise ValueError(f"mcts:batch={self.batch} is not possible: give 0 (automatic) to 1024")
        if not 0 <= self.resign < 0.5:
            raise ValueError(f"mcts:resign={self.resign} is not possible: give a chance from 0 (never) to 0.5")
        if self.nodes and not 1_000 <= self.nodes <= 1_000_000_000:
            raise ValueError(f"mcts:nodes={self.nodes} is not possible: give 1000 to 1000000000, or 0 (automatic)")


def mcts_agent(settings: MctsSettings, clock: Callable[[], float] = time.monotonic) -> SearchAgent:
    """Searches by playouts, or by the values of networks."""
    playouts = settings.playouts
    if playouts is None and settings.seconds is None:
        playouts = 100 if settings.model else 2_000
    model = f"{settings.model}," if settings.model else ""
    model += f"generation={settings.generation}," if settings.generation else ""
    limit = f"playouts={playouts}" if playouts is not None else f"seconds={settings.seconds:g}"
    return SearchAgent(
        f"mcts:{model}{limit}",
        _by_values(settings) if settings.model else _by_playouts(settings),
        Limits(playouts, settings.seconds, settings.nodes),
        batch=settings.batch,
        rollout_weight=0.0 if settings.model else 1.0,
        resign=settings.resign,
        seed=settings.seed,
        clock=clock,
    )


def _by_playouts(settings: MctsSettings) -> SearchParts:
    """Where nothing else is known of moves, one that was not tried looks as good as can be."""
    return SearchParts(
        evaluation=lambda game, rng: PlayoutEvaluation(game, seed=int(rng.integers(2**63))),
        rule=lambda: Puct(PuctParameters(settings.exploration, fpu_reduction=-1.0)),
    )


def _by_values(settings: MctsSettings) -> SearchParts:
    """With values, a move that was not tried looks as good as its parent."""
    values = _generation_values(settings)
    return SearchParts(
        evaluation=lambda game, rng: values.with_policy(game),
        rule=lambda: Puct(PuctParameters(settings.exploration, fpu_reduction=0.0)),
        encoders=(values.encoder,),
        card=values.card,
    )


def _generation_values(settings: MctsSettings) -> "GenerationValues":
    """Imported here, so that playouts need no networks."""
    from tengen.search.generations import GenerationValues, find_generation

    return GenerationValues(find_generation(settings.model, settings.generation))


_CHUNK = 256  # simulations between two looks at the tree
_FIRST_CHUNK = 32  # before the first look at the clock
_CHUNK_SECONDS = 0.05  # how long a kernel may run before the clock is looked at (and Ctrl-C heard)
_MOST_VISITS = 1 << 40
_CLOCK_SHARE = 0.85  # of a time limit that is given to simulations; the rest is for the end of the game

_CERTAIN = 1e9  # visits
_TRIAL_PLAYOUTS, _TRIAL_NODES = 8, 20_000


@dataclass(frozen=True)
class UctSettings:
    """Monte-Carlo tree search; in Go with RAVE and playouts guided by simple tactics, in other games plain."""

    playouts: int | None = None
    """Playouts for a move at most; 10000 where no time is given either."""
    seconds: float | None = None
    """Seconds per move."""
    guided: bool = True
    """Go: playouts see simple tactics."""
    resign: float = 0.05
    """Go: resign below this chance to win; 0: never."""
    seed: int | None = None
    rave: float = UctParameters().rave_equivalence
    """Go: the visits at which AMAF and real results weigh the same; 0: no RAVE."""
    exploration: float | None = None
    """c; None: what suits the game, 0 in Go (RAVE and priors explore enough) and as in mcts elsewhere."""
    prior: float = UctParameters().prior_weight
    """Go: the weight of what simple tactics say of a move before any playout."""
    nodes: int = 3_000_000
    """Room for the tree."""

    def __post_init__(self) -> None:
        if self.playouts is not None and self.playouts < 1:
            raise ValueError(f"uct:playouts={self.playouts} is too few: give at least 1")
        if self.seconds is not None and not 0 < self.seconds < 1e6:
            raise ValueError(f"uct:seconds={self.seconds} is not a time: give seconds for a move, such as 0.5")
        if not 0 <= self.resign < 0.5:
            raise ValueError(f"uct:resign={self.resign} is not possible: give a chance from 0 (never) to 0.5")
        for name in ("rave", "exploration", "prior"):
            if not 0 <= (getattr(self, name) or 0) < 1e9:
                raise ValueError(f"uct:{name}={getattr(self, name)} is not possible: give 0 or more")
        if not 10_000 <= self.nodes <= 200_000_000:
            raise ValueError(f"uct:nodes={self.nodes} is not possible: give 10000 to 200000000")


class UctAgent:
    """Searches, keeps its tree from move to move, passes when all is settled, resigns when all is lost."""

    def __init__(self, settings: UctSettings, clock: Callable[[], float] = time.monotonic) -> None:
        limited = settings.playouts is not None or settings.seconds is not None
        self._playouts = settings.playouts if limited else 10_000
        self._seconds = settings.seconds
        self._resign_below = settings.resign
        self._parameters = UctParameters(
            guided=settings.guided,
            exploration=UctParameters().exploration if settings.exploration is None else settings.exploration,
            rave_equivalence=settings.rave,
            prior_weight=settings.prior,
        )
        self._settings = settings
        limit = f"playouts={self._playouts}" if self._playouts is not None else f"seconds={self._seconds:g}"
        self.name = f"uct:{limit}" + ("" if settings.guided else ",guided=no")
        self._clock = clock
        seed = np.random.default_rng(settings.seed).integers(1, 2**63)
        self._rng = np.array([seed], np.uint64)
        self._node_limit = settings.nodes
        self._tree: UctTree | None = None
        self._spare: UctTree | None = None
        self._root: go.State | None = None
        self._is_partial = False  # whether the tree lacks moves that an analysis left out
        self._plain: SearchAgent | None = None
        self._stop = threading.Event()

    def choose(self, state: AnyState, seconds: float | None = None, watcher: Watcher | None = None) -> Decision:
        """Search from `state` and decide; `watcher` is shown the search."""
        if not isinstance(state, go.State):
            return self._in_other_games().choose(state, seconds, watcher)
        started = self._clock()
        self._stop.clear()
        limits = [limit for limit in (self._seconds, seconds) if limit is not None]
        limit = min(limits) if limits else None
        if state.is_over:
            return _without_search(Decision(PASS, note="the game is over"), watcher)
        count = count_now(state, limit) if state.last_move == PASS else None
        if count is not None and count.verdict is Pass.WINS:
            return _without_search(Decision(PASS, 1.0, pv=(PASS,), note="passing ends the game, won"), watcher)
        tree = self._tree_for(state, self._playouts, None if count is not None else _cells_between(self._root, state))
        root, scratch = _root_of(state, count), new_scratch(state.size, state.history)

        shown, estimator = started, estimator_for(PlayoutOwnership(), state)

        def run(playouts: int) -> None:
            nonlocal shown
            simulate(tree, root, scratch, self._parameters, playouts, self._rng)
            if watcher is not None and self._clock() - shown >= watcher.interval:
                watcher.show(of_uct_tree(tree, state, estimator))
                shown = self._clock()

        used = self._clock() - started
        done, elapsed = self._search(tree, run, limit and max(0.0, limit * _CLOCK_SHARE - used))
        decision = _best_move(tree, state.size, done, elapsed)
        if watcher is not None:
            watcher.show(of_uct_tree(tree, state, estimator, final=True))
        return self._refine(decision, state, scratch, done, limit)

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
        if not isinstance(state, go.State):
            plain = self._in_other_games()
            return plain.analyse(state, visits=visits, seconds=seconds, interval=interval, avoid=avoid)
        check_avoided(state, avoid)
        self._stop.clear()
        if visits is None and seconds is None:
            visits, seconds = self._playouts, self._seconds
        return self._snapshots(state, visits, math.inf if seconds is None else seconds, interval, avoid)

    def check(self, state: AnyState) -> None:
        """Get ready to move at once."""
        if not isinstance(state, go.State):
            self._in_other_games().check(state)
        else:
            few = replace(self._settings, playouts=_TRIAL_PLAYOUTS, seconds=None, seed=1, nodes=_TRIAL_NODES)
            trial, watcher = UctAgent(few), Watcher(lambda _: None, 0.0)
            rehearse(trial, state, lambda here: trial.choose(here, None, watcher))

    def stop(self) -> None:
        """Let a `choose` or `analyse` in another thread return soon with the best move so far."""
        self._stop.set()
        if self._plain is not None:
            self._plain.stop()

    def close(self) -> None:
        """Free the trees."""
        self._tree = self._spare = self._root = self._plain = None

    def _in_other_games(self) -> SearchAgent:
        """The player of every game but Go, with the same limits."""
        if self._plain is None:
            settings = self._settings
            plain = MctsSettings(playouts=self._playouts, seconds=self._seconds, seed=int(self._rng[0] >> np.uint64(1)))
            if settings.exploration is not None:
                plain = replace(plain, exploration=settings.exploration)
            self._plain = mcts_agent(plain, clock=self._clock)
        return self._plain

    # --------------------------------------------------------------------------------------- searching

    def _search(self, tree: UctTree, run: Callable[[int], None], budget: float | None) -> tuple[int, float]:
        """Simulate by `run` until the budget of seconds is spent or the choice cannot change; returns (simulations,
        seconds)."""
        most = self._playouts if self._playouts is not None else 2**62
        chunk = _CHUNK if budget is None else _FIRST_CHUNK
        start, elapsed, done = self._clock(), 0.0, 0
        while done < most and (done == 0 or budget is None or elapsed < budget):
            count = min(chunk, most - done)
            run(count)
            done += count
            elapsed = self._clock() - start
            left: float = most - done
            if budget is not None:  # without a clock chunks stay as they are: the same seed gives the same game
                rate, time_left = done / max(elapsed, 1e-6), max(budget - elapsed, 0.0)
                chunk = max(16, min(4 * chunk, int(rate * min(_CHUNK_SECONDS, time_left))))
                left = min(left, rate * time_left)
            first, children = int(tree.first_child[0]), int(tree.child_count[0])
            if cannot_be_overtaken(tree.visits[first : first + children], left) or self._stop.is_set():
                break
        return done, elapsed

    def _snapshots(
        self, state: go.State, visits: int | None, seconds: float, interval: float, avoid: Collection[int]
    ) -> Iterator[Analysis]:
        """What `analyse` yields."""
        if state.is_over:
            yield over(state)
            return
        shown = self._clock()
        deadline = shown + seconds
        count = count_now(state, None if seconds == math.inf else seconds) if state.last_move == PASS else None
        fresh = count is not None or bool(avoid)
        tree = self._tree_for(state, visits, None if fresh else _cells_between(self._root, state))
        root = _root_of(state, None if count is None else replace(count, verdict=Pass.SAFE))
        scratch, chunk = new_scratch(state.size, state.history), _FIRST_CHUNK
        estimator = estimator_for(PlayoutOwnership(), state)
        if avoid:
            self._is_partial = True
            simulate(tree, root, scratch, self._parameters, 1, self._rng)
            avoid_moves(tree, state.size, avoid)
        left = _MOST_VISITS if visits is None else max(visits - int(tree.visits[0]), 0)
        while left or not tree.child_count[0]:
            before, chunk = self._clock(), max(1, min(chunk, left))
            simulate(tree, root, scratch, self._parameters, chunk, self._rng)
            left, now = max(left - chunk, 0), self._clock()
            if not left or self._stop.is_set() or now >= deadline:
                break
            chunk = max(16, min(4 * chunk, int(chunk * _CHUNK_SECONDS / max(now - before, 1e-6))))
            if now - shown >= interval:
                yield of_uct_tree(tree, state, estimator, avoid)
                shown = self._clock()
                if self._root is not state:  # the agent was asked something else meanwhile
                    return
        yield of_uct_tree(tree, state, estimator, avoid, final=True)

    def _tree_for(self, state: go.State, playouts: int | None, way: list[int] | None) -> UctTree:
        """The tree kept from the last search, cut down along `way`, the moves made since; None: another game."""
        capacity = min(self._node_limit, min(playouts or 60_000, 60_000) * state.size * state.size + 1000)
        tree, spare = self._tree, self._spare
        if tree is None or spare is None or len(tree.move) < capacity:
            tree, spare = new_tree(capacity), new_tree(capacity)
        else:
            node = 0 if way is not None and not self._is_partial else -1
            for move in way or ():
                node = int(find_child(tree, node, move)) if node >= 0 else -1
            if node < 0:
                clear_tree(tree)
            elif node > 0:
                copy_subtree(tree, node, spare)
                tree, spare = spare, tree
        self._tree, self._spare, self._root, self._is_partial = tree, spare, state, False
        return tree

    # ---------------------------------------------------------------------------------------- deciding

    def _refine(
        self, decision: Decision, state: go.State, scratch: UctScratch, done: int, limit: float | None
    ) -> Decision:
        """Resign if all is lost; pass if every point is settled and the count is won, once: who plays on after that may
        make dead stones live move by move, and gets answers."""
        value, old_enough = decision.value or 0.0, state.move_number > state.size
        if old_enough and value < self._resign_below:
            return replace(decision, move=RESIGN)
        offered = (state.to_play, PASS) in state.moves
        settled = old_enough and value > 0.8 and is_settled(state, scratch.ownership, done)
        if settled and not offered and decision.move != PASS:
            if state.is_legal(PASS) and count_now(state, limit).margin > 0:
                return replace(decision, move=PASS, pv=(PASS,), note=decision.note + ", all settled")
        return decision


def _without_search(decision: Decision, watcher: Watcher | None) -> Decision:
    if watcher is not None:
        watcher.show(of_decision(decision))
    return decision


def _best_move(tree: UctTree, size: int, done: int, elapsed: float) -> Decision:
    """The most visited child's move, with the statistics of all."""
    first, count = int(tree.first_child[0]), int(tree.child_count[0])
    children = slice(first, first + count)
    moves = [move_at(int(cell), size) for cell in tree.move[children]]
    n = tree.visits[children]
    values = tree.wins[children] / np.maximum(n, 1.0)
    best = int(most_visited(tree, 0)) - first
    return Decision(
        moves[best],
        float(values[best]),
        {move: int(x) for move, x in zip(moves, n, strict=True) if x > 0},
        {move: float(y) for move, x, y in zip(moves, n, values, strict=True) if x > 0},
        {},
        uct_line(tree, int(most_visited(tree, 0)), size)[0],
        f"{done} playouts in {elapsed:.1f} s",
        done,
    )


def _root_of(state: go.State, count: Count | None) -> UctRoot:
    """What the kernels need to know of a state, and of its dead stones if it has been counted."""
    before = state.previous
    last_cell = _cell(state.last_move, state.size)
    before_cell = _cell(before.last_move, state.size) if before is not None else NO_CELL
    komi = state.komi + state.rules.bonus(state.handicap)
    dead = np.full(len(state.board.color), EMPTY, np.uint8)
    for point in count.dead if count is not None else ():
        dead[to_cell(point, state.size)] = state.color_at(point)
    may_pass = count is None or count.verdict is not Pass.LOSES
    return UctRoot(state.board, last_cell, before_cell, len(state.history), state.rules.flags, komi, dead, may_pass)


def _cells_between(old: go.State | None, state: go.State) -> list[int] | None:
    """The cells played in turn from one position of a game of Go to another; None if they are of different games."""
    if old is None or (old.size, old.rules, old.komi) != (state.size, state.rules, state.komi):
        return None
    known = len(old.history)
    if old.handicap != state.handicap or not np.array_equal(state.history[:known], old.history):
        return None
    cells, color = [], old.to_play
    for moved_by, move in state.moves[old.move_number :]:
        if moved_by != color:
            return None
        cells.append(_cell(move, state.size))
        color = 3 - color
    return cells if color == state.to_play else None


def _cell(move: int | None, size: int) -> int:
    return NO_CELL if move is None or move < 0 else to_cell(move, size)


def of_uct_tree(
    tree: UctTree,
    state: go.State,
    estimator: OwnershipEstimator | None,
    avoid: Collection[int] = (),
    *,
    final: bool = False,
) -> Analysis:
    """Of the root, `state`, with scores by `estimator`.

    Moves to avoid are left out. A move's prior is the share of its chance by simple tactics in that of all.
    """
    first, count = int(tree.first_child[0]), int(tree.child_count[0])
    children = np.arange(first, first + count)
    chance = 1 - float(tree.wins[0]) / max(1.0, float(tree.visits[0]))
    priors = tree.prior_wins[children] / np.maximum(tree.prior_visits[children], 1e-6)
    priors = priors / max(float(priors.sum()), 1e-6)
    shown = [k for k in range(count) if _move(tree, first + k, state.size) not in avoid]
    order = sorted(shown, key=lambda k: (-tree.visits[first + k], -priors[k]))
    moves = []
    for place, k in enumerate(order):
        child, visits = first + k, int(tree.visits[first + k])
        pv, counts = uct_line(tree, child, state.size) if visits else ((_move(tree, child, state.size),), (0,))
        won = float(tree.wins[child]) / visits if visits else chance
        moves.append(MoveAnalysis(pv[0], visits, won, float(priors[k]), place, pv, counts))
    return with_scores(Analysis(int(tree.visits[0]), chance, tuple(moves), final=final), estimator)


def avoid_moves(tree: UctTree, size: int, avoid: Collection[int]) -> None:
    """Let no simulation go through these moves of the root, which has children: they look lost for certain."""
    first = int(tree.first_child[0])
    for child in range(first, first + int(tree.child_count[0])):
        if _move(tree, child, size) in avoid:
            tree.prior_visits[child], tree.prior_wins[child] = _CERTAIN, 0.0
            tree.visits[child] = tree.wins[child] = 0.0


def uct_line(tree: UctTree, node: int, size: int, longest: int = 12) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The line of most visits that begins with the move to this node, and the visits of its moves."""
    line: list[int] = []
    visits: list[int] = []
    while node >= 0 and tree.visits[node] > 0 and len(line) < longest:
        line.append(_move(tree, node, size))
        visits.append(int(tree.visits[node]))
        node = int(most_visited(tree, node))
    return tuple(line), tuple(visits)


def move_at(cell: int, size: int) -> int:
    """The move to a cell of the padded grid; NO_CELL is the pass."""
    return PASS if cell == NO_CELL else from_cell(cell, size)


def _move(tree: UctTree, node: int, size: int) -> int:
    return move_at(int(tree.move[node]), size)
