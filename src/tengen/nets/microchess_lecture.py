"""The network of the Microchess lecture: NCSOFT's tutorial on a self-learning AI, after AlphaGo Zero.

Six 3x3 convolutions of 64 filters over the planes of the pieces. The castling rights, which the
board does not show, join after them: the last planes are constant, and one number of each is appended to the vector
that a dense layer of 1,024 reads. Policy and value are one layer each over that. The value ends in a tanh here; in the
lecture it had no bounds.
"""

from dataclasses import dataclass

from tengen.nets.layers import (
    Activation,
    Architecture,
    BoardShape,
    Channels,
    Concat,
    Conv,
    Dense,
    Flatten,
    Layer,
    Means,
)


@dataclass(frozen=True)
class MicrochessLecture:
    """Convolutions over the board, joined by the state of the game before a dense layer; policy and value."""

    layers: int = 6
    filters: int = 64
    kernel: int = 3
    dense: int = 1024
    state_planes: int = 2  # how many of the last planes are constant and leave the convolutions out
    activation: str = "relu"

    def architecture(self, planes: int, board: BoardShape) -> Architecture:
        """The network over `planes` planes of a board."""
        pieces = planes - self.state_planes
        if pieces < 1:
            raise ValueError(f"state_planes is {self.state_planes} of {planes} planes: at least one must be left")
        convolutions: list[Layer] = [Channels(0, pieces)]
        inputs = pieces
        for _ in range(self.layers):
            convolutions += [Conv(inputs, self.filters, self.kernel), Activation(self.activation)]
            inputs = self.filters
        branches: list[tuple[Layer, ...]] = [(*convolutions, Flatten())]
        if self.state_planes:
            branches.append((Channels(pieces, planes), Means()))
        trunk = (
            Concat(tuple(branches)),
            Dense(self.filters * board.points + self.state_planes, self.dense),
            Activation(self.activation),
        )
        policy = (Dense(self.dense, board.actions, gain=0.1),)
        return Architecture(planes, board, trunk, policy, value=(Dense(self.dense, 1, gain=0.1), Activation("tanh")))
