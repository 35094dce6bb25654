"""Training by several processes at once, each on its part of every batch (data parallelism, by torch.distributed).

All processes hold the same network and optimiser. Each computes the gradient of its part of the batch; torch's
DistributedDataParallel averages the gradients while they are computed, so all take the same step. Rank 0, the leader,
has the run directory: it validates, writes checkpoints, and decides when to stop.

A loss that is a plain mean over positions has the same gradient as that of the whole batch in one process. What is
normalised within a batch is so within the part: batch normalisation, and the weights of the value loss.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import torch
import torch.distributed as distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

PATIENCE: Final = timedelta(minutes=10)
"""For which the others are waited for: the leader validates meanwhile, or a machine is slow."""


class Alone:
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

    def agree(self, going_on: bool, seconds: float) -> tuple[bool, float]:
        """Whether to take another step and how long the run has taken: as the leader has it."""
        return going_on, seconds

    def mean(self, losses: Mapping[str, float], share: float) -> dict[str, float]:
        """Parts of the loss over the whole batch, of which this process had this share."""
        return dict(losses)


class Group(Alone):
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

    def agree(self, going_on: bool, seconds: float) -> tuple[bool, float]:
        """Whether to take another step and how long the run has taken: as the leader has it."""
        said = torch.tensor([float(going_on), seconds], dtype=torch.float64)
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
