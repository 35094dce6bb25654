"""The settings of runs that train networks, each described once: configuration, command line and documentation.

They are apart from the methods themselves because the command line reads them, and PyTorch takes seconds to import.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from tengen.runs.settings import Setting, Settings

if TYPE_CHECKING:
    from tengen.encode.game_spec import GameSpec
    from tengen.nets.model_file import ModelCard

OPTIMIZERS: Final = ("sgd", "adagrad", "adadelta", "adam", "adamw", "muon")
SCHEDULES: Final = ("constant", "cosine", "linear", "step")
HANDICAPS: Final = ("any", "only", "none")
VALUE_NETWORK: Final = "alphago-value:layers=7,filters=64"
VALUE_ENCODER: Final = "alphago49"

_GAMES: Final = "Games"
_LEARNING: Final = "Learning"
_LENGTH: Final = "Length"
_MACHINE: Final = "Machine"
_MATCHES: Final = "Matches"
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
    optimizer: Annotated[
        str, Setting(f"Optimiser: {', '.join(OPTIMIZERS)}.", choices=OPTIMIZERS, plugins="optimizer")
    ] = "sgd"
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
    """Everything that shapes a run of supervised learning; kept as config.toml in its directory.

    >>> import tengen
    >>> tengen.SupervisedConfig("data/kgs", size=9, network="residual:blocks=4,filters=64").batch
    128
    """

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


OPPONENTS: Final = ("pool", "self", "start")
BASELINES: Final = ("none", "mean", "value")
BACKENDS: Final = ("int8", "openvino")


@dataclass(frozen=True)
class ReinforceConfig(Settings):
    """Everything that shapes a run of policy-gradient learning; kept as config.toml in its directory.

    >>> import tengen
    >>> tengen.ReinforceConfig(start_from="go9", opponent="self").games
    512
    """

    kind: ClassVar[str] = "reinforce"
    usually_free: ClassVar[bool] = True

    start_from: Annotated[
        str, Setting("The policy to improve: a model file or a bundled name, such as go9.", free=False)
    ]
    rules: Annotated[str, Setting("Rule set of the games; that of the model if not given.", _GAMES, free=False)] = ""
    komi: Annotated[float, Setting("Go: points that White gets; what suits the model if not given.", free=False)] = (
        math.nan
    )
    limit: Annotated[
        int,
        Setting(
            "Go: moves after which a game is scored as it stands; 0: three times the points.", _GAMES, low=0, free=False
        ),
    ] = 0
    komi_spread: Annotated[
        float,
        Setting(
            "Go: draw the komi of each game, up to so many points more or less; needs an encoder that shows it.",
            _GAMES,
            low=0,
        ),
    ] = 0.0
    opponent: Annotated[
        str,
        Setting(
            "pool: an earlier version of the policy, drawn anew for each update, as in AlphaGo; self: the policy plays "
            "itself and learns from both sides; start: always the policy that the run started from.",
            choices=OPPONENTS,
            option="opponents",
        ),
    ] = "pool"
    games: Annotated[
        int,
        Setting("Games of an update; in half of them the policy has the first move.", low=2, option="update_games"),
    ] = 512
    snapshot: Annotated[int, Setting("Updates after which a version of the policy joins the pool.", _GAMES, low=1)] = 5
    temperature: Annotated[float, Setting("Temperature at which moves are drawn.", _GAMES, above=0, high=10)] = 1.0
    optimizer: Annotated[
        str, Setting(f"Optimiser: {', '.join(OPTIMIZERS)}.", choices=OPTIMIZERS, plugins="optimizer", free=False)
    ] = "adam"
    rate: Annotated[float, Setting("Learning rate.", low=0)] = 1e-4
    momentum: Annotated[float, Setting("Momentum of sgd.", _LEARNING, low=0, below=1)] = 0.9
    clip: Annotated[float, Setting("Clip gradients to this norm; 0: no clipping.", _LEARNING, low=0)] = 1.0
    batch: Annotated[
        int, Setting("Positions for a step of the optimiser, of which an update makes several.", low=1)
    ] = 1024
    trust: Annotated[
        float,
        Setting(
            "How far an update may go: a move stops being made more or less likely when its chance has changed by this "
            "share; 0: no limit, plain REINFORCE, for which you want one step an update (a large --batch).",
            _LEARNING,
            low=0,
        ),
    ] = 0.2
    passes: Annotated[int, Setting("How often an update learns from each of its positions.", _LEARNING, low=1)] = 1
    baseline: Annotated[
        str,
        Setting(
            "What a result is compared with: none; mean: the mean of the update's results with that colour; value: the "
            "network's own value of the position.",
            _LEARNING,
            choices=BASELINES,
        ),
    ] = "mean"
    value_weight: Annotated[
        float,
        Setting(
            "Weight of the loss of the value head, if there is one, which learns the results; 0: not at all.",
            _LEARNING,
            low=0,
        ),
    ] = 0.25
    entropy: Annotated[float, Setting("Weight of a bonus for policies of high entropy.", _LEARNING, low=0)] = 0.0
    updates: Annotated[int, Setting("Updates to make; 0: as many as --hours allow.", low=0, machine=True)] = 100
    hours: Annotated[float, Setting("Hours at most; 0: no limit.", low=0, machine=True)] = 0.0
    measure: Annotated[
        int,
        Setting(
            "Updates between two matches against the policy that the run started from.", _MATCHES, low=1, machine=True
        ),
    ] = 5
    match_games: Annotated[
        int,
        Setting(
            "Games of such a match, without search, with moves drawn at temperature 1.", _MATCHES, low=2, machine=True
        ),
    ] = 400
    keep: Annotated[
        int, Setting("How many of the newest updates' games stay on the disk.", _MACHINE, low=1, machine=True)
    ] = 3
    seed: Annotated[int, Setting("Random seed.", low=0, free=False)] = 1
    workers: Annotated[int, Setting("Threads that play; 0: one per core.", low=0, machine=True)] = 0
    threads: Annotated[int, Setting("Threads that train; 0: one per core.", _MACHINE, low=0, machine=True)] = 0
    device: Annotated[
        str, Setting("Where to train: cpu, cuda (a graphics card), cuda:1 (the second one).", _MACHINE, machine=True)
    ] = "cpu"
    backend: Annotated[
        str,
        Setting("How networks play: int8, in 8-bit integers, or openvino, in floats.", _MACHINE, choices=BACKENDS),
    ] = "int8"
    bf16: Annotated[bool, Setting("Train in 16-bit bfloat if the processor can: up to twice as fast.", _MACHINE)] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.updates and not self.hours:
            raise ValueError("updates and hours are both 0: give one of them, or the run would never end")

    def spec(self, card: "ModelCard") -> "GameSpec":
        """The games to be played, as the model of this card sees them."""
        from tengen.agents.training_conditions import suited_options
        from tengen.encode.game_spec import GameSpec
        from tengen.games.game import get_game

        kind = get_game(card.game).options
        asked = {"rules": card.rules, **suited_options(card), "limit": self.limit}
        asked |= {"rules": self.rules} if self.rules else {}
        asked |= {"komi": self.komi} if not math.isnan(self.komi) else {}
        known = {field.name for field in dataclasses.fields(kind)}
        return GameSpec(kind.of({name: value for name, value in asked.items() if name in known}), card.encoder)

    def completed(self, card: "ModelCard") -> "ReinforceConfig":
        """The same with what follows from the model: the rule set and its komi, where the game has such."""
        options = self.spec(card).options
        return dataclasses.replace(self, rules=getattr(options, "rules", ""), komi=float(getattr(options, "komi", 0.0)))


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
    """Everything that shapes a run of value learning; kept as config.toml in its directory.

    >>> import tengen
    >>> tengen.ValueConfig(policy="go9", games=10_000).temperature
    1.0
    """

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


@dataclass(frozen=True, kw_only=True)
class GenerationsConfig(TrainingConfig):
    """Everything that shapes generations of value networks; kept as config.toml in the directory of the run.

    >>> import tengen
    >>> tengen.ReinforceConfig(start_from="go9", opponent="self").games
    512
    """

    kind: ClassVar[str] = "generations"
    unused: ClassVar[tuple[str, ...]] = ("hours", "start_from")
    """Settings of other training that have no meaning here."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "simple-go": {
            "game": "go",
            "size": 5,
            "rules": "simple-go",
            "komi": 3.5,
            "limit": 150,
            "positions": 2_000_000,
            "epoch": 250_000,
            "keep_weights": True,
        },
        "tictactoe": {
            "game": "tictactoe",
            "size": 3,
            "rules": "",
            "komi": 0.0,
            "encoder": "tictactoe",
            "network": "simple-go:filters=32-32",
            "generations": 4,
            "first_games": 10_000,
            "games": 10_000,
            "opening": 6,
            "positions": 200_000,
            "epoch": 50_000,
        },
    }

    preset: Annotated[str, "Where the settings that you do not give come from."] = ""
    game: Annotated[str, "The game: go, microchess, tictactoe or one that you added."] = "go"
    size: Annotated[int, "Rows of the board."] = 5
    rules: Annotated[str, "Rule set."] = "simple-go"
    komi: Annotated[float, "Go: points that White gets for moving second."] = 3.5
    limit: Annotated[
        int, Setting("Go: moves after which a game is scored as it stands; 0: three times the points.", _GAMES, low=0)
    ] = 0
    encoder: Annotated[
        str,
        Setting(
            "How positions are shown to the networks; empty: stones in Go, with the player to move for one network.",
            _NETWORK,
        ),
    ] = ""
    network: Annotated[str, "A kind of network with an outcome head, and its settings."] = "simple-go"
    both: Annotated[bool, "One network for both players, instead of one for each."] = False
    policy: Annotated[
        bool,
        Setting(
            "Learn a policy too: the moves of the winners (policy gradient). Tree search then goes by it.",
            _NETWORK,
            option="policy_head",
        ),
    ] = False
    generations: Annotated[int, Setting("Generations of networks.", low=1, free=True)] = 10
    first_games: Annotated[int, Setting("Random games that generation 1 learns from.", low=1)] = 100_000
    games: Annotated[int, Setting("Games of the last generation that each further one learns from.", low=1)] = 250_000
    opening: Annotated[
        int,
        Setting(
            "In half of its games a player moves at random up to move m of the game, m being drawn from 1 to this "
            "number.",
            _GAMES,
            low=0,
        ),
    ] = 12
    rate_limit: Annotated[
        float,
        Setting(
            "In the other half each of its moves is random at a rate, which is drawn from 0 to this number.",
            _GAMES,
            low=0,
            high=1,
            option="random_share",
        ),
    ] = 1.0
    simulations: Annotated[
        int,
        Setting(
            "Play by tree search with so many simulations per move and the values at its leaves; 0: one ply ahead.",
            _GAMES,
            low=0,
        ),
    ] = 0
    keep_weights: Annotated[
        bool, Setting("Start from the weights of the last generation, instead of fresh ones.", _NETWORK)
    ] = False
    attempts: Annotated[
        int,
        Setting(
            "How often a network is trained anew, at a third of the rate, if it learned nothing beyond a constant.",
            _NETWORK,
            low=1,
        ),
    ] = 3
    positions: Annotated[int, "Positions that each network of a generation learns from."] = 4_000_000
    batch: Annotated[int, "Batch size, in positions."] = 512
    optimizer: Annotated[str, f"Optimiser: {', '.join(OPTIMIZERS)}."] = "adam"
    decay: Annotated[float, "Weight decay: adds decay / 2 * |weights|^2 to the loss."] = 1e-5
    epoch: Annotated[int, "Positions between two validations."] = 500_000
    validate: Annotated[int, "Test positions for a validation."] = 20_000
    average: Annotated[float, "Decay of the running average of the weights, which is validated and saved; 0: none."] = (
        0.999
    )
    match_games: Annotated[
        int,
        Setting(
            "Games of each of the matches that show how strong a generation is, after two random moves; 0: none.",
            _MATCHES,
            low=0,
            free=True,
        ),
    ] = 400
    keep: Annotated[
        int,
        Setting("How many of the newest generations' games stay on the disk.", _MACHINE, low=1, free=True),
    ] = 1
    workers: Annotated[int, Setting("Threads that play; 0: one per core.", low=0, free=True)] = 0
    backend: Annotated[
        str,
        Setting("How networks play: int8, in 8-bit integers, or openvino, in floats.", _MACHINE, choices=BACKENDS),
    ] = "int8"

    def spec(self) -> "GameSpec":
        """The games, as the networks see them."""
        from tengen.encode.game_spec import GameSpec
        from tengen.games.game import get_game

        kind = get_game(self.game).options
        known = {field.name for field in dataclasses.fields(kind)}
        asked = {name: getattr(self, name) for name in ("size", "rules", "komi", "limit")}
        usual = ("stones-player" if self.both else "stones") if self.game == "go" else ""
        return GameSpec(kind.of({name: asked[name] for name in known & asked.keys()}), self.encoder or usual)

    def sides(self) -> dict[str, str]:
        """The networks of a generation by the names of their files, and whose moves lead to what each of them sees."""
        from tengen.games.game import get_game

        if self.both:
            return {"both": "both"}
        first, second = get_game(self.game).players
        return {first.lower(): "first", second.lower(): "second"}

    def run_name(self) -> str:
        """A name for the run's directory: `simple-go-k3.5`."""
        komi = f"-k{self.komi:g}" if self.game == "go" else ""
        return f"{self.preset or self.game}{komi}"
