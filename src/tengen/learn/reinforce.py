"""Policy-gradient learning, stage 2 of AlphaGo (Silver et al. 2016): a policy plays earlier versions of itself.

    play      games in lock-step against one opponent of the pool, half of them with each colour, moves drawn at
              temperature 1; the games go to the disk
    learn     a step of REINFORCE for each batch of the learner's own moves
    snapshot  every few updates the policy joins the pool, in which the policy of the start always is
    match     every few updates against the policy of the start, both drawing at temperature 1

The loss is that of REINFORCE (Williams 1992), as in Silver et al. 2016:

    L = mean over the learner's moves of  -(z - b) log p(a | s)  + value_weight * (z - v(s))^2  - entropy * H(p)

z is the result for the player who moved, b the baseline, p the softmax over the actions that could be drawn. An update
makes several steps, and after the first of them the policy p is no longer the one that drew the moves, q. Then
-(z - b) log p would push the moves of lost games ever further away, wherever that leads (in Go, to passing). So the
first term is -(z - b) p / q, which has the same gradient at p = q, and none where p / q has gone beyond 1 - trust or
1 + trust in the wanted direction, as in proximal policy optimisation (Schulman et al. 2017). With trust 0 it is
-(z - b) log p. Positions of one game share its result, so each counts 1 / (moves of the game) in the value's mean.

All of a run is in its directory. Every update ends with a checkpoint, so `kill -9` at any moment costs at most the
update under way, and not its games once they are played. In this file, in order: the run; the loss; the games; their
positions. The settings are in `settings.py`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tengen._machine import cores
from tengen.arena.statistics import Score
from tengen.encode.game_spec import GameSpec
from tengen.learn.distributed import find_device
from tengen.learn.duel import load_player, policy_duel
from tengen.learn.settings import ReinforceConfig
from tengen.learn.trainer import CALIBRATION, Trainer
from tengen.nets.model_file import ModelCard, find_model, load_network, read_card
from tengen.nets.network import PolicyValueOutput
from tengen.runs.arrays import ArrayFolder, Arrays
from tengen.runs.files import make_folder, write_atomically
from tengen.runs.folder import CHECKPOINT_FILE, FolderError, RunDirectory, deferred_interrupts
from tengen.runs.progress import OnProgress, RunProgress, ignore_progress, reporting
from tengen.search.lockstep import PlayedTurns, PolicyPlay, final_results, play_to_end
from tengen.workers.calls import WorkerFactory, Workers, open_workers
from tengen.workers.local import this_machine
from tengen.workers.sent_files import SentFile

_FIRST_GAMES: Final = 32  # on whose positions the policy of the start is calibrated for int8


def learn_reinforce(
    config: ReinforceConfig | str,
    out: str | Path,
    on_progress: OnProgress = ignore_progress,
    *,
    report: bool = True,
    hosts: WorkerFactory | None = None,
    **settings: Any,
) -> Mapping[str, Any]:
    """Improve a policy by playing against earlier versions of itself, or resume the run in the directory `out`.

    Returns the line of metrics of the best match against the policy of the start. `config` is a configuration or the
    model to start from; `settings` change it. Ctrl-C ends the run within the update under way, which is done again by
    the next call; then KeyboardInterrupt is raised. With `report`, report.html is written at the end and every few
    minutes. `hosts`: where games are played, if not in threads of this process.

    >>> import tempfile
    >>> import tengen
    >>> tiny = {"games": 8, "updates": 1, "measure": 1, "match_games": 8, "workers": 1, "threads": 1}
    >>> with tempfile.TemporaryDirectory() as run:
    ...     best = tengen.learn_reinforce("go5", run, report=False, **tiny)
    ...     model = tengen.load_model(f"{run}/best.safetensors")
    >>> 0 <= best["score"] <= 1, model.card.size
    (True, 5)
    """
    from tengen.learn.game_report import write_reinforce_report

    config = ReinforceConfig(config, **settings) if isinstance(config, str) else replace(config, **settings)
    out = Path(out)
    config, spec = _checked(config)
    torch.set_num_threads(config.threads or cores())
    run = config.open_run(out)
    try:
        with (
            open_workers(hosts or this_machine, config.workers, PolicyWorker, spec) as workers,
            reporting(out, on_progress, write_reinforce_report if report else None) as report_and_write,
        ):
            loop = _Loop(config, run, spec, workers)
            loop.run(report_and_write)
        return loop.best
    finally:
        run.close()


def _checked(config: ReinforceConfig) -> tuple[ReinforceConfig, GameSpec]:
    """The configuration with what follows from the model, and its games; ValueError if the model does not suit it."""
    find_device(config.device)
    card = read_card(find_model(config.start_from))
    parts = card.architecture()
    if not parts.policy:
        raise ValueError(f"{config.start_from} has no policy to improve: give one that `tengen learn supervised` made")
    if config.baseline == "value" and not parts.value:
        raise ValueError(f"{config.start_from} has no value head for a baseline: take --baseline mean")
    if config.komi_spread and card.encoder != "compact-komi":
        raise ValueError(f"{card.encoder} does not show the komi that komi_spread draws: take compact-komi")
    config = config.completed(card)
    return config, config.spec(card)


class _Loop:
    """A run under way: where it stands, and one method for each phase of an update."""

    def __init__(self, config: ReinforceConfig, run: RunDirectory, spec: GameSpec, workers: Workers) -> None:
        self.config, self.run_directory, self.spec, self.workers = config, run, spec, workers
        self.games = GameFolder(run.path / "games")
        self.update, self.best = 0, dict[str, Any]()
        self._seconds_before, self._began = 0.0, time.monotonic()
        self._on_progress: OnProgress = ignore_progress
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
        losses = self.trainer.learn_from(
            experience, reader, update, lambda share, figures: self._report("learning", update, share, figures)
        )
        rng = np.random.default_rng((config.seed, update, 4))
        planes = reader.planes(CALIBRATION, rng) if config.backend == "int8" else None
        self.trainer.export_as(self._current, planes, update)
        learned = time.monotonic()
        line: dict[str, Any] = {"step": update, **_figures(experience, losses)}
        line |= {"seconds_play": round(played - began, 1), "seconds_learn": round(learned - played, 1)}
        if update % config.snapshot == 0:
            write_atomically(self._model(update), self._current.read_bytes())
        if update % config.measure == 0 or update == config.updates:
            line |= self._match(update)
            if line["score"] > self.best.get("score", -1.0):
                write_atomically(self.run_directory.path / "best.safetensors", self._current.read_bytes())
                self.best = line
        line |= {"seconds": round(self.seconds(), 1)}
        self.run_directory.record(line)
        self.update = update
        progress = {"update": update, "best": self.best, "seconds": self.seconds()}
        self.trainer.save(self.run_directory.path / CHECKPOINT_FILE, progress)
        self._report("learning", update, 1.0, losses, line)

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
            planes = PositionReader(self.spec, games, boards).planes(CALIBRATION, rng)
        for path in (self._current, self._model(0)):  # in this order: the second proves that both are there
            make_folder(path.parent)
            trainer.export_as(path, planes, 0)

    def _play(self, update: int) -> "Experience":
        """Play the games of an update, and keep them."""
        config = self.config
        self._report("playing", update, 0.0)
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

    def _match(self, update: int) -> dict[str, Any]:
        """Play against the policy of the start."""
        self._report("match", update, 0.0)
        parts = self.workers.count
        games = -(-self.config.match_games // (2 * parts)) * 2
        models = SentFile(self._current), SentFile(self._model(0))
        seeds = [
            np.random.SeedSequence((self.config.seed, update, 5, part)).generate_state(1)[0] for part in range(parts)
        ]
        calls = [(models, self.config.backend, games, int(seed)) for seed in seeds]
        result = sum(self.workers.map("duel", calls).results(), Score(0, 0))
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

    def _report(
        self,
        phase: str,
        update: int,
        share: float,
        figures: Mapping[str, float] | None = None,
        line: Mapping[str, Any] | None = None,
    ) -> None:
        self._on_progress(RunProgress(phase, update, share, self._done(), self.seconds(), figures or {}, line))
        self._stop_if_interrupted()


def _figures(experience: "Experience", losses: Mapping[str, float]) -> dict[str, Any]:
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


# -------------------------------------------------------------------------------------------- the loss

_FORBIDDEN: Final = -1e4  # the logit of an action that could not be drawn: nothing is left of it after the softmax


class Losses(NamedTuple):
    """The parts of the loss, before they are weighted."""

    policy: Tensor
    value: Tensor
    entropy: Tensor


def policy_gradient_losses(
    output: PolicyValueOutput,
    batch: "LearnedPositions",
    baseline: Tensor,
    trust: float = 0.0,
    temperature: float = 1.0,
) -> Losses:
    """The parts of the loss of B positions; baseline: [B]."""
    rewards = torch.from_numpy(batch.rewards)
    logits = output.policy.float() / temperature
    logs = torch.log_softmax(logits.masked_fill(~torch.from_numpy(batch.sensible), _FORBIDDEN), dim=1)
    played = logs.gather(1, torch.from_numpy(batch.actions)[:, None])[:, 0]
    gains = rewards - baseline
    if trust:
        ratios = (played - torch.from_numpy(batch.chances).log()).exp()
        policy = -torch.minimum(gains * ratios, gains * ratios.clamp(1 - trust, 1 + trust)).mean()
    else:
        policy = -(gains * played).mean()
    entropy = -(logs.exp() * logs).sum(dim=1).mean()
    if output.value is None:
        return Losses(policy, torch.zeros(()), entropy)
    shares = torch.from_numpy(1.0 / batch.lengths)
    value = (shares * (output.value.float() - rewards).square()).sum() / shares.sum()
    return Losses(policy, value, entropy)


class ReinforceTrainer(Trainer["LearnedPositions"]):
    """Learns from the games of updates.

    Batch normalisation keeps the statistics that the network played with, so that the gradient is that of the policy
    that drew the moves. The value head, if there is one, is trained along; other heads keep their weights.
    """

    batch_statistics: ClassVar[bool] = False
    to_play: ClassVar[bool] = True

    def __init__(self, config: ReinforceConfig, start: Path) -> None:
        network, self.card = load_network(start)
        self.config = config
        self.means = {1: 0.0, 2: 0.0}
        """The mean of the learner's results in the last update as the first player, and as the second."""
        super().__init__(
            network,
            optimizer=config.optimizer,
            rate=config.rate,
            momentum=config.momentum,
            clip=config.clip,
            bf16=config.bf16,
            device=config.device,
        )

    def learn_from(
        self,
        experience: "Experience",
        reader: "PositionReader",
        update: int,
        on_step: Callable[[float, dict[str, float]], None] = lambda share, figures: None,
    ) -> dict[str, float]:
        """Learn from the games of an update, the first being 1; returns the means of the parts of the loss."""
        config = self.config
        self.means = mean_results(experience)
        rng = np.random.default_rng((config.seed, update, 3))
        sums, done = dict.fromkeys(Losses._fields, 0.0), 0
        orders = [rng.permutation(len(reader)) for _ in range(config.passes)]
        parts = [part for order in orders for part in np.array_split(order, max(1, round(len(order) / config.batch)))]
        for part in parts:
            for name, loss in self.learn(reader.read(part), config.rate).items():
                sums[name] += len(part) * loss
            done += len(part)
            figures = {name: total / done for name, total in sums.items()}
            on_step(done / (config.passes * len(reader)), figures)
        return figures

    def losses(self, output: PolicyValueOutput, batch: "LearnedPositions") -> tuple[Tensor, dict[str, Tensor]]:
        config = self.config
        losses = policy_gradient_losses(output, batch, self._baseline(output, batch), config.trust, config.temperature)
        total = losses.policy + config.value_weight * losses.value - config.entropy * losses.entropy
        return total, losses._asdict()

    def export_as(self, path: Path, planes: NDArray[np.uint8] | None, update: int) -> None:
        """Write the policy after this update as a model, calibrated for 8 bits on planes if there are any."""
        start = Path(self.config.start_from).stem
        card = ModelCard.of(
            self.network,
            encoder=self.card.encoder,
            game=self.card.game,
            rules=self.config.rules,
            updates=update,
            started_from=start,
            recipe=self.config.recipe() | {"start_from": start},
        )
        self.export(path, card, planes)

    def _baseline(self, output: PolicyValueOutput, batch: "LearnedPositions") -> Tensor:
        """[B]: what results are compared with."""
        if self.config.baseline == "value":
            assert output.value is not None
            return output.value.detach().float()
        if self.config.baseline == "mean":
            return torch.from_numpy(np.where(batch.players == 1, self.means[1], self.means[2]).astype(np.float32))
        return torch.zeros(len(batch.rewards))


