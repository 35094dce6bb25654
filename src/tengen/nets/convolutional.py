"""The classic move predictors: a stack of wide convolutions, then a dense layer, then the move.

`small` is the network of the KGS lecture: 7x7x48, then 5x5x32 three times, dense 512. `medium` and `large`
carry the family on. On 19x19 with the 11 planes of `simple`:

    small    4 convolutions, dense  512     6,216,458 parameters, nearly all of them in the dense layer
    medium   6 convolutions, dense  512     6,436,426
    large    8 convolutions, dense 1024    12,938,346
"""

from dataclasses import dataclass

from tengen.nets.layers import (
    Activation,
    Architecture,
    BatchNorm,
    BoardShape,
    Conv,
    Dense,
    Dropout,
    Flatten,
    Layer,
    Pool,
)

POOLINGS = ("none", "max", "average")


@dataclass(frozen=True)
class Small:
    """Convolutions, then a dense layer, as in the first deep-learning Go bots."""

    filters: tuple[int, ...] = (48, 32, 32, 32)  # of each convolution in turn
    first_kernel: int = 7
    kernel: int = 5  # of all convolutions after the first
    dense: int = 512
    activation: str = "relu"
    batch_norm: bool = False
    dropout: float = 0.0  # before the dense layer and after it
    pooling: str = "none"  # none, max or average, after the convolutions
    pooling_window: int = 2

    def architecture(self, planes: int, board: BoardShape) -> Architecture:
        """The network over `planes` planes of a board."""
        if self.pooling not in POOLINGS:
            raise ValueError(f"pooling {self.pooling!r} is not known: choose from {', '.join(POOLINGS)}")
        window = self.pooling_window if self.pooling != "none" else 1
        points = -(-board.size // window) * -(-board.width // window)
        dropout = (Dropout(self.dropout),) if self.dropout else ()
        policy: tuple[Layer, ...] = (
            *((Pool(self.pooling, self.pooling_window),) if self.pooling != "none" else ()),
            Flatten(),
            *dropout,
            Dense(self.filters[-1] * points, self.dense),
            Activation(self.activation),
            *dropout,
            Dense(self.dense, board.actions, gain=0.1),
        )
        return Architecture(planes, board, self._convolutions(planes), policy)

    def _convolutions(self, planes: int) -> tuple[Layer, ...]:
        layers: list[Layer] = []
        inputs, kernel = planes, self.first_kernel
        for filters in self.filters:
            layers.append(Conv(inputs, filters, kernel, bias=not self.batch_norm))
            if self.batch_norm:
                layers.append(BatchNorm(filters))
            layers.append(Activation(self.activation))
            inputs, kernel = filters, self.kernel
        return tuple(layers)


@dataclass(frozen=True)
class Medium(Small):
    """The same family with six convolutions."""

    filters: tuple[int, ...] = (64, 64, 48, 48, 32, 32)


@dataclass(frozen=True)
class Large(Small):
    """The same family with eight convolutions and twice the dense layer."""

    filters: tuple[int, ...] = (96, 96, 64, 64, 48, 48, 32, 32)
    dense: int = 1024
