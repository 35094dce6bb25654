"""Supervised learning from game records: predict the move that was played and, with a value head, who won.

    loss = cross entropy of the move + value_weight * (z - v)^2        z: 1 won, -1 lost, 0 a draw

The positions of a game share one result, so each counts 1 / (moves of the game) in the value's mean: a long game
teaches no more about results than a short one. With an ownership head, counted games also teach whose points are whose
at the end: many targets instead of one, so that the value is learned from fewer games.

Positions come in perfect shuffle (`loader.py`); a hash of the game decides whether it is a test game. The loop itself
is `TrainingRun` in `trainer.py`. In this file, in order: the run; the games; the trainer with its losses; whose points
are whose at the end of a record; training by all machines of a cluster.
"""

import io
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.nn import functional

from tengen.data.dataset import RULE_NAMES, USUAL_RULES, Dataset, Selection, Split, select
from tengen.encode.go import get_go_encoder
from tengen.games.game import open_batch
from tengen.games.go.positions import MOVE_MASK, allocate_positions, replay
from tengen.games.go.rules import GoOptions
from tengen.learn.distributed import PATIENCE, Group, SingleProcess, find_device, open_store
from tengen.learn.evaluate import measure_policy
from tengen.learn.loader import PositionLoader, RecordBatch
from tengen.learn.settings import SupervisedConfig
from tengen.learn.trainer import CALIBRATION, TrainingRun, check_start, predictor
from tengen.nets.model_file import ModelCard, find_model
from tengen.nets.network import Network, PolicyValueOutput
from tengen.nets.registry import describe_network, parse_network
from tengen.runs.files import write_atomically
from tengen.runs.folder import CHECKPOINT_FILE, RunDirectory
from tengen.runs.progress import OnProgress, ignore_progress, reporting
from tengen.workers.calls import WorkerError, WorkerFactory
from tengen.workers.ray_workers import own_address
from tengen.workers.sent_files import SentFile

OWNERSHIP_FILE: Final = "ownership.npy"
"""In a run directory: whose points were whose at the end of the games, if the network learns it."""
_VALIDATED_TOGETHER: Final = 256  # positions
_FAILURES: Final = 3  # of a group, in a row without a step between them, after which it is not the fault of a machine


def learn_supervised(
    config: SupervisedConfig | str,
    out: str | Path,
    on_progress: OnProgress = ignore_progress,
    *,
    report: bool = True,
    hosts: WorkerFactory | None = None,
    workers: int = 0,
    **settings: Any,
) -> dict[str, Any]:
    """Learn to predict the moves of game records, or resume the run in the directory `out`.

    Returns the best validation. `config` is a configuration or the folder of a dataset (`tengen data build` makes it);
    `settings` change it. Ctrl-C ends the run after the step under way: a checkpoint is written, then KeyboardInterrupt
    is raised. With `report`, report.html is written at the end, on resuming, and every few minutes at a validation.
    With `hosts` their workers train together with this process, each on its part of every batch: `workers` in all,
    with 0 one per core.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import tengen
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     random = {"workers": 1, "folder": f"{folder}/match"}  # records of random games
    ...     _ = tengen.play_match("random", "random", games=100, size=5, **random)
    ...     built = tengen.build_dataset([Path(folder, "match")], Path(folder, "data"), workers=1)
    ...     tiny = {"size": 5, "positions": 256, "validate": 64, "report": False}
    ...     best = tengen.learn_supervised(f"{folder}/data", f"{folder}/run", **tiny)
    >>> built.games, 0 <= best["top1"] <= 1
    (100, True)
    """
    config = SupervisedConfig(config, **settings) if isinstance(config, str) else replace(config, **settings)
    out = Path(out)
    games = check_config(config)
    torch.set_num_threads(config.threads)
    from tengen.learn.report import write_report

    run = config.open_run(out)
    try:
        with reporting(out, on_progress, write_report if report else None) as report_and_write:
            if hosts is None:
                return SupervisedTrainer(config, run, games=games).train(report_and_write)
            best: dict[str, Any] = train_as_group(
                config, run, hosts, workers, lambda trainer: trainer.train(report_and_write)
            )
            return best
    finally:
        run.close()


