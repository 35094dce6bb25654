"""Many positions analysed at a time, so that a network sees large batches.

A tree search by PUCT has a tree for each position, and every round takes a leaf of every tree; positions of one game,
board, rule set and komi go together. Where fewer positions are left than there are trees, each gives several leaves.
Other searches (Gumbel, UCT with RAVE) take one position after another.
"""

import math
import time
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tengen.agents.analysis import Analysis, Analyst, OwnershipEstimator, is_solved, of_tree, over
from tengen.agents.passing import count_now
from tengen.agents.search_agent import SearchAgent, machine_memory
from tengen.games import go
from tengen.games.batch import GameArrays
from tengen.games.game import game_of
from tengen.games.go import PASS
from tengen.games.state import AnyState, Options
from tengen.search.gumbel import Gumbel
from tengen.search.searcher import NODE_BYTES, Searcher

_MEMORY_SHARE = 0.125
_MOST_LEAVES = 8  # of one tree in a batch
_VISITS_PER_LEAF = 16  # a search is so many times as long as the leaves that it gives at a time
_SMALLEST = 128  # visits that a tree has room for at least
_MOST_POOLS = 4  # kinds of games that are kept ready
_COUNTING = 2.0  # seconds per move as which reading life and death may take, after a pass
_LONGEST_ROUND = 0.15  # seconds: slow searches take fewer positions a round, so that nobody waits to be heard


@dataclass(frozen=True)
class AnalysisTask:
    """A position to analyse."""

    state: AnyState
    visits: int
    seconds: float = math.inf
    avoid: Collection[int] = ()


@dataclass
class BatchStats:
    """How full the batches were."""

    positions: int = 0
    """Analysed to the end."""
    batches: int = 0
    leaves: int = 0
    """Leaves of all batches together; those that the cache knew did not reach the network."""
    evaluations: int = 0
    room: int = 1
    """Leaves that a batch has room for."""

    @property
    def share(self) -> float:
        """How much of the batches was filled, 0 to 1."""
        return self.leaves / max(1, self.batches * self.room)


class BatchAnalyser(Protocol):
    """Takes tasks as long as it has room, and works on all of them a little at a time."""

    stats: BatchStats

    def start(self, key: Hashable, task: AnalysisTask) -> bool:
        """Take a task, known by `key`, of a game that the agent can play; False if there is no room for it now."""
        ...

    def step(self) -> Iterator[tuple[Hashable, Analysis]]:
        """Work on all tasks for a moment; yields what is finished, which is then forgotten.

        Tasks may be cancelled between two elements.
        """
        ...

    def snapshot(self, key: Hashable) -> Analysis:
        """What is known now of a task that is under way."""
        ...

    def cancel(self, key: Hashable) -> None:
        """End a task that is under way."""
        ...


def batch_analyser(agent: Analyst, positions: int = 64, now: Callable[[], float] = time.monotonic) -> BatchAnalyser:
    """Room for so many positions, where the agent's search can have them in one batch; else for one."""
    if isinstance(agent, SearchAgent) and not isinstance(agent.rule(), Gumbel):
        return ParallelAnalyser(agent, positions, now)
    return SequentialAnalyser(agent)


# --------------------------------------------------------------------------------------------- one tree


class SequentialAnalyser:
    """One position after another, for searches that cannot share their batches."""

    def __init__(self, agent: Analyst) -> None:
        self._agent = agent
        self._key: Hashable = None
        self._snapshots: Iterator[Analysis] | None = None
        self._last: Analysis | None = None
        self.stats = BatchStats()

    def start(self, key: Hashable, task: AnalysisTask) -> bool:
        """Begin, unless another position is under way."""
        if self._snapshots is not None:
            return False
        self._key, self._last = key, None
        self._snapshots = self._agent.analyse(
            task.state, visits=task.visits, seconds=task.seconds, interval=0.05, avoid=task.avoid
        )
        return True

    def step(self) -> Iterator[tuple[Hashable, Analysis]]:
        """Up to the next snapshot."""
        if self._snapshots is None:
            return
        self._last = next(self._snapshots)
        if self._last.final:
            self._snapshots, done = None, self._last
            self.stats.positions += 1
            yield self._key, done

    def snapshot(self, key: Hashable) -> Analysis:
        """The last one."""
        return self._last or Analysis(0, 0.5, ())

    def cancel(self, key: Hashable) -> None:
        """Go no further."""
        self._snapshots = None


# ------------------------------------------------------------------------------------------- many trees


@dataclass
class _Search:
    """A task in a tree."""

    task: AnalysisTask
    slot: int
    deadline: float
    estimator: OwnershipEstimator | None


