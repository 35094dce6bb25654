"""The value network of the Simple-Go lecture: who wins from a position after a move.

Three 3x3 convolutions of 30, 50 and 70 filters that keep the board's size, and two dense layers, the second of which
has three outputs: a softmax over *the first player wins* (Black), *the second wins* (White) and *a draw*. The lecture
does not say how many units the first dense layer has; here they are 100.

The lecture has a network for each player, which sees positions after that player's moves (`after=first`,
`after=second`) as three planes: black stones, white stones, empty points. One network for both (`after=both`) must be
shown who is to move: its last plane is ones if the first player is.

With `policy` it also says how likely each answer to that move is to win: another head of two dense layers.
"""

from dataclasses import dataclass

from tengen.nets.layers import Activation, Architecture, BoardShape, Conv, Dense, Dropout, Flatten, Layer

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
