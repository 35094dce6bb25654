"""The weakest sensible player: uniform among sensible moves; in Go, those that do not fill its own eyes."""

from dataclasses import dataclass

import numpy as np

from tengen.agents.agent import Decision
from tengen.games.game import game_of
from tengen.games.state import PASS, AnyState


@dataclass(frozen=True)
class RandomSettings:
    """Plays any game at random; in Go it never fills its own eyes."""

    seed: int | None = None


class RandomAgent:
    """Draws a sensible move. Where there is territory it passes when no other is left."""

    name = "random"

    def __init__(self, settings: RandomSettings) -> None:
        self._rng = np.random.default_rng(settings.seed)

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """A random move."""
        game = game_of(state)
        moves = game.sensible_moves(state)
        if game.territory:
            moves = [move for move in moves if move != PASS] or [PASS]
        return Decision(int(self._rng.choice(moves)))

    def close(self) -> None:
        """Nothing to free."""
