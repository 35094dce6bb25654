"""What the states and the options of all games have in common, so that agents, matches and the terminal need not know
the game.

In every game player 1 moves first and player 2 second; 0 is nobody. (In Go 1 is Black, in Microchess White.)
A move is an integer that means something to its own game alone, but RESIGN is the same in all, and PASS in those with
territory.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Final, Self

from tengen.runs.files import SettingValue

NOBODY: Final = 0
FIRST: Final = 1
SECOND: Final = 2
PASS: Final = -1
RESIGN: Final = -2


class IllegalMove(ValueError):
    """A move that the rules do not allow; the message says why."""


class AnyState(ABC):
    """A position with its game behind it. Immutable to its user: `play` returns a new state.

    The state of every game derives from it. Two states are equal if they have the same options, start and moves, and so
    are their hashes, no matter how they came about.

    >>> import tengen
    >>> state: tengen.AnyState = tengen.microchess.State.new()
    >>> state.play(state.legal_moves()[0]).move_number
    1
    """

    __slots__ = ()

    @property
    @abstractmethod
    def game(self) -> str:
        """The game's name, as options and model files write it: `go`, `microchess`."""

    @property
    @abstractmethod
    def to_play(self) -> int:
        """Whose turn it is: FIRST or SECOND."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether the rules, or a resignation, have ended the game."""

    @property
    @abstractmethod
    def move_number(self) -> int:
        """How many moves have been played."""

    @property
    @abstractmethod
    def previous(self) -> Self | None:
        """The state one move earlier; None at the start."""

    @property
    @abstractmethod
    def last_move(self) -> int | None:
        """The move that led here; None at the start."""

    @abstractmethod
    def legal_moves(self) -> list[int]:
        """Every move that the rules allow; nothing once the game is over."""

    @abstractmethod
    def why_illegal(self, move: int) -> str | None:
        """What is wrong with a move, or None if it is legal."""

    def is_legal(self, move: int) -> bool:
        """Whether the rules allow a move."""
        return self.why_illegal(move) is None

    @abstractmethod
    def play(self, move: int) -> Self:
        """The state after a move or RESIGN; IllegalMove says why not."""

    def states(self) -> list[Self]:
        """The states of the game so far, the start first and this one last."""
        found = [self]
        while (previous := found[-1].previous) is not None:
            found.append(previous)
        return found[::-1]

    @abstractmethod
    def winner(self) -> int | None:
        """FIRST, SECOND, NOBODY for a draw; None while the game goes on."""

    @abstractmethod
    def result(self) -> str:
        """The result as the game's records write it; `?` while the game goes on."""

    @property
    @abstractmethod
    def end_reason(self) -> str | None:
        """What ended the game: `resignation`, `checkmate`, `score`, ...; None while it goes on."""

    @abstractmethod
    def move_name(self, move: int) -> str:
        """A move as people write it; a ValueError if it cannot be one of this game."""

    @abstractmethod
    def parse_move(self, text: str) -> int:
        """The move that a person means; a ValueError if the text is none."""

    @abstractmethod
    def action_of(self, move: int) -> int:
        """A policy's index of a legal move."""

    @abstractmethod
    def move_of(self, action: int) -> int:
        """The move at an index of a policy."""

    @abstractmethod
    def _facts(self) -> tuple[Any, ...]:
        """What equal states have in common, apart from how their game began and its moves; quick to compare."""

    @abstractmethod
    def _start(self) -> Any:
        """Of the first state of a game: what it began with, as something that can be compared."""

    def _step(self) -> Any:
        """What led to this state."""
        return self.last_move

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        one: Any = self
        two: Any = other
        if one is not two and one._facts() != two._facts():
            return False
        while one is not two:
            if one.previous is None or two.previous is None:
                return one.previous is two.previous and bool(one._start() == two._start())
            if one._step() != two._step():
                return False
            one, two = one.previous, two.previous
        return True

    def __hash__(self) -> int:
        return hash(self._facts())


def other_player(player: int) -> int:
    """The opponent of FIRST or SECOND."""
    return FIRST + SECOND - player


# ---------------------------------------------------------------------------------------------- options
# How a game is played, apart from its moves: its rules, its board. One frozen dataclass a game.

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Options:
    """The options of a game. A field's name is its name on the command line and in the files of a run.

    >>> import tengen
    >>> options: tengen.Options = tengen.get_game("go").options.of({"size": "9"})
    >>> options.settings()["size"]
    9
    """

    game: ClassVar[str] = ""
    """The name of the game that these are options of."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The options with these values, defaults elsewhere and for None; ValueError if the game has no such option.

        A value may be a text where the option is a number: `{"size": "9"}`.
        """
        known = {field.name: str(field.type) for field in fields(cls)}
        values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        for name, value in values.items():
            word = name.replace("_", "-")
            if name not in known:
                has = f"it has {', '.join(known).replace('_', '-')}" if known else "it has none"
                raise ValueError(f"{word} is not an option of {cls.game}: {has}")
            if isinstance(value, str):
                value = values[name] = parse_setting(known[name], word, value)
            if value != value:
                raise ValueError(f"{word} {value} is not possible: give a number")
        return cls(**values)

    def settings(self) -> dict[str, SettingValue]:
        """Every option with its value, defaults filled in."""
        return asdict(self)


def parse_setting(annotation: str, name: str, text: str) -> SettingValue:
    """The value that a text gives to a setting whose type is `annotation`; ValueError if it cannot be one."""
    wanted = "a whole number" if "int" in annotation else "a number" if "float" in annotation else "yes or no"
    try:
        if "int" in annotation:
            return int(text.replace("_", ""))
        if "float" in annotation:
            return float(text)
        if "bool" in annotation:
            return _BOOLEANS[text.lower()]
    except (ValueError, KeyError):
        shown = " ".join(text.split())[:40]
        raise ValueError(f"{name}={shown} is not possible: give {wanted}") from None
    return text
