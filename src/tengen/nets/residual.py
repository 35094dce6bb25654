"""Residual networks, as since AlphaGo Zero (Silver et al. 2017), with what has proved its worth after it.

A tower of blocks of two 3x3 convolutions with batch normalisation, each added to its own input: `post` activates
after the addition (AlphaGo Zero), `pre` before each convolution (He et al. 2016). Every n-th block may pool globally
as in KataGo (Wu 2019): some channels are reduced to their mean and maximum over the whole board, and these shift
the others, so that a ko fight in one corner is heard in the other.

The heads are convolutional: the weights do not depend on the board's size. 6 blocks of 64 filters on 48 planes
have 523,042 parameters, 6 of 32 on 11 planes 121,410; the value head adds a few thousand. Where the actions are not
those of Go, a point each and the pass, the policy ends in a dense layer instead.

The heads for ownership and score (KataGo again) give the trunk more to learn from each game than who won it.
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
    Planes,
    Sum,
)

ORDERS = ("post", "pre")


@dataclass(frozen=True)
class Residual:
    """A tower of residual blocks, as in AlphaGo Zero, with optional global pooling and value head."""

    blocks: int = 6
    filters: int = 64
    first_kernel: int = 5
    order: str = "post"  # where a block activates: post (after its addition) or pre (before its convolutions)
    activation: str = "relu"
    dropout: float = 0.0  # between the two convolutions of a block
    pool_every: int = 0  # every n-th block pools globally; 0: none
    head_filters: int = 32
    value: bool = False  # with a value head
    value_hidden: int = 64
    value_norm: bool = False  # with batch normalisation of the value's hidden units: on 19x19 they die without it
    ownership: bool = False  # with a head for whose point each one will be, to learn from
    score: bool = False  # with a head for the margin at the end, to learn from

    def architecture(self, planes: int, board: BoardShape) -> Architecture:
        """The network over `planes` planes of a board."""
        if self.order not in ORDERS:
            raise ValueError(f"order {self.order!r} is not known: choose from {', '.join(ORDERS)}")
        stem = Conv(planes, self.filters, self.first_kernel, bias=False)
        blocks: list[Layer] = []
        for number in range(1, self.blocks + 1):
            blocks += self._block(pooling=self.pool_every > 0 and number % self.pool_every == 0)
        trunk = (stem, *self._norm(), *blocks) if self.order == "post" else (stem, *blocks, *self._norm())
        return Architecture(
            planes,
            board,
            trunk,
            self._policy(board),
            value=(*self._number(self.value_norm), Activation("tanh")) if self.value else (),
            ownership=self._ownership() if self.ownership else (),
            score=self._number() if self.score else (),
        )

    def _norm(self) -> tuple[Layer, Layer]:
        return BatchNorm(self.filters), Activation(self.activation)

    def _block(self, pooling: bool) -> tuple[Layer, ...]:
        first = self._pooled() if pooling else Conv(self.filters, self.filters, 3, bias=False)
        second = Conv(self.filters, self.filters, 3, bias=False)
        dropout = (Dropout(self.dropout),) if self.dropout else ()
        if self.order == "pre":
            return (Sum(((), (*self._norm(), first, *self._norm(), *dropout, second))),)
        # The last scale starts at zero: at first each block passes its input on, and deep towers train at once.
        branch = (first, *self._norm(), *dropout, second, BatchNorm(self.filters, scale=0.0))
        return Sum(((), branch)), Activation(self.activation)

    def _pooled(self) -> Layer:
        """A convolution, shifted by the means and maxima of another, narrower one."""
        narrow = max(1, self.filters // 4)
        shift = (
            Conv(self.filters, narrow, 3, bias=False),
            BatchNorm(narrow),
            Activation(self.activation),
            GlobalPool(),
            Dense(2 * narrow, self.filters, gain=1.0),
            Planes(),
        )
        return Sum(((Conv(self.filters, self.filters, 3, bias=False),), shift))

    def _head(self) -> tuple[Layer, ...]:
        convolution = Conv(self.filters, self.head_filters, 1, bias=False)
        return convolution, BatchNorm(self.head_filters), Activation(self.activation)

    def _policy(self, board: BoardShape) -> tuple[Layer, ...]:
        if not board.has_pass:
            return *self._head(), Flatten(), Dense(self.head_filters * board.points, board.actions, gain=0.1)
        points = (Conv(self.head_filters, 1, 1, gain=0.1), Flatten())
        the_pass = (GlobalPool(), Dense(2 * self.head_filters, 1, gain=0.1))
        return *self._head(), Concat((points, the_pass))

    def _number(self, norm: bool = False) -> tuple[Layer, ...]:
        """A number about the whole board."""
        hidden: tuple[Layer, ...] = (GlobalPool(), Dense(2 * self.head_filters, self.value_hidden))
        if norm:
            hidden += Planes(), BatchNorm(self.value_hidden), Activation(self.activation), Flatten()
        else:
            hidden += (Activation(self.activation),)
        return *self._head(), *hidden, Dense(self.value_hidden, 1, gain=0.1)

    def _ownership(self) -> tuple[Layer, ...]:
        return *self._head(), Conv(self.head_filters, 1, 1, gain=0.1), Flatten(), Activation("tanh")
