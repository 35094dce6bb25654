"""How every method of this package trains a network: a step, its average, a checkpoint, a whole run.

`Trainer` is one network with its optimiser: a step with clipped gradients, the check that the loss is a number, the
running average of the weights, the checkpoint, the export as a model. A method brings its batches and its `losses`.
It may start from the weights of another model: the end of this file says which.

`TrainingRun` is a trainer that learns from a stream of batches until it is done: supervised learning, value learning
and each network of a generation. It adds a schedule, validation on the same positions every time, early stopping, and
a checkpoint from which the same command resumes exactly. An *epoch* is a number of positions between two validations,
not a pass over the data, which may be endless.
"""

import copy
import json
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tengen.encode.encoder import get_encoder
from tengen.learn.distributed import SingleProcess, answers, find_device
from tengen.learn.evaluate import Predict
from tengen.learn.optimizers import DEFAULT_RATES, DivergedError, build_optimizer, rate_at
from tengen.learn.settings import TrainingConfig
from tengen.nets.model_file import ModelCard, find_model, is_calibrated, load_network, read_card, save_model
from tengen.nets.network import Network, PolicyValueOutput, build_network
from tengen.nets.openvino_evaluator import calibrate
from tengen.nets.registry import describe_network, parse_network
from tengen.runs.arrays import load_arrays, save_arrays
from tengen.runs.folder import CHECKPOINT_FILE, FolderError, RunDirectory, deferred_interrupts
from tengen.runs.progress import OnProgress, RunProgress

CALIBRATION: Final = 1024
"""Positions on which a finished model is calibrated for int8."""


class HasPlanes(Protocol):
    """A batch of B positions: what the network sees, and what it should say, as its method knows it."""

    @property
    def planes(self) -> NDArray[np.uint8]:
        """uint8[B, C, H, W]."""


Config = TypeVar("Config", bound=TrainingConfig)
Batch = TypeVar("Batch", bound=HasPlanes)


