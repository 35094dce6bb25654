"""What an encoder is: a way to show positions of a game to a network, as planes of small unsigned integers.

One protocol for all games. Kernels write whole batches, from the arrays that search and self-play work on
(`encode_games`); states go the same way (`encode`). Row 0 is the top row of the board, column 0 the leftmost.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tengen.games.batch import GameArrays
from tengen.games.game import AnyGame, get_game
from tengen.games.state import AnyState


class EncoderError(ValueError):
    """An encoder that does not exist, or arrays and moves that do not fit it."""


@dataclass(frozen=True)
class Encoder(ABC):
    """A way to show positions to a network.

    >>> import tengen
    >>> encoder: tengen.Encoder = tengen.get_encoder("stones")
    >>> encoder.planes, encoder.largest, encoder.meanings[0]
    (3, 1, 'black stones')
    """

    game: ClassVar[str]
    """The game whose positions it shows."""

    name: str
    meanings: tuple[str, ...]
    """What each plane shows, in words."""

    past: int = field(default=0, kw_only=True)
    """How many snapshots of the past, the present included, it looks at."""
    ages: bool = field(default=False, kw_only=True)
    """Whether it looks at how long stones have been standing."""
    largest: int = field(default=1, kw_only=True)
    """The largest number in its planes."""

    @property
    def planes(self) -> int:
        """How many feature planes a position has."""
        return len(self.meanings)

    def encode(self, states: Sequence[AnyState]) -> NDArray[np.uint8]:
        """uint8[B, planes, H, W]: the planes of B states with the same options."""
        if not states:
            raise EncoderError("there is no state to encode")
        if any(state.game != self.game for state in states):
            raise EncoderError(f"the encoder {self.name} shows positions of {self.game} only")
        game = get_game(self.game)
        batch = game.batch(game.options_of(states[0]), self.past, self.ages)
        games = batch.allocate(len(states))
        for i, state in enumerate(states):
            batch.load(games, i, state)
        out = np.empty((len(states), self.planes, batch.height, batch.width), np.uint8)
        self.encode_games(games, len(states), out)
        return out

    @abstractmethod
    def encode_games(self, games: GameArrays, count: int, out: NDArray[np.uint8]) -> None:
        """Write the first `count` games to the first rows of out: uint8[n, planes, H, W], in C order."""


@dataclass(frozen=True)
class OwnEncoder(Encoder):
    """The encoder that a game brings with it, `Game.encode`; it has the game's name."""

    of: AnyGame

    @property
    def game(self) -> str:  # type: ignore[override]
        """The game whose positions it shows."""
        return self.of.name

    def encode_games(self, games: GameArrays, count: int, out: NDArray[np.uint8]) -> None:
        """Write the first `count` games to the first rows of out: uint8[n, planes, H, W], in C order."""
        self.of.encode(games, count, out[:count].reshape(count, self.planes, -1))
