"""Fields from outside, checked: of messages from pages, and of files that are shown to pages.

A page draws what it is given, and a framework may take an object for more than text. So what a file says becomes a
plain text or a finite number, whatever was in it.
"""

from typing import Any, Final, TypeVar

from tengen.games.game import Game

Value = TypeVar("Value", int, str, float, bool)


def field(message: dict[str, Any], name: str, kind: type[Value]) -> Value:
    """The value of a field, which must be there."""
    value = message.get(name)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} is missing or not of the right type")
    return value


def options_of(game: Game, given: Any) -> Any:
    """A game's options from what a page gives: numbers and words by name."""
    if given is None:
        given = {}
    if not isinstance(given, dict) or not all(isinstance(value, str | int | float | bool) for value in given.values()):
        raise ValueError("options are numbers and words by name")
    return game.options.of({name: str(value) for name, value in given.items() if name != "limit"})


_LONGEST: Final = 1_000
_MOST_NUMBER: Final = 2**53  # whole numbers that JavaScript knows


def as_text(value: Any) -> str:
    """What a file says, as text for people."""
    return str(value)[:_LONGEST]


def as_number(value: Any) -> float | int | None:
    """What a file says, as a finite number; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) <= _MOST_NUMBER else None  # NaN is not


def as_setting(value: Any) -> str | int | float | bool:
    """What a file says, as a number, yes or no, or text: a date, a list or NaN is shown as text."""
    if isinstance(value, bool):
        return value
    number = as_number(value)
    return as_text(value) if number is None else number
