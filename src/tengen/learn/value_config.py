"""Everything that shapes a run of value learning: its configuration, its command line and its documentation at once.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.
"""

from dataclasses import dataclass
from typing import Annotated, Final

from tengen.learn.training_config import FREE_SETTINGS, TrainingConfig

VALUE_NETWORK: Final = "alphago-value:layers=7,filters=64"
VALUE_ENCODER: Final = "alphago49"
FREE_VALUE_SETTINGS: Final = FREE_SETTINGS | {"workers"}


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
    """Everything that shapes a run; kept as config.toml in its directory."""

    policy: Annotated[
        str, "The supervised policy (file or bundled name), which plays the moves before U; empty: play no games."
    ] = ""
    rl: Annotated[
        str, "The policy that learned by reinforcement, which plays the moves after U; empty: that of --policy."
    ] = ""
    games: Annotated[int, "Games to learn from, of each one position; 0: all in --data."] = 200_000
    last_move: Annotated[int, "U is drawn from 1 to this number; 0: three quarters of the points of the board."] = 0
    temperature: Annotated[
        float,
        "Of the policy after move U: 1 draws as it predicts, as AlphaGo did; less plays likelier moves more often.",
    ] = 1.0
    rules: Annotated[str, "Rule set of the games."] = "chinese"
    komi: Annotated[float, "Komi of the games; nan: what suits the policy."] = float("nan")
    komi_spread: Annotated[
        float, "Draw the komi of every game, up to so many points more or less; needs an encoder that shows it."
    ] = 0.0
    data: Annotated[
        str, "Folder of the positions: those made before are used, and new ones go there. Empty: games/ in --out."
    ] = ""
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
        float, "Weight of the distance from the policy of --start-from, in nats, beside the error of the value."
    ] = 1.0
    records: Annotated[str, "A dataset of game records with known results to mix in; empty: none."] = ""
    records_share: Annotated[float, "Share of the positions that come from --records."] = 0.25
    positions: Annotated[int, "Positions to learn from; 0: as many as --hours allow."] = 2_000_000
    epoch: Annotated[int, "Positions between two validations."] = 100_000
    validate: Annotated[int, "Test positions, and as many of those learned from, for a validation."] = 8192
    average: Annotated[float, "Decay of the running average of the weights, which is validated and saved; 0: none."] = (
        0.999
    )
    workers: Annotated[int, "Processes that play."] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("games", "last_move", "size", "policy_weight", "komi_spread"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        if not 0 <= self.temperature <= 10:
            raise ValueError(f"temperature is {self.temperature}: give 0 (the likeliest move) to 10")
        if not 0 < self.records_share < 1:
            raise ValueError(f"records_share is {self.records_share}: give a share between 0 and 1")
        if self.workers < 1:
            raise ValueError(f"workers is {self.workers}: give 1 or more")
        if not self.policy and not self.data:
            raise ValueError("there is nothing to learn from: give --policy to play games, or --data with positions")
        if self.rl and not self.policy:
            raise ValueError("--rl plays on from the moves of --policy: give that too")
