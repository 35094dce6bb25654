"""Which files hold a generation of value networks: one for each player, or one for both.

runs/simple-go-k3.5/models/black-04.safetensors     positions after Black's moves
runs/simple-go-k3.5/models/white-04.safetensors     positions after White's moves
"""

from pathlib import Path
from typing import NamedTuple

from tengen.nets.bundled import SUFFIX, find_model
from tengen.nets.model_file import ModelCard, ModelFileError, read_card

MODELS_FOLDER = "models"


class Generation(NamedTuple):
    """The files of a generation: the networks for positions after the first player's moves and after the second's."""

    first: Path | None
    second: Path | None

    @property
    def card(self) -> ModelCard:
        """The card of one of them."""
        path = self.first or self.second
        assert path is not None
        return read_card(path)


def generation_numbers(run: Path) -> list[int]:
    """The generations whose networks a run directory has, from 1 on."""
    found: dict[int, set[str]] = {}
    for path in (run / MODELS_FOLDER).glob(f"*-[0-9]*{SUFFIX}"):
        side, _, number = path.name.removesuffix(SUFFIX).rpartition("-")
        if number.isdecimal():
            found.setdefault(int(number), set()).add(side)
    return sorted(number for number, sides in found.items() if len(sides) > 1 or sides == {"both"})


def model_file(run: Path, side: str, number: int) -> Path:
    """The file of a network of a run: `models/black-04.safetensors`."""
    return run / MODELS_FOLDER / f"{side}-{number:02d}{SUFFIX}"


def find_generation(model: str | Path, number: int = 0) -> Generation:
    """The networks of a generation, by the directory of its run or by the file of one of them.

    `number`: of a run, which generation; 0: the newest. Beside a file, that of the other player is found by its number.
    """
    run = Path(model).expanduser()
    if run.is_dir():
        known = generation_numbers(run)
        if not known or number not in (0, *known):
            which = f"generation {number}" if known else "generations"
            there = f": choose from {known[0]} to {known[-1]}" if known else ""
            raise ModelFileError(f"{run} holds no {which} of value networks{there}")
        paths = (run / MODELS_FOLDER).glob(f"*-{number or known[-1]:02d}{SUFFIX}")
        return _sorted(sorted(paths))
    if number:
        raise ModelFileError(f"{model} is one model: leave generation= out, or give the directory of a run")
    path = find_model(model)
    side, _, of = path.name.removesuffix(SUFFIX).rpartition("-")
    beside = path.parent.glob(f"*-{of}{SUFFIX}") if side and of.isdecimal() else ()
    return _sorted([path, *(other for other in sorted(beside) if other != path)])


def _sorted(paths: list[Path]) -> Generation:
    """The networks by whose moves they are for; the first of several that are for the same."""
    first, second, of = None, None, read_card(paths[0])
    for path in paths:
        card = read_card(path)
        if card.network != "simple-go" or (card.game, card.size, card.encoder) != (of.game, of.size, of.encoder):
            continue
        after = card.arguments.get("after")
        first = first or (path if after in ("first", "both") else None)
        second = second or (path if after in ("second", "both") else None)
    if first is None and second is None:
        raise ModelFileError(f"{paths[0]} is no value network of `tengen learn generations`: take another agent for it")
    return Generation(first, second)
