"""The settings of self-play training, each described once: configuration, command line and documentation.

They are apart from the loop in `zero.py` because the command line reads them, and PyTorch takes seconds to import.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self

from tengen.learn.settings import OPTIMIZERS, SCHEDULES
from tengen.runs.settings import Setting, Settings

if TYPE_CHECKING:
    from tengen.encode.game_spec import GameSpec
    from tengen.games.state import Options
    from tengen.search.rule import SearchRule

SEARCHES: Final = ("gumbel", "puct")
BACKENDS: Final = ("int8", "openvino", "torch")

_DUELS: Final = "Gate and duels"
_GAME: Final = "Game"
_LOSS: Final = "Loss"
_MACHINE: Final = "Machine"
_OPTIMISER: Final = "Optimiser"
_REPLAY: Final = "Replay memory"
_SELF_PLAY: Final = "Self-play"


@dataclass(frozen=True)
class SelfPlaySettings(Settings):
    """How games are played to learn from."""

    search: Annotated[
        str,
        Setting(
            "gumbel (sequential halving, learns from few simulations), puct (AlphaGo Zero's), or a rule of a plugin.",
            _SELF_PLAY,
            choices=SEARCHES,
            plugins="rule",
        ),
    ] = "gumbel"
    simulations: Annotated[int, Setting("Simulations per move.", low=1)] = 32
    slots: Annotated[int, Setting("Games under way at once in each worker.", _SELF_PLAY, low=1)] = 256
    full_share: Annotated[
        float,
        Setting(
            "Playout-cap randomisation: the share of moves that are searched in full and learned from.",
            _SELF_PLAY,
            low=0,
            high=1,
        ),
    ] = 1.0
    fast_simulations: Annotated[int, Setting("Simulations for the other moves.", _SELF_PLAY, low=1)] = 8
    considered: Annotated[int, Setting("Gumbel: moves compared at the root.", _SELF_PLAY, low=1)] = 16
    value_scale: Annotated[
        float, Setting("Gumbel: how much values count against the network's own policy.", _SELF_PLAY, low=0)
    ] = 1.0
    exploration: Annotated[float, Setting("PUCT: the weight of the prior, c.", _SELF_PLAY, low=0)] = 1.5
    noise: Annotated[float, Setting("PUCT: the share of Dirichlet noise at the root.", _SELF_PLAY, low=0, high=1)] = (
        0.25
    )
    alpha: Annotated[
        float, Setting("PUCT: the noise's alpha; 0: ten divided by the number of legal moves.", _SELF_PLAY, low=0)
    ] = 0.0
    prune: Annotated[
        bool,
        Setting("PUCT: policy-target pruning, which leaves visits out that only exploration asked for.", _SELF_PLAY),
    ] = True
    temperature: Annotated[
        float,
        Setting("In the opening, moves are drawn from the policy to the power of 1 / temperature.", _SELF_PLAY, low=0),
    ] = 1.0
    temperature_plies: Annotated[int, Setting("Length of that opening, in plies.", _SELF_PLAY, low=0)] = 8
    random_plies: Annotated[int, Setting("Each game starts with 0 to this many random moves.", _SELF_PLAY, low=0)] = 2
    rollouts: Annotated[
        float,
        Setting(
            "Share of a rollout's result in the value of a leaf, AlphaGo's lambda: helps while the "
            "network's own values are poor. 0: no rollouts.",
            _SELF_PLAY,
            low=0,
            high=1,
        ),
    ] = 0.0
    keep_trees: Annotated[bool, Setting("Reuse the search tree of the last move.", _SELF_PLAY)] = False
    komi_spread: Annotated[
        float,
        Setting(
            "Go: each game's komi is drawn from --komi, up to so many points more or less. 0: always --komi.",
            _SELF_PLAY,
            low=0,
        ),
    ] = 0.0
    resign: Annotated[
        float,
        Setting(
            "Resign below this value (-0.95, say) for both moves of a round; -1: never.", _SELF_PLAY, low=-1, below=0
        ),
    ] = -1.0
    resign_keep: Annotated[
        float,
        Setting(
            "Share of games that are played on after a resignation, to measure wrong ones.", _SELF_PLAY, low=0, high=1
        ),
    ] = 0.1

    def rule(self) -> "SearchRule":
        """The rule that the search goes by."""
        from tengen.search.gumbel import Gumbel, GumbelParameters
        from tengen.search.puct import Puct, PuctParameters
        from tengen.search.rule import own_rule

        if self.search not in SEARCHES:
            return own_rule(self.search)

        if self.search == "gumbel":
            return Gumbel(GumbelParameters(self.considered, value_scale=self.value_scale))
        return Puct(PuctParameters(self.exploration), noise=self.noise, alpha=self.alpha, prune=self.prune)


_GO_HEADS: Final = "first_kernel=3,value=yes,ownership=yes,score=yes"


@dataclass(frozen=True)
class ZeroConfig(SelfPlaySettings):
    """Everything that shapes a run; kept as config.toml in its directory.

    Settings that may change when the run is resumed are noted in its metrics, except for those of the machine.

    >>> import tengen
    >>> tengen.ZeroConfig(game="tictactoe", simulations=16).positions
    20000
    """

    kind: ClassVar[str] = "zero"
    usually_free: ClassVar[bool] = True

    preset: Annotated[str, Setting("Where the settings that you do not give come from.", free=False)] = ""
    game: Annotated[str, Setting("The game: go, microchess, tictactoe or one that you added.", free=False)] = "go"
    size: Annotated[int, Setting("Rows of the board.", free=False)] = 5
    rules: Annotated[
        str,
        Setting(
            "Rule set: chinese and the like for Go (area counting); standard or ncsoft for Microchess.", free=False
        ),
    ] = "chinese"
    komi: Annotated[float, Setting("Go: points that White gets for moving second.", free=False)] = 3.5
    double_step: Annotated[bool, Setting("Microchess: whether a pawn may begin with two steps.", _GAME, free=False)] = (
        True
    )
    encoder: Annotated[str, Setting("How positions are shown to the network.", _GAME, free=False)] = "compact"
    limit: Annotated[
        int,
        Setting(
            "Go: moves after which a game is scored as it stands; 0: three times the points.", _GAME, low=0, free=False
        ),
    ] = 0
    network: Annotated[str, Setting("A kind of network with its settings; it needs a value head.", free=False)] = (
        "residual:blocks=2,filters=32,first_kernel=3,value=yes,ownership=yes,score=yes"
    )
    start_from: Annotated[str, Setting("A model, by name or path, whose weights to start from.", free=False)] = ""
    seed: Annotated[
        int, Setting("Random seed of the first weights, the games and the shuffling.", low=0, free=False)
    ] = 1
    hours: Annotated[
        float, Setting("Hours to learn, over all calls of the command; 0: until you stop it.", low=0, machine=True)
    ] = 0.25
    iterations: Annotated[
        int, Setting("How many rounds of self-play and training; 0: as many as the time allows.", low=0, machine=True)
    ] = 0
    positions: Annotated[
        int, Setting("Positions that one round of self-play adds.", low=1, option="round_positions")
    ] = 20_000
    first_simulations: Annotated[
        int,
        Setting(
            "Simulations per move in the first round; they rise to --simulations over --ramp rounds. 0: no rise.",
            _SELF_PLAY,
            low=0,
        ),
    ] = 0
    ramp: Annotated[int, Setting("Rounds over which the simulations rise.", _SELF_PLAY, low=1)] = 10
    reuse: Annotated[float, Setting("How often a position is learned from, on average.", _REPLAY, low=0)] = 3.0
    window_first: Annotated[
        int, Setting("Size up to which the replay window keeps every position.", _REPLAY, low=1)
    ] = 100_000
    window_growth: Annotated[
        float,
        Setting(
            "Then the window grows with the number of positions to this power (KataGo: 0.75).", _REPLAY, low=0, high=1
        ),
    ] = 0.75
    window_share: Annotated[
        float,
        Setting("How fast that growth starts: positions added to the window per new position.", _REPLAY, low=0, high=1),
    ] = 0.4
    window_most: Annotated[
        int, Setting("Largest size of the window; memory and disk space are proportional to it.", _REPLAY, low=1)
    ] = 1_000_000
    batch: Annotated[int, Setting("Batch size, in positions.", low=1)] = 512
    symmetries: Annotated[
        bool, Setting("Rotate and reflect every position at random, where the game allows it.", _REPLAY)
    ] = True
    optimizer: Annotated[
        str,
        Setting(
            f"Optimiser: {', '.join(OPTIMIZERS)}.", _OPTIMISER, choices=OPTIMIZERS, plugins="optimizer", free=False
        ),
    ] = "sgd"
    rate: Annotated[float, Setting("Learning rate.", low=0)] = 0.05
    momentum: Annotated[float, Setting("Momentum of sgd.", _OPTIMISER, low=0, below=1)] = 0.9
    decay: Annotated[float, Setting("Weight decay: adds decay / 2 * |weights|^2 to the loss.", _LOSS, low=0)] = 0.0001
    schedule: Annotated[
        str,
        Setting(
            f"Learning-rate schedule over --hours or --iterations: {', '.join(SCHEDULES)}.",
            _OPTIMISER,
            choices=SCHEDULES,
        ),
    ] = "constant"
    rate_floor: Annotated[
        float, Setting("Share of the rate that is left at the end of the schedule.", _OPTIMISER, low=0, high=1)
    ] = 0.1
    warm_up: Annotated[
        int,
        Setting("Steps over which the rate rises from zero at the start.", _OPTIMISER, low=0, option="warm_up_steps"),
    ] = 200
    clip: Annotated[float, Setting("Clip gradients to this norm; 0: no clipping.", _OPTIMISER, low=0)] = 0.0
    average: Annotated[
        float,
        Setting(
            "Decay of the running average of the weights, which plays and is saved; 0: none.",
            _OPTIMISER,
            low=0,
            below=1,
        ),
    ] = 0.998
    bf16: Annotated[bool, Setting("Train in 16-bit bfloat where that is safe, if the processor can.", _OPTIMISER)] = (
        False
    )
    policy_weight: Annotated[float, Setting("Weight of the policy loss, a cross entropy.", _LOSS, low=0)] = 1.0
    value_weight: Annotated[
        float,
        Setting(
            "Weight of the value loss. Use 8 with --decay 0.04 --rate 0.000025 to reproduce the Microchess lecture.",
            _LOSS,
            low=0,
        ),
    ] = 1.0
    ownership_weight: Annotated[
        float, Setting("Weight of the ownership loss, if the network has that head.", _LOSS, low=0)
    ] = 0.3
    score_weight: Annotated[float, Setting("Weight of the score loss, if the network has that head.", _LOSS, low=0)] = (
        0.3
    )
    blend: Annotated[
        float,
        Setting(
            "Share of the search's value in the value to learn; the rest is the game's result.", _LOSS, low=0, high=1
        ),
    ] = 0.0
    gate: Annotated[
        float,
        Setting(
            "Score a new model needs against the best to replace it; 0: none. The Microchess lecture uses 0.6.",
            _DUELS,
            low=0,
            below=1,
        ),
    ] = 0.0
    gate_games: Annotated[int, Setting("Games of that duel.", _DUELS, low=1)] = 100
    duel_every: Annotated[
        int, Setting("Rounds between two duels with past models, which give the ratings; 0: never.", _DUELS, low=0)
    ] = 5
    duel_games: Annotated[int, Setting("Games against each of them.", _DUELS, low=1)] = 40
    past: Annotated[int, Setting("How many past models to play in these duels.", _DUELS, low=0)] = 2
    duel_simulations: Annotated[int, Setting("Simulations per move in duels; 0: as in self-play.", _DUELS, low=0)] = 0
    workers: Annotated[int, Setting("Processes that play; 0: one a core.", low=0, machine=True)] = 0
    threads: Annotated[
        int, Setting("Threads that train; 0: all cores, or one with --overlap.", _MACHINE, low=0, machine=True)
    ] = 0
    device: Annotated[
        str, Setting("Where to train: cpu, cuda (a graphics card), cuda:1 (the second one).", _MACHINE, machine=True)
    ] = "cpu"
    overlap: Annotated[bool, Setting("Play the next round while training on the last one.", _MACHINE, machine=True)] = (
        True
    )
    niceness: Annotated[
        int,
        Setting(
            "With --overlap: niceness of the processes that play beside the one that trains; at 19 they starve.",
            _MACHINE,
            low=0,
            machine=True,
        ),
    ] = 2
    backend: Annotated[
        str, Setting(f"What runs the network in self-play: {', '.join(BACKENDS)}.", _MACHINE, choices=BACKENDS)
    ] = "int8"
    calibration: Annotated[
        int, Setting("Positions on which the 8-bit network is calibrated; as many others check it.", _MACHINE, low=1)
    ] = 1024
    checkpoint: Annotated[
        float,
        Setting(
            "Minutes of training between two checkpoints within a round.",
            _MACHINE,
            low=0,
            machine=True,
            option="checkpoint_minutes",
        ),
    ] = 5.0

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first_simulations > self.simulations:
            raise ValueError(
                f"first_simulations {self.first_simulations} is more than simulations {self.simulations}: give up to "
                f"{self.simulations}, or 0 for no rise"
            )
        if self.window_first > self.window_most:
            raise ValueError(f"window_first {self.window_first} is more than window_most {self.window_most}")

    @classmethod
    def preset_config(cls, preset: str, given: Mapping[str, Any] | None = None) -> Self:
        """The preset's configuration, except for what is given. Its rise of simulations ends where fewer are given."""
        usual, settings = cls.presets.get(preset, {}), dict(given or {})
        if "first_simulations" in usual and "first_simulations" not in settings:
            most = settings.get("simulations", usual["simulations"])
            settings["first_simulations"] = min(usual["first_simulations"], most)
        return super().preset_config(preset, settings)

    @classmethod
    def of_game(cls, game: str, given: Mapping[str, Any] | None = None) -> Self:
        """A configuration for a game without a preset, with a small network and the game's usual encoder."""
        from tengen.encode.encoder import get_encoder
        from tengen.games.game import get_game

        known, usual = get_game(game), cls()
        settings: dict[str, Any] = {"game": game}
        if get_encoder(usual.encoder).game != game:
            settings["encoder"] = known.default_encoder or game
        if not known.territory:
            settings["network"] = usual.network.removesuffix(",ownership=yes,score=yes")
        return cls(**{**settings, **(given or {})})

    def run_name(self) -> str:
        """A name for the run's directory: the preset's, with a digest if fixed settings differ from the preset."""
        usual = self.preset_config(self.preset) if self.preset else ZeroConfig()
        fixed = sorted({field.name for field in dataclasses.fields(self)} - self.free())
        what, preset = ({name: getattr(settings, name) for name in fixed} for settings in (self, usual))
        if what == preset and self.preset:
            return self.preset
        return f"{self.preset or 'zero'}-{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:8]}"

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
