"""The measures behind `tengen bench data`: how fast positions are made, and whether training ever waits for them."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch.nn import functional

from tengen.data.dataset import Dataset, Selection, select
from tengen.encode.encoder import encoder_names
from tengen.encode.go import get_go_encoder
from tengen.learn.distributed import answers
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.nets.network import build_network
from tengen.nets.registry import parse_network

_BATCH = 256


@dataclass(frozen=True)
class EncoderSpeed:
    """How fast one thread replays and encodes."""

    encoder: str
    planes: int
    positions_per_second: float


@dataclass(frozen=True)
class TrainingSpeed:
    """Training from the dataset beside training on one batch that never changes, in turn in the same run."""

    network: str
    encoder: str
    real: float
    fixed: float

    @property
    def ratio(self) -> float:
        """1 when training never waits for data."""
        return self.real / self.fixed


def measure_encoders(games: Selection, positions: int, rounds: int) -> list[EncoderSpeed]:
    """Every encoder on the same shuffled positions, one thread, replay and symmetry included, per second of processor
    time; the best round counts."""
    speeds = []
    for name in encoder_names():
        loader = _loader(games, name, _BATCH)
        loader.batch_at(0, _BATCH)  # compiled before anything counts
        best = 0.0
        for _ in range(rounds):
            start = time.process_time()
            for first in range(0, positions, _BATCH):
                loader.batch_at(first, _BATCH)
            best = max(best, -(-positions // _BATCH) * _BATCH / (time.process_time() - start))
        speeds.append(EncoderSpeed(name, get_go_encoder(name).planes, best))
    return speeds


def measure_training(games: Selection, network: str, encoder: str, steps: int, rounds: int) -> TrainingSpeed:
    """Positions/s of training on one core, from real data and on a fixed batch, measured in turn."""
    timer = StepTimer(network, encoder, games.size)
    real, fixed = 0.0, 0.0
    for _ in range(rounds):
        batches = _loader(games, encoder, timer.batch).batches()
        same = next(batches)
        fixed = max(fixed, timer.speed(_repeat(same, steps)))
        real = max(real, timer.speed(_take(batches, steps)))
        batches.close()
    return TrainingSpeed(network, encoder, real, fixed)


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


def open_games(folder: Path, size: int) -> Selection:
    """The training games of a dataset."""
    return select(Dataset.open(folder), "train", size=size)


def print_report(encoders: list[EncoderSpeed], training: TrainingSpeed) -> None:
    """Show the figures on the terminal."""
    table = Table(title="Positions per second, one thread: replay, encode, turn")
    for column in ("encoder", "planes", "positions/s"):
        table.add_column(column, justify="left" if column == "encoder" else "right")
    for speed in encoders:
        table.add_row(speed.encoder, str(speed.planes), f"{speed.positions_per_second:,.0f}")
    Console().print(table)
    Console().print(
        f"Training {training.network} on {training.encoder}: {training.real:,.0f} positions/s from the dataset, "
        f"{training.fixed:,.0f} on one fixed batch: ratio {training.ratio:.2f}"
    )


def write_report(encoders: list[EncoderSpeed], training: TrainingSpeed, path: Path) -> None:
    """Write the figures for machines."""
    report = {
        "encoders": [asdict(speed) for speed in encoders],
        "training": asdict(training) | {"ratio": training.ratio},
    }
    path.write_text(json.dumps(report, indent=2) + "\n")


def _loader(games: Selection, encoder: str, batch: int) -> PositionLoader:
    return PositionLoader(games, get_go_encoder(encoder), batch=batch, seed=1)


def _repeat(batch: RecordBatch, steps: int) -> Iterator[RecordBatch]:
    return (batch for _ in range(steps))


def _take(batches: Iterator[RecordBatch], steps: int) -> Iterator[RecordBatch]:
    return (next(batches) for _ in range(steps))
