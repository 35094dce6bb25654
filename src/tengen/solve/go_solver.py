"""The winner of a position of Go by force: `solve`, and `Solver` for many positions of one game.

A *claim* is that a player forces a margin of at least so many points. A solver tries to prove claims by `dfpn`. A
position is solved when "Black wins" or "White wins" is proven. It may happen that neither can be: then who wins depends
on long repetitions.
"""

import math
import time
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go.rules import RuleSet
from tengen.solve import dfpn
from tengen.solve.bitboard import WIDTH, board_points, position_key
from tengen.solve.certificate import mark_of
from tengen.solve.retrograde import Position, Solution
from tengen.solve.transposition_table import new_table

SLICE: Final = 100_000  # nodes between two checks for Ctrl-C


@dataclass(frozen=True)
class Claim:
    """That a player forces at least this margin, as the player sees it and without komi."""

    color: int
    margin: int

    def __str__(self) -> str:
        return f"{_NAMES[self.color]} by {self.margin} or more"


@dataclass(frozen=True)
class Verdict:
    """What a search found out about a position.

    >>> import tengen
    >>> state = tengen.go.State.new(3, "simple-go", komi=8.5)
    >>> verdict: tengen.Verdict = tengen.Solver(state.size, state.rules).verdict(state)
    >>> verdict.winner == tengen.go.BLACK, str(verdict.claims[0])
    (True, 'Black by 9 or more')
    """

    winner: int | None
    """BLACK, WHITE, EMPTY if each can force at least a draw, or None if nothing is proven."""
    claims: tuple[Claim, ...]
    """What is proven, and has the winner for a consequence."""
    exhausted: bool
    """Whether no winner can be proven, however long one searches: it depends on the repetition rule."""
    nodes: int
    """How many nodes the search expanded."""
    seconds: float
    """How long it took."""


class MoveEstimate(NamedTuple):
    """A move, and what a search knows of it."""

    move: int
    work: int
    """How much seems to be left until the player to move gets its way with it; 0: it does."""
    rank: int
    """If it is proven that the claim is kept: in so many plies at most."""


Node = tuple[int, ...]
"""The columns A to KEY of a node of `dfpn`."""


def solve(state: go.State, memory: float = 0.25, nodes: int | None = None) -> Verdict:
    """Who wins this position by force; `nodes` limits the search, `memory` (in GB) its tables.

    >>> import tengen
    >>> solve(tengen.go.State.new(3, "simple-go", komi=8.5)).winner == tengen.go.BLACK
    True
    """
    return Solver(state.size, state.rules, memory).verdict(state, nodes)


