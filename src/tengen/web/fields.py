"""Fields of messages from pages, checked: of the type that was asked for, or a ValueError."""

from typing import Any, TypeVar

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
