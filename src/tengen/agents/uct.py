"""The Monte-Carlo player: UCT with RAVE and guided playouts in Go, plain UCT in Microchess."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tengen.agents.agent import Decision, of_game
from tengen.agents.passing import wins_by_passing
from tengen.games.go import PASS, RESIGN, GameState
from tengen.games.go.board import NO_CELL
from tengen.games.go.coordinates import from_cell, to_cell
from tengen.games.microchess import GameState as ChessState
from tengen.games.microchess.board import HALFMOVE
from tengen.games.state import AnyState
from tengen.search.microchess_uct import EXPLORATION, new_microchess_scratch, simulate_microchess
from tengen.search.status import is_settled
from tengen.search.uct import UctParameters, UctRoot, UctScratch, new_scratch, simulate
from tengen.search.uct_tree import LOSS, UNSOLVED, UctTree, best_child, clear_tree, copy_subtree, find_child, new_tree

_CHUNK = 256  # simulations between two looks at the tree
_FIRST_CHUNK = 32  # before the first look at the clock
_CHUNK_SECONDS = 0.05  # how long a kernel may run before the clock is looked at (and Ctrl-C heard)
_CLOCK_SHARE = 0.85  # of a time limit that is given to simulations; the rest is for the end of the game
_MICROCHESS_CLOCK_SHARE = 0.95
_MICROCHESS_CHILDREN = 40  # nodes that a playout may need, with all that is kept from moves before


@dataclass(frozen=True)
class Uct:
    """Monte-Carlo tree search; in Go with RAVE and playouts guided by simple tactics, in Microchess plain."""

    playouts: int | None = None
    """Playouts for a move at most; 10000 where no time is given either."""
    seconds: float | None = None
    """Time to think about a move."""
    guided: bool = True
    """Go: playouts see simple tactics."""
    resign: float = 0.05
    """Go: resign below this chance to win; 0: never."""
    seed: int | None = None
    rave: float = UctParameters().rave_equivalence
    """Go: the visits at which AMAF and real results weigh the same; 0: no RAVE."""
    exploration: float | None = None
    """c of UCB1; None: what suits the game, 0 in Go (RAVE and priors explore enough) and 0.3 in Microchess."""
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

    def __init__(self, settings: Uct, clock: Callable[[], float] = time.monotonic) -> None:
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
        self._chess_exploration = EXPLORATION if settings.exploration is None else settings.exploration
        limit = f"playouts={self._playouts}" if self._playouts is not None else f"seconds={self._seconds:g}"
        self.name = f"uct:{limit}" + ("" if settings.guided else ",guided=no")
        self._clock = clock
        seed = np.random.default_rng(settings.seed).integers(1, 2**63)
        self._rng = np.array([seed], np.uint64)
        self._node_limit = settings.nodes
        self._tree: UctTree | None = None
        self._spare: UctTree | None = None
        self._root: AnyState | None = None
        self._stop = threading.Event()

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """Search from `state` and decide."""
        self._stop.clear()
        limits = [limit for limit in (self._seconds, seconds) if limit is not None]
        limit = min(limits) if limits else None
        if isinstance(state, ChessState):
            return self._choose_in_microchess(state, limit)
        return self._choose_in_go(of_game(state, GameState, self.name), limit)

    def stop(self) -> None:
        """Let a `choose` in another thread return soon with the best it knows."""
        self._stop.set()

    def check(self, state: AnyState) -> None:
        """AgentError if this is a game of neither Go nor Microchess."""
        if not isinstance(state, ChessState):
            of_game(state, GameState, self.name)

    def close(self) -> None:
        """Free the trees."""
        self._tree = self._spare = self._root = None

    def _choose_in_go(self, state: GameState, limit: float | None) -> Decision:
        if state.is_over:
            return Decision(PASS)
        if state.last_move == PASS and wins_by_passing(state, limit):
            return Decision(PASS, 1.0, pv=(PASS,), note="passing ends the game, won")
        capacity = min(self._node_limit, min(self._playouts or 60_000, 60_000) * state.size * state.size + 1000)
        tree = self._tree_for(state, capacity, _cells_between(self._root, state))
        root, scratch = _root_of(state), new_scratch(state.size, state.history)

        def run(count: int) -> int:
            simulate(tree, root, scratch, self._parameters, count, self._rng)
            return count

        done, elapsed = self._search(tree, run, limit and limit * _CLOCK_SHARE)
        decision = _best_move(tree, lambda cell: _move(cell, state.size), done, elapsed)
        return self._refine(decision, state, scratch, done, limit)

    def _choose_in_microchess(self, state: ChessState, limit: float | None) -> Decision:
        if state.is_over:
            return Decision(RESIGN, note="the game is over")
        capacity = min(self._node_limit, (self._playouts or self._node_limit) * _MICROCHESS_CHILDREN + 1000)
        tree = self._tree_for(state, capacity, _moves_between(self._root, state))
        scratch = new_microchess_scratch()

        def run(count: int) -> int:
            return int(simulate_microchess(tree, state.board, scratch, self._chess_exploration, count, self._rng))

        done, elapsed = self._search(tree, run, limit and limit * _MICROCHESS_CLOCK_SHARE)
        return _best_move(tree, int, done, elapsed)

    # --------------------------------------------------------------------------------------- searching

    def _search(self, tree: UctTree, run: Callable[[int], int], budget: float | None) -> tuple[int, float]:
        """Simulate until the budget of seconds is spent or the choice cannot change; `run` simulates a number of times
        and says how many it were. Returns (simulations, seconds)."""
        most = self._playouts if self._playouts is not None else 2**62
        chunk = _CHUNK if budget is None else _FIRST_CHUNK
        start, elapsed, done = self._clock(), 0.0, 0
        while done < most and (done == 0 or budget is None or elapsed < budget):
            done += run(min(chunk, most - done))
            elapsed = self._clock() - start
            left: float = most - done
            if budget is not None:  # without a clock chunks stay as they are: the same seed gives the same game
                rate, time_left = done / max(elapsed, 1e-6), max(budget - elapsed, 0.0)
                chunk = max(16, min(4 * chunk, int(rate * min(_CHUNK_SECONDS, time_left))))
                left = min(left, rate * time_left)
            if _is_decided(tree, left) or self._stop.is_set():
                break
        return done, elapsed

    def _tree_for(self, state: AnyState, capacity: int, way: list[int] | None) -> UctTree:
        """The tree kept from the last search, cut down along `way`, the moves made since; None: another game."""
        tree, spare = self._tree, self._spare
        if tree is None or spare is None or len(tree.move) != capacity:
            tree, spare = new_tree(capacity), new_tree(capacity)
        else:
            node = 0 if way is not None else -1
            for move in way or ():
                node = int(find_child(tree, node, move)) if node >= 0 else -1
            if node < 0:
                clear_tree(tree)
            elif node > 0:
                copy_subtree(tree, node, spare)
                tree, spare = spare, tree
        self._tree, self._spare, self._root = tree, spare, state
        return tree

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


def _best_move(tree: UctTree, move_of: Callable[[int], int], done: int, elapsed: float) -> Decision:
    """The best child's move, with the statistics of all; `move_of` makes moves of what the tree has."""
    first, count = int(tree.first_child[0]), int(tree.child_count[0])
    children = slice(first, first + count)
    moves = [move_of(int(move)) for move in tree.move[children]]
    n, solved = tree.visits[children], tree.solved[children]
    values = np.where(solved == UNSOLVED, tree.wins[children] / np.maximum(n, 1.0), 0.5 * (solved - LOSS))
    best = int(best_child(tree, 0)) - first
    note = f"{done} playouts in {elapsed:.1f} s"
    if solved[best] != UNSOLVED:
        note += f", {('lost', 'drawn', 'won')[int(solved[best]) - LOSS]} for certain"
    return Decision(
        moves[best],
        float(values[best]),
        {move: int(x) for move, x in zip(moves, n, strict=True) if x > 0},
        {move: float(y) for move, x, y in zip(moves, n, values, strict=True) if x > 0},
        {},
        _principal_variation(tree, move_of),
        note,
        done,
    )


