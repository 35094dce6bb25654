"""Networks to train: an architecture as a PyTorch module.

    network = build_network("residual", planes=48, size=19, blocks=6, filters=64, seed=1)
    logits, value = network(planes)

Tensors are kept in channels_last, the memory order in which convolutions on a CPU are 1.5 to 2 times faster.
"""

import dataclasses
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tengen.nets.evaluator import check_planes
from tengen.nets.layers import (
    Activation,
    BatchNorm,
    Channels,
    Concat,
    Conv,
    Dense,
    Dropout,
    Flatten,
    GlobalPool,
    Layer,
    Means,
    Planes,
    Pool,
    PositionBias,
    Sum,
)
from tengen.nets.registry import describe_network, network_settings


class PolicyValueOutput(NamedTuple):
    """The output of a network for B positions."""

    policy: Tensor  # logits [B, actions]; in Go every point, then the pass; all 0 without a policy head
    value: Tensor | None  # [B] in -1..1, as the player to move sees it; None without a head for value or outcome
    ownership: Tensor | None = None  # [B, size * width] in -1..1, 1 where the point will be the mover's; None likewise
    score: Tensor | None = None  # [B], the mover's margin as a share of the board's points; None likewise
    outcome: Tensor | None = None  # logits [B, 3]: the first player wins, the second wins, a draw; None likewise


class Network(nn.Module):
    """A network of a kind from the registry. `arguments` holds all its settings, defaults included.

    `build_network` and `load_network` make one; by itself it comes with its weights unset.
    """

    trunk: nn.Sequential
    policy: nn.Sequential | None
    value: nn.Sequential | None
    ownership: nn.Sequential | None
    score: nn.Sequential | None
    outcome: nn.Sequential | None

    def __init__(
        self,
        name: str,
        planes: int,
        size: int,
        *,
        width: int | None = None,
        actions: int | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__()
        self.name = name
        self.arguments: dict[str, Any] = dataclasses.asdict(network_settings(name, **arguments))  # type: ignore[call-overload]
        self.architecture = describe_network(name, planes, size, width=width, actions=actions, **arguments)
        for part, layers in self.architecture.parts().items():
            self.add_module(part, _sequence(layers) if layers else None)

    def weights(self) -> dict[str, NDArray[np.float32]]:
        """A copy of all that inference needs, by name, as arrays."""
        state = self.state_dict()
        return {
            name: np.array(state[name].detach().cpu().float().numpy(), order="C") for name in self.architecture.shapes()
        }

    def forward(self, planes: Tensor, to_play: bool = False) -> PolicyValueOutput:
        """Planes [B, planes, size, width], of floats or of bytes, to all that the heads say about them.

        With `to_play` only logits and value are computed.
        """
        x = planes.to(dtype=torch.float32, memory_format=torch.channels_last)
        x = self.trunk(x)
        value = None if self.value is None else self.value(x).squeeze(1)
        ownership = None if self.ownership is None or to_play else self.ownership(x)
        score = None if self.score is None or to_play else self.score(x).squeeze(1)
        policy = x.new_zeros(len(x), self.architecture.actions) if self.policy is None else self.policy(x)
        outcome = None if self.outcome is None else self.outcome(x)
        if outcome is not None:
            value = self._value_of(outcome, planes)
        return PolicyValueOutput(policy, value, ownership, score, outcome)

    def _value_of(self, outcome: Tensor, planes: Tensor) -> Tensor:
        """[B]: how likely the player to move is to win, minus how likely to lose."""
        chances = outcome.softmax(dim=1)
        value, to_move = chances[:, 0] - chances[:, 1], self.architecture.to_move
        if to_move:
            return value if to_move == 1 else -value
        return torch.where(planes[:, -1, 0, 0] != 0, value, -value)


def build_network(
    name: str,
    planes: int,
    size: int,
    *,
    width: int | None = None,
    actions: int | None = None,
    seed: int | None = None,
    **arguments: Any,
) -> Network:
    """A fresh network of this kind; the same seed gives the same weights. NetworkSpecError if it cannot be.

    Without `width` the board is square; without `actions` they are those of Go, every point and the pass.

    >>> import tengen
    >>> network = tengen.build_network("residual", planes=10, size=5, blocks=1, filters=8, seed=1)
    >>> network.architecture.actions, sum(weights.size for weights in network.weights().values())
    (26, 3730)
    """
    network = Network(name, planes, size, width=width, actions=actions, **arguments)
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed)
    with torch.no_grad():
        for module in network.modules():
            _initialise(module, generator)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