def mean_results(experience: "Experience") -> dict[int, float]:
    """The mean of the learner's results as the first player (1) and as the second (2); 0 where there is none."""
    found = {}
    for player in (1, 2):
        winner = experience.winner[(experience.learner == player) | (experience.learner == BOTH)]
        results = np.where(winner == 0, 0, np.where(winner == player, 1, -1))
        found[player] = float(results.mean()) if len(results) else 0.0
    return found


# -------------------------------------------------------------------------------------------- the games
# Positions are not stored: they are set up again from the moves when they are learned from.

BOTH: Final = 0
"""As `Experience.learner`: the policy played both sides."""


class Experience(NamedTuple):
    """The G games of an update, of D turns at most."""

    actions: NDArray[np.int16]  # [G, D] -1 after the end of a game
    players: NDArray[np.int8]  # [G, D] who moved: 1 the first player, 2 the second, 0 nobody
    chances: NDArray[np.float32]  # [G, D] how likely each action was to be drawn
    learner: NDArray[np.int8]  # [G] which player the learner was: 1, 2, or BOTH
    winner: NDArray[np.int8]  # [G] 1: the first player, 2: the second, 0: nobody
    opponent: NDArray[np.int64]  # [] the update after which the opponent was the learner

    @property
    def rewards(self) -> NDArray[np.float32]:
        """float32[G, D]: the result of the game for the player who moved: 1 won, -1 lost, 0 drawn."""
        drawn, won = self.winner[:, None] == 0, self.winner[:, None] == self.players
        return np.where(drawn, 0.0, np.where(won, 1.0, -1.0)).astype(np.float32)

    @property
    def learned(self) -> NDArray[np.bool_]:
        """bool[G, D]: the moves of the learner."""
        mine: NDArray[np.bool_] = (self.players == self.learner[:, None]) | (self.learner[:, None] == BOTH)
        return mine & (self.players > 0)


