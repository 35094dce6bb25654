"""Networks to play with: an architecture and its weights as an OpenVINO graph, built without torch.

The graph reads planes as bytes and computes in 32-bit floats. Batch normalisation is written as a scale and a shift,
which OpenVINO folds into the convolution before it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as ops

from tengen.nets.layers import (
    Activation,
    Architecture,
    BatchNorm,
    Concat,
    Conv,
    Dense,
    Dropout,
    Flatten,
    GlobalPool,
    Layer,
    Planes,
    Pool,
    PositionBias,
    Sum,
)

Weights = Mapping[str, NDArray[np.float32]]
_EPSILON = 1e-5  # PyTorch's, in batch normalisation
_SELU = (1.6732632423543772, 1.0507009873554805)


def build_graph(architecture: Architecture, weights: Weights) -> ov.Model:
    """The graph of a network: planes uint8[?, C, N, N] -> policy float32[?, actions], value float32[?, 1] if any."""
    size = architecture.size
    planes = ops.parameter([-1, architecture.planes, size, size], np.uint8, name="planes")
    trunk = _sequence(ops.convert(planes, "f32"), architecture.trunk, "trunk", weights)
    heads = [_sequence(trunk, architecture.policy, "policy", weights)]
    if architecture.value:
        heads.append(_sequence(trunk, architecture.value, "value", weights))
    return ov.Model([ops.result(head) for head in heads], [planes], "tengen")


def _sequence(x: Any, layers: tuple[Layer, ...], prefix: str, weights: Weights) -> Any:
    for index, layer in enumerate(layers):
        x = _apply(x, layer, f"{prefix}.{index}", weights)
    return x


def _apply(x: Any, layer: Layer, name: str, weights: Weights) -> Any:
    """The output of one layer over x; its weights are those under its name."""
    match layer:
        case Conv():
            return _convolution(x, layer, name, weights)
        case Dense():
            product = ops.matmul(x, ops.constant(weights[f"{name}.weight"]), False, True)
            return ops.add(product, ops.constant(weights[f"{name}.bias"]))
        case BatchNorm():
            return _batch_norm(x, name, weights)
        case Activation("prelu"):
            return ops.prelu(x, ops.constant(weights[f"{name}.weight"]))
        case Activation(kind):
            return _ACTIVATIONS[kind](x)
        case Dropout():
            return x
        case Pool(kind, window):
            return _pool(x, kind, window)
        case GlobalPool():
            board = ops.constant(np.array([2, 3], np.int64))
            return ops.concat([ops.reduce_mean(x, board, False), ops.reduce_max(x, board, False)], 1)
        case Flatten():
            return ops.reshape(x, ops.constant(np.array([0, -1], np.int64)), True)
        case Planes():
            return ops.reshape(x, ops.constant(np.array([0, -1, 1, 1], np.int64)), True)
        case PositionBias():
            return ops.add(x, ops.constant(weights[f"{name}.bias"]))
        case Sum(branches):
            first, *others = _branches(x, branches, name, weights)
            for other in others:
                first = ops.add(first, other)
            return first
        case Concat(branches):
            return ops.concat(_branches(x, branches, name, weights), 1)
    raise TypeError(f"no OpenVINO operation for {layer}")


def _branches(x: Any, branches: tuple[tuple[Layer, ...], ...], name: str, weights: Weights) -> list[Any]:
    return [_sequence(x, branch, f"{name}.branches.{number}", weights) for number, branch in enumerate(branches)]


def _convolution(x: Any, layer: Conv, name: str, weights: Weights) -> Any:
    before = (layer.kernel - 1) // 2
    after = layer.kernel - 1 - before
    kernel = ops.constant(weights[f"{name}.weight"])
    x = ops.convolution(x, kernel, [1, 1], [before, before], [after, after], [1, 1])
    return ops.add(x, _channels(weights[f"{name}.bias"])) if layer.bias else x


def _batch_norm(x: Any, name: str, weights: Weights) -> Any:
    scale = weights[f"{name}.weight"] / np.sqrt(weights[f"{name}.running_var"] + np.float32(_EPSILON))
    shift = weights[f"{name}.bias"] - weights[f"{name}.running_mean"] * scale
    return ops.add(ops.multiply(x, _channels(scale)), _channels(shift))


def _pool(x: Any, kind: str, window: int) -> Any:
    square, none = [window, window], [0, 0]
    if kind == "max":
        return ops.max_pool(x, square, [1, 1], none, none, square, "ceil").output(0)
    return ops.avg_pool(x, square, none, none, square, True, "ceil")


def _channels(values: NDArray[np.float32]) -> Any:
    """One number a channel, as a constant that fits [B, C, N, N]."""
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
