"""Whose the points of a Go board will be at the end, and so who leads by how many points: for analysis.

A network's ownership head (or playouts) misjudges every position a little in favour of the player to move, or against
him. The move before and the move after are misjudged the other way, so an estimate is the mean over the positions of
a line of best play, in which the turns of both players weigh the same:

    line         the positions 1, 2, ..., n after the move, its reply, ...
    h            whose the points are by the network or by playouts, for the player to move in the position analysed
    estimate     (h1 / 2 + h2 + ... + h(n-1) + hn / 2) / (n - 1)

The estimate of the position is that of its best move: a mean over all moves would hold bad tries against the player.
A move without a reply yet is compared with the best move, both seen one move on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tengen.games import go
from tengen.games.go import BLACK
from tengen.games.state import AnyState
from tengen.search.life_and_death import playout_ownership

if TYPE_CHECKING:
    from tengen.encode.encoder import Encoder
    from tengen.nets.evaluator import OwnershipEvaluator

_MOST_MOVES = 10  # of a position that are asked about
_LONGEST_LINE = 8  # positions of a line that are asked about
_MOST_REMEMBERED = 2000  # positions
_PLAYOUT_POINTS, _FEWEST_PLAYOUTS = 8100, 24  # playouts of a position: 100 on 9x9, 24 on 19x19

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
        """One after another; fewer playouts on large boards, where they are longer and have more points."""
        found = []
        for state in states:
            playouts = max(_FEWEST_PLAYOUTS, _PLAYOUT_POINTS // state.size**2)
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
        asked = [line[:_LONGEST_LINE] for line in lines[: _MOST_MOVES if self._source.knows_moves else 1]]
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
