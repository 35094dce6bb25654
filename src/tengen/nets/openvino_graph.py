"""Networks to play with: an architecture and its weights as an OpenVINO graph, built without torch.

The graph reads planes as bytes and computes in 32-bit floats. Batch normalisation is written as a scale and a shift,
which OpenVINO folds into the convolution before it.

With ranges, the graph computes in 8-bit integers wherever that pays. On a board every activation is rounded to one of
256 steps of its range (a FakeQuantize), and whatever reads such a tensor has its weights stored as bytes, with one
scale an output channel. OpenVINO turns this into integer convolutions that also do the scale, the addition of a block
and the next rounding: no tensor between two of them is ever a float. See docs/decisions/0005-int8.md.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as ops

from tengen.nets.layers import (
    Activation,
    Architecture,
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

Weights = Mapping[str, NDArray[np.float32]]
Ranges = Mapping[str, NDArray[np.float32]]  # the least and the greatest number seen at a place in the network: [2]
PLAYING = ("policy", "value", "outcome")
"""The heads that a player asks."""
_EPSILON = 1e-5  # PyTorch's, in batch normalisation
_SELU = (1.6732632423543772, 1.0507009873554805)
_LARGE = 16_384  # weights: a smaller dense layer costs less in floats than the rounding of its input
_SMALLEST_RANGE = 1e-5  # a range of nothing cannot be divided into steps
_LOSSLESS = {"Reshape", "Slice", "MaxPool"}  # operations whose outputs are among their inputs


class ObservedGraph(NamedTuple):
    """A graph in floats whose further outputs, after those of the heads, are the tensors that int8 would round."""

    model: ov.Model
    names: tuple[str, ...]  # of these tensors, in order


def build_graph(
    architecture: Architecture, weights: Weights, ranges: Ranges | None = None, heads: Sequence[str] = PLAYING
) -> ov.Model:
    """The graph of a network: planes uint8[?, C, H, W] -> what those of the heads say that it has, by default policy
    float32[?, actions], value float32[?, 1] and outcome float32[?, 3].

    With ranges it computes in 8-bit integers; ValueError if they are not those of this architecture. Calibration knows
    the playing heads: others compute in floats.
    """
    builder = _Builder(weights, ranges)
    planes, outputs = builder.network(architecture, heads)
    if ranges is not None and heads == PLAYING and ranges.keys() != builder.rounded.keys():
        name = min(ranges.keys() ^ builder.rounded.keys())
        raise ValueError(
            f"the calibration is of another network: {name} is {'unknown' if name in ranges else 'absent'}"
        )
    return ov.Model([ops.result(output) for output in outputs], [planes], "tengen")


def build_observed_graph(architecture: Architecture, weights: Weights) -> ObservedGraph:
    """The graph in floats, with a view of all that int8 would round."""
    builder = _Builder(weights, None)
    planes, heads = builder.network(architecture)
    outputs = [*heads, *builder.rounded.values()]
    return ObservedGraph(ov.Model([ops.result(output) for output in outputs], [planes], "tengen"), (*builder.rounded,))


class _Builder:
    """Puts operations one after another. Names are those of the weights: `trunk.3.branches.1.0`."""

    def __init__(self, weights: Weights, ranges: Ranges | None) -> None:
        self.weights = weights
        self.ranges = ranges
        self.rounded: dict[str, Any] = {}  # tensors that int8 rounds, by name, as they are before it
        self._in_steps: set[str] = set()  # operations that put them out, whether there are ranges or not

    def network(self, architecture: Architecture, heads: Sequence[str] = PLAYING) -> tuple[Any, list[Any]]:
        """The parameter, and the outputs of those of the heads that there are."""
        shape = [-1, architecture.planes, architecture.size, architecture.width]
        planes = ops.parameter(shape, np.uint8, name="planes")
        x = ops.convert(planes, "f32")
        if self.ranges is not None:
            x = _fake_quantize(x, 0, 255)  # changes nothing, and lets OpenVINO use bytes
        self._in_steps.add(x.get_friendly_name())
        trunk = self.sequence(x, architecture.trunk, "trunk")
        parts = architecture.parts()
        return planes, [self.sequence(trunk, parts[name], name) for name in heads if parts[name]]

    def sequence(self, x: Any, layers: tuple[Layer, ...], prefix: str) -> Any:
        """The output of layers one after another."""
        for index, layer in enumerate(layers):
            x = self.apply(x, layer, f"{prefix}.{index}")
        return x

    def apply(self, x: Any, layer: Layer, name: str) -> Any:
        """The output of one layer over x."""
        match layer:
            case Conv():
                return self.convolution(x, layer, name)
            case Dense():
                return self.dense(x, layer, name)
            case BatchNorm():
                return self.batch_norm(x, name)
            case Activation(kind):
                x = self.activation(x, kind, name)
                return self.round(x, name) if len(x.get_output_partial_shape(0)) == 4 else x
            case Dropout():
                return x
            case Pool(kind, window):
                return _pool(x, kind, window)
            case GlobalPool():
                return ops.concat([_over_board(ops.reduce_mean, x), _over_board(ops.reduce_max, x)], 1)
            case Means():
                return _over_board(ops.reduce_mean, x)
            case Channels(first, last):
                return ops.slice(x, *(ops.constant(np.array([number], np.int64)) for number in (first, last, 1, 1)))
            case Flatten():
                return ops.reshape(x, ops.constant(np.array([0, -1], np.int64)), True)
            case Planes():
                return ops.reshape(x, ops.constant(np.array([0, -1, 1, 1], np.int64)), True)
            case PositionBias():
                return ops.add(x, ops.constant(self.weights[f"{name}.bias"]))
            case Sum(branches):
                return self.sum(x, branches, name)
            case Concat(branches):
                return ops.concat(self.branches(x, branches, name), 1)
        raise TypeError(f"no OpenVINO operation for {layer}")

    def branches(self, x: Any, branches: tuple[tuple[Layer, ...], ...], name: str) -> list[Any]:
        """The outputs of branches over the same x."""
        return [self.sequence(x, branch, f"{name}.branches.{number}") for number, branch in enumerate(branches)]

    def convolution(self, x: Any, layer: Conv, name: str) -> Any:
        before = (layer.kernel - 1) // 2
        after = layer.kernel - 1 - before
        x = ops.convolution(x, self.weight(x, name), [1, 1], [before, before], [after, after], [1, 1])
        return ops.add(x, _channels(self.weights[f"{name}.bias"])) if layer.bias else x

    def dense(self, x: Any, layer: Dense, name: str) -> Any:
        if layer.inputs * layer.outputs >= _LARGE and not self.is_rounded(x):
            x = self.round(x, name)
        product = ops.matmul(x, self.weight(x, name), False, True)
        return ops.add(product, ops.constant(self.weights[f"{name}.bias"]))

    def sum(self, x: Any, branches: tuple[tuple[Layer, ...], ...], name: str) -> Any:
        if () in branches and not self.is_rounded(x):
            # OpenVINO 2026.4 adds up the wrong numbers if an integer convolution leads to an addition unrounded and
            # to another operation too, as the first one does in a tower that activates before its convolutions.
            x = self.round(x, name)
        first, *others = self.branches(x, branches, name)
        for other in others:
            first = ops.add(first, other)
        return first

    def activation(self, x: Any, kind: str, name: str) -> Any:
        if kind == "prelu":
            return ops.prelu(x, ops.constant(self.weights[f"{name}.weight"]))
        return _ACTIVATIONS[kind](x)

    def batch_norm(self, x: Any, name: str) -> Any:
        variance = self.weights[f"{name}.running_var"] + np.float32(_EPSILON)
        scale = self.weights[f"{name}.weight"] / np.sqrt(variance)
        shift = self.weights[f"{name}.bias"] - self.weights[f"{name}.running_mean"] * scale
        return ops.add(ops.multiply(x, _channels(scale)), _channels(shift))

    def round(self, x: Any, name: str) -> Any:
        """x in steps of its range, if there are ranges. Where nothing is negative no step is spent on it."""
        self.rounded[name] = x
        if self.ranges is not None and name in self.ranges:
            low, high = map(float, self.ranges[name])
            reach = max(-low, high, _SMALLEST_RANGE)
            # Zero is one of the steps, as padding needs it.
            x = _fake_quantize(x, 0, reach) if low >= 0 else _fake_quantize(x, -reach * 128 / 127, reach)
        self._in_steps.add(x.get_friendly_name())
        return x

    def is_rounded(self, x: Any) -> bool:
        """Whether x has been rounded to steps, and only been moved since."""
        node = x.get_node() if isinstance(x, ov.Output) else x
        while node.get_type_name() in _LOSSLESS:
            node = node.input_value(0).get_node()
        return node.get_friendly_name() in self._in_steps

    def weight(self, x: Any, name: str) -> Any:
        """The weights that multiply x: as bytes, each output channel with its own scale, if x is rounded itself."""
        weight = self.weights[f"{name}.weight"]
        if self.ranges is None or not self.is_rounded(x):
            return ops.constant(weight)
        each = (len(weight), *(1,) * (weight.ndim - 1))
        largest = np.abs(weight).max(axis=tuple(range(1, weight.ndim)))
        scale = np.maximum(largest, np.float32(1e-12)).reshape(each) / np.float32(127)
        return ops.multiply(
            ops.convert(ops.constant(np.rint(weight / scale).astype(np.int8)), "f32"), ops.constant(scale)
        )


def _fake_quantize(x: Any, low: float, high: float) -> Any:
    """x rounded to 256 numbers from low to high."""
    ends = [ops.constant(np.array(end, np.float32)) for end in (low, high)]
    return ops.fake_quantize(x, *ends, *ends, 256)


def _over_board(reduce: Callable[..., Any], x: Any) -> Any:
    return reduce(x, ops.constant(np.array([2, 3], np.int64)), False)


def _pool(x: Any, kind: str, window: int) -> Any:
    square, none = [window, window], [0, 0]
    if kind == "max":
        return ops.max_pool(x, square, [1, 1], none, none, square, "ceil").output(0)
    return ops.avg_pool(x, square, none, none, square, True, "ceil")


def _channels(values: NDArray[np.float32]) -> Any:
    """One number a channel, as a constant that fits [B, C, H, W]."""
    return ops.constant(np.ascontiguousarray(values.reshape(1, -1, 1, 1)))


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": ops.relu,
    "leaky_relu": lambda x: ops.prelu(x, ops.constant(np.array([0.01], np.float32))),
    "elu": lambda x: ops.elu(x, 1.0),
    "selu": lambda x: ops.selu(x, *(ops.constant(np.array([number], np.float32)) for number in _SELU)),
    "gelu": lambda x: ops.gelu(x, "erf"),
    "silu": ops.swish,
    "mish": ops.mish,
    "sigmoid": ops.sigmoid,
    "tanh": ops.tanh,
}
