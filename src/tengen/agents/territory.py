"""Whose the points of a Go board will be at the end, and so who leads by how many points: for analysis.

A model with an ownership head is asked about the position and about those after the best moves; the position's
estimate is the mean of these, weighted by visits, as in KataGo. Without such a model guided playouts from the position
decide, which say nothing of single moves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tengen.encode.encoder import Encoder
from tengen.games import go
from tengen.games.go import BLACK
from tengen.games.state import AnyState
from tengen.nets.ownership import OwnershipEvaluator
from tengen.search.status import playout_ownership

MOST_MOVES = 10
"""Moves of a position that are asked about."""

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

    def __init__(self, encoder: Encoder, network: OwnershipEvaluator) -> None:
        self._encoder, self._network = encoder, network

    def of(self, states: Sequence[go.State]) -> NDArray[np.float32]:
        """By one evaluation."""
        return self._network.evaluate(self._encoder.encode(states))


class PlayoutOwnership:
    """Guided playouts from the position."""

    knows_moves = False

    def of(self, states: Sequence[go.State]) -> NDArray[np.float32]:
        """One after another."""
        found = [playout_ownership(state) * (1 if state.to_play == BLACK else -1) for state in states]
        return np.array(found, np.float32)


@dataclass(frozen=True)
class Territory:
    """An estimate of one position, or of one move, for the player to move in the position analysed."""

    ownership: Ownership
    score: float
    """Points by which the player leads, komi and handicap counted."""


class Surveyor:
    """Estimates one position and its moves; remembers what it has asked."""

    def __init__(self, source: OwnershipSource, state: go.State) -> None:
        self._source, self._state = source, state
        self._compensation = state.compensation * (-1 if state.to_play == BLACK else 1)
        self._moves: dict[int, Territory] = {}
        self._root: Territory | None = None

    def moves(self, wanted: Sequence[int]) -> Mapping[int, Territory]:
        """What is known of the first of these moves, and of others asked about before."""
        missing = [move for move in wanted[:MOST_MOVES] if move not in self._moves] if self._source.knows_moves else []
        after = {move: self._state.play(move) for move in missing}
        going_on = {move: state for move, state in after.items() if not state.is_over}
        if going_on:
            for move, ownership in zip(going_on, self._source.of([*going_on.values()]), strict=True):
                self._moves[move] = self._territory(-ownership)
        return self._moves

    def root(self, visits: Mapping[int, int]) -> Territory:
        """The position's estimate: the mean of those of its moves by their visits, or its own if it has none yet."""
        seen = {move: visits[move] for move in self._moves if visits.get(move)}
        if seen:
            total = sum(seen.values())
            mean = sum(self._moves[move].ownership * np.float32(count / total) for move, count in seen.items())
            return self._territory(np.asarray(mean, np.float32))
        if self._root is None:
            self._root = self._territory(self._source.of([self._state])[0])
        return self._root

    def _territory(self, ownership: Ownership) -> Territory:
        return Territory(ownership, float(ownership.sum()) + self._compensation)


def survey(source: OwnershipSource | None, state: AnyState) -> Surveyor | None:
    """A surveyor of a position of Go; None in other games."""
    return Surveyor(source, state) if source is not None and isinstance(state, go.State) else None
