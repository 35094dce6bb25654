"""All encoders by name."""

from functools import cache

from tengen.encode.encoder import Encoder, EncoderError, OwnEncoder
from tengen.encode.go import GO_ENCODERS
from tengen.encode.microchess import MICROCHESS_ENCODERS
from tengen.games.board_game import BoardGame
from tengen.games.game import game_names, get_game

_OLD_NAMES = {"microchess-seed": "microchess-lecture", "microchess-seed-fixed": "microchess-lecture-fixed"}
"""Names that model files and run directories may still carry."""


@cache
def _known() -> dict[str, Encoder]:
    return {encoder.name: encoder for encoder in (*GO_ENCODERS, *MICROCHESS_ENCODERS)}


def encoder_names(game: str = "go") -> tuple[str, ...]:
    """The names of all encoders of a game."""
    own = (game,) if get_game(game).meanings else ()
    return (*own, *(name for name, encoder in _known().items() if encoder.game == game))


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
    known = [each for game in game_names() for each in encoder_names(game)]
    raise EncoderError(f"there is no encoder {name[:40]!r}: choose from {', '.join(known)}")
