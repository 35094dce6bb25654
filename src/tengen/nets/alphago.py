"""AlphaGo's two networks (Silver et al. 2016): convolutions all the way, and then the moves or the value.

The policy network has 13 layers of 192 filters: 5x5 first, eleven of 3x3, and 1x1 with a different bias at each point:
3,883,178 weights on 19x19 with 48 planes, of which 385 are ours: the paper's network never passes, so a logit for the
pass is read off the mean and the maximum of the last layer.

The value network has the same 12 convolutions, one more, 1x1 with a single filter, a dense layer of 256 rectifiers and
one tanh: 4,312,130 weights on 19x19 with 49 planes (`alphago49`: the player's colour is the 49th).
"""

from dataclasses import dataclass

from tengen.nets.layers import (
    Activation,
    Architecture,
    BatchNorm,
    BoardShape,
    Concat,
    Conv,
    Dense,
    Dropout,
    Flatten,
    GlobalPool,
    Layer,
    PositionBias,
)


@dataclass(frozen=True)
class AlphaGo:
    """AlphaGo's policy network: 13 layers of 192 filters by default."""

    layers: int = 13  # the last one, 1x1, included
    filters: int = 192
    first_kernel: int = 5
    kernel: int = 3
    activation: str = "relu"
    batch_norm: bool = False
    dropout: float = 0.0  # before the last layer

    def architecture(self, planes: int, board: BoardShape) -> Architecture:
        """The network over `planes` planes of a board."""
        if not board.has_pass:
            raise ValueError(f"it has a logit a point and one for passing, {board.points + 1}, not {board.actions}")
        if self.layers < 2:
            raise ValueError(f"layers is {self.layers}: alphago needs at least a first and a last one, 2")
        points = (Conv(self.filters, 1, 1, bias=False, gain=0.1), Flatten(), PositionBias(board.points))
        the_pass = (GlobalPool(), Dense(2 * self.filters, 1, gain=0.1))
        return Architecture(planes, board, _convolutions(self, planes, self.layers - 1), (Concat((points, the_pass)),))


@dataclass(frozen=True)
class AlphaGoValue:
    """AlphaGo's value network, which has no policy: 13 layers of 192 filters by default, then 1x1 and a dense layer."""

    layers: int = 13  # convolutions of `filters` filters
    filters: int = 192
    hidden: int = 256  # rectifiers of the dense layer
    first_kernel: int = 5
    kernel: int = 3
    activation: str = "relu"
    batch_norm: bool = False
    dropout: float = 0.0  # after these convolutions

    def architecture(self, planes: int, board: BoardShape) -> Architecture:
        """The network over `planes` planes of a board."""
        value = (
            # Not rectified: with one in twenty first weights its only filter would be 0 on all boards, and stay so.
            Conv(self.filters, 1, 1, gain=1.0),
            Flatten(),
            Dense(board.points, self.hidden),
            Activation(self.activation),
            Dense(self.hidden, 1, gain=0.1),
            Activation("tanh"),
        )
        return Architecture(planes, board, _convolutions(self, planes, self.layers), (), value=value)


def _convolutions(network: AlphaGo | AlphaGoValue, planes: int, layers: int) -> tuple[Layer, ...]:
    """The layers that both networks begin with."""
    found: list[Layer] = []
    inputs, kernel = planes, network.first_kernel
    for _ in range(layers):
        found.append(Conv(inputs, network.filters, kernel, bias=not network.batch_norm))
        if network.batch_norm:
            found.append(BatchNorm(network.filters))
        found.append(Activation(network.activation))
        inputs, kernel = network.filters, network.kernel
    return (*found, Dropout(network.dropout)) if network.dropout else tuple(found)
