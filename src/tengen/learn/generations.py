"""Generations of value networks, as in the Simple-Go lecture: Monte-Carlo policy iteration.

    play      generation 1 learns from random games, generation g from games of generation g - 1 with exploration
              (`generation_games.py`), whose moves are those with the best value one ply ahead
    learn     a network for each player, or one for both, learns who won
    match     the new generation plays some games against the last one, the first one and random moves

    loss = mean of -log p(outcome)     outcomes: the first player won (0), the second won (1), a draw (2)
         + mean of -z log p(move)      with a policy: the next move, z = 1 if its player wins, 0 if not, 1/2 a draw

The second line is the lecture's policy gradient, over all moves of the games. With z = -1 for a defeat it has no
minimum: the log of a move that always loses goes down for ever. So z is the share of the point that the mover got.

Every position of every game is one to learn from, turned by a random symmetry of the board. One game in fifty is a test
game. `constant_loss` is that of always saying how often each outcome occurs: a network that does no better has learned
nothing, and its player would move by the numbering of the board (see docs/simple-go.md).

All of a run is in its directory:

    models/black-03.safetensors    the networks of generation 3, calibrated for int8
    games/03/0007.safetensors      games that it learned from, those of the newest generations
    training/black-03/             what the training of a network under way needs to resume

Which of these files are there says how far a run is, so `kill -9` at any moment costs at most some seconds of games or
some hundred steps of training, and the networks come out the same, bit for bit. In this file, in order: the run; the
training of a network; its positions. The settings are in `settings.py`.
"""

import shutil
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tengen.arena.generation_table import play_pairs
from tengen.encode.game_spec import GameSpec
from tengen.learn.distributed import answers, find_device
from tengen.learn.generation_games import (
    CHUNK,
    SEARCHED_CHUNK,
    GenerationFolder,
    GenerationGames,
    GenerationWorker,
)
from tengen.learn.loader import draw_positions
from tengen.learn.optimizers import DEFAULT_RATES, DivergedError
from tengen.learn.report import write_generation_curves
from tengen.learn.settings import GenerationsConfig
from tengen.learn.trainer import CALIBRATION, TrainingRun
from tengen.nets.model_file import ModelCard
from tengen.nets.network import Network, PolicyValueOutput, build_network
from tengen.nets.registry import NetworkSpecError, describe_network, network_spec, parse_network
from tengen.runs.files import make_folder, write_atomically
from tengen.runs.folder import RunDirectory, deferred_interrupts
from tengen.runs.progress import OnProgress, RunProgress, ignore_progress
from tengen.search.generations import GenerationValues, find_generation, model_file
from tengen.workers.calls import WorkerFactory, open_workers
from tengen.workers.local import this_machine
from tengen.workers.sent_files import SentFile

_BETTER: Final = 0.98  # a network whose loss is above this share of a constant's is trained again
_LOWER: Final = 1 / 3  # the rate of the next attempt, as a share


def learn_generations(
    config: GenerationsConfig,
    out: str | Path,
    on_progress: OnProgress = ignore_progress,
    hosts: WorkerFactory | None = None,
) -> Mapping[str, Any]:
    """Make generations of value networks, or resume the run in the directory `out`.

    Returns the last generation's line of metrics. Ctrl-C ends the run: what is played and learned by then is kept.
    `hosts`: where games are played, if not in threads of this process.

    >>> import tempfile
    >>> import tengen
    >>> tiny = {"game": "tictactoe", "network": "simple-go:filters=4,hidden=4", "positions": 64, "batch": 32}
    >>> games = {"generations": 1, "first_games": 40, "match_games": 2, "validate": 16, "attempts": 1}
    >>> with tempfile.TemporaryDirectory() as run:
    ...     last = tengen.learn_generations(tengen.GenerationsConfig(**tiny, **games), run)
    >>> last["step"]
    1
    """
    out = Path(out)
    _check(config)
    torch.set_num_threads(config.threads)
    run = config.open_run(out)
    try:
        return _Loop(config, run, on_progress, hosts or this_machine).run()
    finally:
        run.close()


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
        self, config: GenerationsConfig, run: RunDirectory, on_progress: OnProgress, hosts: WorkerFactory
    ) -> None:
        self.config, self.run_directory, self._on_progress, self._hosts = config, run, on_progress, hosts
        self.spec = config.spec()
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
        self._report("match", number, 1.0, line=line)

    # ---- phases ----

    def _play(self, number: int) -> GenerationGames:
        """The games that a generation learns from."""
        folder = self._games(number)
        if not folder.is_complete():
            files = (None, None) if number == 1 else find_generation(self.run_directory.path, number - 1)
            sent = [SentFile(file) if file else None for file in files]
            began, first = time.monotonic(), -1
            with (
                deferred_interrupts() as self._interrupted,
                open_workers(self._hosts, self.config.workers, GenerationWorker, self.config, *sent) as workers,
            ):
                for there in folder.play(number, workers):
                    first = there if first < 0 else first
                    speed = (there - first) / max(1e-9, time.monotonic() - began)
                    self._report("playing", number, there / sum(folder.sizes), figures={"games/s": speed})
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
        run = config.open_run(folder)
        try:
            about = {"komi": config.komi, "generation": number, "attempts": attempt + 1}
            trainer = OutcomeTrainer(config, run, self.spec, games, after, **about)
            best = trainer.train(lambda now: self._report_training(number, side, now))
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
        self._report("match", number, 0.0)
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
        return GenerationFolder(self._folder(number), games, chunk)

    def _folder(self, number: int) -> Path:
        return self.run_directory.path / "games" / f"{number:02d}"

    def _clean(self) -> None:
        """Delete what is not needed any more, once a generation is complete."""
        shutil.rmtree(self.run_directory.path / "training", ignore_errors=True)
        for number in range(1, self.generation - self.config.keep + 1):
            shutil.rmtree(self._folder(number), ignore_errors=True)

    def _report_training(self, number: int, side: str, now: RunProgress) -> None:
        figures = {name: now.figures[name] for name in ("loss", "positions/s")}
        networks = list(self.config.sides())
        share = (networks.index(side) + now.done) / len(networks)
        self._report(f"learning {side}", number, now.done, done=0.4 + 0.57 * share, figures=figures)

    def _report(self, phase: str, number: int, share: float, *, done: float = -1.0, **more: Any) -> None:
        """`done`: the share of the generation; else that of playing, which takes the first 40%, or of the match."""
        done = done if done >= 0 else 0.4 * share if phase == "playing" else 0.97 + 0.03 * share
        done = (number - 1 + done) / max(number, self.config.generations)
        self._on_progress(RunProgress(phase, number, share, done, **more))
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


