"""Supervised learning from game records: predict the move that was played and, with a value head, who won.

The training loop of the KGS lecture, with positions in perfect shuffle, test games set apart by a hash of the game,
validation on the same positions every time, a checkpoint from which the same command goes on exactly, early stop.
`training.py` has the loop itself.

    loss = cross entropy of the move + value_weight * (z - v)^2        z: 1 won, -1 lost, 0 a draw

The positions of a game share one result, so each counts 1 / (moves of the game) in the value's mean: a long game
teaches no more about results than a short one. With an ownership head, counted games also teach whose points are whose
at the end (`final_ownership.py`): many targets in place of one, so that the value is learned from fewer games.
"""

import io
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tengen.encode.go import get_go_encoder
from tengen.learn.data_parallel import Alone
from tengen.learn.device import answers, find_device
from tengen.learn.final_ownership import final_ownership
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.measure import Predict, measure_policy
from tengen.learn.supervised_config import SupervisedConfig
from tengen.learn.supervised_data import ChosenGames, choose_games, rules_learned, validation_batches
from tengen.learn.training import CALIBRATION, Trainer, TrainingProgress
from tengen.learn.training_config import FREE_SETTINGS
from tengen.learn.warm_start import check_start
from tengen.nets.model_file import ModelCard
from tengen.nets.network import Network, PolicyValueOutput
from tengen.nets.registry import describe_network, parse_network
from tengen.runs.files import write_atomically
from tengen.runs.folder import RunDirectory, read_metrics
from tengen.workers.calls import Hosts

_REPORT_SECONDS: Final = 300.0
OWNERSHIP_FILE: Final = "ownership.npy"
"""In a run directory: whose points were whose at the end of the games, if the network learns it."""


