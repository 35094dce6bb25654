"""How a game is played, apart from its moves: its rules, its board. One frozen dataclass a game."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from tengen._files import Setting


@dataclass(frozen=True)
class Options:
    """The options of a game. A field's name is its name on the command line and in the files of a run."""

    game: ClassVar[str] = ""
    """The name of the game that these are options of."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The options with these values, defaults elsewhere; ValueError if the game has no such option."""
        known = [field.name for field in fields(cls)]
        for name, value in given.items():
            if name not in known and value is not None:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise ValueError(f"{name.replace('_', '-')} is not an option of {cls.game}: {has}")
        return cls(**{name: value for name, value in given.items() if name in known and value is not None})

    def settings(self) -> dict[str, Setting]:
        """Every option with its value, defaults filled in."""
        return asdict(self)