class Solver:
    """Proves claims about positions of one board size and rule set, and remembers what it found.

    >>> import tengen
    >>> state = tengen.go.State.new(3, "simple-go", komi=8.5)
    >>> tengen.Solver(state.size, state.rules).verdict(state).winner == tengen.go.BLACK
    True
    """

    def __init__(self, size: int, rules: RuleSet, memory: float = 0.25) -> None:
        """`memory`: in GB, for all tables."""
        if rules.scoring != "area":
            raise ValueError(f"{rules.name} rules count territory: the solver knows only rules that count area")
        self.size, self.rules = size, rules
        self.board = board_points(size)
        self.memory = memory
        self._tables: dict[Claim, NDArray[np.int64]] = {}
        self.nodes = 0
        """How many nodes all searches so far have expanded."""

    def verdict(self, state: go.State, nodes: int | None = None) -> Verdict:
        """Who wins at the komi of the state."""
        self._check(state)
        started, before = time.perf_counter(), self.nodes
        komi = state.compensation
        open_claims = list(winning_claims(state))
        budget = SLICE
        while open_claims:
            for claim in tuple(open_claims):
                spent = self.nodes - before
                if nodes is not None and spent >= nodes:
                    return Verdict(None, (), False, spent, time.perf_counter() - started)
                found = self.prove(state, claim, nodes=budget if nodes is None else min(budget, nodes - spent))
                if found:
                    spent = self.nodes - before
                    return Verdict(claim.color, (claim,), False, spent, time.perf_counter() - started)
                if found is False:
                    open_claims.remove(claim)
            budget *= 2
        draws = self._draws(state) if komi == math.floor(komi) else ()
        winner = go.EMPTY if len(draws) == 2 else None
        return Verdict(winner, draws, winner is None, self.nodes - before, time.perf_counter() - started)

    def prove(self, state: go.State, claim: Claim, nodes: int | None = None) -> bool | None:
        """Whether a claim is true; None if `nodes` were not enough. False only means that this way cannot prove it."""
        self._check(state)
        work = dfpn.new_workspace()
        work.nodes[0, : dfpn.KEY + 1] = node_of(state, claim)
        while True:
            before = int(work.counts[dfpn.NODES])
            left = SLICE if nodes is None else min(SLICE, nodes - before)
            phi, delta = dfpn.search(work, self.table(claim), self.question(claim), left)
            self.nodes += int(work.counts[dfpn.NODES]) - before
            if phi == 0 or delta == 0:
                return bool((phi == 0) == (state.to_play == claim.color))
            if nodes is not None and work.counts[dfpn.NODES] >= nodes:
                return None

    def estimates(self, state: go.State, claim: Claim) -> list[MoveEstimate]:
        """What searches for a claim have found out about each move, those that are the same by symmetry left out."""
        work = dfpn.new_workspace()
        work.nodes[0, : dfpn.KEY + 1] = node_of(state, claim)
        dfpn.expand(work, self.table(claim), self.question(claim), 0)
        children = work.children[0, : work.nodes[0, dfpn.COUNT]].tolist()
        return [
            MoveEstimate(point_of(child[dfpn.MOVE], self.size), child[dfpn.DELTA], child[dfpn.RANK])
            for child in children
        ]

    def best_claim(self, state: go.State, color: int) -> Claim:
        """The largest margin that a player is proven to force, found by halving; at worst the whole board is lost."""
        points = self.size**2
        proven, open_above = -points, points + 1
        while open_above - proven > 1:
            middle = (proven + open_above) // 2
            if self.prove(state, Claim(color, middle)):
                proven = middle
            else:
                open_above = middle
        return Claim(color, proven)

    def question(self, claim: Claim) -> dfpn.Question:
        """The claim as kernels know it."""
        return dfpn.Question(claim.margin, self.size, self.board, self.rules.flags)

    def table(self, claim: Claim) -> NDArray[np.int64]:
        """int64[entries, 2]: what is known with regard to a claim; two claims are kept, the older one goes."""
        if claim not in self._tables:
            while len(self._tables) >= 2:
                del self._tables[next(iter(self._tables))]
            self._tables[claim] = new_table(self.memory / 2)
        return self._tables[claim]

    def _draws(self, state: go.State) -> tuple[Claim, ...]:
        """Which players can force at least a draw."""
        komi = int(state.compensation)
        claims = Claim(go.BLACK, komi), Claim(go.WHITE, -komi)
        return tuple(claim for claim in claims if self.prove(state, claim))

    def _check(self, state: go.State) -> None:
        if (state.size, state.rules) != (self.size, self.rules):
            raise ValueError(f"this solver is for {self.size}x{self.size} under {self.rules.name} rules")
        if state.is_over:
            raise ValueError(f"the game is over: {state.result()}")


def node_of(state: go.State, claim: Claim) -> Node:
    """A state as kernels know it, the claimant being player a."""
    a, b = points_of(state, claim.color), points_of(state, go.BLACK + go.WHITE - claim.color)
    point = mark_of(state)
    mark = 0 if point is None else bit_of(point, state.size)
    turn, passes = int(state.to_play != claim.color), int(state.last_move == go.PASS)
    return a, b, mark, turn, passes, int(position_key(a, b, mark, turn, passes, state.size))


def position_of(state: go.State) -> Position:
    """A state as kernels know it, as the player to move sees it."""
    own, opp, mark, _, passes, _ = node_of(state, Claim(state.to_play, 0))
    return Position(own, opp, mark, passes)


def guaranteed(solution: Solution, state: go.State, color: int) -> Claim:
    """The largest margin that a player forces from a state, by the solution of the whole board."""
    return Claim(color, solution.guarantee(position_of(state), color == state.to_play)[0])


def winning_claims(state: go.State) -> tuple[Claim, Claim]:
    """What the player to move has to force in order to win, and what the other one has to."""
    komi = state.compensation
    black, white = Claim(go.BLACK, math.floor(komi) + 1), Claim(go.WHITE, math.floor(-komi) + 1)
    return (black, white) if state.to_play == go.BLACK else (white, black)


def points_of(state: go.State, color: int) -> int:
    """The stones of a colour as a bit set of `solve.bitboard`."""
    return sum(1 << WIDTH * int(row) + int(col) for row, col in zip(*np.nonzero(state.stones == color)))


def bit_of(point: int, size: int) -> int:
    """A point of a board as a bit set."""
    return 1 << WIDTH * (point // size) + point % size


def point_of(bit: int, size: int) -> int:
    """The point of a bit; PASS for 0."""
    if bit == 0:
        return go.PASS
    row, col = divmod(bit.bit_length() - 1, WIDTH)
    return row * size + col


_NAMES: Final = {go.BLACK: "Black", go.WHITE: "White"}