# --------------------------------------------------------------------------------------- one network

TEST_EVERY: Final = 50
"""Of so many games one is a test game."""
_AT_ONCE: Final = 1024  # test positions that are evaluated together


class OutcomeTrainer(TrainingRun[GenerationsConfig, "OutcomeBatch"]):
    """Trains one network of a generation."""

    def __init__(
        self,
        config: GenerationsConfig,
        run: RunDirectory,
        spec: GameSpec,
        games: GenerationGames,
        after: str,
        **about: Any,
    ) -> None:
        """`about`: what the model's card says beside the usual."""
        self._spec, self._about = spec, about
        self._train, self._test = (
            PositionsAfter(spec, games, after, test=test, start=config.policy) for test in (False, True)
        )
        if not len(self._train) or not len(self._test):
            raise ValueError(f"{len(games.results)} games are too few to learn from: play more than {TEST_EVERY}")
        super().__init__(network_config(config, after), run, spec.encoder.planes)

    def batches(self) -> Generator["OutcomeBatch"]:
        """The next batch is made while the network learns from the last one."""
        with ThreadPoolExecutor(1, thread_name_prefix="positions") as pool:
            start, size = self.step * self.config.batch, self.config.batch
            ahead = pool.submit(self._batch, start, size)
            try:
                while True:
                    batch = ahead.result()
                    start += size
                    ahead = pool.submit(self._batch, start, size)
                    yield batch
            finally:
                ahead.cancel()

    def losses(self, output: PolicyValueOutput, batch: "OutcomeBatch") -> tuple[Tensor, dict[str, Tensor]]:
        assert output.outcome is not None
        loss = functional.cross_entropy(output.outcome.float(), torch.from_numpy(batch.outcomes))
        if not self.config.policy:
            return loss, {"loss": loss}
        moves = functional.cross_entropy(output.policy.float(), torch.from_numpy(batch.actions), reduction="none")
        policy_loss = (moves * torch.from_numpy(batch.rewards)).mean()
        return loss + policy_loss, {"loss": loss, "policy_loss": policy_loss}

    def measure(self, network: Network) -> dict[str, Any]:
        numbers, _ = self._test.shuffled(0, min(self.config.validate, len(self._test)), 1)
        losses, right, hits, won = 0.0, 0, 0, 0
        for start in range(0, len(numbers), _AT_ONCE):
            batch = self._test.read(numbers[start : start + _AT_ONCE])
            with torch.inference_mode():
                output = answers(network, batch.planes, self.config.bf16)
            logits = output.outcome
            assert logits is not None
            wanted = torch.from_numpy(batch.outcomes)
            losses += float(functional.cross_entropy(logits.float(), wanted, reduction="sum"))
            right += int((logits.argmax(dim=1) == wanted).sum())
            winners = batch.rewards == 1
            hits += int((output.policy.argmax(dim=1).numpy() == batch.actions)[winners].sum())
            won += int(winners.sum())
        shares = np.bincount(self._test.labels(numbers), minlength=3) / len(numbers)
        constant = -sum(share * np.log(share) for share in shares if share)
        found = {"loss": losses / len(numbers), "constant_loss": constant, "accuracy": right / len(numbers)}
        if self.config.policy:
            found["policy_accuracy"] = hits / max(1, won)
        return {"positions": len(numbers)} | {name: round(float(value), 5) for name, value in found.items()}

    def describe(self, network: Network, measures: dict[str, Any]) -> ModelCard:
        return ModelCard.of(
            network,
            encoder=self._spec.encoder_name,
            game=self._spec.options.game,
            rules=str(getattr(self._spec.options, "rules", "")),
            recipe=self.config.recipe(*self.config.free(), *self.config.unused),
            positions=self.positions,
            validation=measures,
            **self._about,
        )

    def calibration_planes(self) -> NDArray[np.uint8]:
        return self._batch(0, CALIBRATION).planes

    def _batch(self, start: int, count: int) -> "OutcomeBatch":
        order, chances = self._train.shuffled(start, count, self.config.seed)
        return self._train.read(order, chances if self.config.symmetries else None)

    def new_network(self) -> Network:
        name, arguments = parse_network(self.config.network)
        batch = self._spec.batch
        board = {"width": batch.width, "actions": batch.actions}
        return build_network(name, self._planes, batch.height, seed=self.config.seed, **board, **arguments)


