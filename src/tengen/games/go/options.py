"""The options of a game of Go."""

from dataclasses import dataclass
from typing import ClassVar

from tengen.games.go.coordinates import check_size, fixed_handicap
from tengen.games.go.rules import get_rules
from tengen.games.options import Options


@dataclass(frozen=True)
class GoOptions(Options):
    """Board, rules and komi. What is not given follows from the rule set."""

    game: ClassVar[str] = "go"

    size: int = 0
    """Points on a side, 2 to 25; 0: the rule set's usual board."""
    rules: str = "chinese"
    komi: float = float("nan")
    """White's points for moving second; not a number: the rule set's, or 0.5 with a handicap."""
    handicap: int = 0
    """Stones that Black has on the board before White begins: 0, or 2 to 9."""
    limit: int = 0
    """Moves after which games in batches are counted as they stand; 0: three times the points of the board."""

    def __post_init__(self) -> None:
        rules = get_rules(self.rules)
        object.__setattr__(self, "rules", rules.name)
        object.__setattr__(self, "size", check_size(self.size or rules.size))
        usual = 0.5 if self.handicap else rules.komi
        object.__setattr__(self, "komi", rules.check_komi(usual if self.komi != self.komi else self.komi))
        if self.handicap:
            fixed_handicap(self.size, self.handicap)
        if self.limit < 0:
            raise ValueError(f"a limit of {self.limit} moves is not possible: give 0 (three times the points) or more")
