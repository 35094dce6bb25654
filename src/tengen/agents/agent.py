"""What an agent is: it looks at a position and decides on a move, and says why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tengen.games.go import GameState


class AgentError(RuntimeError):
    """An agent could not move: a foreign engine died, hung or spoke nonsense. The message says which."""


@dataclass(frozen=True)
class Decision:
    """A move and the reasons for it. Moves are as in `GameState`; what an agent does not know is empty."""

    move: int
    value: float | None = None
    """The chance, 0 to 1, that the player to move wins."""
    visits: Mapping[int, int] = field(default_factory=dict)
    """How often the search went through each move."""
    values: Mapping[int, float] = field(default_factory=dict)
    """The chance that the player to move wins with each move."""
    priors: Mapping[int, float] = field(default_factory=dict)
    """How likely each move looked before any search."""
    pv: tuple[int, ...] = ()
    """The line of play expected, beginning with `move`."""
    note: str = ""
    """One line for people: simulations, depth, time."""


class Agent(Protocol):
    """Anything that chooses a move. Agents may remember a game, but must answer for any state."""

    name: str

    def choose(self, state: GameState, seconds: float | None = None) -> Decision:
        """Decide for the player to move. `seconds` caps the thinking time when a clock is running."""
        ...

    def close(self) -> None:
        """Free what the agent holds (a subprocess, say). Calling it twice does no harm."""
        ...
