"""Self-play training, the loop of AlphaGo Zero (Silver et al. 2017): its settings, its loss, and round after round of

    self-play    the best model plays itself on all cores: positions with the search's policy and the game's result
    training     the current network learns from a window on the newest positions
    export       the running average of its weights becomes the model of a new generation
    duels        with the best, which it replaces if it passes the gate, and with past ones, for a rating

All of a run is in its directory: chunks of positions, a checkpoint of the trainer, a model for each generation, a
line of metrics for each completed round. A run is resumed from what is there, so `kill -9` at any moment costs at most
the unit of work under way.

The loss, pi being the search's policy, p and v the network's, z the result, theta the weights:

    L = policy_weight * cross_entropy(pi, p) + value_weight * (z - v)^2 + decay / 2 * |theta|^2
        + ownership_weight * (who will own each point)^2 + score_weight * (margin / points)^2

`decay` is PyTorch's weight_decay: it adds decay * theta to the gradient, the gradient of decay / 2 * |theta|^2.
(With adamw it is no part of the loss: every step shrinks theta by rate * decay.) AlphaGo Zero (Silver et al. 2017)
writes c * |theta|^2 with c = 0.0001, so its weights are policy_weight 1, value_weight 1, decay 0.0002.

The Microchess lecture's code, in these words: its cross entropy is a mean over 400 outputs, ours a sum, so its
policy_weight is 1/400 = 0.0025; value_weight 0.02 (its c1); decay 0.0001 (its c2, given to PyTorch's weight_decay);
rate 0.01. A loss 400 times as large with a rate 400 times smaller moves the weights along the same path, with sgd and
without --clip: policy_weight 1, value_weight 8, decay 0.04, rate 0.000025. (Its momentum of 0.9 is plain, ours is
Nesterov's.)

The command line reads the settings here, so PyTorch, networks and the search are imported where they are used.
"""

import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np

from tengen._machine import cores, has_exact_bytes
from tengen.learn.replay import ChunkFolder, ReplayMemory, window_size
from tengen.learn.selfplay import SelfPlayRound, SelfPlaySettings, ZeroWorker, round_figures
from tengen.learn.settings import OPTIMIZERS, SCHEDULES
from tengen.runs.folder import CONFIG_FILE, FolderError, RunDirectory, deferred_interrupts, read_metrics, read_settings
from tengen.workers.calls import WorkerFactory
from tengen.workers.local import ProcessWorkers

if TYPE_CHECKING:
    from tengen.arena.statistics import Score
    from tengen.encode.game_spec import GameSpec
    from tengen.games.state import Options

BACKENDS: Final = ("int8", "openvino", "torch")
FIXED_SETTINGS: Final = frozenset(
    {"preset", "game", "size", "rules", "komi", "double_step", "encoder", "limit"}
    | {"network", "optimizer", "start_from", "seed"}
)
"""What a run is; everything else may change when it goes on, and the change is noted in its metrics..."""
MACHINE_SETTINGS: Final = frozenset(
    {"hours", "iterations", "workers", "threads", "device", "overlap", "niceness", "checkpoint"}
)
"""... but for these."""