def check_config(config: SupervisedConfig) -> "ChosenGames":
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


# ---------------------------------------------------------------------------------------------- games


class ChosenGames(NamedTuple):
    """The games of a run; their dataset is opened, and its checksum computed, once for all."""

    dataset: Dataset
    train: Selection
    """Those to learn from."""
    test: Selection


def choose_games(config: SupervisedConfig) -> ChosenGames:
    """The games of a run; DatasetError if there are none."""
    dataset = Dataset.open(config.data)
    return ChosenGames(dataset, _select(config, dataset, "train"), _select(config, dataset, "test"))


def _select(config: SupervisedConfig, dataset: Dataset, split: Split) -> Selection:
    return select(
        dataset,
        split,
        (config.games or None) if split == "train" else None,
        size=config.size,
        min_rank=config.min_rank or None,
        years=(config.first_year, config.last_year) if (config.first_year, config.last_year) != (0, 9999) else None,
        handicap={"any": None, "only": True, "none": False}[config.handicap],
        seed=config.seed,
    )


def rules_learned(config: SupervisedConfig, games: ChosenGames) -> dict[str, Any]:
    """For a model's card: the rule set that most training games name, and the komi of all but their outermost 2%."""
    rules = games.dataset.columns["rules"][games.train.rows]
    komi = games.train.game_moves.komi[games.train.rows]
    low, high = np.quantile(komi, (0.01, 0.99), method="nearest").tolist()
    name = RULE_NAMES[np.bincount(rules[rules > 0], minlength=1).argmax()] or USUAL_RULES
    return {"rules": name, "komi": [low - config.komi_spread, high + config.komi_spread]}


def validation_batches(config: SupervisedConfig, tests: Selection) -> Iterator[RecordBatch]:
    """The same test positions every time, drawn evenly from all test games."""
    encoder = get_go_encoder(config.encoder)
    loader = PositionLoader(tests, encoder, batch=_VALIDATED_TOGETHER, seed=0, symmetries=False)
    wanted = min(config.validate, loader.positions)
    for start in range(0, wanted, _VALIDATED_TOGETHER):
        yield loader.batch_at(start, min(_VALIDATED_TOGETHER, wanted - start))


# ------------------------------------------------------------------------------------------ training


class SupervisedTrainer(TrainingRun[SupervisedConfig, RecordBatch]):
    """Learns the moves of game records, and with a value head who won."""

    def __init__(
        self,
        config: SupervisedConfig,
        run: RunDirectory,
        group: SingleProcess | None = None,
        games: ChosenGames | None = None,
    ) -> None:
        """`games`: those of the configuration, where they are known already."""
        self.games = games or choose_games(config)
        self.encoder, self.learned = get_go_encoder(config.encoder), rules_learned(config, self.games)
        super().__init__(config, run, self.encoder.planes, group)

    def batches(self) -> Generator[RecordBatch]:
        return self._loader().batches()

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
            recipe=self.config.recipe(),
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


# ----------------------------------------------------------------------------------------- ownership
# Records do not mark dead stones: playouts find them, as in self-play. A game is used if the count then agrees with its
# result.

_AT_ONCE: Final = 1024
_TOLERANCE: Final = 1.0  # area and territory differ by a point where Black has the last move


def final_ownership(games: Selection) -> NDArray[np.int8]:
    """int8[G, N * N] for all G rows of the selection's records: 1 where a point was Black's at the end of a game, -1
    where it was White's; all 0 for games that were not chosen, not counted, or counted otherwise."""
    records, points = games.game_moves, games.size * games.size
    found = np.zeros((len(records.komi), points), np.int8)
    rows = games.rows[~np.isnan(records.points[games.rows]) & (games.lengths > 0)]
    batch = open_batch(GoOptions(games.size, "chinese", 0.0))
    positions, boards = allocate_positions(games.size, _AT_ONCE), batch.allocate(_AT_ONCE)
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        last = records.offsets[part + 1] - 1
        replay(records, part, last - records.offsets[part], positions)
        batch.restart(boards, np.arange(_AT_ONCE))
        pairs: Any = zip(positions.boards, boards.boards, strict=True)
        for source, target in pairs:
            target[: len(part)] = source[: len(part)]
        batch.play(boards, (records.moves[last] & MOVE_MASK).astype(np.int64))
        margins, owners = batch.score(boards, np.arange(len(part)))
        agrees = np.abs(margins - records.points[part]) <= _TOLERANCE
        found[part[agrees]] = owners[agrees]
    return found


