"""The Monte-Carlo player: UCT with RAVE and guided playouts, limited by playouts or by time."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tengen.agents.agent import Decision, of_game
from tengen.agents.passing import wins_by_passing
from tengen.games.go import PASS, RESIGN, GameState
from tengen.games.go.board import NO_CELL
from tengen.games.go.coordinates import from_cell, to_cell
from tengen.games.state import AnyState
from tengen.search.status import is_settled
from tengen.search.uct import UctParameters, UctRoot, UctScratch, new_scratch, simulate
from tengen.search.uct_tree import UctTree, clear_tree, copy_subtree, find_child, most_visited, new_tree

_CHUNK = 256  # simulations between two looks at the tree
_CHUNK_SECONDS = 0.05  # how long a kernel may run before the clock is looked at (and Ctrl-C heard)
_CLOCK_SHARE = 0.85  # of a time limit that is given to simulations; the rest is for the end of the game


@dataclass(frozen=True)
class Uct:
    """Monte-Carlo tree search with RAVE and playouts guided by simple tactics."""

    playouts: int | None = None
    seconds: float | None = None
    guided: bool = True
    resign: float = 0.05
    seed: int | None = None
    rave: float = UctParameters().rave_equivalence
    exploration: float = UctParameters().exploration
    prior: float = UctParameters().prior_weight
    nodes: int = 3_000_000

    def __post_init__(self) -> None:
        if self.playouts is not None and self.playouts < 1:
            raise ValueError(f"uct:playouts={self.playouts} is too few: give at least 1")
        if self.seconds is not None and not 0 < self.seconds < 1e6:
            raise ValueError(f"uct:seconds={self.seconds} is not a time: give seconds for a move, such as 0.5")
        if not 0 <= self.resign < 0.5:
            raise ValueError(f"uct:resign={self.resign} is not possible: give a chance from 0 (never) to 0.5")
        for name in ("rave", "exploration", "prior"):
            if not 0 <= getattr(self, name) < 1e9:
                raise ValueError(f"uct:{name}={getattr(self, name)} is not possible: give 0 or more")
        if not 10_000 <= self.nodes <= 200_000_000:
            raise ValueError(f"uct:nodes={self.nodes} is not possible: give 10000 to 200000000")


class UctAgent:
    """Searches, keeps its tree from move to move, passes when all is settled, resigns when all is lost."""

    def __init__(self, settings: Uct, clock: Callable[[], float] = time.monotonic) -> None:
        limited = settings.playouts is not None or settings.seconds is not None
        self._playouts = settings.playouts if limited else 10_000
        self._seconds = settings.seconds
        self._resign_below = settings.resign
        self._parameters = UctParameters(
            guided=settings.guided,
            exploration=settings.exploration,
            rave_equivalence=settings.rave,
            prior_weight=settings.prior,
        )
        limit = f"playouts={self._playouts}" if self._playouts is not None else f"seconds={self._seconds:g}"
        self.name = f"uct:{limit}" + ("" if settings.guided else ",guided=no")
        self._clock = clock
        seed = np.random.default_rng(settings.seed).integers(1, 2**63)
        self._rng = np.array([seed], np.uint64)
        self._node_limit = settings.nodes
        self._tree: UctTree | None = None
        self._spare: UctTree | None = None
        self._root: GameState | None = None

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """Search from `state` and decide."""
        state = of_game(state, GameState, self.name)
        if state.is_over:
            return Decision(PASS)
        limits = [limit for limit in (self._seconds, seconds) if limit is not None]
        limit = min(limits) if limits else None
        if state.last_move == PASS and wins_by_passing(state, limit):
            return Decision(PASS, 1.0, pv=(PASS,), note="passing ends the game, won")
        tree = self._tree_for(state)
        scratch = new_scratch(state.size, state.history)
        done, elapsed = self._search(tree, state, scratch, limit)
        decision = _best_move(tree, state, f"{done} playouts in {elapsed:.1f} s")
        return self._refine(decision, state, scratch, done, limit)

    def check(self, state: AnyState) -> None:
        """AgentError if this is not a game of Go."""
        of_game(state, GameState, self.name)

    def close(self) -> None:
        """Free the trees."""
        self._tree = self._spare = self._root = None

    # --------------------------------------------------------------------------------------- searching

    def _search(self, tree: UctTree, state: GameState, scratch: UctScratch, limit: float | None) -> tuple[int, float]:
        """Simulate until the limit is reached or the choice cannot change; returns (simulations, seconds)."""
        budget = limit * _CLOCK_SHARE if limit is not None else float("inf")
        most = self._playouts if self._playouts is not None else 2**62
        root = _root_of(state)
        start, elapsed, done, chunk = self._clock(), 0.0, 0, _CHUNK
        while done < most and (elapsed < budget or done == 0):
            count = min(chunk, most - done)
            simulate(tree, root, scratch, self._parameters, count, self._rng)
            done += count
            elapsed = self._clock() - start
            rate = done / max(elapsed, 1e-6)
            if limit is not None:  # without a clock chunks stay as they are: the same seed gives the same game
                chunk = max(16, min(4 * chunk, int(rate * _CHUNK_SECONDS)))
            left = min(most - done, rate * (budget - elapsed)) if limit is not None else most - done
            if _is_decided(tree, left):
                break
        return done, elapsed

    def _tree_for(self, state: GameState) -> UctTree:
        """The tree kept from the last search, cut down to `state` if that continues the same game."""
        capacity = min(self._node_limit, min(self._playouts or 60_000, 60_000) * state.size * state.size + 1000)
        if self._tree is None or self._spare is None or len(self._tree.move) != capacity:
            self._tree, self._spare = new_tree(capacity), new_tree(capacity)
        elif not self._reuse(state, self._tree, self._spare):
            clear_tree(self._tree)
        self._root = state
        return self._tree

    def _reuse(self, state: GameState, tree: UctTree, spare: UctTree) -> bool:
        """Move the root along the moves played since the last search; False if there is no such way."""
        old = self._root
        if old is None or (old.size, old.rules, old.komi) != (state.size, state.rules, state.komi):
            return False
        if old.handicap != state.handicap:
            return False
        known = len(old.history)
        if len(state.history) < known or not np.array_equal(state.history[:known], old.history):
            return False
        node, color = 0, old.to_play
        for moved_by, move in state.moves[old.move_number :]:
            node = find_child(tree, node, _cell(move, state.size)) if moved_by == color else -1
            if node < 0:
                return False
            color = 3 - color
        if color != state.to_play:
            return False
        if node:
            copy_subtree(tree, node, spare)
            self._tree, self._spare = spare, tree
        return True

    # ---------------------------------------------------------------------------------------- deciding

    def _refine(
        self, decision: Decision, state: GameState, scratch: UctScratch, done: int, limit: float | None
    ) -> Decision:
        """Resign if all is lost; pass if every point is settled and the count is won."""
        value, old_enough = decision.value or 0.0, state.move_number > state.size
        if old_enough and value < self._resign_below:
            return replace(decision, move=RESIGN)
        if old_enough and value > 0.8 and decision.move != PASS and is_settled(state, scratch.ownership, done):
            if wins_by_passing(state, limit):
                return replace(decision, move=PASS, pv=(PASS,), note=decision.note + ", all settled")
        return decision


def _best_move(tree: UctTree, state: GameState, note: str) -> Decision:
    """The most visited move, with the statistics of all."""
    size, first, count = state.size, int(tree.first_child[0]), int(tree.child_count[0])
    children = slice(first, first + count)
    moves = [_move(int(cell), size) for cell in tree.move[children]]
    n, w = tree.visits[children], tree.wins[children]
    best = int(np.argmax(n))
    return Decision(
        moves[best],
        float(w[best] / max(n[best], 1.0)),
        {move: int(x) for move, x in zip(moves, n, strict=True) if x > 0},
        {move: float(y / x) for move, x, y in zip(moves, n, w, strict=True) if x > 0},
        {},
        _principal_variation(tree, size),
        note,
    )


def _root_of(state: GameState) -> UctRoot:
    """What the kernels need to know of a state."""
    before = state.previous
    last_cell = _cell(state.last_move, state.size)
    before_cell = _cell(before.last_move, state.size) if before is not None else NO_CELL
    komi = state.komi + state.rules.bonus(state.handicap)
    return UctRoot(state.board, last_cell, before_cell, len(state.history), state.rules.flags, komi)


def _cell(move: int | None, size: int) -> int:
    return NO_CELL if move is None or move < 0 else to_cell(move, size)


def _move(cell: int, size: int) -> int:
    return PASS if cell == NO_CELL else from_cell(cell, size)


def _is_decided(tree: UctTree, simulations_left: float) -> bool:
    """Whether no other move can overtake the most visited one in the simulations that are left."""
    first, count = int(tree.first_child[0]), int(tree.child_count[0])
    if count < 2:
        return True
    visits = np.partition(tree.visits[first : first + count], count - 2)
    return bool(visits[-1] - visits[-2] > simulations_left)


def _principal_variation(tree: UctTree, size: int, longest: int = 12) -> tuple[int, ...]:
    line: list[int] = []
    node = most_visited(tree, 0)
    while node >= 0 and tree.visits[node] > 0 and len(line) < longest:
        line.append(_move(int(tree.move[node]), size))
        node = most_visited(tree, node)
    return tuple(line)
