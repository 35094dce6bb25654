"""Everything that shapes a supervised run: its configuration, its command line and its documentation at once.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.
"""

import hashlib
import json
import re
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Annotated, Final

from tengen.learn.training_config import FREE_SETTINGS, TrainingConfig

HANDICAPS: Final = ("any", "only", "none")


@dataclass(frozen=True)
class SupervisedConfig(TrainingConfig):
    """Everything that shapes a run; kept as config.toml in its directory."""

    data: Annotated[str, "Folder of the dataset, as `tengen data build` makes it."]
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
    smoothing: Annotated[float, "Label smoothing."] = 0.0
    value_weight: Annotated[
        float, "Weight of the value loss beside that of the policy; every game with a known result counts the same."
    ] = 1.0
    ownership_weight: Annotated[
        float, "Weight of the ownership loss, if the network has that head (ownership=yes); counted games teach it."
    ] = 0.5
    komi_spread: Annotated[
        float,
        "Show positions of counted games at a komi of up to so many points more or less than the record's, with the "
        "result that it gives; needs an encoder that shows the komi.",
    ] = 0.0
    games: Annotated[int, "Games to draw; 0 for all."] = 0
    min_rank: Annotated[int, "Both players at least so strong (1 is 1 dan, 11 professional 1 dan); 0 for any."] = 0
    first_year: Annotated[int, "Games of this year or later."] = 0
    last_year: Annotated[int, "Games of this year or earlier."] = 9999
    handicap: Annotated[str, "Games with a handicap: any, only or none."] = "any"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.handicap not in HANDICAPS:
            raise ValueError(f"no handicap is called {self.handicap!r}: choose from {', '.join(HANDICAPS)}")
        for name in ("games", "value_weight", "ownership_weight"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        if not 0 <= self.komi_spread <= 100:
            raise ValueError(f"komi_spread is {self.komi_spread}: give 0 to 100 points")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing is {self.smoothing}: give 0 or more, and less than 1")


def run_name(config: SupervisedConfig) -> str:
    """A name for the run's directory, the same for the same settings: `simple-small-1f3a5c7e`."""
    settings = {name: value for name, value in asdict(config).items() if name not in FREE_SETTINGS}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    network = re.sub(r"[^a-z0-9.]+", "-", config.network.lower()).strip("-.")[:60]
    return f"{config.encoder}-{network}-{digest}"
