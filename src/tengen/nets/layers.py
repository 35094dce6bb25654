"""The layers that a network is made of, as plain descriptions: no torch, no arrays.

An architecture is a tuple of these. `network.py` turns it into a PyTorch module to train, `openvino_graph.py` into
an OpenVINO graph to play with, so what one computes the other computes too, and a player needs no torch.

Shapes: B positions, C channels, a board of H x W points. Board tensors are [B, C, H, W], vectors [B, C].

>>> from tengen import layers
>>> layers.Conv(inputs=10, filters=32, kernel=3).shapes["weight"]
(32, 10, 3, 3)
"""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Architecture",
    "BatchNorm",
    "BoardShape",
    "Channels",
    "Concat",
    "Conv",
    "Dense",
    "Dropout",
    "Flatten",
    "GlobalPool",
    "Layer",
    "Means",
    "Planes",
    "Pool",
    "PositionBias",
    "Sum",
]

ACTIVATIONS = ("relu", "leaky_relu", "prelu", "elu", "selu", "gelu", "silu", "mish", "sigmoid", "tanh")


@dataclass(frozen=True)
class Layer:
    """One step of a network. `shapes` names its weights, as PyTorch does, with their shapes."""

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The layer's tensors: none by default."""
        return {}


@dataclass(frozen=True)
class Conv(Layer):
    """Convolution with zero padding that keeps the board's size: [B, inputs, H, W] -> [B, filters, H, W]."""

    inputs: int
    filters: int
    kernel: int
    bias: bool = True
    gain: float = 2.0  # initial weights have variance gain / fan-in; 2 is He's choice for rectifiers

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Weight, and bias if there is one."""
        weight = {"weight": (self.filters, self.inputs, self.kernel, self.kernel)}
        return weight | ({"bias": (self.filters,)} if self.bias else {})


@dataclass(frozen=True)
class Dense(Layer):
    """Every input to every output: [B, inputs] -> [B, outputs]."""

    inputs: int
    outputs: int
    gain: float = 2.0

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Weight and bias."""
        return {"weight": (self.outputs, self.inputs), "bias": (self.outputs,)}


@dataclass(frozen=True)
class BatchNorm(Layer):
    """Batch normalisation of board tensors; `scale` is the initial weight of every channel."""

    channels: int
    scale: float = 1.0

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Scale and shift, and the running statistics that inference uses."""
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (self.channels,))


@dataclass(frozen=True)
class Activation(Layer):
    """A non-linearity, by name: one of ACTIVATIONS."""

    name: str = "relu"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Nothing, but for prelu: its slope."""
        return {"weight": (1,)} if self.name == "prelu" else {}


@dataclass(frozen=True)
class Dropout(Layer):
    """Zeroes a share of the values while training; does nothing when playing."""

    rate: float


@dataclass(frozen=True)
class Pool(Layer):
    """`max` or `average` over squares of points, side by side; a partial square at the edge counts too."""

    kind: str
    window: int


@dataclass(frozen=True)
class GlobalPool(Layer):
    """The mean and the maximum of each channel over the board: [B, C, H, W] -> [B, 2C]."""


@dataclass(frozen=True)
class Means(Layer):
    """The mean of each channel over the board: [B, C, H, W] -> [B, C]. Of a constant plane, its constant."""


@dataclass(frozen=True)
class Channels(Layer):
    """Some of the channels, from `first` up to but without `last`: [B, C, H, W] -> [B, last - first, H, W]."""

    first: int
    last: int


@dataclass(frozen=True)
class Flatten(Layer):
    """[B, C, H, W] -> [B, C * H * W], a channel after the other."""


@dataclass(frozen=True)
class Planes(Layer):
    """A vector as a board tensor of one point, [B, C] -> [B, C, 1, 1], to be added to every point of a board."""


@dataclass(frozen=True)
class PositionBias(Layer):
    """A learned number for each entry of a vector: AlphaGo's bias that differs from point to point."""

    entries: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The bias."""
        return {"bias": (self.entries,)}


@dataclass(frozen=True)
class Sum(Layer):
    """The sum of several branches over the same input; the empty branch is the input itself."""

    branches: tuple[tuple[Layer, ...], ...]


@dataclass(frozen=True)
class Concat(Layer):
    """The vectors of several branches over the same input, end to end."""

    branches: tuple[tuple[Layer, ...], ...]


@dataclass(frozen=True)
class BoardShape:
    """What a network plays on: a board of size x width points, and how many actions a policy chooses from."""

    size: int
    width: int
    actions: int

    @property
    def points(self) -> int:
        """How many points the board has."""
        return self.size * self.width

    @property
    def has_pass(self) -> bool:
        """Whether the actions are those of Go: every point, row by row, and then the pass."""
        return self.actions == self.points + 1


@dataclass(frozen=True)
class Architecture:
    """A whole network: a trunk over planes [B, planes, size, width], and heads over what the trunk makes.

    Heads may be absent; a network that plays has a policy, a value or both. Ownership and score are there to learn
    from: playing leaves them out. Instead of a value head there may be one for the outcome, which the value comes from.
    """

    planes: int
    board: BoardShape
    trunk: tuple[Layer, ...]
    policy: tuple[Layer, ...]  # -> logits [B, actions]; in Go every point, then the pass; () in a value network
    value: tuple[Layer, ...] = ()  # -> [B, 1] in -1..1, as the player to move sees it
    ownership: tuple[Layer, ...] = ()  # -> [B, size * width] in -1..1, 1 where the point will be the mover's
    score: tuple[Layer, ...] = ()  # -> [B, 1], the mover's margin as a share of the board's points
    outcome: tuple[Layer, ...] = ()  # -> logits [B, 3]: the first player wins, the second wins, a draw; for the value
    to_move: int = 0  # with `outcome`: who is to move in all positions, 1 or 2; 0: the last plane is ones for 1

    @property
    def size(self) -> int:
        """The rows of the board, and of a square one its columns too."""
        return self.board.size

    @property
    def width(self) -> int:
        """The columns of the board."""
        return self.board.width

    @property
    def actions(self) -> int:
        """The length of a policy."""
        return self.board.actions

    @property
    def has_value(self) -> bool:
        """Whether it says who is winning, by a value or by the chances of each outcome."""
        return bool(self.value or self.outcome)

    def parts(self) -> dict[str, tuple[Layer, ...]]:
        """The trunk and the heads by name, absent heads as ()."""
        return {part: getattr(self, part) for part in ("trunk", "policy", "value", "ownership", "score", "outcome")}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every tensor of the network by its name in PyTorch, with its shape."""
        return {name: shape for part, layers in self.parts().items() for name, shape in _named(layers, part)}

    def parameters(self) -> int:
        """How many numbers training adjusts."""
        total = 0
        for name, shape in self.shapes().items():
            if not name.endswith(("running_mean", "running_var")):
                count = 1
                for length in shape:
                    count *= length
                total += count
        return total


def _named(layers: tuple[Layer, ...], prefix: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    for index, layer in enumerate(layers):
        name = f"{prefix}.{index}"
        for tensor, shape in layer.shapes.items():
            yield f"{name}.{tensor}", shape
        if isinstance(layer, Sum | Concat):
            for number, branch in enumerate(layer.branches):
                yield from _named(branch, f"{name}.branches.{number}")
