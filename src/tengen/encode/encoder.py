"""What an encoder is: a way to show positions of a game to a network, as planes of small unsigned integers; and all
encoders by name.

One protocol for all games. Kernels write whole batches, from the arrays that search and self-play work on
(`encode_games`); states go the same way (`encode`). Row 0 is the top row of the board, column 0 the leftmost.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tengen import _plugins
from tengen.games.batch import GameArrays
from tengen.games.board_game import BoardGame
from tengen.games.game import AnyGame, game_names, get_game
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
    """What `get_encoder` calls it."""
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


# --------------------------------------------------------------------------------- all encoders by name

_OLD_NAMES = {"microchess-seed": "microchess-lecture", "microchess-seed-fixed": "microchess-lecture-fixed"}
"""Names that model files and run directories may still carry."""


@cache
def _known() -> dict[str, Encoder]:
    from tengen.encode.go import GO_ENCODERS
    from tengen.encode.microchess import MICROCHESS_ENCODERS

    return {encoder.name: encoder for encoder in (*GO_ENCODERS, *MICROCHESS_ENCODERS)}


def encoder_names(game: str = "go") -> tuple[str, ...]:
    """The names of all encoders of a game."""
    own = (game,) if get_game(game).meanings else ()
    added = (name for name in _plugins.names("encoder") if get_encoder(name).game == game)
    return (*own, *(name for name, encoder in _known().items() if encoder.game == game), *added)


def get_encoder(name: str) -> Encoder:
    """The encoder of this name, of whichever game it is: positions to planes for a network.

    >>> import tengen
    >>> encoder = tengen.get_encoder("simple")
    >>> encoder.encode([tengen.go.State.new(size=9)]).shape
    (1, 11, 9, 9)
    >>> encoder.meanings[-1]
    'points that the ko forbids'
    """
    name = _OLD_NAMES.get(name, name)
    if name in _known():
        return _known()[name]
    if name in game_names() and get_game(name).meanings:
        game = get_game(name)
        is_usual = type(game).encode is BoardGame.encode  # else planes may hold any number
        return OwnEncoder(name, game.meanings, of=game, largest=1 if is_usual else 255)
    added = _plugins.find("encoder", name)
    if added is not None:
        made = added(name) if isinstance(added, type) else added
        if not isinstance(made, Encoder) or made.name != name:
            raise _plugins.PluginError(f"the encoder {name} is no tengen.Encoder with this name: {made!r:.80}")
        return made
    known = [each for game in game_names() for each in encoder_names(game)]
    raise EncoderError(f"there is no encoder {name[:40]!r}: choose from {', '.join(known)}")