class _Pool:
    """The trees of positions with the same options and about as many visits."""

    def __init__(self, agent: SearchAgent, options: Options, visits: int, positions: int) -> None:
        game = agent.new_batch(options)
        most = int(machine_memory() * _MEMORY_SHARE) // NODE_BYTES
        nodes = min(most, (visits + 2) * game.branching)
        trees = max(1, min(positions, most // nodes))
        self.searcher: Searcher = agent.new_searcher(game, trees=trees, nodes=nodes, leaves=_MOST_LEAVES)
        self.roots: GameArrays = game.allocate(trees)
        self.free = list(range(trees))[::-1]
        self.searches: dict[Hashable, _Search] = {}
        self.fresh: list[_Search] = []
        self.width, self.turn = trees, 0  # how many positions a round takes, and with which it begins


class ParallelAnalyser:
    """Trees for many positions, of which every round takes leaves for one batch."""

    def __init__(self, agent: SearchAgent, positions: int, now: Callable[[], float] = time.monotonic) -> None:
        if not 1 <= positions <= 4096:
            raise ValueError(f"{positions} positions at a time is not possible: give 1 to 4096")
        self._agent, self._positions, self._now = agent, positions, now
        self._pools: dict[tuple[Options, int], _Pool] = {}
        self._over: dict[Hashable, Analysis] = {}
        self.stats = BatchStats(room=positions)

    def start(self, key: Hashable, task: AnalysisTask) -> bool:
        """Give the position a tree, if one of its kind is free."""
        state = task.state
        if state.is_over:
            self._over[key] = over(state)
            return True
        pool = self._pool_for(state, task.visits)
        if pool is None or not pool.free:
            return False
        game, slot = pool.searcher.game, pool.free.pop()
        game.load(pool.roots, slot, state)
        if isinstance(state, go.State) and state.last_move == PASS:
            game.mark_dead(pool.roots, slot, count_now(state, min(task.seconds, _COUNTING)).dead)
        search = _Search(task, slot, self._now() + task.seconds, self._agent.ownership_estimator(state))
        pool.searches[key] = search
        pool.fresh.append(search)
        return True

    def step(self) -> Iterator[tuple[Hashable, Analysis]]:
        """A round of every pool."""
        finished: list[tuple[Hashable, Analysis | None]] = [*self._over.items()]
        self._over.clear()
        for pool in self._pools.values():
            if pool.searches:
                self._begin(pool)
                self._round(pool)
                done = [key for key, search in pool.searches.items() if self._is_done(pool, search)]
                finished += [(key, None) for key in done]
        for key, known in finished:
            if known is not None:
                self.stats.positions += 1
                yield key, known
            elif self._is_under_way(key):  # else it was cancelled meanwhile
                analysis = replace(self.snapshot(key), final=True)
                self.cancel(key)
                self.stats.positions += 1
                yield key, analysis

    def snapshot(self, key: Hashable) -> Analysis:
        """What the tree says."""
        pool, search = self._find(key)
        if search in pool.fresh:
            self._begin(pool)
        return of_tree(pool.searcher, search.slot, search.task.state, search.estimator)

    def cancel(self, key: Hashable) -> None:
        """The tree is free again."""
        if self._over.pop(key, None) is None:
            pool, search = self._find(key)
            del pool.searches[key]
            pool.free.append(search.slot)
            if search in pool.fresh:
                pool.fresh.remove(search)

    # ------------------------------------------------------------------------------------------- private

    def _is_under_way(self, key: Hashable) -> bool:
        return any(key in pool.searches for pool in self._pools.values())

    def _find(self, key: Hashable) -> tuple[_Pool, _Search]:
        return next((pool, pool.searches[key]) for pool in self._pools.values() if key in pool.searches)

    def _pool_for(self, state: AnyState, visits: int) -> _Pool | None:
        """The trees for a position; None if there are none, and none can be made before others are done."""
        options = game_of(state).options_of(state)
        limit = getattr(options, "limit", 0)
        if limit:  # longer games would else be of another kind
            options = replace(options, limit=3 * limit)  # type: ignore[call-arg]
        room = max(_SMALLEST, 1 << (visits - 1).bit_length())
        pool = self._pools.get((options, room))
        if pool is None:
            idle = [key for key, other in self._pools.items() if not other.searches]
            if len(self._pools) >= _MOST_POOLS and not idle:
                return None
            for key in idle[: max(0, len(self._pools) + 1 - _MOST_POOLS)]:
                del self._pools[key]
            pool = self._pools[options, room] = _Pool(self._agent, options, room, self._positions)
        return pool

    def _begin(self, pool: _Pool) -> None:
        """Evaluate the roots that are new, as one batch, and plan their searches."""
        if not pool.fresh:
            return
        searcher, slots = pool.searcher, np.array([search.slot for search in pool.fresh])
        searcher.forget(slots)
        searcher.prepare(pool.roots, slots)
        for search in pool.fresh:
            state, slot = search.task.state, search.slot
            for move in set(search.task.avoid) & set(state.legal_moves()):
                searcher.forbid(slot, state.action_of(move))
            searcher.begin(pool.roots, np.array([slot]), max(0, search.task.visits - 1))
        pool.fresh.clear()

    def _round(self, pool: _Pool) -> None:
        searcher, counts = pool.searcher, pool.searcher.counts
        before = counts.leaves, counts.evaluations, counts.batches
        searches = pool.searches.values()
        fewest = min(search.task.visits for search in searches)
        spare = self._positions // len(searches)
        searcher.leaves = max(1, min(spare, _MOST_LEAVES, fewest // _VISITS_PER_LEAF))
        slots = sorted(search.slot for search in searches)
        if len(slots) > pool.width:
            turn = pool.turn % len(slots)
            slots = sorted((slots + slots)[turn : turn + pool.width])
            pool.turn += pool.width
        began = self._now()
        searcher.step(pool.roots, np.array(slots))
        searcher.pause()
        took = self._now() - began
        if took > _LONGEST_ROUND:
            pool.width = max(1, len(slots) // 2)
        elif took < _LONGEST_ROUND / 4:
            pool.width = min(2 * pool.width, len(pool.searches) + len(pool.free))
        self.stats.leaves += counts.leaves - before[0]
        self.stats.evaluations += counts.evaluations - before[1]
        self.stats.batches += counts.batches - before[2]

    def _is_done(self, pool: _Pool, search: _Search) -> bool:
        searcher, slot = pool.searcher, search.slot
        enough = int(searcher.trees.visits[slot, 0]) >= search.task.visits
        return enough or is_solved(searcher, slot) or searcher.is_full(slot) or self._now() >= search.deadline
