"""AlphaGo's policy network (Silver et al. 2016): convolutions all the way, a logit and a bias for every point.

13 layers of 192 filters: 5x5 first, eleven of 3x3, and 1x1 with a different bias at each point: 3,883,178
weights on 19x19 with 48 planes, of which 385 are ours: the paper's network never passes, so a logit for the pass is
read off the mean and the maximum of the last layer.
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
        trunk: list[Layer] = []
        inputs, kernel = planes, self.first_kernel
        for _ in range(self.layers - 1):
            trunk.append(Conv(inputs, self.filters, kernel, bias=not self.batch_norm))
            if self.batch_norm:
                trunk.append(BatchNorm(self.filters))
            trunk.append(Activation(self.activation))
            inputs, kernel = self.filters, self.kernel
        if self.dropout:
            trunk.append(Dropout(self.dropout))
        points = (Conv(self.filters, 1, 1, bias=False, gain=0.1), Flatten(), PositionBias(board.points))
        the_pass = (GlobalPool(), Dense(2 * self.filters, 1, gain=0.1))
        return Architecture(planes, board, tuple(trunk), (Concat((points, the_pass)),))