@dataclass(frozen=True)
class ZeroConfig(SelfPlaySettings):
    """Everything that shapes a run; kept as config.toml in its directory."""

    preset: Annotated[str, "Where the settings that you do not give come from."] = ""
    game: Annotated[str, "The game: go, microchess, tictactoe or one that you added."] = "go"
    size: Annotated[int, "Rows of the board."] = 5
    rules: Annotated[
        str, "Rule set: chinese and the like for Go (area counting); standard or ncsoft for Microchess."
    ] = "chinese"
    komi: Annotated[float, "Go: points that White gets for moving second."] = 3.5
    double_step: Annotated[bool, "Microchess: whether a pawn may begin with two steps."] = True
    encoder: Annotated[str, "How positions are shown to the network."] = "compact"
    limit: Annotated[int, "Go: moves after which a game is scored as it stands; 0: three times the points."] = 0
    network: Annotated[str, "A kind of network with its settings; it needs a value head."] = (
        "residual:blocks=2,filters=32,first_kernel=3,value=yes,ownership=yes,score=yes"
    )
    start_from: Annotated[str, "A model, by name or path, whose weights to start from."] = ""
    seed: Annotated[int, "Random seed of the first weights, the games and the shuffling."] = 1

    hours: Annotated[float, "Hours to learn, over all calls of the command; 0: until you stop it."] = 0.25
    iterations: Annotated[int, "How many rounds of self-play and training; 0: as many as the time allows."] = 0
    positions: Annotated[int, "Positions that one round of self-play adds."] = 20_000
    first_simulations: Annotated[
        int, "Simulations per move in the first round; they rise to --simulations over --ramp rounds. 0: no rise."
    ] = 0
    ramp: Annotated[int, "Rounds over which the simulations rise."] = 10

    reuse: Annotated[float, "How often a position is learned from, on average."] = 3.0
    window_first: Annotated[int, "Size up to which the replay window keeps every position."] = 100_000
    window_growth: Annotated[
        float, "Then the window grows with the number of positions to this power (KataGo: 0.75)."
    ] = 0.75
    window_share: Annotated[float, "How fast that growth starts: positions added to the window per new position."] = 0.4
    window_most: Annotated[int, "Largest size of the window; memory and disk space are proportional to it."] = 1_000_000
    batch: Annotated[int, "Batch size, in positions."] = 512
    symmetries: Annotated[bool, "Rotate and reflect every position at random, where the game allows it."] = True

    optimizer: Annotated[str, f"Optimiser: {', '.join(OPTIMIZERS)}."] = "sgd"
    rate: Annotated[float, "Learning rate."] = 0.05
    momentum: Annotated[float, "Momentum of sgd."] = 0.9
    decay: Annotated[float, "Weight decay: adds decay / 2 * |weights|^2 to the loss."] = 1e-4
    schedule: Annotated[str, f"Learning-rate schedule over --hours or --iterations: {', '.join(SCHEDULES)}."] = (
        "constant"
    )
    rate_floor: Annotated[float, "Share of the rate that is left at the end of the schedule."] = 0.1
    warm_up: Annotated[int, "Steps over which the rate rises from zero at the start."] = 200
    clip: Annotated[float, "Clip gradients to this norm; 0: no clipping."] = 0.0
    average: Annotated[float, "Decay of the running average of the weights, which plays and is saved; 0: none."] = 0.998
    bf16: Annotated[bool, "Train in 16-bit bfloat where that is safe, if the processor can."] = False
    policy_weight: Annotated[float, "Weight of the policy loss, a cross entropy."] = 1.0
    value_weight: Annotated[
        float,
        "Weight of the value loss. Use 8 with --decay 0.04 --rate 0.000025 to reproduce the Microchess lecture.",
    ] = 1.0
    ownership_weight: Annotated[float, "Weight of the ownership loss, if the network has that head."] = 0.3
    score_weight: Annotated[float, "Weight of the score loss, if the network has that head."] = 0.3
    blend: Annotated[float, "Share of the search's value in the value to learn; the rest is the game's result."] = 0.0

    gate: Annotated[
        float, "Score a new model needs against the best to replace it; 0: none. The Microchess lecture uses 0.6."
    ] = 0.0
    gate_games: Annotated[int, "Games of that duel."] = 100
    duel_every: Annotated[int, "Rounds between two duels with past models, which give the ratings; 0: never."] = 5
    duel_games: Annotated[int, "Games against each of them."] = 40
    past: Annotated[int, "How many past models to play in these duels."] = 2
    duel_simulations: Annotated[int, "Simulations per move in duels; 0: as in self-play."] = 0

    workers: Annotated[int, "Processes that play; 0: one a core."] = 0
    threads: Annotated[int, "Threads that train; 0: all cores, or one with --overlap."] = 0
    device: Annotated[str, "Where to train: cpu, cuda (a graphics card), cuda:1 (the second one)."] = "cpu"
    overlap: Annotated[bool, "Play the next round while training on the last one."] = True
    niceness: Annotated[
        int,
        "With --overlap: niceness of the processes that play beside the one that trains; at 19 they starve.",
    ] = 2
    backend: Annotated[str, f"What runs the network in self-play: {', '.join(BACKENDS)}."] = "int8"
    calibration: Annotated[int, "Positions on which the 8-bit network is calibrated; as many others check it."] = 1024
    checkpoint: Annotated[float, "Minutes of training between two checkpoints within a round."] = 5.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES), ("backend", BACKENDS)):
            if getattr(self, name) not in known:
                raise ValueError(f"no {name} is called {getattr(self, name)!r}: choose from {', '.join(known)}")
        for name in (
            *("positions", "batch", "ramp", "window_first", "window_most", "gate_games", "duel_games", "calibration"),
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        for name in (
            *("hours", "iterations", "first_simulations", "reuse", "rate", "decay", "warm_up", "clip", "policy_weight"),
            *("value_weight", "ownership_weight", "score_weight", "duel_every", "past", "duel_simulations", "workers"),
            *("threads", "seed", "limit", "checkpoint", "niceness"),
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        for name in ("momentum", "average", "gate"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more, and less than 1")
        for name in ("rate_floor", "blend", "window_growth", "window_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give a share from 0 to 1")
        if self.first_simulations > self.simulations:
            raise ValueError(
                f"first_simulations {self.first_simulations} is more than simulations {self.simulations}: give up to "
                f"{self.simulations}, or 0 for no rise"
            )
        if self.window_first > self.window_most:
            raise ValueError(f"window_first {self.window_first} is more than window_most {self.window_most}")

    def game_options(self) -> "Options":
        """The options of the game, of those that it has among the settings here."""
        from tengen.games.game import get_game

        kind = get_game(self.game).options
        return kind.of({field.name: getattr(self, field.name, None) for field in dataclasses.fields(kind)})

    def completed(self) -> "ZeroConfig":
        """The same with what follows from the game: the rows of its board, and no komi or rules where it has none."""
        spec = self.game_spec()
        known = {field.name for field in dataclasses.fields(spec.options)}
        missing: dict[str, Any] = {"komi": 0.0, "rules": ""}
        return dataclasses.replace(
            self, size=spec.batch.height, **{name: value for name, value in missing.items() if name not in known}
        )

    def game_spec(self) -> "GameSpec":
        """The game that this is about, as the network sees it."""
        from tengen.encode.game_spec import GameSpec

        return GameSpec(self.game_options(), self.encoder)

    def self_play(self) -> SelfPlaySettings:
        """The settings of self-play among these."""
        return SelfPlaySettings(
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(SelfPlaySettings)}
        )

    def simulations_in(self, iteration: int) -> int:
        """Simulations for a move in this round, the first being 1."""
        if not self.first_simulations or iteration > self.ramp:
            return self.simulations
        risen = (iteration - 1) / self.ramp
        return round(self.first_simulations + risen * (self.simulations - self.first_simulations))


_GO_HEADS: Final = "first_kernel=3,value=yes,ownership=yes,score=yes"
PRESETS: Final[dict[str, dict[str, Any]]] = {
    "go5": {
        "game": "go",
        "size": 5,
        "komi": 3.5,
        "network": f"residual:blocks=2,filters=32,{_GO_HEADS}",
        "simulations": 32,
        "slots": 256,
        "temperature_plies": 6,
        "positions": 12_000,
        "reuse": 3.0,
        "window_first": 60_000,
        "window_most": 500_000,
        "batch": 256,
        "rate": 0.1,
        "hours": 0.25,
        "schedule": "cosine",
        "average": 0.99,
        "overlap": True,
        "duel_every": 2,
    },
    "go7": {
        "game": "go",
        "size": 7,
        "komi": 9.0,
        "network": f"residual:blocks=3,filters=48,{_GO_HEADS}",
        "simulations": 32,
        "slots": 256,
        "temperature_plies": 10,
        "positions": 16_000,
        "reuse": 3.0,
        "window_first": 100_000,
        "window_most": 1_000_000,
        "batch": 256,
        "rate": 0.1,
        "hours": 2.0,
        "bf16": True,
        "schedule": "cosine",
        "average": 0.99,
        "overlap": True,
        "duel_every": 5,
    },
    "go9": {
        "game": "go",
        "size": 9,
        "komi": 7.0,
        "network": f"residual:blocks=4,filters=64,pool_every=2,{_GO_HEADS}",
        "simulations": 32,
        "slots": 192,
        "full_share": 0.5,
        "fast_simulations": 12,
        "value_scale": 0.25,
        "temperature_plies": 16,
        "positions": 12_000,
        "reuse": 2.5,
        "window_first": 150_000,
        "window_most": 2_000_000,
        "batch": 256,
        "rate": 0.1,
        "average": 0.99,
        "hours": 48.0,
        "bf16": True,
        "overlap": True,
        "duel_every": 5,
    },
    "microchess": {
        "game": "microchess",
        "size": 5,
        "rules": "standard",
        "komi": 0.0,
        "encoder": "microchess",
        "network": "residual:blocks=4,filters=64,first_kernel=3,value=yes",
        "simulations": 64,
        "first_simulations": 32,
        "ramp": 80,
        "slots": 256,
        "temperature_plies": 16,
        "random_plies": 4,
        "positions": 16_000,
        "reuse": 3.0,
        "blend": 0.3,
        "window_first": 150_000,
        "window_most": 2_000_000,
        "batch": 256,
        "rate": 0.12,
        "schedule": "cosine",
        "rate_floor": 0.03,
        "average": 0.99,
        "hours": 3.0,
        "bf16": True,
        "overlap": True,
        "duel_every": 5,
    },
    "tictactoe": {
        "game": "tictactoe",
        "size": 3,
        "rules": "",
        "komi": 0.0,
        "encoder": "tictactoe",
        "network": "residual:blocks=1,filters=32,first_kernel=3,value=yes",
        "simulations": 16,
        "slots": 128,
        "temperature_plies": 9,
        "random_plies": 6,
        "positions": 2_500,
        "reuse": 4.0,
        "window_first": 20_000,
        "window_most": 20_000,
        "batch": 128,
        "rate": 0.1,
        "warm_up": 50,
        "schedule": "cosine",
        "average": 0.99,
        "iterations": 12,
        "hours": 0.0,
        "backend": "openvino",
        "workers": 1,
        "threads": 1,
        "overlap": False,
        "duel_every": 0,
    },
}


def preset_config(preset: str, given: Mapping[str, Any] | None = None) -> ZeroConfig:
    """The preset's configuration, but for what is given. Its rise of simulations ends where fewer are given."""
    if preset not in PRESETS:
        raise ValueError(f"no preset is called {preset[:40]!r}: choose from {', '.join(PRESETS)}")
    settings = {**PRESETS[preset], "preset": preset, **(given or {})}
    if "first_simulations" in settings and "first_simulations" not in (given or {}):
        settings["first_simulations"] = min(settings["first_simulations"], settings["simulations"])
    return ZeroConfig(**settings)


def game_config(game: str, given: Mapping[str, Any] | None = None) -> ZeroConfig:
    """A configuration for a game without a preset, with a small network and the game's usual encoder."""
    from tengen.encode.encoder import get_encoder
    from tengen.games.game import get_game

    known, usual = get_game(game), ZeroConfig()
    settings: dict[str, Any] = {"game": game}
    if get_encoder(usual.encoder).game != game:
        settings["encoder"] = known.default_encoder or game
    if not known.territory:
        settings["network"] = usual.network.removesuffix(",ownership=yes,score=yes")
    return ZeroConfig(**{**settings, **(given or {})})


def read_config(run: Path, given: Mapping[str, Any] | None = None) -> ZeroConfig:
    """What was asked for of the run in this directory, but for what is given."""
    there = read_settings(run)
    settings = {field.name: there[field.name] for field in dataclasses.fields(ZeroConfig) if field.name in there}
    for known in dataclasses.fields(ZeroConfig):
        value, kind = settings.get(known.name, known.default), type(known.default)
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise FolderError(f"{run / CONFIG_FILE}: {known.name} is {value!r}, and should be of type {kind.__name__}")
    return ZeroConfig(**{**settings, **(given or {})})


def run_name(config: ZeroConfig) -> str:
    """A name for the run's directory: the preset's, with a digest if what the run *is* differs from the preset."""
    there = preset_config(config.preset) if config.preset else ZeroConfig()
    what, usual = ({name: asdict(settings)[name] for name in sorted(FIXED_SETTINGS)} for settings in (config, there))
    if what == usual and config.preset:
        return config.preset
    return f"{config.preset or 'zero'}-{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:8]}"


_LOSSES: Final = ("policy", "value", "ownership", "score")
_CHECKPOINT: Final = "trainer.safetensors"
_PROGRESS_SECONDS: Final = 0.2
_FRESH: Final = 2048  # new positions on which the network is measured before it learns from them
_REPORT_SECONDS: Final = 300.0


@dataclass(frozen=True)
class ZeroProgress:
    """Where a run stands, for a progress bar."""

    phase: str
    """self-play, training, export or duels."""
    iteration: int
    share: float
    """How much of the phase is done, 0 to 1."""
    done: float
    """How much of the run is done, 0 to 1; 0 for a run without end."""
    seconds: float
    """The run's time, all calls counted together."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Games, positions and simulations per second of self-play; the loss and the rate of training."""
    line: Mapping[str, Any] | None = None
    """Set when a round has been completed: its line of metrics."""


OnProgress = Callable[[ZeroProgress], None]


@contextmanager
def reporting(run: Path, on_progress: OnProgress, wanted: bool) -> Iterator[OnProgress]:
    """Write reports every few minutes, and at the end, however it comes."""
    if not wanted:
        yield on_progress
        return
    from tengen.learn.zero_report import write_zero_report

    written = time.monotonic()

    def report_and_write(now: ZeroProgress) -> None:
        nonlocal written
        on_progress(now)
        if now.line is not None and time.monotonic() - written >= _REPORT_SECONDS:
            write_zero_report(run)
            written = time.monotonic()

    try:
        yield report_and_write
    finally:
        if any("generation" in line for line in read_metrics(run)):
            write_zero_report(run)


def learn_zero(
    config: ZeroConfig | str,
    out: str | Path,
    on_progress: OnProgress = lambda _: None,
    *,
    hosts: WorkerFactory = ProcessWorkers,
    report: bool = True,
    **settings: Any,
) -> Mapping[str, Any]:
    """Learn a game from nothing but its rules, or go on with the run in the directory `out`; returns the last line of
    its metrics.

    `config` is a configuration or the name of a preset, of which `settings` take the place. Ctrl-C ends the run at once
    in self-play and duels, and after a step in training: a checkpoint is written, then KeyboardInterrupt goes on to the
    caller. With `report`, report.html is written at the end and now and then. `hosts` says who plays: processes of this
    machine, or with `ray_cluster("auto")` a Ray cluster.

    >>> import tempfile
    >>> import tengen
    >>> tiny = {"network": "residual:blocks=1,filters=4,value=yes", "simulations": 2, "positions": 64, "slots": 8}
    >>> with tempfile.TemporaryDirectory() as run:
    ...     last = tengen.learn_zero("tictactoe", run, report=False, iterations=1, **tiny)
    ...     model = tengen.load_model(f"{run}/best.safetensors")
    >>> last["generation"], model.card.game
    (1, 'tictactoe')
    """
    import torch

    config = preset_config(config, settings) if isinstance(config, str) else replace(config, **settings)
    out, config = Path(out), config.completed()
    check_config(config)
    torch.set_num_threads(config.threads or (1 if config.overlap else cores()))
    changed = _changed(config, out)
    run = RunDirectory(
        out, asdict(config), frozenset(asdict(config)) - FIXED_SETTINGS, asdict(ZeroConfig()), kind="zero"
    )
    try:
        loop = _Loop(config, run)
        if changed:
            run.record({"settings_changed": changed, "seconds": round(loop.seconds(), 1)})
        with reporting(out, on_progress, report) as report_and_write:
            loop.run(report_and_write, hosts)
        return next((line for line in reversed(run.metrics()) if "generation" in line), {})
    finally:
        run.close()


def check_config(config: ZeroConfig) -> None:
    """ValueError if the network does not fit the game, or the device is not there."""
    from tengen.learn.distributed import find_device
    from tengen.learn.warm_start import check_start
    from tengen.nets.registry import describe_network, parse_network

    find_device(config.device)
    spec = config.game_spec()
    name, arguments = parse_network(config.network)
    planes, height, width = spec.shape
    architecture = describe_network(name, planes, height, width=width, actions=spec.batch.actions, **arguments)
    if not architecture.parts().get("value"):
        raise ValueError(f"the network {config.network} has no value head, which self-play needs: add value=yes")
    if not architecture.policy:
        raise ValueError(f"the network {config.network} has no policy, which self-play needs: take residual")
    if config.start_from:
        check_start(config, config.game)


def _changed(config: ZeroConfig, out: Path) -> dict[str, list[Any]]:
    """The settings, old and new, that differ from those of the last call; those of the machine do not count."""
    if not (out / CONFIG_FILE).exists():
        return {}
    before = read_settings(out)
    return {
        name: [before.get(name), value]
        for name, value in asdict(config).items()
        if before.get(name) != value and name not in MACHINE_SETTINGS
    }


class _Loop:
    """A run under way: where it stands, and one method for each phase of a round."""

    def __init__(self, config: ZeroConfig, run: RunDirectory) -> None:
        from tengen.learn.duel import Generations
        from tengen.learn.zero_trainer import ZeroTrainer

        self.config, self.run_directory = config, run
        self.spec = config.game_spec()
        self.trainer = ZeroTrainer(config, self.spec)
        self.chunks = ChunkFolder(run.path / "chunks")
        self.trained: dict[str, Any] = {"iteration": 0, "done": 0, "sums": [0.0] * len(_LOSSES), "fresh": {}}
        if (run.path / _CHECKPOINT).exists():
            self.trained = self.trainer.load(run.path / _CHECKPOINT)
        elif any(facts.iteration > 2 for facts in self.chunks.facts):
            raise FolderError(f"{run.path / _CHECKPOINT} is gone: put it back, or delete chunks to begin anew")
        run.rewind(self.trainer.step)
        lines = [line for line in run.metrics() if "generation" in line]
        self.completed: int = lines[-1]["iteration"] if lines else 0
        self.generations = Generations(run.path, config.backend)
        self.generations.recall(lines)
        self.memory = ReplayMemory(self.spec, config.window_most + 2 * config.positions)
        for facts in self.chunks.since(self._end() - self._window(self._end())):
            self.memory.add(self.chunks.read(facts), facts.first)
        self._seconds_before = max(
            [self.trained.get("seconds", 0.0), *(facts.seconds for facts in self.chunks.facts[-1:])]
            + [line["seconds"] for line in lines[-1:]]
        )
        self._began = time.monotonic()
        self._costs: dict[str, float] = {name.removeprefix("seconds_"): cost for name, cost in _costs(lines)}
        self._round: SelfPlayRound | None = None
        self._on_progress: OnProgress = lambda _: None
        self._interrupted: Callable[[], bool] = lambda: False

    def run(self, on_progress: OnProgress, hosts: WorkerFactory) -> None:
        """Round after round, until time or rounds are used up."""
        self._on_progress = on_progress
        if not self.completed and not self.generations.path(0).exists():
            self.trainer.export(self.generations.path(0), None, generation=0)
            self.generations.publish(0, promoted=True)
        if not self._may_begin(self.completed + 1):
            return
        config = self.config
        niceness = config.niceness if config.overlap else 0
        self.workers = hosts(config.workers, ZeroWorker, self._worker_arguments, niceness)
        self.workers.start()
        try:
            with deferred_interrupts() as self._interrupted:
                while self._may_begin(self.completed + 1):
                    if not self._complete_round(self.completed + 1):
                        break
        finally:
            self.workers.close()

    def seconds(self) -> float:
        """The run's time, all calls counted together."""
        return float(self._seconds_before + time.monotonic() - self._began)

    def _worker_arguments(self, number: int) -> tuple[Any, ...]:
        """Of worker `number`; its seed is another one after each resumption, or it would begin the same games again."""
        words = np.random.SeedSequence((self.config.seed, self._end(), number)).generate_state(2)
        return self.spec, self.config.self_play(), int(words[0]) << 20 | int(words[1]) >> 12, has_exact_bytes()

    # ---- one round ----

    def _complete_round(self, iteration: int) -> bool:
        """All phases of a round, or those that are left of it; False if there was no time to play anything."""
        self._begin_play(iteration)
        self._finish_play(iteration)
        if not any(facts.iteration == iteration for facts in self.chunks.facts):
            return False
        played = self._play_figures(iteration)
        began = time.monotonic()
        if self.config.overlap and self._may_begin(iteration + 1):
            self._begin_play(iteration + 1)
        self._train(iteration)
        self._costs["train"] = time.monotonic() - began
        agreement = self._export(iteration)
        if self.config.overlap and self._round is not None:
            self._finish_play(iteration + 1)
        results = self._duels(iteration)
        self._record(iteration, played, agreement, results)
        return True

    def _begin_play(self, iteration: int) -> None:
        """Set the workers to play a round, unless they are at it."""
        if self._round is None or self._round.iteration != iteration:
            champion = self.generations.champion
            self._round = SelfPlayRound(
                iteration,
                self.config.positions,
                self.generations.path(champion),
                champion,
                self.generations.backend_of(champion),
                self.config.simulations_in(iteration),
                self.workers,
                self.memory,
                self.chunks,
            )

    def _finish_play(self, iteration: int) -> None:
        """Wait for the rest of a round; a run whose time is up trains on what is there."""
        current = self._round
        assert current is not None
        while not current.is_complete:
            current.take_in(self.seconds(), _PROGRESS_SECONDS)
            self._report("self-play", iteration, current.positions / self.config.positions, current.speeds())
            self._leave_if_interrupted()
            if self._time_left() < self._costs_of_the_rest(current.positions):
                current.cancel()
        current.take_in(self.seconds())

    def _train(self, iteration: int) -> None:
        """Learn from the window, each new position `reuse` times on average."""
        config, trainer, trained = self.config, self.trainer, self.trained
        if trained["iteration"] != iteration:
            trained |= {"iteration": iteration, "done": 0, "sums": [0.0] * len(_LOSSES), "fresh": {}}
        first, end = self._span(iteration)
        start = self.memory.start(self._window(end), end)
        steps = max(1, math.ceil((end - first) * config.reuse / config.batch))
        if not trained["done"]:
            trained["fresh"] = trainer.measure(self._drawn(_FRESH, self.memory.start(end - first, end), end))
        saved = reported = time.monotonic()
        while trained["done"] < steps:
            rng = np.random.default_rng((config.seed, trainer.step))
            batch = self.memory.draw(rng, config.batch, start, end, symmetries=config.symmetries)
            parts = trainer.learn(batch, self._done())
            trained["done"] += 1
            trained["sums"] = [before + float(part) for before, part in zip(trained["sums"], parts)]
            if time.monotonic() - reported > _PROGRESS_SECONDS:
                reported = time.monotonic()
                figures = {name: value / trained["done"] for name, value in zip(_LOSSES, trained["sums"])}
                figures["rate"] = trainer.rate
                if self._round is not None and not self._round.is_complete:
                    self._round.take_in(self.seconds())
                    figures |= self._round.speeds()
                self._report("training", iteration, trained["done"] / steps, figures)
            if self._interrupted() or time.monotonic() - saved > 60 * config.checkpoint:
                self._save()
                saved = time.monotonic()
                self._leave_if_interrupted()
        self._save()

    def _export(self, iteration: int) -> dict[str, float]:
        """Write the model of the new generation."""
        began = time.monotonic()
        self._report("export", iteration, 0.0)
        end = self._span(iteration)[1]
        start = self.memory.start(self._window(end), end)
        agreement = self.trainer.export(
            self.generations.path(iteration),
            self._drawn(2 * self.config.calibration, start, end).planes,
            generation=iteration,
            positions=end,
            steps=self.trainer.step,
            hours=round(self.seconds() / 3600, 3),
        )
        self._costs["export"] = time.monotonic() - began
        return agreement

    def _duels(self, iteration: int) -> "dict[int, Score]":
        """Meet the best, if there is a gate, and past generations, if it is time for that."""
        from tengen.arena.statistics import Score

        config, began = self.config, time.monotonic()
        games: dict[int, int] = {}
        if config.duel_every and iteration % config.duel_every == 0 and self._time_left() > 0:
            games = dict.fromkeys(self.generations.opponents(iteration, config.past), config.duel_games)
        if config.gate:
            games[self.generations.champion] = config.gate_games
        simulations = config.duel_simulations or config.simulations
        calls = self.generations.begin_duels(self.workers, iteration, games, simulations, config.seed)
        results: dict[int, Score] = {}
        asked = max(1, calls.unfinished)
        while calls.unfinished:
            for pairing, result in calls.collect(_PROGRESS_SECONDS):
                results[pairing.second] = results.get(pairing.second, Score(0, 0)) + result
            self._report("duels", iteration, 1 - calls.unfinished / asked)
            self._leave_if_interrupted()
        self._costs["duels"] = time.monotonic() - began
        return results

    def _record(
        self,
        iteration: int,
        played: Mapping[str, float],
        agreement: Mapping[str, float],
        results: Mapping[int, "Score"],
    ) -> None:
        """Complete the round: decide about the new model, write the line of metrics, forget what is too old."""
        config, generations, trained = self.config, self.generations, self.trained
        facts = next(facts for facts in reversed(self.chunks.facts) if facts.iteration == iteration)
        line: dict[str, Any] = {"step": self.trainer.step, "iteration": iteration, "generation": iteration}
        line |= {"positions": facts.end, "games": facts.games, "simulations": facts.simulations}
        line |= {"window": self._window(facts.end), "seconds": round(self.seconds(), 1), "rate": self.trainer.rate}
        line |= {f"loss_{name}": round(total / trained["done"], 5) for name, total in zip(_LOSSES, trained["sums"])}
        line |= {f"fresh_{name}": round(value, 5) for name, value in trained["fresh"].items()}
        line |= played
        line |= {f"int8_{name}": round(value, 5) for name, value in agreement.items()}
        line["duels"] = [[other, each.wins, each.draws, each.losses] for other, each in results.items()]
        promoted = True
        if config.gate:
            line["gate_score"] = round(results[generations.champion].mean, 4)
            promoted = line["gate_score"] >= config.gate
            line["gate_promoted"] = promoted
        if any(opponent in generations.elo for opponent in results):
            line["elo"] = generations.rate(iteration, results)
        generations.publish(iteration, promoted)
        line["champion"] = generations.champion
        line |= {f"seconds_{name}": round(cost, 2) for name, cost in self._costs.items()}
        self.run_directory.record(line)
        self.chunks.drop_before(self.memory.start(self._window(facts.end), facts.end))
        self.completed = iteration
        self._report("duels", iteration, 1.0, line=line)

    # ---- where the run stands ----

    def _play_figures(self, iteration: int) -> dict[str, float]:
        current = self._round
        assert current is not None
        self._costs["play"] = current.seconds
        checked = {"resignations_checked": current.work.resignations_checked}
        checked |= {"resignations_wrong": current.work.resignations_wrong} if checked["resignations_checked"] else {}
        figures: dict[str, float] = {"play_simulations": current.simulations}
        if current.work.positions:  # else the whole round was there before this call of the command
            figures |= {f"play_{name}": round(value, 2) for name, value in current.speeds().items()}
        return figures | (checked if self.config.resign > -1 else {}) | round_figures(self.chunks, iteration)

    def _end(self) -> int:
        """How many positions the run has."""
        return self.chunks.facts[-1].end if self.chunks.facts else 0

    def _span(self, iteration: int) -> tuple[int, int]:
        """The number of the first position of a round, and that after its last."""
        facts = [facts for facts in self.chunks.facts if facts.iteration == iteration]
        return facts[0].first, facts[-1].end

    def _window(self, positions: int) -> int:
        config = self.config
        return window_size(
            positions, config.window_first, config.window_growth, config.window_share, config.window_most
        )

    def _drawn(self, count: int, start: int, end: int) -> Any:
        return self.memory.draw(np.random.default_rng((self.config.seed, end)), count, start, end)

    def _may_begin(self, iteration: int) -> bool:
        """Whether there is time for this round, or enough of it to be worth it."""
        if self.config.iterations and iteration > self.config.iterations:
            return False
        if self._round is not None and self._round.iteration == iteration:  # begun beside the last training
            return self._time_left() > 0.8 * self._costs_of_the_rest(self._round.positions)
        return self._time_left() > 0.25 * sum(self._costs.values())

    def _time_left(self) -> float:
        return 3600 * self.config.hours - self.seconds() if self.config.hours else math.inf

    def _done(self) -> float:
        """Which share of the run is done, 0 to 1."""
        by_time = self.seconds() / (3600 * self.config.hours) if self.config.hours else 0.0
        by_rounds = self.completed / self.config.iterations if self.config.iterations else 0.0
        return min(1.0, max(by_time, by_rounds))

    def _costs_of_the_rest(self, positions: int) -> float:
        """How long training on so many new positions, export and duels will take, going by the last round."""
        train = self._costs.get("train", 0.0) * positions / self.config.positions
        return train + self._costs.get("export", 0.0) + self._costs.get("duels", 0.0)

    def _save(self) -> None:
        self.trainer.save(self.run_directory.path / _CHECKPOINT, self.trained | {"seconds": self.seconds()})

    def _leave_if_interrupted(self) -> None:
        if self._interrupted():
            if self._round is not None:
                self._round.keep(self.seconds())
            raise KeyboardInterrupt

    def _report(
        self,
        phase: str,
        iteration: int,
        share: float,
        figures: Mapping[str, float] | None = None,
        line: Mapping[str, Any] | None = None,
    ) -> None:
        self._on_progress(
            ZeroProgress(phase, iteration, min(1.0, share), self._done(), self.seconds(), figures or {}, line)
        )


def _costs(lines: list[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """What the phases of the last round cost, in seconds."""
    if lines:
        yield from ((name, value) for name, value in lines[-1].items() if name.startswith("seconds_"))
