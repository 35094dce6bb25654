"""Positions as the feature planes that networks read. Games beneath, networks above.

>>> from tengen.encode import get_encoder
>>> from tengen.games import go
>>> encoder = get_encoder("simple")
>>> encoder.encode([go.State.new(size=9)]).shape
(1, 11, 9, 9)
"""

from tengen.encode.encoder import Encoder, EncoderError, encoder_names, get_encoder
from tengen.games.symmetry import transform_batch

__all__ = ["Encoder", "EncoderError", "encoder_names", "get_encoder", "transform_batch"]