class Trainer(ABC, Generic[Batch]):
    """A network, its optimiser and the running average of its weights."""

    batch_statistics: ClassVar[bool] = True
    """Whether batch normalisation goes by the batch, and keeps its statistics; else it goes by those it has."""
    to_play: ClassVar[bool] = False
    """Whether the network is asked for what it says in play; else for what it says in training."""
    remedy: ClassVar[str] = "resume with"

    def __init__(
        self,
        network: Network,
        *,
        optimizer: str,
        rate: float,
        momentum: float,
        decay: float = 0.0,
        clip: float = 0.0,
        average: float = 0.0,
        bf16: bool = False,
        device: str = "cpu",
        group: SingleProcess | None = None,
    ) -> None:
        """`decay`: weight decay. `clip`: the norm to which gradients are clipped; 0: they are not.

        `average`: decay of the running average; 0: there is none. `group`: the processes that train together.
        """
        self.group = group or SingleProcess()
        self.device = find_device(device)
        self.network = network.to(self.device)
        self.averaged = copy.deepcopy(self.network) if average else self.network
        """The network that plays, is validated and is saved: the running average if there is one."""
        self.step = 0
        self.full_rate = rate
        self.optimizer = build_optimizer(optimizer, self.network.parameters(), rate, momentum, decay)
        self._clip, self._average, self._bf16 = clip, average, bf16
        self._ours, self._means = (
            [value for value in each.state_dict().values() if value.is_floating_point()]
            for each in (self.network, self.averaged)
        )
        self._forward = self.group.wrap(self.network)

    @abstractmethod
    def losses(self, output: PolicyValueOutput, batch: Batch) -> tuple[Tensor, Mapping[str, Tensor]]:
        """What to minimise, and the parts of it to report by name."""

    @property
    def rate(self) -> float:
        """The learning rate of the last step."""
        return float(self.optimizer.param_groups[0]["lr"])

    def learn(self, batch: Batch, rate: float, whole: int = 0) -> dict[str, float]:
        """One step of the optimiser at this rate; returns the parts of the loss.

        `whole`: positions of the whole batch, if this process has a part of it.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.network.train(self.batch_statistics)
        self.optimizer.zero_grad(set_to_none=True)
        total, parts = self.losses(answers(self._forward, batch.planes, self._bf16, self.to_play), batch)
        share = self.group.share(len(batch.planes), whole)
        (total * (share * self.group.size)).backward()  # type: ignore[no-untyped-call]
        if self._clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._clip)
        self.optimizer.step()
        self.step += 1
        self._follow()
        found = self.group.mean({name: float(part.detach()) for name, part in parts.items()}, share)
        if not math.isfinite(sum(found.values())):
            raise DivergedError(
                f"the loss is NaN or infinite at step {self.step}: {self.remedy} a lower --rate than "
                f"{self.full_rate:g}, or with --clip"
            )
        return found

    def save(self, path: Path, progress: Mapping[str, Any]) -> None:
        """Write a checkpoint, with `progress`: whatever JSON can say."""
        average = {} if self.averaged is self.network else self.averaged.state_dict()
        save_checkpoint(path, self.network, self.optimizer, average, {**progress, "step": self.step})

    def load(self, path: Path) -> dict[str, Any]:
        """Resume from a checkpoint; returns the progress that was saved with it."""
        average: dict[str, Tensor] = {}
        progress = load_checkpoint(path, self.network, self.optimizer, average)
        if self.averaged is not self.network:
            self.averaged.load_state_dict(average or self.network.state_dict())
        self.step = progress.get("step", 0)
        return progress

    def export(self, path: Path, card: ModelCard, planes: NDArray[np.uint8] | None = None) -> None:
        """Write the averaged network as a model, calibrated for 8 bits on planes uint8[n, C, H, W] if there are any."""
        network = self.averaged.eval()
        ranges = None if planes is None else calibrate(network.architecture, network.weights(), planes)
        save_model(path, network, card, ranges=ranges)

    def _follow(self) -> None:
        """Move the running average a little towards the weights; at first it is their plain mean."""
        if self.averaged is not self.network:
            weight = 1.0 - min(self._average, self.step / (self.step + 9))
            with torch.no_grad():
                torch._foreach_lerp_(self._means, self._ours, weight)


class TrainingRun(Trainer[Batch], Generic[Config, Batch]):
    """A run that learns from a stream of batches, in a run directory. What it learns is for a subclass to say."""

    remedy = "start again with another --out and"

    def __init__(self, config: Config, run: RunDirectory, planes: int, group: SingleProcess | None = None) -> None:
        self.config, self.run, self._planes = config, run, planes
        self.steps = max(1, config.positions // config.batch) if config.positions else 0
        self.best, self.stale = dict[str, Any](loss=float("inf")), 0
        self.running, self.seconds = dict[str, float](), 0.0
        checkpoint = run.path / CHECKPOINT_FILE
        network = self.new_network()
        if config.start_from and not checkpoint.exists():
            start_from(network, config.start_from)
        super().__init__(
            network,
            optimizer=config.optimizer,
            rate=config.rate or DEFAULT_RATES[config.optimizer],
            momentum=config.momentum,
            decay=config.decay,
            clip=config.clip,
            average=config.average,
            bf16=config.bf16,
            device=config.device,
            group=group,
        )
        if checkpoint.exists():
            progress = self.load(checkpoint)
            self.best, self.stale, self.seconds = progress["best"], progress["stale"], progress["seconds"]
            running = {name: loss for name, loss in progress.items() if name.startswith("running_")}
            self.running = {name.removeprefix("running_"): loss for name, loss in running.items()}
        else:
            torch.manual_seed(config.seed)
        run.rewind(self.step)

    def new_network(self) -> Network:
        """The network as the run begins."""
        name, arguments = parse_network(self.config.network)
        return build_network(name, self._planes, self.config.size, seed=self.config.seed, **arguments)

    @abstractmethod
    def batches(self) -> Generator[Batch]:
        """Batches without end, from position `step * batch` on; of each the part that is this process's."""

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

    def train(self, on_progress: OnProgress) -> dict[str, Any]:
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
                figures = {"loss": self.running["loss"], "rate": self.rate, "positions/s": speed}
                done = self.done
                on_progress(RunProgress("training", self.step, done, done, self.seconds, figures, validation))
                if stop:
                    raise KeyboardInterrupt
        self._calibrate()
        return self.best

    def follow(self) -> None:
        """Take part in what the leader of the group learns, until it has finished; nothing is written."""
        with closing(self.batches()) as batches:
            while self._agree(True):
                self._advance(batches)

    @property
    def done(self) -> float:
        """Which share of the run is done, 0 to 1: by positions, or by time if that runs out first."""
        by_time = self.seconds / (3600 * self.config.hours) if self.config.hours else 0.0
        return max(self.step / self.steps if self.steps else 0.0, by_time)

    @property
    def positions(self) -> int:
        """How many positions have been learned from."""
        return self.step * self.config.batch

    def _agree(self, more: bool) -> bool:
        more, self.seconds = self.group.agree(more, self.seconds)
        return more

    def _advance(self, batches: Iterator[Batch]) -> None:
        """Take one step, timed."""
        began, config = time.monotonic(), self.config
        rate = self.full_rate * rate_at(config.schedule, self.done, config.warm_up)
        losses = self.learn(next(batches), rate, config.batch)
        self.seconds += time.monotonic() - began
        weight = max(0.01, 1.0 / self.step)  # the mean of all losses at first, then mostly of the last hundred
        for name, loss in losses.items():
            before = self.running.get(name, 0.0)
            self.running[name] = before + weight * (loss - before)

    def _validate(self) -> dict[str, Any]:
        """Measure on the test positions; keep the model, as the best one if it is."""
        network = self.averaged.eval()
        measures = self.measure(network)
        line: dict[str, Any] = {"step": self.step, "positions": self.positions}
        line |= {f"train_{name}": round(loss, 4) for name, loss in self.running.items() if name in measures}
        line |= {"rate": self.rate, "seconds": round(self.seconds, 1)}
        line |= {name if name.startswith("train_") else f"test_{name}": value for name, value in measures.items()}
        self.run.record(line)
        card = self.describe(network, measures)
        self.export(self.run.path / "last.safetensors", card)
        if measures["loss"] < self.best["loss"]:
            self.best, self.stale = measures | {"step": self.step}, 0
            self.export(self.run.path / "best.safetensors", card)
        else:
            self.stale += 1
        return line

    def _checkpoint(self) -> None:
        progress = {"best": self.best, "stale": self.stale, "seconds": self.seconds}
        running = {f"running_{name}": loss for name, loss in self.running.items()}
        self.save(self.run.path / CHECKPOINT_FILE, progress | running)

    def _calibrate(self) -> None:
        """Let the finished models be played in 8-bit integers."""
        planes = self.calibration_planes()
        for path in (self.run.path / f"{name}.safetensors" for name in ("best", "last")):
            if path.exists() and not is_calibrated(path):
                network, card = load_network(path)
                save_model(path, network, card, ranges=calibrate(network.architecture, network.weights(), planes))


