"""How fast a network learns on this machine: steps of the optimiser, timed."""

import time
from collections.abc import Iterable

import torch
from torch.nn import functional

from tengen.encode.go import get_go_encoder
from tengen.learn.device import answers
from tengen.learn.loader import RecordBatch
from tengen.nets.network import build_network
from tengen.nets.registry import parse_network


class StepTimer:
    """A network and its optimiser, ready to be timed on any batches."""

    def __init__(self, network: str, encoder: str, size: int, batch: int = 64) -> None:
        torch.set_num_threads(1)
        self.batch = batch
        name, arguments = parse_network(network)
        self._network = build_network(name, get_go_encoder(encoder).planes, size, seed=1, **arguments)
        self._optimizer = torch.optim.SGD(self._network.parameters(), 0.01, momentum=0.9)

    def speed(self, batches: Iterable[RecordBatch]) -> float:
        """Positions per second over these batches, the making of the batches included."""
        seen, start = 0, time.perf_counter()
        for batch in batches:
            self._step(batch)
            seen += len(batch.moves)
        return seen / (time.perf_counter() - start)

    def _step(self, batch: RecordBatch) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        logits = answers(self._network, batch.planes, bf16=True).policy
        loss = functional.cross_entropy(logits.float(), torch.from_numpy(batch.moves))
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
