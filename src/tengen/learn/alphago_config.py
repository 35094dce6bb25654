"""Everything that shapes the way from game records to an AlphaGo: its configuration, command line and documentation.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final

from tengen.runs.folder import CONFIG_FILE, FolderError, read_settings

FREE_SETTINGS: Final = frozenset({"workers", "device", "ablation_games", "match_games"})
"""What may change when a run is resumed."""


@dataclass(frozen=True)
class AlphaGoConfig:
    """Everything that shapes a run; kept as config.toml in its directory."""

    preset: Annotated[str, "Where the settings that you do not give come from."] = ""
    data: Annotated[str, "Folder of a dataset, as `tengen data build` makes it; none: the teacher makes records."] = ""
    teacher: Annotated[str, "Who plays the games that are learned from where there is no dataset."] = "uct:playouts=200"
    teacher_games: Annotated[int, "How many of them."] = 1_000
    size: Annotated[int, "Size of the board."] = 9
    komi: Annotated[float, "Points that White gets for moving second."] = 7.0

    policy: Annotated[str, "A policy to begin with, by name or path, in place of learning one from records."] = ""
    encoder: Annotated[str, "How positions are shown to the policy network."] = "compact-komi"
    network: Annotated[
        str, "The policy network; alphago:layers=13,filters=192 with the encoder alphago is the paper's."
    ] = "residual:blocks=4,filters=64,first_kernel=3,pool_every=2,value=yes"
    positions: Annotated[int, "Positions of records that it learns from."] = 4_000_000
    rate: Annotated[float, "Learning rate of the policy network on records."] = 0.1
    batch: Annotated[int, "Batch size, in positions, of the policy network on records."] = 128

    fast: Annotated[str, "A fast policy to use, by name or path, in place of learning one from records."] = ""
    fast_passes: Annotated[int, "How often the fast policy goes through the records."] = 2

    updates: Annotated[int, "Updates by policy gradient."] = 100
    update_games: Annotated[int, "Games for each of them."] = 512

    value_encoder: Annotated[str, "How positions are shown to a value network of its own."] = "alphago49"
    value_network: Annotated[
        str,
        "A value network of its own, such as the paper's alphago-value:layers=13,filters=192; none: the policy network "
        "gets a value head.",
    ] = ""
    value_games: Annotated[int, "Games of self-play, each of which gives one position for the value."] = 200_000
    value_passes: Annotated[float, "How often the value goes through these positions."] = 4.0

    match_games: Annotated[int, "Games between the policies before and after policy gradient."] = 200
    ablation_games: Annotated[int, "Games of each pair in the ablation; 0: no ablation."] = 10
    ablation_seconds: Annotated[float, "Seconds a move in the ablation."] = 0.1

    workers: Annotated[int, "Processes that play; 0: one a core."] = 0
    device: Annotated[str, "Where to train: cpu, cuda (a graphics card), cuda:1 (the second one)."] = "cpu"
    seed: Annotated[int, "Random seed of everything."] = 1

    def __post_init__(self) -> None:
        for name in (
            "teacher_games",
            "positions",
            "batch",
            "fast_passes",
            "update_games",
            "value_games",
            "match_games",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        for name in ("updates", "ablation_games", "workers", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        for name in ("rate", "value_passes", "ablation_seconds"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give more than 0")
        if not 2 <= self.size <= 19:
            raise ValueError(f"size is {self.size}: give 2 to 19")


PRESETS: Final[dict[str, dict[str, Any]]] = {
    "go5": {
        "size": 5,
        "komi": 3.5,
        "teacher": "uct:playouts=100",
        "teacher_games": 1_200,
        "network": "residual:blocks=2,filters=32,first_kernel=3,value=yes",
        "positions": 100_000,
        "updates": 20,
        "update_games": 256,
        "value_games": 20_000,
        "match_games": 200,
        "ablation_games": 4,
        "ablation_seconds": 0.02,
    },
    "go9": {},
    "go19": {
        "size": 19,
        "komi": 7.5,
        "encoder": "alphago49",
        "network": "residual:blocks=6,filters=64,first_kernel=3,pool_every=2,value=yes",
        "positions": 8_000_000,
        "update_games": 128,
        "value_games": 100_000,
        "ablation_seconds": 1.0,
    },
}


def preset_config(preset: str, given: Mapping[str, Any] | None = None) -> AlphaGoConfig:
    """The preset's configuration, but for what is given."""
    if preset not in PRESETS:
        raise ValueError(f"no preset is called {preset[:40]!r}: choose from {', '.join(PRESETS)}")
    return AlphaGoConfig(**{**PRESETS[preset], "preset": preset, **(given or {})})


def read_config(run: Path, given: Mapping[str, Any] | None = None) -> AlphaGoConfig:
    """What was asked for of the run in this directory, but for what is given."""
    there = read_settings(run)
    known = {field.name: there[field.name] for field in fields(AlphaGoConfig) if field.name in there}
    if "preset" not in there or "teacher" not in there:
        raise FolderError(f"{run / CONFIG_FILE} is not of a run of tengen learn alphago")
    return AlphaGoConfig(**{**known, **(given or {})})
