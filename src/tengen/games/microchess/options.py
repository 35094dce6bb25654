"""The options of a game of Microchess."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from tengen.games.microchess.board import DOUBLE_STEP, NCSOFT
from tengen.games.options import Options

RULE_SETS: Final = ("standard", "ncsoft")


@dataclass(frozen=True)
class MicrochessOptions(Options):
    """Rules, and whether pawns may begin with two steps."""

    game: ClassVar[str] = "microchess"

    rules: str = "standard"
    """standard or ncsoft."""
    double_step: bool = True

    def __post_init__(self) -> None:
        rule_flags(self.rules, self.double_step)


def rule_flags(rules: str, double_step: bool) -> int:
    """What the kernels know of a rule set; ValueError if there is none of this name."""
    if rules not in RULE_SETS:
        raise ValueError(f"no rules of microchess are called {rules[:40]!r}: choose from {', '.join(RULE_SETS)}")
    return (NCSOFT if rules == "ncsoft" else 0) | (DOUBLE_STEP if double_step else 0)


# ------------------------------------------------------------------------------------- Fairy-Stockfish
# The file that teaches it this game, and the names that the variants have there and in its Python module.


def variants_path() -> Path:
    """The variants file, for `setoption name VariantPath value FILE`."""
    return Path(__file__).with_name("variants.ini")


def variant_name(double_step: bool) -> str:
    """What the game is called there, with or without the pawns' double step."""
    return "microchessds" if double_step else "microchess"
