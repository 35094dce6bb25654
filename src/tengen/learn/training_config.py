"""The settings that every run has which trains a network on positions: supervised learning and value learning.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.
"""

from dataclasses import dataclass
from typing import Annotated, Final

OPTIMIZERS: Final = ("sgd", "adagrad", "adadelta", "adam", "adamw", "muon")
SCHEDULES: Final = ("constant", "cosine", "linear", "step")
FREE_SETTINGS: Final = frozenset({"threads", "loaders", "device", "checkpoint", "patience"})
"""What may change when a run is resumed."""


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """What shapes the training of a network."""

    encoder: Annotated[str, "How positions are shown to the network."]
    network: Annotated[str, "A kind of network with its settings."]
    size: Annotated[int, "Size of the board."]
    optimizer: Annotated[str, f"Optimiser: {', '.join(OPTIMIZERS)}."] = "sgd"
    rate: Annotated[float, "Learning rate; 0: the default of the optimiser."] = 0.0
    momentum: Annotated[float, "Momentum of sgd."] = 0.9
    decay: Annotated[float, "Weight decay: adds decay / 2 * |weights|^2 to the loss."] = 1e-4
    schedule: Annotated[str, f"Learning-rate schedule after the warm-up: {', '.join(SCHEDULES)}."] = "cosine"
    warm_up: Annotated[float, "Share of the run in which the learning rate rises from zero."] = 0.01
    clip: Annotated[float, "Clip gradients to this norm; 0: no clipping."] = 1.0
    batch: Annotated[int, "Batch size, in positions."] = 128
    positions: Annotated[int, "Positions to learn from; 0: as many as --hours allow."] = 1_000_000
    hours: Annotated[float, "Hours of training at most; the schedule is fitted to them. 0: no limit."] = 0.0
    epoch: Annotated[int, "Positions between two validations."] = 50_000
    validate: Annotated[int, "Test positions for a validation."] = 4096
    patience: Annotated[int, "Early stopping: stop after this many validations without a better loss; 0: never."] = 0
    average: Annotated[
        float, "Decay of the running average of the weights, which is validated and saved (such as 0.999); 0: none."
    ] = 0.0
    bf16: Annotated[bool, "Compute in 16-bit bfloat where that is safe, if the processor can: up to twice as fast."] = (
        True
    )
    symmetries: Annotated[bool, "Rotate and reflect every position at random."] = True
    seed: Annotated[
        int, "Random seed of the first weights and the shuffling: the same seed gives the same network."
    ] = 1
    start_from: Annotated[
        str, "A model (file or bundled name) whose weights to start from; compact may start compact-komi."
    ] = ""
    threads: Annotated[int, "Threads that train."] = 1
    loaders: Annotated[int, "Threads that prepare positions."] = 1
    device: Annotated[str, "Where to train: cpu, cuda (a graphics card), cuda:1 (the second one)."] = "cpu"
    checkpoint: Annotated[int, "Steps between two checkpoints."] = 200

    def __post_init__(self) -> None:
        for name, known in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in known:
                raise ValueError(f"no {name} is called {getattr(self, name)!r}: choose from {', '.join(known)}")
        if not self.positions and not self.hours:
            raise ValueError("positions and hours are both 0: give one of them, or the run would never end")
        for name in ("batch", "epoch", "validate", "threads", "loaders", "checkpoint"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        for name in ("positions", "rate", "decay", "clip", "hours", "patience", "seed"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        for name in ("momentum", "warm_up", "average"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more, and less than 1")