# ------------------------------------------------------------------------------------------- cluster
# This process leads a group, in which workers of a cluster take part. They get the dataset and the checkpoint from
# which to resume, so they need no disk of the leader's. A group that loses a process is given up, and a new one resumes
# from the last checkpoint, with as many processes as there are then.


class SupervisedMember:
    """A process of the group other than the leader."""

    def __init__(self, config: SupervisedConfig, data: str, start_from: str) -> None:
        device = config.device.partition(":")[0]  # which of the leader's cards says nothing about a member's
        self._config = replace(config, data=data, start_from=start_from, device=device)

    def train(self, meet: tuple[str, int], rank: int, size: int, files: tuple[str, ...]) -> bool:
        """Take part until the leader has finished: True; False if the group has lost a process.

        meet: host and port of the leader's store; files: the checkpoint to resume from, and what else its folder has.
        """
        config = self._config
        torch.set_num_threads(config.threads)
        store = TCPStore(*meet, is_master=False, wait_for_workers=False, timeout=PATIENCE)
        group = Group(store, rank, size, find_device(config.device))
        with tempfile.TemporaryDirectory() as folder, closing(group):
            for file in files:
                shutil.copy(file, folder)
            run = RunDirectory(Path(folder), asdict(config), kind=config.kind)
            try:
                trainer = SupervisedTrainer(config, run, group)
                torch.manual_seed(config.seed + 1_000_003 * rank + trainer.step)  # dropout of its own
                trainer.follow()
                return True
            except RuntimeError:  # as torch calls it when a process of the group is gone
                return False
            finally:
                run.close()


def train_as_group(
    config: SupervisedConfig,
    run: RunDirectory,
    hosts: WorkerFactory,
    workers: int,
    train: Callable[[SupervisedTrainer], Any],
) -> Any:
    """Train with `workers` processes, this one included; 0: one a core of the hosts. Returns what `train` does."""
    failures, reached = 0, -1
    while True:
        trainer = None
        try:
            with _led_group(config, run.path, hosts, workers) as group:
                trainer = SupervisedTrainer(config, run, group)
                return train(trainer)
        except RuntimeError as error:  # as torch calls it when a process of the group is gone
            step = trainer.step if trainer is not None else reached
            failures, reached = (1, step) if step > reached else (failures + 1, reached)
            if failures >= _FAILURES:
                raise WorkerError(f"the group failed {failures} times ({error}): resume by the same command") from None


@contextmanager
def _led_group(config: SupervisedConfig, folder: Path, hosts: WorkerFactory, workers: int) -> Iterator[Group]:
    """A group that this process leads."""
    start = SentFile(find_model(config.start_from)) if config.start_from else ""
    arguments = config, SentFile(config.data), start
    files = tuple(SentFile(folder / name) for name in (CHECKPOINT_FILE, OWNERSHIP_FILE) if (folder / name).exists())
    with closing(hosts(max(1, workers - 1) if workers else 0, SupervisedMember, lambda _: arguments, 0)) as pool:
        pool.start()
        size = workers or max(2, pool.count)
        store = open_store(own_address())
        meet = store.host, store.port
        calls = pool.map("train", [(meet, rank, size, files) for rank in range(1, size)])
        try:
            group = Group(store, 0, size, find_device(config.device))
            try:
                yield group
            finally:
                with suppress(RuntimeError):
                    group.close()
        except RuntimeError:
            calls.collect(2.0)  # which raises the member's own error, if that is why
            raise
