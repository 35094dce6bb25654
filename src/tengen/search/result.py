"""What a search of the game tree found."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class GameTreeResult:
    """The best move and its line. Values are as the player to move sees them, in the unit of the game's `evaluate`."""

    move: int
    value: int | None
    """Of the best move; None when there was no time to look at even one."""
    values: Mapping[int, int] = field(default_factory=dict)
    """Of every move at the root whose exact value is known (alpha-beta refutes most moves without it)."""
    pv: tuple[int, ...] = ()
    """The best line for both, beginning with `move`."""
    depth: int = 0
    """Plies searched in full."""
    nodes: int = 0
    solved: bool = False
    """Whether every line ran to the end of the game: the value is then no estimate."""
