"""How a game is played, apart from its moves: its rules, its board. One frozen dataclass a game."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from tengen.runs.files import SettingValue

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Options:
    """The options of a game. A field's name is its name on the command line and in the files of a run."""

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