class GameFolder:
    """The games of a run's newest updates: games/000012.safetensors has those of update 12."""

    def __init__(self, path: Path, *, tidy: bool = True) -> None:
        self._files = ArrayFolder(path, "delete it, and its games are played again", tidy=tidy)
        self.updates = self._files.numbers

    def write(self, update: int, experience: Experience, keep: int) -> None:
        """Keep the games of an update, and delete those that are not among so many of the newest."""
        self._files.write(update, experience._asdict())
        for number in self._files.numbers():
            if number <= update - keep:
                self._files.delete(number)

    def read(self, update: int) -> Experience | None:
        """The games of an update, if they are there."""
        try:
            return self._files.read(update, _as_experience)
        except FileNotFoundError:
            return None


def _as_experience(found: Arrays, _: Mapping[str, str]) -> Experience:
    experience = Experience(**{name: found[name] for name in Experience._fields})
    games, shape = (len(experience.winner),), experience.actions.shape
    fit = experience.players.shape == experience.chances.shape == shape
    if not (fit and experience.learner.shape == games == shape[:1]):
        raise ValueError("its arrays do not fit each other")
    return experience


class GamesOrder(NamedTuple):
    """Games to be played, in parts by several workers."""

    learner: str
    """The file of the policy that learns."""
    opponent: str | None
    """The file of the policy that it meets; None: itself."""
    games: int
    """An even number; the learner is the first player in every other game."""
    parts: int
    seed: tuple[int, ...]
    komi_spread: float
    temperature: float
    backend: str

    @property
    def sides(self) -> NDArray[np.int8]:
        """int8[G]: which player the learner is."""
        if self.opponent is None:
            return np.full(self.games, BOTH, np.int8)
        return np.tile(np.array([1, 2], np.int8), self.games // 2)


class PolicyWorker:
    """Plays parts of the games of updates and matches; all that a call needs comes with it."""

    in_threads: ClassVar = True  # kernels and networks release Python's lock

    def __init__(self, spec: GameSpec) -> None:
        self._spec = spec

    def play(self, order: GamesOrder, number: int) -> tuple[int, PlayedTurns, NDArray[np.int8]]:
        """Part `number` of the games, from 0 on: the number, the turns, and int8[G] who won."""
        game, sides = self._spec.batch, order.sides
        boards = new_boards(self._spec, order.games, order.komi_spread, order.seed)
        part = np.array_split(np.arange(order.games), order.parts)[number]
        players = [load_player(model, order.backend) for model in (order.learner, order.opponent) if model is not None]
        mine = game.allocate(len(part))
        game.copy(boards, part, mine, np.arange(len(part)))
        first, second = (sides[part] == 2).astype(np.int64), (sides[part] == 1).astype(np.int64)
        play = PolicyPlay(game, players, (*order.seed, int(part[0])))
        turns = play_to_end(play, mine, first, second, order.temperature)
        return number, turns, final_results(game, mine, len(part))

    def duel(self, models: tuple[str, str], backend: str, games: int, seed: int) -> Score:
        """So many games of a policy against another, as `policy_duel` plays them."""
        return policy_duel(self._spec.options, *(load_player(path, backend) for path in models), games=games, seed=seed)


def play_games(
    spec: GameSpec,
    learner: Path,
    opponent: Path | None,
    *,
    games: int,
    number: int,
    seed: tuple[int, ...],
    workers: Workers,
    komi_spread: float = 0.0,
    temperature: float = 1.0,
    backend: str = "int8",
) -> Experience:
    """Play so many games (rounded up to an even number) of a model against another, or itself if there is none.

    `number` is that of the opponent; `workers` are `PolicyWorker`s of the same games. The learner is the first player
    in half of the games.
    """
    there = 2 * ((games + 1) // 2)
    files = SentFile(learner), None if opponent is None else SentFile(opponent)
    parts = min(there, workers.count)
    order = GamesOrder(*files, there, parts, seed, komi_spread, temperature, backend)
    calls = workers.map("play", [(order, part) for part in range(parts)])
    played = sorted(calls.results(), key=lambda part: int(part[0]))
    most = max(turns.actions.shape[1] for _, turns, _ in played)
    results = np.concatenate([results for _, _, results in played])
    return Experience(
        _stack([turns.actions for _, turns, _ in played], most, -1),
        _stack([turns.players for _, turns, _ in played], most, 0),
        _stack([turns.chances for _, turns, _ in played], most, 1),
        order.sides,
        np.where(results == 0, 0, np.where(results > 0, 1, 2)).astype(np.int8),
        np.array(number),
    )


def _stack(parts: Sequence[NDArray[Any]], width: int, filler: int) -> NDArray[Any]:
    """Arrays [G, D] on top of each other, made equally wide."""
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=filler) for part in parts]
    )


