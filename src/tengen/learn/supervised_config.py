"""Everything that shapes a supervised run: its configuration, its command line and its documentation at once.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Annotated, Final

OPTIMIZERS: Final = ("sgd", "adagrad", "adadelta", "adam", "adamw")
SCHEDULES: Final = ("constant", "cosine", "linear", "step")
HANDICAPS: Final = ("any", "only", "none")
FREE_SETTINGS: Final = frozenset({"threads", "loaders", "checkpoint", "patience"})
"""What may change when a run is resumed."""


@dataclass(frozen=True)
class SupervisedConfig:
    """Everything that shapes a run; kept as config.toml in its directory."""

    data: Annotated[str, "Folder of the dataset, as `tengen data build` makes it."]
    encoder: Annotated[
        str,
        "How positions are shown to the network: oneplane, sevenplane, simple, alphago, alphago49, "
        "zero, compact or compact-komi.",
    ] = "simple"
    network: Annotated[
        str,
        "A kind of network with its settings: small, medium, large, alphago:layers=13,filters=192, "
        "residual:blocks=6,filters=64. With value=yes it learns who won, too.",
    ] = "small"
    optimizer: Annotated[str, f"The rule that moves the weights: {', '.join(OPTIMIZERS)}."] = "sgd"
    rate: Annotated[float, "Learning rate; 0 takes the optimiser's usual one."] = 0.0
    momentum: Annotated[float, "How much of its last step sgd keeps."] = 0.9
    decay: Annotated[float, "Weight decay: adds decay / 2 * |weights|^2 to the loss."] = 1e-4
    schedule: Annotated[str, f"How the learning rate goes on after the warm-up: {', '.join(SCHEDULES)}."] = "cosine"
    warm_up: Annotated[float, "Share of the run in which the learning rate rises from zero."] = 0.01
    clip: Annotated[float, "Longest gradient; 0 for any length."] = 1.0
    batch: Annotated[int, "Positions in a step of the optimiser."] = 128
    positions: Annotated[int, "How many positions to learn from in all; 0 to go by --hours alone."] = 1_000_000
    hours: Annotated[
        float, "Hours of training, after which it ends in any case; the schedule is fitted to them. 0 for no limit."
    ] = 0.0
    epoch: Annotated[int, "Positions between two validations."] = 50_000
    validate: Annotated[int, "Test positions for a validation."] = 4096
    patience: Annotated[int, "Stop after so many validations without a better loss; 0 for never."] = 0
    average: Annotated[
        float, "Decay of the running average of weights that is validated and saved (0.999, say); 0 for none."
    ] = 0.0
    smoothing: Annotated[float, "Label smoothing."] = 0.0
    value_weight: Annotated[
        float, "Weight of the value loss beside that of the policy; every game with a known result counts the same."
    ] = 1.0
    komi_spread: Annotated[
        float,
        "Show positions of counted games at a komi of up to so many points more or less than the record's, with the "
        "result that it gives; needs an encoder that shows the komi.",
    ] = 0.0
    bf16: Annotated[bool, "Compute in 16-bit bfloat where that is safe: up to twice as fast on newer processors."] = (
        True
    )
    symmetries: Annotated[bool, "Turn and mirror every position at random: eight games out of one."] = True
    size: Annotated[int, "Size of the board."] = 19
    games: Annotated[int, "Games to draw; 0 for all."] = 0
    min_rank: Annotated[int, "Both players at least so strong (1 is 1 dan, 11 professional 1 dan); 0 for any."] = 0
    first_year: Annotated[int, "Games of this year or later."] = 0
    last_year: Annotated[int, "Games of this year or earlier."] = 9999
    handicap: Annotated[str, "Games with a handicap: any, only or none."] = "any"
    seed: Annotated[int, "Of first weights and shuffling: the same seed gives the same network."] = 1
    start_from: Annotated[
        str, "A model (file or bundled name) whose weights to begin with; compact may start compact-komi."
    ] = ""
    threads: Annotated[int, "Threads that compute."] = 1
    loaders: Annotated[int, "Threads that prepare positions."] = 1
    checkpoint: Annotated[int, "Steps between two checkpoints."] = 200

    def __post_init__(self) -> None:
        for name, known in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES), ("handicap", HANDICAPS)):
            if getattr(self, name) not in known:
                raise ValueError(f"no {name} is called {getattr(self, name)!r}: choose from {', '.join(known)}")
        if not self.positions and not self.hours:
            raise ValueError("positions and hours are both 0: give one of them, or the run would never end")
        for name in ("batch", "epoch", "validate", "threads", "loaders", "checkpoint"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        for name in ("positions", "rate", "decay", "clip", "hours", "patience", "games", "seed", "value_weight"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        if not 0 <= self.komi_spread <= 100:
            raise ValueError(f"komi_spread is {self.komi_spread}: give 0 to 100 points")
        for name in ("momentum", "warm_up", "average", "smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more, and less than 1")


def run_name(config: SupervisedConfig) -> str:
    """A name for the run's directory, the same for the same settings: `simple-small-1f3a5c7e`."""
    settings = {name: value for name, value in asdict(config).items() if name not in FREE_SETTINGS}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    network = re.sub(r"[^a-z0-9.]+", "-", config.network.lower()).strip("-.")[:60]
    return f"{config.encoder}-{network}-{digest}"
