"""A game as a network sees it: which one, with which options, through which encoder."""

from dataclasses import dataclass
from functools import cached_property

from tengen.encode.encoder import Encoder, EncoderError, get_encoder
from tengen.games.batch import BatchedGame
from tengen.games.game import AnyGame, get_game, open_batch
from tengen.games.state import Options


@dataclass(frozen=True)
class GameSpec:
    """Which game is played, and how a network sees it."""

    options: Options
    encoder_name: str = ""
    """Empty: the game's usual one."""

    def __post_init__(self) -> None:
        if not self.encoder_name:
            object.__setattr__(self, "encoder_name", self.game.default_encoder or self.game.name)
        if self.encoder.game != self.options.game:
            raise EncoderError(f"the encoder {self.encoder_name} is of {self.encoder.game}, not of {self.options.game}")

    @cached_property
    def game(self) -> AnyGame:
        """The game."""
        return get_game(self.options.game)

    @cached_property
    def encoder(self) -> Encoder:
        """How positions are shown."""
        return get_encoder(self.encoder_name)

    @cached_property
    def batch(self) -> BatchedGame:
        """Many such games at once, with as much of the past as the encoder looks at."""
        return open_batch(self.options, self.encoder.past, self.encoder.ages)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Planes, rows and columns of what the network sees."""
        return self.encoder.planes, self.batch.height, self.batch.width