def _root_of(state: GameState) -> UctRoot:
    """What the kernels need to know of a state."""
    before = state.previous
    last_cell = _cell(state.last_move, state.size)
    before_cell = _cell(before.last_move, state.size) if before is not None else NO_CELL
    komi = state.compensation
    return UctRoot(state.board, last_cell, before_cell, len(state.history), state.rules.flags, komi)


def _cells_between(old: AnyState | None, state: GameState) -> list[int] | None:
    """The cells played in turn from one position of a game of Go to another; None if they are of different games."""
    if not isinstance(old, GameState) or (old.size, old.rules, old.komi) != (state.size, state.rules, state.komi):
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


def _moves_between(old: AnyState | None, state: ChessState) -> list[int] | None:
    """The moves from one position of a game of Microchess to another; None if they are of different games."""
    if not isinstance(old, ChessState):
        return None
    moves, here = [], state
    while here.move_number > old.move_number and here.previous is not None and here.last_move is not None:
        moves.append(here.last_move)
        here = here.previous
    return moves[::-1] if _is_same_position(old, here) else None


def _is_same_position(one: ChessState, other: ChessState) -> bool:
    """Whether two states are the same to the rules: the pieces, the counts and what may be repeated."""
    a, b = one.board, other.board
    if not np.array_equal(a.squares, b.squares) or not np.array_equal(a.info, b.info):
        return False
    known = int(a.info[HALFMOVE]) + 1
    return np.array_equal(a.keys[:known], b.keys[:known])


def _cell(move: int | None, size: int) -> int:
    return NO_CELL if move is None or move < 0 else to_cell(move, size)


def _move(cell: int, size: int) -> int:
    return PASS if cell == NO_CELL else from_cell(cell, size)


def _is_decided(tree: UctTree, simulations_left: float) -> bool:
    """Whether no other move can overtake the most visited one in the simulations that are left, or all is proved."""
    children = slice(int(tree.first_child[0]), int(tree.first_child[0] + tree.child_count[0]))
    visits = tree.visits[children][tree.solved[children] != LOSS]
    if tree.solved[0] != UNSOLVED or len(visits) < 2:
        return True
    visits = np.partition(visits, len(visits) - 2)
    return bool(visits[-1] - visits[-2] > simulations_left)


def _principal_variation(tree: UctTree, move_of: Callable[[int], int], longest: int = 12) -> tuple[int, ...]:
    line: list[int] = []
    node = int(best_child(tree, 0))
    while node >= 0 and tree.visits[node] > 0 and len(line) < longest:
        line.append(move_of(int(tree.move[node])))
        node = int(best_child(tree, node))
    return tuple(line)
