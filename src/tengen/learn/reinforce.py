"""Stage 2 of AlphaGo (Silver et al. 2016): a policy improves by playing against earlier versions of itself.

    play      games in lock-step against one opponent of the pool, half of them with each colour, moves drawn at
              temperature 1; the games go to the disk
    learn     a step of REINFORCE for each batch of the learner's own moves (`reinforce_trainer.py` has the loss)
    snapshot  every few updates the policy joins the pool, in which the policy of the start always is
    measure   every few updates a match against the policy of the start, both drawing at temperature 1

All of a run is in its directory. Every update ends with a checkpoint, so `kill -9` at any moment costs at most the
update under way, and not its games once they are played.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from tengen._machine import cores
from tengen.arena.statistics import Score
from tengen.encode.game_spec import GameSpec
from tengen.learn.distributed import find_device
from tengen.learn.reinforce_config import FIXED_SETTINGS, ReinforceConfig
from tengen.learn.reinforce_games import (
    BOTH,
    Experience,
    GameFolder,
    PolicyWorker,
    PositionReader,
    call_all,
    new_boards,
    play_games,
)
from tengen.learn.reinforce_trainer import ReinforceTrainer
from tengen.nets.model_file import find_model, read_card
from tengen.runs.files import make_folder, write_atomically
from tengen.runs.folder import CHECKPOINT_FILE, FolderError, RunDirectory, deferred_interrupts, read_metrics
from tengen.workers.calls import WorkerFactory, Workers
from tengen.workers.sent_files import SentFile

_CALIBRATION: Final = 1024  # positions on which a model is calibrated for int8
_FIRST_GAMES: Final = 32  # from which these come before the first update
_REPORT_SECONDS: Final = 300.0


@dataclass(frozen=True)
class ReinforceProgress:
    """Where a run stands, for a progress bar."""

    phase: str
    """playing, learning or match."""
    update: int
    share: float
    """How much of the phase is done, 0 to 1."""
    done: float
    """How much of the run is done, 0 to 1."""
    seconds: float
    """The run's time, all calls counted together."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Parts of the loss, in learning."""
    line: Mapping[str, Any] | None = None
    """Set when an update has been completed: its line of metrics."""


OnProgress = Callable[[ReinforceProgress], None]


def learn_reinforce(
    config: ReinforceConfig | str,
    out: str | Path,
    on_progress: OnProgress = lambda _: None,
    *,
    report: bool = True,
    hosts: WorkerFactory | None = None,
    **settings: Any,
) -> Mapping[str, Any]:
    """Improve a policy by playing against earlier versions of itself, or go on with the run in the directory `out`;
    returns the line of metrics of the best match against the policy of the start.

    `config` is a configuration or the model to start from; `settings` change it. Ctrl-C ends the run within the update
    under way, which is done again by the next call; then KeyboardInterrupt goes on to the caller. With `report`,
    report.html is written at the end and now and then. `hosts`: who plays, if not threads of this process.

    >>> import tempfile
    >>> import tengen
    >>> tiny = {"games": 8, "updates": 1, "measure": 1, "match_games": 8, "workers": 1, "threads": 1}
    >>> with tempfile.TemporaryDirectory() as run:
    ...     best = tengen.learn_reinforce("go5", run, report=False, **tiny)
    ...     model = tengen.load_model(f"{run}/best.safetensors")
    >>> 0 <= best["score"] <= 1, model.card.size
    (True, 5)
    """
    config = ReinforceConfig(config, **settings) if isinstance(config, str) else replace(config, **settings)
    out = Path(out)
    config = _checked(config)
    torch.set_num_threads(config.threads or cores())
    free = frozenset(asdict(config)) - FIXED_SETTINGS
    run = RunDirectory(out, asdict(config), free, asdict(ReinforceConfig(config.start_from)), kind="reinforce")
    try:
        with _workers(config, hosts) as workers, _reporting(out, on_progress, report) as report_and_write:
            loop = _Loop(config, run, workers)
            loop.run(report_and_write)
        return loop.best
    finally:
        run.close()


def _checked(config: ReinforceConfig) -> ReinforceConfig:
    """The configuration with what follows from the model; ValueError if the model does not suit it."""
    find_device(config.device)
    card = read_card(find_model(config.start_from))
    parts = card.architecture()
    if not parts.policy:
        raise ValueError(f"{config.start_from} has no policy to improve: give one that `tengen learn supervised` made")
    if config.baseline == "value" and not parts.value:
        raise ValueError(f"{config.start_from} has no value head for a baseline: take --baseline mean")
    if config.komi_spread and card.encoder != "compact-komi":
        raise ValueError(f"{card.encoder} does not show the komi that komi_spread draws: take compact-komi")
    return config.completed(card)


