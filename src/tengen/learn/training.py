"""The training loop that supervised learning and value learning share.

An optimiser with a schedule, a running average of the weights, validation on the same positions every time, a
checkpoint from which the same command goes on exactly, early stopping. An *epoch* is a number of positions between two
validations, not a pass over the data, which may be endless.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Final, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tengen.learn.checkpoint import load_checkpoint, save_checkpoint
from tengen.learn.data_parallel import Alone
from tengen.learn.device import answers, find_device
from tengen.learn.optimizers import DEFAULT_RATES, DivergedError, build_optimizer, rate_at
from tengen.learn.training_config import TrainingConfig
from tengen.learn.warm_start import start_from
from tengen.nets.model_file import ModelCard, is_calibrated, load_network, save_model
from tengen.nets.network import Network, PolicyValueOutput, build_network
from tengen.nets.quantize import calibrate
from tengen.nets.registry import parse_network
from tengen.runs.folder import RunDirectory, deferred_interrupts

CHECKPOINT_FILE: Final = "trainer.safetensors"
CALIBRATION: Final = 1024
"""Positions on which a finished model is calibrated for int8."""

Config = TypeVar("Config", bound=TrainingConfig)
Batch = TypeVar("Batch")


@dataclass(frozen=True)
class TrainingProgress:
    """Where a run stands, for a progress bar."""

    step: int
    steps: int
    positions: int
    loss: float
    """Running mean of the training loss: of the moves in supervised learning, of the results in value learning."""
    rate: float
    """Learning rate now."""
    speed: float
    """Positions per second since this start."""
    done: float
    """Which share of the run is done, 0 to 1."""
    validation: dict[str, Any] | None = None
    """Set when a validation has just been made."""


class Trainer(ABC, Generic[Config, Batch]):
    """One run: the network, its optimiser, and where it stands. What is learned is for a subclass to say."""

    def __init__(self, config: Config, run: RunDirectory, planes: int, group: Alone | None = None) -> None:
        """`group`: those who train together; None: nobody else."""
        self.config, self.run, self._planes = config, run, planes
        self.group = group or Alone()
        self.steps = max(1, config.positions // config.batch) if config.positions else 0
        self.step, self.best, self.stale = 0, dict[str, Any](loss=float("inf")), 0
        self.running, self.seconds = dict[str, float](), 0.0
        resumed = (run.path / CHECKPOINT_FILE).exists()
        self.network = self._new_network()
        if config.start_from and not resumed:
            start_from(self.network, config.start_from)
        self.device = find_device(config.device)
        self.network.to(self.device)
        self.rate = config.rate or DEFAULT_RATES.get(config.optimizer, 0.01)
        weights = self.network.parameters()
        self.optimizer = build_optimizer(config.optimizer, weights, self.rate, config.momentum, config.decay)
        self.average: dict[str, Tensor] = {}
        if config.average:
            self.average = {name: value.clone() for name, value in self.network.state_dict().items()}
        if resumed:
            self._resume()
        else:
            torch.manual_seed(config.seed)
        run.rewind(self.step)
        self._forward = self.group.wrap(self.network)

    @abstractmethod
    def batches(self) -> Generator[Batch]:
        """Batches without end, from position `step * batch` on; of each the part that is this process's."""

    @abstractmethod
    def planes_of(self, batch: Batch) -> NDArray[np.uint8]:
        """What the network sees of a batch: uint8[B, C, N, N]."""

    @abstractmethod
    def losses(self, output: PolicyValueOutput, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """What to minimise, and the parts of it to report by name, of which `loss` is one."""

    @abstractmethod
    def measure(self, network: Network) -> dict[str, Any]:
        """How well a network does on the test positions; the best model has the lowest `loss`.

        A name that begins with `train_` is of positions learned from.
        """

    @abstractmethod
    def describe(self, network: Network, measures: dict[str, Any]) -> ModelCard:
        """The card of a model."""

    @abstractmethod
    def calibration_planes(self) -> NDArray[np.uint8]:
        """Planes uint8[CALIBRATION, C, N, N] of positions to learn from."""

    def train(self, on_progress: Callable[[TrainingProgress], None]) -> dict[str, Any]:
        """Learn until the positions are used up or patience is; returns the best validation."""
        config = self.config
        first, first_seconds = self.step, self.seconds
        every = max(1, config.epoch // config.batch)
        with deferred_interrupts() as interrupted, closing(self.batches()) as batches:
            while self._agree(self.done < 1.0 and not 0 < config.patience <= self.stale):
                self._advance(batches)
                validation, stop = None, interrupted()
                if self.step % every == 0 or self.done >= 1.0:
                    validation = self._validate()
                if validation or self.step % config.checkpoint == 0 or stop:
                    self._checkpoint()
                speed = (self.step - first) * config.batch / max(1e-9, self.seconds - first_seconds)
                on_progress(self._progress(speed, validation))
                if stop:
                    raise KeyboardInterrupt
        self._calibrate()
        return self.best

    def follow(self) -> None:
        """Take part in what the leader of the group learns, until it has finished; nothing is written."""
        with closing(self.batches()) as batches:
            while self._agree(True):
                self._advance(batches)

    def _agree(self, going_on: bool) -> bool:
        going_on, self.seconds = self.group.agree(going_on, self.seconds)
        return going_on

    @property
    def done(self) -> float:
        """Which share of the run is done, 0 to 1: by positions, or by time if that runs out first."""
        by_time = self.seconds / (3600 * self.config.hours) if self.config.hours else 0.0
        return max(self.step / self.steps if self.steps else 0.0, by_time)

    @property
    def positions(self) -> int:
        """How many positions have been learned from."""
        return self.step * self.config.batch

    def recipe(self, *without: str) -> dict[str, Any]:
        """The settings for a model's card, but for those that name files of this machine."""
        return {name: value for name, value in asdict(self.config).items() if name not in without}

    def _advance(self, batches: Iterator[Batch]) -> None:
        """Take one step, timed."""
        began = time.monotonic()
        losses = self._learn(next(batches))
        if not math.isfinite(sum(losses.values())):
            raise DivergedError(
                f"the loss is NaN or infinite at step {self.step}: start again with another --out and a lower --rate "
                f"than {self.rate:g}, or with --clip"
            )
        self.step += 1
        self.seconds += time.monotonic() - began
        weight = max(0.01, 1.0 / self.step)  # the mean of all losses at first, then mostly of the last hundred
        for name, loss in losses.items():
            before = self.running.get(name, 0.0)
            self.running[name] = before + weight * (loss - before)

    def _learn(self, batch: Batch) -> dict[str, float]:
        """One step of the optimiser; returns the parts of the loss."""
        config, planes = self.config, self.planes_of(batch)
        factor = rate_at(config.schedule, self.done, config.warm_up)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * factor
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        total, parts = self.losses(answers(self._forward, planes, config.bf16), batch)
        share = self.group.share(len(planes), config.batch)
        (total * (share * self.group.size)).backward()  # type: ignore[no-untyped-call]
        if config.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.clip)
        self.optimizer.step()
        self._follow()
        return self.group.mean({name: float(part.detach()) for name, part in parts.items()}, share)

    def _follow(self) -> None:
        """Move the running average of weights a little towards the weights."""
        if not self.average:
            return
        weight = 1.0 - min(self.config.average, (self.step + 1) / (self.step + 10))
        for name, value in self.network.state_dict().items():
            if value.dtype.is_floating_point:
                self.average[name].lerp_(value, weight)
            else:
                self.average[name].copy_(value)

    def _validate(self) -> dict[str, Any]:
        """Measure on the test positions; keep the model, as the best one if it is."""
        network = self._averaged()
        measures = self.measure(network)
        line: dict[str, Any] = {"step": self.step, "positions": self.positions}
        line |= {f"train_{name}": round(loss, 4) for name, loss in self.running.items() if name in measures}
        line |= {"rate": self.optimizer.param_groups[0]["lr"], "seconds": round(self.seconds, 1)}
        line |= {name if name.startswith("train_") else f"test_{name}": value for name, value in measures.items()}
        self.run.record(line)
        card = self.describe(network, measures)
        save_model(self.run.path / "last.safetensors", network, card)
        if measures["loss"] < self.best["loss"]:
            self.best, self.stale = measures | {"step": self.step}, 0
            save_model(self.run.path / "best.safetensors", network, card)
        else:
            self.stale += 1
        return line

    def _averaged(self) -> Network:
        if not self.average:
            return self.network.eval()
        network = self._new_network().to(self.device)
        network.load_state_dict(self.average)
        return network.eval()

    def _new_network(self) -> Network:
        name, arguments = parse_network(self.config.network)
        return build_network(name, self._planes, self.config.size, seed=self.config.seed, **arguments)

    def _checkpoint(self) -> None:
        progress = {"step": self.step, "best": self.best, "stale": self.stale, "seconds": self.seconds}
        progress |= {f"running_{name}": loss for name, loss in self.running.items()}
        save_checkpoint(self.run.path / CHECKPOINT_FILE, self.network, self.optimizer, self.average, progress)

    def _resume(self) -> None:
        path = self.run.path / CHECKPOINT_FILE
        progress = load_checkpoint(path, self.network, self.optimizer, self.average)
        self.step, self.best, self.stale = progress["step"], progress["best"], progress["stale"]
        self.seconds = progress["seconds"]
        self.running = {
            name.removeprefix("running_"): loss for name, loss in progress.items() if name.startswith("running_")
        }

    def _calibrate(self) -> None:
        """Let the finished models be played in 8-bit integers."""
        planes = self.calibration_planes()
        for path in (self.run.path / f"{name}.safetensors" for name in ("best", "last")):
            if path.exists() and not is_calibrated(path):
                network, card = load_network(path)
                save_model(path, network, card, ranges=calibrate(network.architecture, network.weights(), planes))

    def _progress(self, speed: float, validation: dict[str, Any] | None) -> TrainingProgress:
        rate, loss = self.optimizer.param_groups[0]["lr"], self.running["loss"]
        return TrainingProgress(self.step, self.steps, self.positions, loss, rate, speed, self.done, validation)
