"""Generations of value networks, as in the Simple-Go lecture: Monte-Carlo policy iteration.

    play      generation 1 learns from random games, generation g from games of generation g - 1 with exploration
              (`generations_games.py`), whose moves are those with the best value one ply ahead
    learn     a network for each player, or one for both, learns who won (`generations_trainer.py`)
    match     the new generation plays some games against the last one, the first one and random moves

All of a run is in its directory:

    models/black-03.safetensors    the networks of generation 3, calibrated for int8
    games/03/0007.safetensors      games that it learned from, those of the newest generations
    training/black-03/             what the training of a network under way needs to go on

Which of these files are there says how far a run is, so `kill -9` at any moment costs at most some seconds of games or
some hundred steps of training, and the networks come out the same, bit for bit.
"""

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from tengen._machine import cores
from tengen.arena.generation_table import play_pairs
from tengen.learn.distributed import find_device
from tengen.learn.generations_config import FREE_GENERATION_SETTINGS, GenerationsConfig, read_config, usual_settings
from tengen.learn.generations_games import (
    CHUNK,
    SEARCHED_CHUNK,
    GenerationFolder,
    GenerationGames,
    GenerationPlayer,
    play_by_workers,
    play_in_threads,
)
from tengen.learn.generations_trainer import OutcomeTrainer, network_config
from tengen.learn.optimizers import DEFAULT_RATES, DivergedError
from tengen.learn.report import CURVES_FILE
from tengen.nets.registry import NetworkSpecError, describe_network, parse_network
from tengen.runs.files import make_folder, write_atomically
from tengen.runs.folder import FolderError, RunDirectory, deferred_interrupts, read_metrics
from tengen.runs.progress import RunProgress
from tengen.search.generations import GenerationValues, find_generation, model_file
from tengen.workers.calls import WorkerFactory

_BETTER: Final = 0.98  # a network whose loss is above this share of a constant's is trained again
_LOWER: Final = 1 / 3  # the rate of the next attempt, as a share


@dataclass(frozen=True)
class GenerationProgress:
    """Where a run stands, for a progress bar."""

    phase: str
    """playing, learning or match."""
    generation: int
    share: float
    """How much of the phase is done, 0 to 1."""
    done: float
    """How much of the run is done, 0 to 1."""
    side: str = ""
    """Which network learns."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Games per second in playing; loss and positions per second in learning."""
    line: Mapping[str, Any] | None = None
    """Set when a generation is complete: its line of metrics."""


OnProgress = Callable[[GenerationProgress], None]


def learn_generations(
    config: GenerationsConfig,
    out: str | Path,
    on_progress: OnProgress = lambda _: None,
    hosts: WorkerFactory | None = None,
) -> Mapping[str, Any]:
    """Make generations of value networks, or go on with the run in the directory `out`; returns the last generation's
    line of metrics. Ctrl-C ends the run: what is played and learned by then is kept. `hosts`: who plays, if not threads
    of this process."""
    out = Path(out)
    _check(config)
    torch.set_num_threads(config.threads)
    run = RunDirectory(out, asdict(config), FREE_GENERATION_SETTINGS, usual_settings(), kind="generations")
    try:
        return _Loop(config, run, on_progress, hosts).run()
    finally:
        run.close()


def write_generation_curves(run: Path) -> Path:
    """Draw the curves of the run in this directory, also of one under way; returns the path of the picture."""
    from tengen.learn.generations_curves import draw_generations

    lines = read_metrics(run)
    if not lines:
        raise FolderError(f"the run in {run} has completed no generation yet: there is nothing to draw")
    write_atomically(run / CURVES_FILE, draw_generations(lines, tuple(read_config(run).sides())))
    return run / CURVES_FILE


def _check(config: GenerationsConfig) -> None:
    """Find mistakes while there is no run directory yet."""
    spec = config.spec()
    spec.game.check_search(spec.options)
    find_device(config.device)
    for after in config.sides().values():
        try:
            name, arguments = parse_network(network_config(config, after).network)
        except NetworkSpecError as error:
            raise ValueError(f"{error}; generations need a network with an outcome head: take simple-go") from None
        planes, height, width = spec.shape
        describe_network(name, planes, height, width=width, actions=spec.batch.actions, **arguments)