def predictor(network: Network, bf16: bool = False) -> Predict:
    """A network as a function from planes uint8[B, C, N, N] to logits float32[B, A] and values float32[B] or None."""

    def predict(planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        with torch.inference_mode():
            output = answers(network, planes, bf16)
        return output.policy.float().numpy(), None if output.value is None else output.value.float().numpy()

    return predict


# -------------------------------------------------------------------------------------------- checkpoints
# One `.safetensors` file with all that a trainer must remember to resume exactly. Tensors lie under `network.`,
# `average.`, `optimizer.<parameter>.<name>` and `random`; everything else (step, best score, ...) is JSON in the
# metadata. The checkpoint before it stays beside it, for the case that the disk damages the newest one.


def save_checkpoint(
    path: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: dict[str, Tensor],
    progress: Mapping[str, Any],
) -> None:
    """Write everything in one step. `progress` is anything that JSON can say."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"average.{name}": value for name, value in average.items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {
            f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in state.items() if value is not None
        }
    tensors["random"] = torch.get_rng_state()
    _keep_last(path)
    arrays = {name: value.detach().cpu().numpy() for name, value in tensors.items()}
    save_arrays(path, arrays, {"progress": json.dumps(progress)})


def load_checkpoint(
    path: Path, network: nn.Module, optimizer: torch.optim.Optimizer, average: dict[str, Tensor]
) -> dict[str, Any]:
    """Put everything back as it was, the average into the dict given; returns the progress that was saved with it."""
    try:
        arrays, about = load_arrays(path)
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        progress: dict[str, Any] = json.loads(about["progress"])
        network.load_state_dict(_part(tensors, "network."))
        weights = network.state_dict()
        average.clear()
        average.update({name: _like(weights[name], value) for name, value in _part(tensors, "average.").items()})
        _load_optimizer(optimizer, _part(tensors, "optimizer."))
        torch.set_rng_state(tensors["random"])
    except (KeyError, IndexError, TypeError, RuntimeError, ValueError) as error:
        before = _last(path)
        remedy = f"resume from the checkpoint before with mv {before} {path}, or " if before.exists() else ""
        raise FolderError(
            f"{path} does not fit this run or is damaged ({error}): {remedy}delete it to start again"
        ) from None
    return progress


def _last(path: Path) -> Path:
    """Where the checkpoint before this one is kept."""
    return path.with_name(f"{path.stem}-before{path.suffix}")


def _keep_last(path: Path) -> None:
    """Give the checkpoint that is about to be replaced a second name, on disks that can."""
    with suppress(OSError):
        _last(path).unlink(missing_ok=True)
        os.link(path, _last(path))


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    full = optimizer.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = value
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    for number, values in state.items():
        state[number] = {name: _like(weights[number], value) for name, value in values.items()}
    optimizer.load_state_dict({"state": state, "param_groups": full["param_groups"]})


def _like(weight: Tensor, value: Tensor) -> Tensor:
    """The value, in the memory order of the weight if it has its shape: a file keeps no memory order."""
    return torch.empty_like(weight, dtype=value.dtype).copy_(value) if value.shape == weight.shape else value


# ------------------------------------------------------------------------ starting from another model
# It is of the same kind, or has fewer inputs and outputs.
#
# | the model may differ in | what becomes of it                                                                       |
# |-------------------------|------------------------------------------------------------------------------------------|
# | its encoder             | if that is the first planes of the run's (compact, compact-komi), new planes begin at 0  |
# | heads that we lack      | left out (ownership and score, which self-play learns)                                   |
# | heads that it lacks     | begin with fresh weights; so does a value head of another kind                           |
# | global pooling, lacking | its shifts begin at 0, so that at first the network says what the model says             |


class StartSettings(Protocol):
    """What decides whether a model can start a run: these settings of it."""

    @property
    def start_from(self) -> str: ...
    @property
    def network(self) -> str: ...
    @property
    def encoder(self) -> str: ...
    @property
    def size(self) -> int: ...


def check_start(config: StartSettings, game: str = "go") -> None:
    """ValueError if the model to start from is of another kind."""
    card = read_card(find_model(config.start_from))
    if not _fits(card, config, game):
        raise ValueError(
            f"{config.start_from} holds {card.network} for {card.game} of {card.size} rows and the encoder "
            f"{card.encoder}, and cannot start a {config.network} for {game} of {config.size} rows and {config.encoder}"
        )


def start_from(network: Network, model: str) -> None:
    """Give a network the weights of a model that fits it."""
    known = load_network(find_model(model))[0]
    theirs, ours = known.state_dict(), network.state_dict()
    same_value = known.architecture.value == network.architecture.value
    for name, weights in theirs.items():
        if name.startswith("value.") and not same_value:
            continue
        place = name if name in ours else _among_pooled(ours, name)
        if place not in ours:
            continue
        if ours[place].shape != weights.shape:  # the first convolution [filters, planes, kernel, kernel]
            ours[place].zero_()[:, : weights.shape[1]] = weights
        else:
            ours[place].copy_(weights)


def _among_pooled(ours: dict[str, Tensor], name: str) -> str:
    """Where the weights of a convolution belong if ours is shifted by global pooling; that shift begins at 0."""
    layer, _, kind = name.rpartition(".")
    for pooled in ours:
        if pooled.startswith(f"{layer}.branches.1.") and pooled.endswith(".weight") and ours[pooled].ndim == 2:
            ours[pooled].zero_()
            ours[pooled.removesuffix("weight") + "bias"].zero_()
    return f"{layer}.branches.0.0.{kind}"


def _fits(card: ModelCard, config: StartSettings, game: str) -> bool:
    name, arguments = parse_network(config.network)
    if (card.game, card.network, card.size) != (game, name, config.size):
        return False
    seen, wanted = get_encoder(card.encoder).meanings, get_encoder(config.encoder).meanings
    known = dict(card.arguments)
    if not known.get("pool_every") and "pool_every" in arguments:
        known["pool_every"] = arguments["pool_every"]
    theirs, ours = (
        describe_network(name, len(wanted), config.size, **card.board(), **each) for each in (known, arguments)
    )
    return seen == wanted[: len(seen)] and (theirs.trunk, theirs.policy) == (ours.trunk, ours.policy)
