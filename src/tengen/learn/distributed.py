"""Where a network is trained: on the processor or on a graphics card, by one process or by several.

The network, its optimiser and the average of its weights are on the device. What the network says, some hundred numbers
a position, comes back to the processor, where losses are computed: so trainers move their networks, and nothing else.

Several processes each learn from their part of every batch (data parallelism, by torch.distributed). All hold the same
network and optimiser; torch's DistributedDataParallel averages the gradients while they are computed, so all take the
same step. Rank 0, the leader, has the run directory: it validates, writes checkpoints, and decides when to stop. A loss
that is a plain mean over positions has the same gradient as that of the whole batch in one process. What is normalised
within a batch is so within the part: batch normalisation, and the weights of the value loss.
"""

import socket
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import timedelta
from functools import cache
from typing import Any, Final

import numpy as np
import torch
import torch.distributed as distributed
from numpy.typing import NDArray
from torch import nn
from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel

from tengen.nets.network import PolicyValueOutput

PATIENCE: Final = timedelta(minutes=10)
"""How long processes wait for the others: the leader validates meanwhile, or a machine is slow."""


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


class SingleProcess:
    """The group of a process that trains by itself."""

    rank, size = 0, 1

    def part(self, batch: int) -> tuple[int, int]:
        """Which positions of a batch are this process's: the first, and how many."""
        first = batch * self.rank // self.size
        return first, batch * (self.rank + 1) // self.size - first

    def share(self, positions: int, batch: int) -> float:
        """Which share of a batch these positions of this process are."""
        return 1.0

    def wrap(self, network: nn.Module) -> Any:
        """The network, its gradients averaged over the group."""
        return network

    def agree(self, more: bool, seconds: float) -> tuple[bool, float]:
        """Whether to take another step and how long the run has taken, as the leader says."""
        return more, seconds

    def mean(self, losses: Mapping[str, float], share: float) -> dict[str, float]:
        """Parts of the loss over the whole batch, of which this process had this share."""
        return dict(losses)


class Group(SingleProcess):
    """The group of several processes, one of which is this one."""

    def __init__(self, store: Any, rank: int, size: int, device: torch.device) -> None:
        """Wait for all others; they meet at the store, which is one of torch.distributed, and train on the device."""
        self.rank, self.size = rank, size
        kind = "cpu:gloo,cuda:nccl" if distributed.is_nccl_available() and device.type == "cuda" else "gloo"
        distributed.init_process_group(kind, store=store, rank=rank, world_size=size, timeout=PATIENCE)

    def share(self, positions: int, batch: int) -> float:
        """Which share of a batch these positions of this process are."""
        return positions / batch

    def wrap(self, network: nn.Module) -> Any:
        """The network, its gradients averaged over the group."""
        return DistributedDataParallel(network)

    def agree(self, more: bool, seconds: float) -> tuple[bool, float]:
        """Whether to take another step and how long the run has taken, as the leader says."""
        said = torch.tensor([float(more), seconds], dtype=torch.float64)
        distributed.broadcast(said, 0)
        return bool(said[0]), float(said[1])

    def mean(self, losses: Mapping[str, float], share: float) -> dict[str, float]:
        """Parts of the loss over the whole batch, of which this process had this share."""
        parts = torch.tensor(list(losses.values()), dtype=torch.float64) * share
        distributed.all_reduce(parts)
        return dict(zip(losses, parts.tolist()))

    def close(self) -> None:
        """Leave the group."""
        distributed.destroy_process_group()


def open_store(address: str) -> TCPStore:
    """Where the processes of a group meet. It listens on this address alone: a store of its own would on all."""
    listener = socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    port = listener.getsockname()[1]
    return TCPStore(
        address,
        port,
        is_master=True,
        wait_for_workers=False,
        timeout=PATIENCE,
        master_listen_fd=listener.detach(),
    )