class _Loop:
    """A run under way."""

    def __init__(
        self, config: GenerationsConfig, run: RunDirectory, on_progress: OnProgress, hosts: WorkerFactory | None
    ) -> None:
        self.config, self.run_directory, self._on_progress, self._hosts = config, run, on_progress, hosts
        self.spec = config.spec()
        self.workers = config.workers or cores()
        lines = run.metrics()
        self.generation = int(lines[-1]["step"]) if lines else 0
        self.last: dict[str, Any] = lines[-1] if lines else {}
        run.rewind(self.generation)
        self._interrupted: Callable[[], bool] = lambda: False

    def run(self) -> Mapping[str, Any]:
        """Generation after generation."""
        if self.generation:  # a kill may have left these undone
            self._clean()
            if self.generation >= self.config.generations:
                write_generation_curves(self.run_directory.path)
        while self.generation < self.config.generations:
            self._complete(self.generation + 1)
        return self.last

    def _complete(self, number: int) -> None:
        """All phases of a generation, or those that are left of it."""
        games = self._play(number)
        line: dict[str, Any] = {"step": number, **_figures(games)}
        seconds = 0.0
        for side, after in self.config.sides().items():
            found = self._learn(number, side, after, games)
            seconds += found.pop("seconds")
            line |= {f"{side}_{name}": value for name, value in found.items()}
        line |= {"seconds_play": round(float(games.work[0]), 1), "seconds_learn": round(seconds, 1)}
        began = time.monotonic()
        line |= self._match(number)
        line |= {"seconds_match": round(time.monotonic() - began, 1)}
        self.run_directory.record(line)
        self.generation, self.last = number, line
        self._clean()
        write_generation_curves(self.run_directory.path)
        self._tell("match", number, 1.0, line=line)

    # ---- phases ----

    def _play(self, number: int) -> GenerationGames:
        """The games that a generation learns from."""
        config, folder = self.config, self._games(number)
        files = None
        if number > 1 and not folder.is_complete():
            files = find_generation(self.run_directory.path, number - 1)
        if self._hosts is not None:
            play = play_by_workers(config, files, number, self._hosts)
        else:
            values = None if files is None else GenerationValues(files, config.backend, streams=self.workers)
            play = play_in_threads(GenerationPlayer(config, self.spec, values), number, self.workers)
        began, first = time.monotonic(), -1
        with deferred_interrupts() as self._interrupted:
            for there in folder.play(play):
                first = there if first < 0 else first
                speed = (there - first) / max(1e-9, time.monotonic() - began)
                self._tell("playing", number, there / sum(folder.sizes), figures={"games/s": speed})
        return folder.read()

    def _learn(self, number: int, side: str, after: str, games: GenerationGames) -> dict[str, Any]:
        """Train one network, unless that is done; returns how well it does, and how long it took."""
        model, attempts = model_file(self.run_directory.path, side, number), dict[Path, dict[str, Any]]()
        for attempt in range(self.config.attempts):
            folder = self.run_directory.path / "training" / f"{side}-{number:02d}{'-again' * attempt}"
            try:
                attempts[folder] = found = self._train(number, side, after, games, attempt, folder)
            except DivergedError:
                if attempt + 1 == self.config.attempts and not attempts:
                    raise
                continue
            if found["loss"] < _BETTER * found["constant_loss"]:
                break
        folder, found = min(attempts.items(), key=lambda item: float(item[1]["loss"]))
        make_folder(model.parent)
        write_atomically(model, (folder / "best.safetensors").read_bytes())
        return found | {"attempts": attempt + 1, "seconds": sum(each["seconds"] for each in attempts.values())}

    def _train(
        self, number: int, side: str, after: str, games: GenerationGames, attempt: int, folder: Path
    ) -> dict[str, Any]:
        """Train a network in a directory of its own, or go on; returns how well it does, and how long it took."""
        config = self._attempt(number, after, attempt)
        run = RunDirectory(folder, asdict(config), FREE_GENERATION_SETTINGS, usual_settings(), kind="generations")
        try:
            about = {"komi": config.komi, "generation": number, "attempts": attempt + 1}
            trainer = OutcomeTrainer(config, run, self.spec, games, after, **about)
            best = trainer.train(lambda now: self._tell_training(number, side, now))
        finally:
            run.close()
        known = ("loss", "constant_loss", "accuracy", "policy_accuracy")
        return {name: best[name] for name in known if name in best} | {"seconds": trainer.seconds}

    def _attempt(self, number: int, after: str, attempt: int) -> GenerationsConfig:
        """The configuration of the training of a network: fresh weights and a lower rate after each failure."""
        config = self.config
        seed = int(np.random.SeedSequence((config.seed, number, attempt)).generate_state(1)[0])
        start = ""
        if config.keep_weights and number > 1 and not attempt:
            files = find_generation(self.run_directory.path, number - 1)
            start = str(files.second if after == "second" else files.first)
        rate = (config.rate or DEFAULT_RATES[config.optimizer]) * _LOWER**attempt
        return replace(config, seed=seed, rate=rate, start_from=start)

    def _match(self, number: int) -> dict[str, Any]:
        """Points of the first player in games of the new generation with the last, the first and random moves (0)."""
        games = self.config.match_games
        others = sorted({0, 1, number - 1})
        pairs = [(number, number)]
        pairs += [pair for other in others if other != number for pair in ((number, other), (other, number))]
        if not games:
            return {}
        self._tell("match", number, 0.0)
        backend, batch = self.config.backend, self.spec.batch
        players = {
            each: GenerationValues(find_generation(self.run_directory.path, each), backend).evaluation(batch)
            for each in {number, *others} - {0}
        }
        results = play_pairs(batch, {0: None, **players}, pairs, games=games, seed=self.config.seed)
        return {f"match_{first}_{second}": round(result.mean, 4) for (first, second), result in zip(pairs, results)}

    # ---- files and progress ----

    def _games(self, number: int) -> GenerationFolder:
        games = self.config.first_games if number == 1 else self.config.games
        chunk = SEARCHED_CHUNK if self.config.simulations and number > 1 else CHUNK
        return GenerationFolder(self.run_directory.path / "games" / f"{number:02d}", games, chunk)

    def _clean(self) -> None:
        """Delete what is not needed any more, once a generation is complete."""
        shutil.rmtree(self.run_directory.path / "training", ignore_errors=True)
        for number in range(1, self.generation - self.config.keep + 1):
            self._games(number).delete()

    def _tell_training(self, number: int, side: str, now: RunProgress) -> None:
        figures = {name: now.figures[name] for name in ("loss", "positions/s")}
        self._tell("learning", number, now.done, side=side, figures=figures)

    def _tell(self, phase: str, number: int, share: float, **more: Any) -> None:
        networks = list(self.config.sides())
        begun = {"playing": 0.0, "learning": 0.4, "match": 0.97}[phase]
        weight = {"playing": 0.4, "learning": 0.57 / len(networks), "match": 0.03}[phase]
        begun += weight * networks.index(more["side"]) if phase == "learning" else 0.0
        done = (number - 1 + begun + weight * share) / max(number, self.config.generations)
        self._on_progress(GenerationProgress(phase, number, share, done, **more))
        if self._interrupted():
            raise KeyboardInterrupt


def _figures(games: GenerationGames) -> dict[str, Any]:
    """What the games of a generation were like."""
    _, wanted, asked = games.work.tolist()
    return {
        "games": len(games.results),
        "positions": int(games.lengths.sum()),
        "length": round(float(games.lengths.mean()), 2),
        "first": round(float((1 + games.results.astype(np.float64)).mean() / 2), 4),
        "children": int(wanted),
        "evaluations": int(asked),
    }
