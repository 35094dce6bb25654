"""The networks of the lectures: move predictors for KGS games, Microchess, and the value network of Simple-Go.

The classic move predictors are a stack of wide convolutions, then a dense layer, then the move. `small` is the network
of the KGS lecture: 7x7x48, then 5x5x32 three times, dense 512. `medium` and `large` carry the family on. On 19x19 with
the 11 planes of `simple`:

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
    Channels,
    Concat,
    Conv,
    Dense,
    Dropout,
    Flatten,
    Layer,
    Means,
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


# ------------------------------------------------------------------------------------------ Microchess
# The network of NCSOFT's tutorial on a self-learning AI, after AlphaGo Zero.
#
# Six 3x3 convolutions of 64 filters over the planes of the pieces. The castling rights, which the board does not show,
# join after them: the last planes are constant, and one number of each is appended to the vector that a dense layer of
# 1,024 reads. Policy and value are one layer each over that. The value ends in a tanh here; in the lecture it had no
# bounds.


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


# ------------------------------------------------------------------------------------------- Simple-Go
# A value network: who wins from a position after a move.
#
# Three 3x3 convolutions of 30, 50 and 70 filters that keep the board's size, and two dense layers, the second of which
# has three outputs: a softmax over *the first player wins* (Black), *the second wins* (White) and *a draw*. The lecture
# does not say how many units the first dense layer has; here they are 100.
#
# The lecture has a network for each player, which sees positions after that player's moves (`after=first`,
# `after=second`) as three planes: black stones, white stones, empty points. One network for both (`after=both`) must be
# shown who is to move: its last plane is ones if the first player is.
#
# With `policy` it also says how likely each answer to that move is to win: another head of two dense layers.

AFTER = {"first": 2, "second": 1, "both": 0}
"""Whose moves lead to the positions that a network sees, and who is to move there; 0: the last plane says it."""


@dataclass(frozen=True)
class SimpleGo:
    """The value network of the Simple-Go lecture: three convolutions and two dense layers, and a policy if wanted."""

    filters: tuple[int, ...] = (30, 50, 70)
    kernel: int = 3
    hidden: int = 100  # units of the first dense layer
    after: str = "both"  # whose moves lead to the positions: first, second or both
    activation: str = "relu"
    dropout: float = 0.0  # before the last layer
    policy: bool = False  # whether there is a second head, for the next move

    def architecture(self, planes: int, board: BoardShape) -> Architecture:
        """The network over `planes` planes of a board."""
        if self.after not in AFTER:
            raise ValueError(f"after is {self.after[:40]!r}: choose from {', '.join(AFTER)}")
        trunk: list[Layer] = []
        inputs = planes
        for filters in self.filters:
            trunk += [Conv(inputs, filters, self.kernel), Activation(self.activation)]
            inputs = filters
        outcome = self._head(inputs * board.points, 3)
        policy = self._head(inputs * board.points, board.actions) if self.policy else ()
        return Architecture(planes, board, tuple(trunk), policy, outcome=outcome, to_move=AFTER[self.after])

    def _head(self, inputs: int, outputs: int) -> tuple[Layer, ...]:
        """Two dense layers."""
        hidden: list[Layer] = [Flatten(), Dense(inputs, self.hidden), Activation(self.activation)]
        hidden += [Dropout(self.dropout)] if self.dropout else []
        return (*hidden, Dense(self.hidden, outputs, gain=0.1))
