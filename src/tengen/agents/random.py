"""The weakest sensible player: uniform among legal moves; in Go, among those that do not fill its own eyes."""

from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Decision
from tengen.games.go import PASS, GameState
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye
from tengen.games.state import AnyState


@dataclass(frozen=True)
class Random:
    """Plays any game at random; in Go it never fills its own eyes."""

    seed: int | None = None


class RandomAgent:
    """Draws a legal move. In Go it is one that fills no eye of its own, and a pass when there is none."""

    name = "random"

    def __init__(self, settings: Random) -> None:
        self._rng = np.random.default_rng(settings.seed)

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """A random move."""
        if isinstance(state, GameState):
            moves = _points(state) or [PASS]
        else:
            moves = state.legal_moves()
        return Decision(int(self._rng.choice(moves)))

    def close(self) -> None:
        """Nothing to free."""


def _points(state: GameState) -> list[int]:
    """The legal points that are no eyes of the player to move."""
    flags, color, size = state.rules.flags, state.to_play, state.size
    return [
        move
        for move in state.legal_moves()
        if move != PASS and not is_eye(state.board, to_cell(move, size), color, flags)
    ]
