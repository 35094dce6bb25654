"""What an agent is: it gets a position and returns a move with its reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, runtime_checkable

from tengen.games.state import AnyState

State = TypeVar("State", bound=AnyState)


class AgentError(RuntimeError):
    """An agent could not move: a foreign engine died, hung or sent something invalid. The message says which."""


class AgentTimeoutError(AgentError):
    """A foreign engine did not answer in time."""


@dataclass(frozen=True)
class Decision:
    """A move and the reasons for it. Moves are as in the game's state; what an agent does not compute is empty.

    >>> import tengen
    >>> state = tengen.go.State.new(size=5)
    >>> decision = tengen.load_agent("uct:playouts=500", seed=1).choose(state)
    >>> state.move_name(decision.move), max(decision.visits, key=decision.visits.get) == decision.move
    ('C3', True)
    """

    move: int
    """The move to play."""
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
    nodes: int | None = None
    """How many positions, playouts or simulations the search looked at."""


class Agent(Protocol):
    """Anything that chooses a move. Agents may remember a game, but must answer for any state.

    An agent that plays one game alone begins with `of_game`, so that a state of another is refused in one line.

    >>> import tengen
    >>> class First:
    ...     name = "first"
    ...     def choose(self, state, seconds=None):
    ...         return tengen.Decision(state.legal_moves()[0])
    ...     def close(self):
    ...         pass
    >>> agent: tengen.Agent = First()
    >>> tengen.play_game(agent, agent, tengen.go.State.new(size=2), max_moves=6).state.move_number
    6
    """

    name: str

    def choose(self, state: AnyState, seconds: float | None = None) -> Decision:
        """Decide for the player to move. `seconds` caps the thinking time when a clock is running."""
        ...

    def close(self) -> None:
        """Free what the agent holds (a subprocess, say). Calling it twice does no harm."""
        ...


@runtime_checkable
class NeedsCheck(Protocol):
    """An agent that cannot play everything: it plays one game, or one board, or needs a program to be installed."""

    def check(self, state: AnyState) -> None:
        """Get ready to play from this state; AgentError if that is not possible."""
        ...


@runtime_checkable
class Trained(Protocol):
    """An agent whose model was trained under certain conditions: a komi, a rule set, ..."""

    def warning(self, state: AnyState) -> str | None:
        """One line if this game is outside of what the model was trained on, else None."""
        ...


@runtime_checkable
class Stoppable(Protocol):
    """An agent that can be interrupted, as a board program does when its user presses "move now"."""

    def stop(self) -> None:
        """Let a `choose` that another thread is in return soon, with the best move so far; else do nothing."""
        ...


def of_game(state: AnyState, kind: type[State], name: str) -> State:
    """The state, which is one of the game that the agent `name` plays; AgentError if it is of another."""
    if not isinstance(state, kind):
        raise AgentError(f"{name} plays {_title(kind)}, and this is a game of {_title(state)}")
    return state


def _title(game: "AnyState | type[AnyState]") -> str:
    return str(game.game).title()