def new_boards(spec: GameSpec, games: int, komi_spread: float, seed: tuple[int, ...]) -> Any:
    """The start positions of an update's games; the same seed gives the same komi."""
    boards = spec.batch.allocate(games)
    spec.batch.vary(boards, np.arange(games), komi_spread, np.random.default_rng((*seed, 1)))
    return boards


# ---------------------------------------------------------------------------------------- their positions


class LearnedPositions(NamedTuple):
    """B positions in which the learner moved."""

    planes: NDArray[np.uint8]  # [B, C, H, W]
    sensible: NDArray[np.bool_]  # [B, A] the actions that could be drawn
    actions: NDArray[np.int64]  # [B] the action drawn
    chances: NDArray[np.float32]  # [B] how likely it was to be drawn
    rewards: NDArray[np.float32]  # [B] the result for the player who moved
    players: NDArray[np.int8]  # [B] who moved
    lengths: NDArray[np.float32]  # [B] how many moves of the learner the game has


class PositionReader:
    """The positions of an update's games, in any order."""

    def __init__(self, spec: GameSpec, experience: Experience, boards: Any) -> None:
        """`boards`: where the games began, as `new_boards` has them."""
        self._spec, self._experience, self._boards = spec, experience, boards
        self._games, self._turns = np.nonzero(experience.learned)
        self._leaves: Any = None
        self._room = 0

    def __len__(self) -> int:
        return len(self._games)

    def read(self, numbers: NDArray[np.int64]) -> LearnedPositions:
        """The positions of these numbers, int64[B], each from 0 to len(self) - 1."""
        game, count, experience = self._spec.batch, len(numbers), self._experience
        games, turns = self._games[numbers], self._turns[numbers]
        if count > self._room:
            self._leaves, self._room = game.allocate(count), count
        game.follow(self._boards, games, experience.actions[games], turns, self._leaves)
        planes = np.empty((count, *self._spec.shape), np.uint8)
        self._spec.encoder.encode_games(self._leaves, count, planes)
        sensible, over = np.zeros((count, game.actions), np.bool_), np.zeros(count, np.bool_)
        game.judge(self._leaves, count, sensible, over, np.zeros(count, np.float32))
        game.keep_sensible(self._leaves, count, sensible)
        return LearnedPositions(
            planes,
            sensible,
            experience.actions[games, turns].astype(np.int64),
            experience.chances[games, turns],
            experience.rewards[games, turns],
            experience.players[games, turns],
            experience.learned.sum(axis=1).astype(np.float32)[games],
        )

    def planes(self, count: int, rng: np.random.Generator) -> NDArray[np.uint8]:
        """uint8[n, C, H, W]: what the network saw of so many positions, or of all if there are fewer."""
        return self.read(rng.permutation(len(self))[:count]).planes
