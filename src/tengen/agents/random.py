"""The weakest sensible player: uniform among legal moves that do not fill its own eyes."""

from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Decision
from tengen.games.go import PASS, GameState
from tengen.games.go.coordinates import to_cell
from tengen.games.go.playout import is_eye


@dataclass(frozen=True)
class Random:
    """Plays at random, but never fills its own eyes."""

    seed: int | None = None


class RandomAgent:
    """Draws a legal move that fills no eye of its own; passes when there is none."""

    name = "random"

    def __init__(self, settings: Random) -> None:
        self._rng = np.random.default_rng(settings.seed)

    def choose(self, state: GameState, seconds: float | None = None) -> Decision:
        """A random move."""
        flags, color, size = state.rules.flags, state.to_play, state.size
        points = [
            move
            for move in state.legal_moves()
            if move != PASS and not is_eye(state.board, to_cell(move, size), color, flags)
        ]
        return Decision(int(self._rng.choice(points)) if points else PASS)

    def close(self) -> None:
        """Nothing to free."""
