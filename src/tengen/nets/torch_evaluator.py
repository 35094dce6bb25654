"""PyTorch as an evaluator: for networks under training, and for GPUs."""

from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray

from tengen.nets.evaluator import check_planes
from tengen.nets.network import Network


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
