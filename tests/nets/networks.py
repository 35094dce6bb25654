"""Networks for the tests: one of every kind, small, with batch statistics as if they had been trained."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tengen.nets.network import Network, build_network

# One of each kind and of each option that changes what is computed.
SPECS = [
    "small:filters=8-6,dense=16",
    "small:filters=8-6,dense=16,batch_norm=yes,dropout=0.2,activation=elu,first_kernel=4,kernel=2",
    "small:filters=4-4,dense=8,pooling=max,pooling_window=2",
    "small:filters=4-4,dense=8,pooling=average,pooling_window=3",
    "medium:filters=8-6-4,dense=16",
    "large:filters=8-6-4,dense=16",
    "alphago:layers=4,filters=8",
    "alphago:layers=3,filters=8,batch_norm=yes,dropout=0.1,activation=mish",
    "alphago-value:layers=3,filters=8,hidden=16",
    "alphago-value:layers=2,filters=8,hidden=300,batch_norm=yes,dropout=0.1,activation=mish",
    "residual:blocks=2,filters=8,head_filters=4",
    "residual:blocks=2,filters=8,head_filters=4,order=pre,activation=silu,dropout=0.1,value=yes,value_hidden=5",
    "residual:blocks=3,filters=8,head_filters=4,pool_every=2,value=yes,value_hidden=5",
    "residual:blocks=1,filters=8,head_filters=4,value=yes,value_hidden=5,value_norm=yes",
    "residual:blocks=0,filters=4,head_filters=4",
    "residual:blocks=1,filters=8,head_filters=4,value=yes,value_hidden=5,ownership=yes,score=yes",
    "microchess-lecture:layers=2,filters=8,dense=16,state_planes=1",
    "simple-go:filters=8-6,hidden=12,after=first",
    "simple-go:filters=8-6-4,hidden=200,dropout=0.1",
]

# Boards that are not square, and policies that are not Go's: size, width, actions (None: a point each and the pass).
BOARDS = [(5, 4, 436), (3, 7, None), (4, 4, 16)]


def lived_in(name: str, planes: int, size: int, **arguments: Any) -> Network:
    """A network whose normalisation and biases are not at their first values, in evaluation mode."""
    network = build_network(name, planes, size, seed=1, **arguments)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                assert module.running_mean is not None and module.running_var is not None
                module.running_mean.normal_(0, 0.5, generator=generator)
                module.running_var.uniform_(0.5, 2, generator=generator)
                module.weight.uniform_(0.5, 1.5, generator=generator)
        for name_, parameter in network.named_parameters():
            if name_.endswith("bias"):
                parameter.normal_(0, 0.5, generator=generator)
    return network.eval()


def some_planes(batch: int, planes: int, size: int, width: int | None = None) -> NDArray[np.uint8]:
    """Planes of zeros and ones, the same for the same batch."""
    return np.random.default_rng(batch).integers(0, 2, (batch, planes, size, width or size), dtype=np.uint8)