def learn_supervised(
    config: SupervisedConfig | str,
    out: str | Path,
    on_progress: Callable[[TrainingProgress], None] = lambda _: None,
    *,
    report: bool = True,
    hosts: Hosts | None = None,
    workers: int = 0,
    **settings: Any,
) -> dict[str, Any]:
    """Learn to predict the moves of game records, or go on with the run in the directory `out`; returns the best
    validation.

    `config` is a configuration or the folder of a dataset (`tengen data build` makes it); `settings` change it. Ctrl-C
    ends the run after the step under way: a checkpoint is written, then KeyboardInterrupt goes on to the caller. With
    `report`, report.html is written at the end, on resuming, and every few minutes at a validation. With `hosts` their
    workers train together with this process, each on its part of every batch: `workers` in all, with 0 one a core.

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
    games = check_config(config)
    torch.set_num_threads(config.threads)
    run = RunDirectory(out, asdict(config), FREE_SETTINGS, asdict(SupervisedConfig(config.data)), kind="supervised")
    try:
        with _reporting(out, on_progress, report) as report_and_write:
            if hosts is None:
                return SupervisedTrainer(config, run, games=games).train(report_and_write)
            from tengen.learn.supervised_group import train_as_group

            best: dict[str, Any] = train_as_group(
                config, run, hosts, workers, lambda trainer: trainer.train(report_and_write)
            )
            return best
    finally:
        run.close()


@contextmanager
def _reporting(
    run: Path, on_progress: Callable[[TrainingProgress], None], wanted: bool
) -> Iterator[Callable[[TrainingProgress], None]]:
    """Write reports: at the start if there are metrics, every few minutes, and at the end."""
    if not wanted:
        yield on_progress
        return
    from tengen.learn.report import write_report

    if read_metrics(run):
        write_report(run)
    written = time.monotonic()

    def report_and_write(now: TrainingProgress) -> None:
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


def check_config(config: SupervisedConfig) -> ChosenGames:
    """Find mistakes while there is no run directory yet; returns the games."""
    name, arguments = parse_network(config.network)
    parts = describe_network(name, get_go_encoder(config.encoder).planes, config.size, **arguments)
    if not parts.policy:
        raise ValueError(f"{config.network} has no policy to learn moves with: `tengen learn value` trains it")
    if parts.score or (parts.ownership and not parts.value):
        raise ValueError(
            f"records teach a value, ownership beside it, and no score: leave the other heads out of {config.network}"
        )
    if config.komi_spread and config.encoder != "compact-komi":
        raise ValueError(f"{config.encoder} does not show the komi that komi_spread draws: take compact-komi")
    find_device(config.device)
    games = choose_games(config)
    if config.start_from:
        check_start(config)
    return games


class SupervisedTrainer(Trainer[SupervisedConfig, RecordBatch]):
    """Learns the moves of game records, and with a value head who won."""

    def __init__(
        self,
        config: SupervisedConfig,
        run: RunDirectory,
        group: Alone | None = None,
        games: ChosenGames | None = None,
    ) -> None:
        """`games`: those of the configuration, where they are known already."""
        self.games = games or choose_games(config)
        self.encoder, self.learned = get_go_encoder(config.encoder), rules_learned(config, self.games)
        super().__init__(config, run, self.encoder.planes, group)

    def batches(self) -> Generator[RecordBatch]:
        return self._loader().batches()

    def planes_of(self, batch: RecordBatch) -> NDArray[np.uint8]:
        return batch.planes

    def losses(self, output: PolicyValueOutput, batch: RecordBatch) -> tuple[Tensor, dict[str, Tensor]]:
        target = torch.from_numpy(batch.moves)
        loss = functional.cross_entropy(output.policy.float(), target, label_smoothing=self.config.smoothing)
        if output.value is None:
            return loss, {"loss": loss}
        error = value_loss(output.value.float(), batch)
        total, parts = loss + self.config.value_weight * error, {"loss": loss, "value_loss": error}
        if output.ownership is not None:
            parts["ownership_loss"] = ownership_loss(output.ownership.float(), batch)
            total = total + self.config.ownership_weight * parts["ownership_loss"]
        return total, parts

    def measure(self, network: Network) -> dict[str, Any]:
        measures = measure_policy(
            predictor(network, self.config.bf16), validation_batches(self.config, self.games.test)
        )
        return measures.as_dict()

    def describe(self, network: Network, measures: dict[str, Any]) -> ModelCard:
        card = ModelCard.of(
            network,
            encoder=self.config.encoder,
            rules=self.learned["rules"],
            data=Path(self.config.data).name,
            recipe=self.recipe("data", "start_from"),
            positions=self.positions,
            hours=round(self.seconds / 3600, 2),
            validation=measures,
        )
        if network.value is None:  # a policy alone does not say who is ahead, so these do not bind it
            return card
        return replace(card, training=card.training | self.learned)

    def calibration_planes(self) -> NDArray[np.uint8]:
        return self._loader().batch_at(0, CALIBRATION).planes

    def _loader(self) -> PositionLoader:
        config = self.config
        return PositionLoader(
            self.games.train,
            self.encoder,
            batch=config.batch,
            seed=config.seed,
            symmetries=config.symmetries,
            threads=config.loaders,
            start=self.positions,
            komi_spread=config.komi_spread,
            ownership=self._ownership(),
            part=self.group.part(config.batch),
        )

    def _ownership(self) -> NDArray[np.int8] | None:
        """Whose points were whose at the end of the games, if the network learns it; found once, and kept."""
        if not self.network.architecture.parts().get("ownership"):
            return None
        games, path = self.games.train, self.run.path / OWNERSHIP_FILE
        if not path.exists():
            contents = io.BytesIO()
            np.save(contents, final_ownership(games), allow_pickle=False)
            write_atomically(path, contents.getvalue())
        found: NDArray[np.int8] = np.load(path, allow_pickle=False)
        return found


def predictor(network: Network, bf16: bool = False) -> Predict:
    """A network as a function from planes uint8[B, C, N, N] to logits float32[B, A] and values float32[B] or None."""

    def predict(planes: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        with torch.inference_mode():
            output = answers(network, planes, bf16)
        return output.policy.float().numpy(), None if output.value is None else output.value.float().numpy()

    return predict


def value_loss(values: Tensor, batch: RecordBatch) -> Tensor:
    """Mean squared error of values [B] over the games with a known result, each position by its share in its game."""
    shares = torch.from_numpy(batch.known / batch.lengths).float()
    errors = (values - torch.from_numpy(batch.winner)).square()
    return (shares * errors).sum() / shares.sum().clamp(min=1e-9)


def ownership_loss(ownership: Tensor, batch: RecordBatch) -> Tensor:
    """Mean squared error of ownership [B, N * N] over the games where it is known, weighted as the value's is."""
    assert batch.ownership is not None
    owners = torch.from_numpy(batch.ownership).float()
    shares = owners.abs().amax(dim=1) / torch.from_numpy(batch.lengths)
    return (shares * (ownership - owners).square().mean(dim=1)).sum() / shares.sum().clamp(min=1e-9)
