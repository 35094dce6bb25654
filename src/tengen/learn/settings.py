"""The settings of supervised learning and of value learning: configuration, command line and documentation at once.

They are apart from the methods themselves because the command line reads them, and PyTorch takes seconds to import.
"""

import re
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar, Final

from tengen.runs.settings import Setting, Settings

OPTIMIZERS: Final = ("sgd", "adagrad", "adadelta", "adam", "adamw", "muon")
SCHEDULES: Final = ("constant", "cosine", "linear", "step")
HANDICAPS: Final = ("any", "only", "none")
VALUE_NETWORK: Final = "alphago-value:layers=7,filters=64"
VALUE_ENCODER: Final = "alphago49"

_GAMES: Final = "Games"
_LENGTH: Final = "Length"
_MACHINE: Final = "Machine"
_NETWORK: Final = "Network"
_OPTIMISER: Final = "Optimiser"
_RECORDS: Final = "Records"


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Settings):
    """What shapes the training of a network on positions."""

    encoder: Annotated[str, Setting("How positions are shown to the network.")]
    network: Annotated[str, Setting("A kind of network with its settings.")]
    size: Annotated[int, Setting("Size of the board.", low=0)]
    start_from: Annotated[
        str,
        Setting(
            "A model (file or bundled name) whose weights to start from; compact may start compact-komi.", machine=True
        ),
    ] = ""
    optimizer: Annotated[str, Setting(f"Optimiser: {', '.join(OPTIMIZERS)}.", choices=OPTIMIZERS)] = "sgd"
    rate: Annotated[float, Setting("Learning rate; 0: the default of the optimiser.", low=0)] = 0.0
    batch: Annotated[int, Setting("Batch size, in positions.", low=1)] = 128
    positions: Annotated[int, Setting("Positions to learn from; 0: as many as --hours allow.", low=0)] = 1_000_000
    hours: Annotated[
        float, Setting("Hours of training at most; the schedule is fitted to them. 0: no limit.", low=0)
    ] = 0.0
    seed: Annotated[
        int,
        Setting("Random seed of the first weights and the shuffling: the same seed gives the same network.", low=0),
    ] = 1
    average: Annotated[
        float,
        Setting(
            "Decay of the running average of the weights, which is validated and saved (such as 0.999); 0: none.",
            _NETWORK,
            low=0,
            below=1,
        ),
    ] = 0.0
    symmetries: Annotated[bool, Setting("Rotate and reflect every position at random.", _NETWORK)] = True
    momentum: Annotated[float, Setting("Momentum of sgd.", _OPTIMISER, low=0, below=1)] = 0.9
    decay: Annotated[float, Setting("Weight decay: adds decay / 2 * |weights|^2 to the loss.", _OPTIMISER, low=0)] = (
        1e-4
    )
    schedule: Annotated[
        str,
        Setting(f"Learning-rate schedule after the warm-up: {', '.join(SCHEDULES)}.", _OPTIMISER, choices=SCHEDULES),
    ] = "cosine"
    warm_up: Annotated[
        float, Setting("Share of the run in which the learning rate rises from zero.", _OPTIMISER, low=0, below=1)
    ] = 0.01
    clip: Annotated[float, Setting("Clip gradients to this norm; 0: no clipping.", _OPTIMISER, low=0)] = 1.0
    epoch: Annotated[int, Setting("Positions between two validations.", _LENGTH, low=1)] = 50_000
    validate: Annotated[int, Setting("Test positions for a validation.", _LENGTH, low=1)] = 4096
    patience: Annotated[
        int,
        Setting(
            "Early stopping: stop after this many validations without a better loss; 0: never.",
            _LENGTH,
            low=0,
            free=True,
        ),
    ] = 0
    threads: Annotated[int, Setting("Threads that train.", _MACHINE, low=1, free=True, machine=True)] = 1
    device: Annotated[
        str,
        Setting(
            "Where to train: cpu, cuda (a graphics card), cuda:1 (the second one).", _MACHINE, free=True, machine=True
        ),
    ] = "cpu"
    loaders: Annotated[int, Setting("Threads that prepare positions.", _MACHINE, low=1, free=True, machine=True)] = 1
    bf16: Annotated[
        bool,
        Setting("Compute in 16-bit bfloat where that is safe, if the processor can: up to twice as fast.", _MACHINE),
    ] = True
    checkpoint: Annotated[int, Setting("Steps between two checkpoints.", _MACHINE, low=1, free=True, machine=True)] = (
        200
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.positions and not self.hours:
            raise ValueError("positions and hours are both 0: give one of them, or the run would never end")


@dataclass(frozen=True)
class SupervisedConfig(TrainingConfig):
    """Everything that shapes a run of supervised learning; kept as config.toml in its directory."""

    kind: ClassVar[str] = "supervised"

    data: Annotated[str, Setting("Folder of the dataset, as `tengen data build` makes it.", machine=True)]
    _: KW_ONLY
    encoder: Annotated[
        str,
        "How positions are shown to the network: oneplane, sevenplane, simple, alphago, alphago49, "
        "zero, compact or compact-komi.",
    ] = "simple"
    network: Annotated[
        str,
        "A kind of network with its settings: small, medium, large, alphago:layers=13,filters=192, "
        "residual:blocks=6,filters=64. With value=yes it learns who won, too, and with ownership=yes whose points "
        "are whose at the end, which helps the value.",
    ] = "small"
    size: Annotated[int, "Size of the board."] = 19
    games: Annotated[int, Setting("Games to draw; 0 for all.", _GAMES, low=0)] = 0
    min_rank: Annotated[
        int, Setting("Both players at least so strong (1 is 1 dan, 11 professional 1 dan); 0 for any.", _GAMES)
    ] = 0
    first_year: Annotated[int, Setting("Games of this year or later.", _GAMES)] = 0
    last_year: Annotated[int, Setting("Games of this year or earlier.", _GAMES)] = 9999
    handicap: Annotated[str, Setting("Games with a handicap: any, only or none.", _GAMES, choices=HANDICAPS)] = "any"
    komi_spread: Annotated[
        float,
        Setting(
            "Show positions of counted games at a komi of up to so many points more or less than the record's, with "
            "the result that it gives; needs an encoder that shows the komi.",
            _GAMES,
            low=0,
            high=100,
        ),
    ] = 0.0
    value_weight: Annotated[
        float,
        Setting(
            "Weight of the value loss beside that of the policy; every game with a known result counts the same.",
            _NETWORK,
            low=0,
        ),
    ] = 1.0
    ownership_weight: Annotated[
        float,
        Setting(
            "Weight of the ownership loss, if the network has that head (ownership=yes); counted games teach it.",
            _NETWORK,
            low=0,
        ),
    ] = 0.5
    smoothing: Annotated[float, Setting("Label smoothing.", _OPTIMISER, low=0, below=1)] = 0.0

    def run_name(self) -> str:
        """A name for the run's directory, the same for the same settings: `simple-small-1f3a5c7e`."""
        network = re.sub(r"[^a-z0-9.]+", "-", self.network.lower()).strip("-.")[:60]
        return f"{self.encoder}-{network}-{self.digest()}"


@dataclass(frozen=True)
class PositionSettings:
    """The games that positions to learn from come of; kept as config.toml beside them."""

    policy: str
    rl: str
    size: int
    rules: str
    komi: float
    komi_spread: float
    last_move: int
    seed: int
    temperature: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ValueConfig(TrainingConfig):
    """Everything that shapes a run of value learning; kept as config.toml in its directory."""

    kind: ClassVar[str] = "value"

    policy: Annotated[
        str,
        Setting(
            "The supervised policy (file or bundled name), which plays the moves before U; empty: play no games.",
            machine=True,
        ),
    ] = ""
    rl: Annotated[
        str,
        Setting(
            "The policy that learned by reinforcement, which plays the moves after U; empty: that of --policy.",
            machine=True,
        ),
    ] = ""
    games: Annotated[int, Setting("Games to learn from, of each one position; 0: all in --data.", low=0)] = 200_000
    data: Annotated[
        str,
        Setting(
            "Folder of the positions: those made before are used, and new ones go there. Empty: games/ in --out.",
            machine=True,
        ),
    ] = ""
    komi: Annotated[float, Setting("Komi of the games; nan: what suits the policy.")] = float("nan")
    workers: Annotated[int, Setting("Processes that play.", low=1, free=True, machine=True)] = 1
    last_move: Annotated[
        int,
        Setting("U is drawn from 1 to this number; 0: three quarters of the points of the board.", _GAMES, low=0),
    ] = 0
    temperature: Annotated[
        float,
        Setting(
            "Of the policy after move U: 1 draws as it predicts, as AlphaGo did; less plays likelier moves more often; "
            "0 plays the likeliest.",
            _GAMES,
            low=0,
            high=10,
        ),
    ] = 1.0
    rules: Annotated[str, Setting("Rule set of the games.", _GAMES)] = "chinese"
    komi_spread: Annotated[
        float,
        Setting(
            "Draw the komi of every game, up to so many points more or less; needs an encoder that shows it.",
            _GAMES,
            low=0,
        ),
    ] = 0.0
    encoder: Annotated[
        str, f"How positions are shown to the network; empty: as to --start-from, or else {VALUE_ENCODER}."
    ] = ""
    network: Annotated[str, f"A network with a value head; empty: that of --start-from, or else {VALUE_NETWORK}."] = ""
    size: Annotated[int, "Size of the board; 0: that of the policy."] = 0
    start_from: Annotated[
        str,
        "A model (file or bundled name) whose weights to start from. If it has a policy, the network has both heads "
        "and is held to that policy.",
    ] = ""
    policy_weight: Annotated[
        float,
        Setting(
            "Weight of the distance from the policy of --start-from, in nats, beside the error of the value.",
            _NETWORK,
            low=0,
        ),
    ] = 1.0
    records: Annotated[
        str, Setting("A dataset of game records with known results to mix in; empty: none.", _RECORDS, machine=True)
    ] = ""
    records_share: Annotated[
        float, Setting("Share of the positions that come from --records.", _RECORDS, above=0, below=1)
    ] = 0.25
    positions: Annotated[int, "Positions to learn from; 0: as many as --hours allow."] = 2_000_000
    epoch: Annotated[int, "Positions between two validations."] = 100_000
    validate: Annotated[int, "Test positions, and as many of those learned from, for a validation."] = 8192
    average: Annotated[float, "Decay of the running average of the weights, which is validated and saved; 0: none."] = (
        0.999
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.policy and not self.data:
            raise ValueError("there is nothing to learn from: give --policy to play games, or --data with positions")
        if self.rl and not self.policy:
            raise ValueError("--rl plays on from the moves of --policy: give that too")
