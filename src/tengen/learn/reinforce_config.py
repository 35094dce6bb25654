"""Everything that shapes a run of policy-gradient learning: its configuration, its command line, its documentation.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from tengen.learn.settings import OPTIMIZERS

if TYPE_CHECKING:
    from tengen.encode.game_spec import GameSpec
    from tengen.nets.model_file import ModelCard

OPPONENTS: Final = ("pool", "self", "start")
BASELINES: Final = ("none", "mean", "value")
BACKENDS: Final = ("int8", "openvino")
FIXED_SETTINGS: Final = frozenset({"start_from", "rules", "komi", "limit", "optimizer", "seed"})
"""What a run is; everything else may change when it goes on."""
MACHINE_SETTINGS: Final = frozenset(
    {"updates", "hours", "workers", "threads", "device", "keep", "measure", "match_games"}
)
"""What is of no interest to who reads a model's card."""


@dataclass(frozen=True)
class ReinforceConfig:
    """Everything that shapes a run; kept as config.toml in its directory."""

    start_from: Annotated[str, "The policy to improve: a model file or a bundled name, such as go9."]
    rules: Annotated[str, "Rule set of the games; that of the model if not given."] = ""
    komi: Annotated[float, "Go: points that White gets; what suits the model if not given."] = math.nan
    limit: Annotated[int, "Go: moves after which a game is scored as it stands; 0: three times the points."] = 0
    komi_spread: Annotated[
        float, "Go: draw the komi of each game, up to so many points more or less; needs an encoder that shows it."
    ] = 0.0
    opponent: Annotated[
        str,
        "pool: an earlier version of the policy, drawn anew for each update, as in AlphaGo; self: the policy plays "
        "itself and learns from both sides; start: always the policy that the run started from.",
    ] = "pool"
    games: Annotated[int, "Games of an update; in half of them the policy has the first move."] = 512
    snapshot: Annotated[int, "Updates after which a version of the policy joins the pool."] = 5
    temperature: Annotated[float, "Temperature at which moves are drawn."] = 1.0
    optimizer: Annotated[str, f"Optimiser: {', '.join(OPTIMIZERS)}."] = "adam"
    rate: Annotated[float, "Learning rate."] = 1e-4
    momentum: Annotated[float, "Momentum of sgd."] = 0.9
    clip: Annotated[float, "Clip gradients to this norm; 0: no clipping."] = 1.0
    batch: Annotated[int, "Positions for a step of the optimiser, of which an update makes several."] = 1024
    trust: Annotated[
        float,
        "How far an update may go: a move stops being made more or less likely when its chance has changed by this "
        "share; 0: no limit, plain REINFORCE, for which you want one step an update (a large --batch).",
    ] = 0.2
    passes: Annotated[int, "How often an update learns from each of its positions."] = 1
    baseline: Annotated[
        str,
        "What a result is compared with: none; mean: the mean of the update's results with that colour; value: the "
        "network's own value of the position.",
    ] = "mean"
    value_weight: Annotated[
        float, "Weight of the loss of the value head, if there is one, which learns the results; 0: not at all."
    ] = 0.25
    entropy: Annotated[float, "Weight of a bonus for policies of high entropy."] = 0.0
    updates: Annotated[int, "Updates to make; 0: as many as --hours allow."] = 100
    hours: Annotated[float, "Hours at most; 0: no limit."] = 0.0
    measure: Annotated[int, "Updates between two matches against the policy that the run started from."] = 5
    match_games: Annotated[int, "Games of such a match, without search, with moves drawn at temperature 1."] = 400
    keep: Annotated[int, "How many of the newest updates' games stay on the disk."] = 3
    seed: Annotated[int, "Random seed."] = 1
    workers: Annotated[int, "Threads that play; 0: one a core."] = 0
    threads: Annotated[int, "Threads that train; 0: one a core."] = 0
    device: Annotated[str, "Where to train: cpu, cuda (a graphics card), cuda:1 (the second one)."] = "cpu"
    backend: Annotated[str, "How networks play: int8, in 8-bit integers, or openvino, in floats."] = "int8"
    bf16: Annotated[bool, "Train in 16-bit bfloat if the processor can: up to twice as fast."] = True

    def __post_init__(self) -> None:
        for name, known in (
            ("optimizer", OPTIMIZERS), ("opponent", OPPONENTS), ("baseline", BASELINES), ("backend", BACKENDS)
        ):  # fmt: skip
            if getattr(self, name) not in known:
                raise ValueError(f"no {name} is called {getattr(self, name)!r}: choose from {', '.join(known)}")
        if not self.updates and not self.hours:
            raise ValueError("updates and hours are both 0: give one of them, or the run would never end")
        for name in ("snapshot", "batch", "passes", "measure", "keep"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        for name in ("games", "match_games"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} is {getattr(self, name)}: give 2 or more, half of them with each colour")
        for name in (
            *("limit", "komi_spread", "rate", "clip", "trust", "value_weight", "entropy", "updates", "hours", "seed"),
            *("workers", "threads"),
        ):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum is {self.momentum}: give 0 or more, and less than 1")
        if not 0 < self.temperature <= 10:
            raise ValueError(f"temperature is {self.temperature}: give more than 0, and 10 at most")

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
