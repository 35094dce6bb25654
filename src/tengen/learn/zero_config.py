"""Everything that shapes a run of learning from nothing: its configuration, its command line, its documentation.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.

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
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from tengen.learn.selfplay_settings import SelfPlaySettings
from tengen.learn.settings import OPTIMIZERS, SCHEDULES
from tengen.runs.folder import CONFIG_FILE, FolderError, read_settings

if TYPE_CHECKING:
    from tengen.encode.game_spec import GameSpec
    from tengen.games.options import Options

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
    from tengen.encode.registry import get_encoder
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
    for field in dataclasses.fields(ZeroConfig):
        value, kind = settings.get(field.name, field.default), type(field.default)
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise FolderError(f"{run / CONFIG_FILE}: {field.name} is {value!r}, and should be of type {kind.__name__}")
    return ZeroConfig(**{**settings, **(given or {})})


def run_name(config: ZeroConfig) -> str:
    """A name for the run's directory: the preset's, with a digest if what the run *is* differs from the preset."""
    there = preset_config(config.preset) if config.preset else ZeroConfig()
    what, usual = ({name: asdict(settings)[name] for name in sorted(FIXED_SETTINGS)} for settings in (config, there))
    if what == usual and config.preset:
        return config.preset
    return f"{config.preset or 'zero'}-{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:8]}"
