"""Supervised learning from game records: predict the move that was played and, with a value head, who won.

The training loop of the KGS lecture, with positions in perfect shuffle, test games set apart by a hash of the game,
validation on the same positions every time, a checkpoint from which the same command goes on exactly, early stop.
An *epoch* is a number of positions between two validations, not a pass over the data, which may be endless.

    loss = cross entropy of the move + value_weight * (z - v)^2        z: 1 won, -1 lost, 0 a draw

The positions of a game share one result, so each counts 1 / (moves of the game) in the value's mean: a long game
teaches no more about results than a short one.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tengen.encode.go import get_go_encoder
from tengen.learn.checkpoint import load_checkpoint, save_checkpoint
from tengen.learn.interrupts import deferred_interrupts
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.measure import PolicyMeasures, Predict, measure_policy
from tengen.learn.optimizers import DEFAULT_RATES, DivergedError, build_optimizer, rate_at
from tengen.learn.run_directory import RunDirectory, read_metrics
from tengen.learn.supervised_config import FREE_SETTINGS, SupervisedConfig
from tengen.learn.supervised_data import chosen_games, rules_learned, validation_batches
from tengen.learn.warm_start import check_start, start_from
from tengen.nets.model_file import ModelCard, is_calibrated, load_network, save_model
from tengen.nets.network import Network, build_network
from tengen.nets.quantize import calibrate
from tengen.nets.registry import describe_network, parse_network

_REPORT_SECONDS: Final = 300.0
_CALIBRATION: Final = 1024  # positions


@dataclass(frozen=True)
class SupervisedProgress:
    """Where a run stands, for a progress bar."""

    step: int
    steps: int
    positions: int
    loss: float
    """Running mean of the training loss, of the policy alone."""
    rate: float
    """Learning rate now."""
    speed: float
    """Positions per second since this start."""
    done: float
    """Which share of the run is done, 0 to 1."""
    validation: dict[str, Any] | None = None
    """Set when a validation has just been made."""


def learn_supervised(
    config: SupervisedConfig | str,
    out: str | Path,
    on_progress: Callable[[SupervisedProgress], None] = lambda _: None,
    *,
    report: bool = True,
    **settings: Any,
) -> dict[str, Any]:
    """Learn to predict the moves of game records, or go on with the run in the directory `out`; returns the best
    validation.

    `config` is a configuration or the folder of a dataset (`tengen data build` makes it); `settings` change it. Ctrl-C
    ends the run after the step under way: a checkpoint is written, then KeyboardInterrupt goes on to the caller. With
    `report`, report.html is written at the end, on resuming, and every few minutes at a validation.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import tengen
    >>> from tengen.data.build import build_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     random = {"workers": 1, "folder": f"{folder}/match"}  # records of random games
    ...     _ = tengen.play_match("random", "random", games=100, size=5, **random)
    ...     built = build_dataset([Path(folder, "match")], Path(folder, "data"), workers=1)
    ...     tiny = {"size": 5, "positions": 256, "validate": 64, "report": False}
    ...     best = tengen.learn_supervised(f"{folder}/data", f"{folder}/run", **tiny)
    >>> built.games, 0 <= best["top1"] <= 1
    (100, True)
    """
    config = SupervisedConfig(config, **settings) if isinstance(config, str) else replace(config, **settings)
    out = Path(out)
    _check_before_writing(config)
    torch.set_num_threads(config.threads)
    run = RunDirectory(out, asdict(config), FREE_SETTINGS, asdict(SupervisedConfig(config.data)))
    try:
        trainer = _Trainer(config, run)
        if not report:
            return trainer.train(on_progress)
        with _reporting(out, on_progress) as report_and_write:
            return trainer.train(report_and_write)
    finally:
        run.close()


@contextmanager
def _reporting(
    run: Path, on_progress: Callable[[SupervisedProgress], None]
) -> Iterator[Callable[[SupervisedProgress], None]]:
    """Write reports: at the start if there are metrics, every few minutes, and at the end."""
    from tengen.learn.report import write_report

    if read_metrics(run):
        write_report(run)
    written = time.monotonic()

    def report_and_write(now: SupervisedProgress) -> None:
        nonlocal written
        on_progress(now)
        if now.validation and time.monotonic() - written >= _REPORT_SECONDS:
            write_report(run)
            written = time.monotonic()

    try:
        yield report_and_write
    except KeyboardInterrupt:
        write_report(run)
        raise
    write_report(run)


def _check_before_writing(config: SupervisedConfig) -> None:
    """Find mistakes while there is no run directory yet."""
    name, arguments = parse_network(config.network)
    parts = describe_network(name, get_go_encoder(config.encoder).planes, config.size, **arguments)
    if not parts.policy:
        raise ValueError(f"{config.network} has no policy to learn moves with: `tengen learn value` trains it")
    if parts.ownership or parts.score:
        raise ValueError(f"records do not teach ownership and score: leave these heads out of {config.network}")
    if config.komi_spread and config.encoder != "compact-komi":
        raise ValueError(f"{config.encoder} does not show the komi that komi_spread draws: take compact-komi")
    chosen_games(config, "train")
    chosen_games(config, "test")
    if config.start_from:
        check_start(config)


class _Trainer:
    """One run: the network, its optimiser, the data, and where it stands."""

    def __init__(self, config: SupervisedConfig, run: RunDirectory) -> None:
        self.config, self.run = config, run
        self.steps = max(1, config.positions // config.batch) if config.positions else 0
        self.step, self.best, self.stale = 0, {"loss": float("inf")}, 0
        self.running_loss, self.running_value_loss, self.seconds = 0.0, 0.0, 0.0
        self.encoder, self.learned = get_go_encoder(config.encoder), rules_learned(config)
        self.network = self._fresh_network()
        self.rate = config.rate or DEFAULT_RATES.get(config.optimizer, 0.01)
        weights = self.network.parameters()
        self.optimizer = build_optimizer(config.optimizer, weights, self.rate, config.momentum, config.decay)
        self.average: dict[str, Tensor] = {}
        if config.average:
            self.average = {name: value.clone() for name, value in self.network.state_dict().items()}
        if (run.path / "trainer.safetensors").exists():
            self._resume()
        else:
            torch.manual_seed(config.seed)
        run.rewind(self.step)

    def train(self, on_progress: Callable[[SupervisedProgress], None]) -> dict[str, Any]:
        """Learn until the positions are used up or patience is."""
        config = self.config
        first, first_seconds = self.step, self.seconds
        every = max(1, config.epoch // config.batch)
        with deferred_interrupts() as interrupted, closing(self._loader().batches()) as batches:
            while self._done() < 1.0 and not self._out_of_patience():
                self._advance(batches)
                validation, stop = None, interrupted()
                if self.step % every == 0 or self._done() >= 1.0:
                    validation = self._validate()
                if validation or self.step % config.checkpoint == 0 or stop:
                    self._checkpoint()
                speed = (self.step - first) * config.batch / max(1e-9, self.seconds - first_seconds)
                on_progress(self._progress(speed, validation))
                if stop:
                    raise KeyboardInterrupt
        self._calibrate()
        return self.best

    def _advance(self, batches: Iterator[RecordBatch]) -> None:
        """Take one step, timed."""
        began = time.monotonic()
        loss, error = self._learn(next(batches))
        if not math.isfinite(loss + error):
            raise DivergedError(
                f"the loss is NaN or infinite at step {self.step}: start again with another --out and a lower --rate "
                f"than {self.rate:g}, or with --clip"
            )
        self.step += 1
        self.seconds += time.monotonic() - began
        weight = max(0.01, 1.0 / self.step)  # the mean of all losses at first, then mostly of the last hundred
        self.running_loss += weight * (loss - self.running_loss)
        self.running_value_loss += weight * (error - self.running_value_loss)

    def _learn(self, batch: RecordBatch) -> tuple[float, float]:
        """One step of the optimiser; returns the losses of policy and value."""
        config = self.config
        factor = rate_at(config.schedule, self._done(), config.warm_up)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * factor
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=config.bf16):
            output = self.network(torch.from_numpy(batch.planes))
        target = torch.from_numpy(batch.moves)
        loss = functional.cross_entropy(output.policy.float(), target, label_smoothing=config.smoothing)
        error = torch.zeros(()) if output.value is None else value_loss(output.value.float(), batch)
        (loss + config.value_weight * error).backward()  # type: ignore[no-untyped-call]
        if config.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.clip)
        self.optimizer.step()
        self._follow()
        return float(loss.detach()), float(error.detach())

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
        measures = measure_policy(predictor(network, self.config.bf16), validation_batches(self.config))
        seen = self.step * self.config.batch
        line: dict[str, Any] = {"step": self.step, "positions": seen, "train_loss": round(self.running_loss, 4)}
        if measures.value_loss is not None:
            line["train_value_loss"] = round(self.running_value_loss, 4)
        line |= {"rate": self.optimizer.param_groups[0]["lr"], "seconds": round(self.seconds, 1), **_prefixed(measures)}
        self.run.record(line)
        card = ModelCard.of(
            network,
            encoder=self.config.encoder,
            rules=self.learned["rules"],
            data=Path(self.config.data).name,
            recipe={name: value for name, value in asdict(self.config).items() if name not in ("data", "start_from")},
            positions=seen,
            hours=round(self.seconds / 3600, 2),
            validation=measures.as_dict(),
        )
        if network.value is not None:  # a policy alone does not say who is ahead, so these do not bind it
            card = replace(card, training=card.training | self.learned)
        save_model(self.run.path / "last.safetensors", network, card)
        if measures.loss < self.best["loss"]:
            self.best, self.stale = measures.as_dict() | {"step": self.step}, 0
            save_model(self.run.path / "best.safetensors", network, card)
        else:
            self.stale += 1
        return line

    def _averaged(self) -> Network:
        if not self.average:
            return self.network.eval()
        name, arguments = parse_network(self.config.network)
        network = build_network(name, self.encoder.planes, self.config.size, seed=0, **arguments)
        network.load_state_dict(self.average)
        return network.eval()

    def _checkpoint(self) -> None:
        progress = {"step": self.step, "best": self.best, "stale": self.stale}
        progress |= {"running_loss": self.running_loss, "running_value_loss": self.running_value_loss}
        progress |= {"seconds": self.seconds}
        path = self.run.path / "trainer.safetensors"
        save_checkpoint(path, self.network, self.optimizer, self.average, progress)

    def _resume(self) -> None:
        path = self.run.path / "trainer.safetensors"
        progress = load_checkpoint(path, self.network, self.optimizer, self.average)
        self.step, self.best, self.stale = progress["step"], progress["best"], progress["stale"]
        self.running_loss, self.seconds = progress["running_loss"], progress["seconds"]
        self.running_value_loss = progress.get("running_value_loss", 0.0)

    def _fresh_network(self) -> Network:
        config = self.config
        name, arguments = parse_network(config.network)
        network = build_network(name, self.encoder.planes, config.size, seed=config.seed, **arguments)
        if config.start_from and not (self.run.path / "trainer.safetensors").exists():
            start_from(network, config.start_from)
        return network

    def _calibrate(self) -> None:
        """Let the finished models be played in 8-bit integers."""
        planes = self._loader().batch_at(0, _CALIBRATION).planes
        for path in (self.run.path / f"{name}.safetensors" for name in ("best", "last")):
            if path.exists() and not is_calibrated(path):
                network, card = load_network(path)
                save_model(path, network, card, ranges=calibrate(network.architecture, network.weights(), planes))

    def _loader(self) -> PositionLoader:
        config = self.config
        return PositionLoader(
            chosen_games(config, "train"),
            self.encoder,
            batch=config.batch,
            seed=config.seed,
            symmetries=config.symmetries,
            threads=config.loaders,
            start=self.step * config.batch,
            komi_spread=config.komi_spread,
        )

    def _done(self) -> float:
        """Which share of the run is done, 0 to 1: by positions, or by time if that runs out first."""
        by_time = self.seconds / (3600 * self.config.hours) if self.config.hours else 0.0
        return max(self.step / self.steps if self.steps else 0.0, by_time)

    def _out_of_patience(self) -> bool:
        return 0 < self.config.patience <= self.stale

    def _progress(self, speed: float, validation: dict[str, Any] | None) -> SupervisedProgress:
        rate = self.optimizer.param_groups[0]["lr"]
        seen = self.step * self.config.batch
        return SupervisedProgress(self.step, self.steps, seen, self.running_loss, rate, speed, self._done(), validation)


def predictor(network: Network, bf16: bool = False) -> Predict:
    """A network as a function from planes uint8[B, C, N, N] to logits float32[B, A] and values float32[B] or None."""

    def predict(planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            output = network(torch.from_numpy(planes))
        return output.policy.float().numpy(), None if output.value is None else output.value.float().numpy()

    return predict


def value_loss(values: Tensor, batch: RecordBatch) -> Tensor:
    """Mean squared error of values [B] over the games with a known result, each position by its share in its game."""
    shares = torch.from_numpy(batch.known / batch.lengths).float()
    errors = (values - torch.from_numpy(batch.winner)).square()
    return (shares * errors).sum() / shares.sum().clamp(min=1e-9)


def _prefixed(measures: PolicyMeasures) -> dict[str, Any]:
    return {f"test_{name}": value for name, value in measures.as_dict().items()}