def _spec(config: ReinforceConfig) -> GameSpec:
    return config.spec(read_card(find_model(config.start_from)))


@contextmanager
def _workers(config: ReinforceConfig, hosts: WorkerFactory | None) -> Iterator[int | Workers]:
    """Who plays: so many threads, or workers of the hosts."""
    if hosts is None:
        yield config.workers or cores()
        return
    spec = _spec(config)
    with closing(hosts(config.workers, PolicyWorker, lambda _: (spec,), 0)) as workers:
        workers.start()
        yield workers


class _Loop:
    """A run under way: where it stands, and one method for each phase of an update."""

    def __init__(self, config: ReinforceConfig, run: RunDirectory, workers: int | Workers) -> None:
        self.config, self.run_directory, self.workers = config, run, workers
        self.spec = _spec(config)
        self.games = GameFolder(run.path / "games")
        self.update, self.best = 0, dict[str, Any]()
        self._seconds_before, self._began = 0.0, time.monotonic()
        self._on_progress: OnProgress = lambda _: None
        self._interrupted: Callable[[], bool] = lambda: False
        checkpoint = run.path / CHECKPOINT_FILE
        # A kill may come between the first line of metrics and the first checkpoint, so that line alone proves nothing.
        if not checkpoint.exists() and any(line["step"] > 1 for line in run.metrics()):
            raise FolderError(f"{checkpoint} is gone: put it back, or delete {run.path} to begin anew")
        if not self._model(0).exists():
            self._begin()
        self.trainer = ReinforceTrainer(config, self._model(0))
        if checkpoint.exists():
            progress = self.trainer.load(checkpoint)
            self.update, self.best = progress["update"], progress["best"]
            self._seconds_before = progress["seconds"]
        run.rewind(self.update)

    def run(self, on_progress: OnProgress) -> None:
        """Update after update, until time or updates are used up."""
        self._on_progress = on_progress
        with deferred_interrupts() as self._interrupted:
            while self._done() < 1.0:
                self._complete(self.update + 1)

    def _complete(self, update: int) -> None:
        """All phases of an update, or those that are left of it."""
        config, began = self.config, time.monotonic()
        experience = self.games.read(update) or self._play(update)
        played = time.monotonic()
        boards = new_boards(self.spec, len(experience.learner), config.komi_spread, self._seed(update))
        reader = PositionReader(self.spec, experience, boards)
        losses = self.trainer.learn(
            experience, reader, update, lambda share, figures: self._tell("learning", update, share, figures)
        )
        planes = reader.planes(_CALIBRATION, np.random.default_rng((config.seed, update, 4)))
        self._export(self._current, update, planes)
        learned = time.monotonic()
        line: dict[str, Any] = {"step": update, **_figures(experience, losses)}
        line |= {"seconds_play": round(played - began, 1), "seconds_learn": round(learned - played, 1)}
        if update % config.snapshot == 0:
            self._copy(self._current, self._model(update))
        if update % config.measure == 0 or update == config.updates:
            line |= self._match(update)
            if line["score"] > self.best.get("score", -1.0):
                self._copy(self._current, self.run_directory.path / "best.safetensors")
                self.best = line
        line |= {"seconds": round(self.seconds(), 1)}
        self.run_directory.record(line)
        self.update = update
        self.trainer.save(
            self.run_directory.path / CHECKPOINT_FILE,
            {"update": update, "best": self.best, "seconds": self.seconds()},
        )
        self._tell("learning", update, 1.0, losses, line)

    def seconds(self) -> float:
        """The run's time, all calls counted together."""
        return self._seconds_before + time.monotonic() - self._began

    # ---- the phases ----

    def _begin(self) -> None:
        """Put the policy of the start into the run's directory, ready to play."""
        config, start = self.config, find_model(self.config.start_from)
        trainer = ReinforceTrainer(config, start)
        planes = None
        if config.backend == "int8":
            games = play_games(
                self.spec, start, None,
                games=_FIRST_GAMES, number=0, seed=self._seed(0), backend="openvino", workers=self.workers,
            )  # fmt: skip
            boards = new_boards(self.spec, len(games.learner), 0.0, self._seed(0))
            rng = np.random.default_rng((config.seed, 0, 4))
            planes = PositionReader(self.spec, games, boards).planes(_CALIBRATION, rng)
        about = {"updates": 0, "started_from": start.stem}
        for path in (self._current, self._model(0)):  # in this order: the second tells that both are there
            make_folder(path.parent)
            trainer.export(path, planes, **about)

    def _play(self, update: int) -> Experience:
        """Play the games of an update, and keep them."""
        config = self.config
        self._tell("playing", update, 0.0)
        number = self._opponent(update)
        experience = play_games(
            self.spec,
            self._current,
            None if config.opponent == "self" else self._model(number),
            games=config.games,
            number=number,
            seed=self._seed(update),
            komi_spread=config.komi_spread,
            temperature=config.temperature,
            backend=config.backend,
            workers=self.workers,
        )
        self.games.write(update, experience, config.keep)
        self._stop_if_interrupted()
        return experience

    def _opponent(self, update: int) -> int:
        """Which version of the policy is met: the number of the update that it comes from."""
        if self.config.opponent != "pool":
            return update - 1 if self.config.opponent == "self" else 0
        pool = [int(file.stem) for file in self._model(0).parent.glob("*.safetensors") if file.stem.isdecimal()]
        there = sorted(number for number in pool if number < update)
        return int(np.random.default_rng((self.config.seed, update, 2)).choice(there))

    def _export(self, path: Path, update: int, planes: Any) -> None:
        about = {"updates": update, "started_from": Path(self.config.start_from).stem}
        self.trainer.export(path, planes if self.config.backend == "int8" else None, **about)

    def _match(self, update: int) -> dict[str, Any]:
        """Play against the policy of the start."""
        self._tell("match", update, 0.0)
        parts = self.workers if isinstance(self.workers, int) else self.workers.count
        games = -(-self.config.match_games // (2 * parts)) * 2
        models = SentFile(self._current), SentFile(self._model(0))
        seeds = [
            np.random.SeedSequence((self.config.seed, update, 5, part)).generate_state(1)[0] for part in range(parts)
        ]
        calls = [(models, self.config.backend, games, int(seed)) for seed in seeds]
        result = sum(call_all(self.spec, "duel", calls, self.workers), Score(0, 0))
        low, high = result.interval
        found = {"score": result.mean, "score_low": low, "score_high": high}
        counts = {"wins": result.wins, "draws": result.draws, "losses": result.losses}
        return {name: round(value, 4) for name, value in found.items()} | counts

    # ---- files, seeds, progress ----

    @property
    def _current(self) -> Path:
        """The file of the policy as it is."""
        return self.run_directory.path / "last.safetensors"

    def _model(self, update: int) -> Path:
        """The file of a version in the pool."""
        return self.run_directory.path / "models" / f"{update:06d}.safetensors"

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        write_atomically(target, source.read_bytes())

    def _seed(self, update: int) -> tuple[int, ...]:
        return self.config.seed, update

    def _done(self) -> float:
        """Which share of the run is done: by updates, or by time if that runs out first."""
        config = self.config
        by_time = self.seconds() / (3600 * config.hours) if config.hours else 0.0
        return max(self.update / config.updates if config.updates else 0.0, by_time)

    def _stop_if_interrupted(self) -> None:
        if self._interrupted():
            raise KeyboardInterrupt

    def _tell(
        self,
        phase: str,
        update: int,
        share: float,
        figures: Mapping[str, float] | None = None,
        line: Mapping[str, Any] | None = None,
    ) -> None:
        self._on_progress(ReinforceProgress(phase, update, share, self._done(), self.seconds(), figures or {}, line))
        self._stop_if_interrupted()


def _figures(experience: Experience, losses: Mapping[str, float]) -> dict[str, Any]:
    """What an update's games were like, and what was learned from them."""
    learner, winner = experience.learner, experience.winner
    points = np.where(winner == 0, 0.5, winner == learner)
    first = np.where(winner == 0, 0.5, winner == 1)
    found: dict[str, Any] = {"games": len(winner), "positions": int(experience.learned.sum())}
    if (learner != BOTH).all():
        found |= {"opponent": int(experience.opponent), "points": round(float(points.mean()), 4)}
        found |= {"points_first": round(float(points[learner == 1].mean()), 4)}
        found |= {"points_second": round(float(points[learner == 2].mean()), 4)}
    found |= {"first": round(float(first.mean()), 4), "length": round(float((experience.players > 0).sum(1).mean()), 1)}
    return found | {f"loss_{name}" if name != "entropy" else name: round(value, 5) for name, value in losses.items()}


@contextmanager
def _reporting(run: Path, on_progress: OnProgress, wanted: bool) -> Iterator[OnProgress]:
    """Write reports every few minutes, and at the end, however it comes."""
    if not wanted:
        yield on_progress
        return
    from tengen.learn.reinforce_report import write_reinforce_report

    written = time.monotonic()

    def report_and_write(now: ReinforceProgress) -> None:
        nonlocal written
        on_progress(now)
        if now.line is not None and time.monotonic() - written >= _REPORT_SECONDS:
            write_reinforce_report(run)
            written = time.monotonic()

    try:
        yield report_and_write
    finally:
        if read_metrics(run):
            write_reinforce_report(run)
