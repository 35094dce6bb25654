"""Rounding as int8 does it, the slow and obvious way: in PyTorch, in floats, layer by layer."""

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tengen.nets.network import Network
from tengen.nets.openvino_graph import Ranges


def evaluate_rounded(
    network: Network, ranges: Ranges, planes: NDArray[np.uint8]
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Logits and values of a network whose tensors at all ranges, and all weights that meet them, are rounded."""
    network = copy.deepcopy(network)
    modules = dict(network.named_modules())
    for name, (low, high) in ranges.items():
        step, least = (high / 255, 0) if low >= 0 else (max(-low, high) / 127, -128)
        round_ = _rounding(float(step), least)
        # Of an activation it is the output that is rounded, of a dense layer and of an addition the input.
        if isinstance(modules[name], nn.ReLU | nn.SiLU | nn.Mish | nn.ELU):
            modules[name].register_forward_hook(lambda module, inputs, output, round_=round_: round_(output))
        else:
            modules[name].register_forward_pre_hook(lambda module, inputs, round_=round_: round_(inputs[0]))
    for name, module in modules.items():
        if isinstance(module, nn.Conv2d) or (isinstance(module, nn.Linear) and _reads_rounded(name, modules, ranges)):
            with torch.no_grad():
                largest = module.weight.abs().flatten(1).amax(1) / 127
                scale = largest.reshape(-1, *(1,) * (module.weight.ndim - 1))
                module.weight.copy_((module.weight / scale).round() * scale)
    with torch.inference_mode():
        output = network.eval()(torch.from_numpy(planes))
    return output.policy.numpy(), None if output.value is None else output.value.numpy()


def _rounding(step: float, least: int):  # type: ignore[no-untyped-def]
    def round_(x: Tensor) -> Tensor:
        return (x / step).round().clamp(least, least + 255) * step

    return round_


def _reads_rounded(name: str, modules: dict[str, nn.Module], ranges: Ranges) -> bool:
    """Whether the input of a dense layer is rounded: there, or earlier, and only moved since."""
    prefix, _, number = name.rpartition(".")
    earlier = [f"{prefix}.{before}" for before in range(int(number), -1, -1)]
    if prefix in ("policy", "value", "outcome"):
        earlier += [f"trunk.{before}" for before in reversed(range(len(modules["trunk"])))]  # type: ignore[arg-type]
    for place in earlier:
        if place in ranges:
            return True
        if place != name and not isinstance(modules[place], nn.Flatten | nn.Dropout | nn.MaxPool2d):
            return False
    return False