class _Conv(nn.Conv2d):
    """A convolution that keeps the board's size, and leaves its weights to `build_network`."""

    def __init__(self, inputs: int, filters: int, kernel: int, bias: bool, gain: float) -> None:
        super().__init__(inputs, filters, kernel, padding=(kernel - 1) // 2, bias=bias)
        self.gain = gain

    def forward(self, x: Tensor) -> Tensor:
        if self.kernel_size[0] % 2 == 0:  # an even kernel needs one more row and column of zeros behind than before
            x = functional.pad(x, (0, 1, 0, 1))
        return super().forward(x)

    def reset_parameters(self) -> None:
        """Nothing: the weights are drawn from a seed, not from the state of the process."""


class _Dense(nn.Linear):
    """A dense layer that leaves its weights to `build_network`."""

    def __init__(self, inputs: int, outputs: int, gain: float) -> None:
        super().__init__(inputs, outputs)
        self.gain = gain

    def reset_parameters(self) -> None:
        """Nothing: the weights are drawn from a seed, not from the state of the process."""


class _Sum(nn.Module):
    """The sum of branches; the empty one is the input itself."""

    def __init__(self, branches: tuple[tuple[Layer, ...], ...]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(_sequence(branch) for branch in branches)

    def forward(self, x: Tensor) -> Tensor:
        total: Tensor = self.branches[0](x)
        for branch in self.branches[1:]:
            total = total + branch(x)
        return total


class _Concat(nn.Module):
    """The vectors of branches end to end."""

    def __init__(self, branches: tuple[tuple[Layer, ...], ...]) -> None:
        super().__init__()
        self.branches = nn.ModuleList(_sequence(branch) for branch in branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)


class _GlobalPool(nn.Module):
    """[B, C, H, W] -> [B, 2C]: means, then maxima."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x.mean(dim=(2, 3)), x.amax(dim=(2, 3))], dim=1)


class _Means(nn.Module):
    """[B, C, H, W] -> [B, C]."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3))


class _Channels(nn.Module):
    """Some of the channels."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__()
        self.first, self.last = first, last

    def forward(self, x: Tensor) -> Tensor:
        return x[:, self.first : self.last]


class _PositionBias(nn.Module):
    """A learned number for each entry."""

    def __init__(self, entries: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(entries))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.bias


_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "prelu": nn.PReLU,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "mish": nn.Mish,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
}


def _sequence(layers: tuple[Layer, ...]) -> nn.Sequential:
    return nn.Sequential(*(_module(layer) for layer in layers))


def _module(layer: Layer) -> nn.Module:
    """The PyTorch module of a layer."""
    module: nn.Module
    match layer:
        case Conv(inputs, filters, kernel, bias, gain):
            module = _Conv(inputs, filters, kernel, bias, gain)
        case Dense(inputs, outputs, gain):
            module = _Dense(inputs, outputs, gain)
        case BatchNorm(channels, scale):
            module = nn.BatchNorm2d(channels)
            nn.init.constant_(module.weight, scale)
        case Activation(name):
            module = _ACTIVATIONS[name]()
        case Dropout(rate):
            module = nn.Dropout(rate)
        case Pool(kind, window):
            module = (nn.MaxPool2d if kind == "max" else nn.AvgPool2d)(window, ceil_mode=True)
        case GlobalPool():
            module = _GlobalPool()
        case Means():
            module = _Means()
        case Channels(first, last):
            module = _Channels(first, last)
        case Flatten():
            module = nn.Flatten()
        case Planes():
            module = nn.Unflatten(1, (-1, 1, 1))
        case PositionBias(entries):
            module = _PositionBias(entries)
        case Sum(branches):
            module = _Sum(branches)
        case Concat(branches):
            module = _Concat(branches)
        case _:
            raise TypeError(f"no PyTorch module for {layer}")
    return module


def _initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Normal weights of variance gain / fan-in (He et al. 2015), biases of zero; all else is as constructed."""
    if isinstance(module, _Conv | _Dense):
        fan_in = module.weight[0].numel()
        module.weight.normal_(0.0, (module.gain / fan_in) ** 0.5, generator=generator)
        if module.bias is not None:
            module.bias.zero_()


# ------------------------------------------------------------------------------------- as an evaluator
# For networks under training, and for GPUs.


class TorchEvaluator:
    """A network where it stands: on its device, with the weights it has at the time of asking.

    `threads` sets PyTorch's own number, which is one for the whole process; None leaves it alone.
    """

    def __init__(self, network: Network, threads: int | None = None) -> None:
        if threads is not None:
            torch.set_num_threads(threads)
        self.network = network
        self.architecture = network.architecture

    def another(self) -> Self:
        """Threads may share it."""
        return self

    def evaluate(self, planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Planes uint8[B, C, H, W] -> policy logits float32[B, actions] and values float32[B] in -1..1, or None."""
        check_planes(planes, self.architecture)
        training = self.network.training
        self.network.eval()
        try:
            with torch.inference_mode():
                device = next(self.network.parameters()).device
                policy, value, *_ = self.network(torch.from_numpy(planes).to(device), to_play=True)
            return policy.cpu().numpy(), None if value is None else value.cpu().numpy()
        finally:
            self.network.train(training)
