"""Where a network is trained, on the processor or on a graphics card, and in how many bits.

The network, its optimiser and the average of its weights are on the device. What the network says, some hundred numbers
a position, comes back to the processor, where losses are computed: so trainers move their networks, and nothing else.
"""

from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tengen.nets.network import PolicyValueOutput


def find_device(name: str) -> torch.device:
    """The device of this name: cpu, cuda, cuda:1, mps, ... ValueError if it is not there."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(
            f"no device is called {name[:40]!r}: take cpu or cuda, or cuda:1 for the second card"
        ) from None
    if (device.index or 0) >= _count(device.type):
        raise ValueError(
            f"PyTorch finds no device {name[:40]} here: leave --device out, or see pytorch.org for a build"
        )
    return device


def _count(kind: str) -> int:
    """How many devices of a kind PyTorch can use here."""
    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    return int(kind == "cpu" or (kind == "mps" and torch.backends.mps.is_available()))


def answers(network: Any, planes: NDArray[np.uint8], bf16: bool = False, to_play: bool = False) -> PolicyValueOutput:
    """What a network says of planes uint8[B, C, H, W], as tensors of the processor, through which gradients flow.

    bf16: compute in 16-bit bfloat where that is safe, if the device can.
    """
    device = next(network.parameters()).device
    short = bf16 and multiplies_bfloat(device.type)
    with torch.autocast(device.type, torch.bfloat16) if short else nullcontext():
        output = network(torch.from_numpy(planes).to(device), to_play=to_play)
    return PolicyValueOutput._make(None if part is None else part.cpu() for part in output)


@cache
def multiplies_bfloat(kind: str) -> bool:
    """Whether devices of this kind multiply bfloats. One that imitates it trains ten times as slowly as in 32 bits."""
    if kind == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return kind == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
