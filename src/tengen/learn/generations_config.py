"""Everything that shapes generations of value networks: their configuration, command line and documentation at once.

The text beside a setting's type is its help. Nothing heavy is imported here, for the command line reads it.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from tengen.learn.settings import TrainingConfig
from tengen.runs.folder import read_settings

if TYPE_CHECKING:
    from tengen.encode.game_spec import GameSpec

FREE_GENERATION_SETTINGS: Final = TrainingConfig.free() | {"generations", "workers", "keep", "match_games"}
"""What may change when a run goes on."""
UNUSED_SETTINGS: Final = ("hours", "start_from")
"""Settings of other training that have no meaning here."""
BACKENDS: Final = ("int8", "openvino")


@dataclass(frozen=True, kw_only=True)
class GenerationsConfig(TrainingConfig):
    """Everything that shapes a run; kept as config.toml in its directory."""

    preset: Annotated[str, "Where the settings that you do not give come from."] = ""
    game: Annotated[str, "The game: go, microchess, tictactoe or one that you added."] = "go"
    size: Annotated[int, "Rows of the board."] = 5
    rules: Annotated[str, "Rule set."] = "simple-go"
    komi: Annotated[float, "Go: points that White gets for moving second."] = 3.5
    limit: Annotated[int, "Go: moves after which a game is scored as it stands; 0: three times the points."] = 0
    encoder: Annotated[
        str, "How positions are shown to the networks; empty: stones in Go, with the player to move for one network."
    ] = ""
    network: Annotated[str, "A kind of network with an outcome head, and its settings."] = "simple-go"
    both: Annotated[bool, "One network for both players, instead of one for each."] = False

    policy: Annotated[
        bool, "Learn a policy too: the moves of those who won (policy gradient). Tree search then goes by it."
    ] = False

    generations: Annotated[int, "Generations of networks."] = 10
    first_games: Annotated[int, "Random games that generation 1 learns from."] = 100_000
    games: Annotated[int, "Games of the last generation that each further one learns from."] = 250_000
    opening: Annotated[
        int,
        "In half of its games a player moves at random up to move m of the game, m being drawn from 1 to this number.",
    ] = 12
    rate_limit: Annotated[
        float, "In the other half each of its moves is random at a rate, which is drawn from 0 to this number."
    ] = 1.0
    simulations: Annotated[
        int, "Play by tree search with so many simulations a move and the values at its leaves; 0: one ply ahead."
    ] = 0
    keep_weights: Annotated[bool, "Start from the weights of the last generation, instead of fresh ones."] = False
    attempts: Annotated[
        int, "How often a network is trained anew, at a third of the rate, if it learned nothing beyond a constant."
    ] = 3

    optimizer: Annotated[str, "Optimiser: sgd, adagrad, adadelta, adam, adamw."] = "adam"
    decay: Annotated[float, "Weight decay: adds decay / 2 * |weights|^2 to the loss."] = 1e-5
    batch: Annotated[int, "Batch size, in positions."] = 512
    positions: Annotated[int, "Positions that each network of a generation learns from."] = 4_000_000
    epoch: Annotated[int, "Positions between two validations."] = 500_000
    validate: Annotated[int, "Test positions for a validation."] = 20_000
    average: Annotated[float, "Decay of the running average of the weights, which is validated and saved; 0: none."] = (
        0.999
    )

    match_games: Annotated[
        int, "Games of each of the matches that show how strong a generation is, after two random moves; 0: none."
    ] = 400
    keep: Annotated[int, "How many of the newest generations' games stay on the disk."] = 1
    workers: Annotated[int, "Threads that play; 0: one a core."] = 0
    backend: Annotated[str, "How networks play: int8, in 8-bit integers, or openvino, in floats."] = "int8"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("generations", "first_games", "games", "attempts", "keep"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: give 1 or more")
        for name in ("opening", "simulations", "match_games", "workers", "limit"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give 0 or more")
        if not 0 <= self.rate_limit <= 1:
            raise ValueError(f"rate_limit is {self.rate_limit}: give a share from 0 to 1")
        if self.backend not in BACKENDS:
            raise ValueError(f"no backend is called {self.backend!r}: choose from {', '.join(BACKENDS)}")

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


PRESETS: Final[dict[str, dict[str, Any]]] = {
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


def preset_config(preset: str, given: Mapping[str, Any] | None = None) -> GenerationsConfig:
    """The preset's configuration, but for what is given."""
    if preset not in PRESETS:
        raise ValueError(f"no preset is called {preset[:40]!r}: choose from {', '.join(PRESETS)}")
    return GenerationsConfig(**{**PRESETS[preset], "preset": preset, **(given or {})})


def read_config(run: Path, given: Mapping[str, Any] | None = None) -> GenerationsConfig:
    """What was asked for of the run in this directory, but for what is given."""
    there = read_settings(run)
    known = {field.name for field in dataclasses.fields(GenerationsConfig)}
    if "first_games" not in there:
        raise ValueError(f"{run} holds no generations: `tengen learn generations` makes them")
    return GenerationsConfig(**{name: value for name, value in {**there, **(given or {})}.items() if name in known})


def usual_settings() -> dict[str, Any]:
    """What settings are where the directory of a run does not say, being older than they are."""
    return {field.name: field.default for field in dataclasses.fields(GenerationsConfig)}


def run_name(config: GenerationsConfig) -> str:
    """A name for the run's directory: `simple-go-k3.5`."""
    komi = f"-k{config.komi:g}" if config.game == "go" else ""
    return f"{config.preset or config.game}{komi}"