def network_config(config: GenerationsConfig, after: str) -> GenerationsConfig:
    """The configuration with the network for positions after these moves."""
    name, arguments = parse_network(config.network)
    arguments |= {"after": after} | ({"policy": True} if config.policy else {})
    return replace(config, network=network_spec(name, arguments))


# -------------------------------------------------------------------------------------- its positions


class OutcomeBatch(NamedTuple):
    """B positions to learn from."""

    planes: NDArray[np.uint8]  # [B, C, H, W]
    outcomes: NDArray[np.int64]  # [B] 0: the first player won, 1: the second won, 2: a draw
    actions: NDArray[np.int64]  # [B] the next move, turned likewise; 0 after the last move
    rewards: NDArray[np.float32]  # [B] z of its player: 1 won, 0 lost, 0.5 a draw; 0 after the last move


class PositionsAfter:
    """The positions of games after the moves of one player, or of both, numbered from 0 on.

    `after`: first, second or both. `test`: those of test games, else those of all others. `start`: whether the start
    position counts as one after the second player's moves.
    """

    def __init__(self, spec: GameSpec, games: GenerationGames, after: str, *, test: bool, start: bool = False) -> None:
        self._spec = spec
        self._rows = np.flatnonzero((np.arange(len(games.results)) % TEST_EVERY == 0) == test)
        self._games, lengths = games, games.lengths[self._rows]
        self._begin, self._step = {"first": (1, 2), "second": (2, 2), "both": (1, 1)}[after]
        if start and after != "first":
            self._begin = 0
        self._ends = np.cumsum(np.maximum(0, (lengths - self._begin) // self._step + 1))
        self._points, gather = spec.game.symmetries(spec.options)
        self._turned = np.argsort(gather, axis=1)  # what each action becomes
        self._roots = spec.batch.allocate(1)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def labels(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[B]: the outcomes of the games of these positions."""
        results = self._games.results[self._rows[self._game_of(numbers)]]
        labels: NDArray[np.int64] = np.choose(results.astype(np.int64) + 1, [1, 2, 0])
        return labels

    def read(self, numbers: NDArray[np.int64], symmetries: NDArray[np.int64] | None = None) -> OutcomeBatch:
        """The positions of these numbers, int64[B], each turned by a symmetry of int64[B]; None: by none."""
        game, count = self._spec.batch, len(numbers)
        place = self._game_of(numbers)
        before = np.where(place > 0, self._ends[place - 1], 0)
        moves = self._begin + self._step * (numbers - before)
        positions = game.allocate(count)
        paths = self._games.actions[self._rows[place]]
        game.follow(self._roots, np.zeros(count, np.int64), paths, moves, positions)
        planes = np.empty((count, *self._spec.shape), np.uint8)
        self._spec.encoder.encode_games(positions, count, planes)
        actions, rewards = self._next_moves(self._rows[place], moves)
        if symmetries is not None:
            chosen = symmetries % len(self._points)
            flat = planes.reshape(count, planes.shape[1], -1)
            turned = np.take_along_axis(flat, self._points[chosen][:, None, :], axis=2)
            planes = np.ascontiguousarray(turned.reshape(planes.shape))
            actions = self._turned[chosen, actions]
        return OutcomeBatch(planes, self.labels(numbers), actions, rewards)

    def _next_moves(
        self, games: NDArray[np.int64], moves: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """What was played after so many moves, and what its player got for it."""
        longest = self._games.actions.shape[1]
        actions = self._games.actions[games, np.minimum(moves, longest - 1)].astype(np.int64)
        goes_on = (moves < longest) & (actions >= 0)
        results = self._games.results[games].astype(np.float32)
        rewards = (1 + np.where(moves % 2 == 0, results, -results)) / 2
        return np.where(goes_on, actions, 0), np.where(goes_on, rewards, 0).astype(np.float32)

    def shuffled(self, start: int, count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers start, start + 1, ... of an endless sequence in which every pass has each position once, and a
        random number for each; int64[count] both."""
        order, chances = np.empty(count, np.int64), np.empty(count, np.int64)
        draw_positions(start, len(self), seed, True, order, chances)
        return order, chances

    def _game_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[B]: the places in `rows` of the games."""
        return np.searchsorted(self._ends, numbers, side="right")
