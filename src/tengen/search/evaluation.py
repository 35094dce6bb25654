"""A game's own evaluation of a position, for one state at a time: the leaves of minimax."""

import numpy as np

from tengen._kernel import kernel
from tengen.games.batch import BatchedGame
from tengen.games.kernels import ending, evaluate, gain
from tengen.games.state import AnyState


class Evaluation:
    """What a position is worth to the player to move without looking further, in the unit of the game's kernels."""

    def __init__(self, game: BatchedGame) -> None:
        self._game, self._games = game, game.allocate(1)
        self._room = np.zeros(game.actions, np.int16)

    def __call__(self, state: AnyState) -> int:
        """An estimate; of a finished game what it is worth: WIN, 0 or -WIN where no points count."""
        self._game.load(self._games, 0, state)
        return int(value_now(self._games, self._room))

    def best_looking_first(self, state: AnyState, moves: list[int]) -> list[int]:
        """The moves by how promising they look; equals stay in their order."""
        self._game.load(self._games, 0, state)
        gains = np.array([state.action_of(move) for move in moves], np.int64)
        look_at(self._games, gains)
        return [moves[k] for k in np.argsort(-gains, kind="stable")]


@kernel
def value_now(games, room):  # type: ignore[no-untyped-def]
    """The value of the first game; room: int16[A]."""
    over, value = ending(games, 0, room)
    return value if over else evaluate(games, 0)


@kernel
def look_at(games, actions):  # type: ignore[no-untyped-def]
    """Write how promising each action of the first game looks over it; actions: int64[n]."""
    for k in range(actions.shape[0]):
        actions[k] = gain(games, 0, actions[k])
