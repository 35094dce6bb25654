"""Network architectures by name. A kind is a frozen dataclass whose fields are its settings, as with agents.

A spec is a kind with its settings: `small`, `alphago:layers=8,filters=64`, `residual:blocks=6,activation=mish`.
"""

import dataclasses
from typing import Any, Protocol

from tengen import _plugins
from tengen.nets.alphago import AlphaGo, AlphaGoValue
from tengen.nets.layers import ACTIVATIONS, Architecture, BoardShape
from tengen.nets.lectures import Large, Medium, MicrochessLecture, SimpleGo, Small
from tengen.nets.residual import Residual


class NetworkSpecError(ValueError):
    """A network that does not exist, or a setting that it does not have."""


class Settings(Protocol):
    """The settings of a kind of network: a frozen dataclass that can describe the network they mean."""

    def architecture(self, planes: int, board: BoardShape) -> Architecture:
        """The network over `planes` planes of a board."""
        ...


_KINDS: dict[str, type[Any]] = {
    "small": Small,
    "medium": Medium,
    "large": Large,
    "alphago": AlphaGo,
    "alphago-value": AlphaGoValue,
    "residual": Residual,
    "microchess-lecture": MicrochessLecture,
    "simple-go": SimpleGo,
}
_OLD_NAMES = {"seed-microchess": "microchess-lecture"}  # still read in specs, model files and run directories
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_MAY_BE_NONE = ("blocks", "pool_every", "state_planes")
_LARGEST = 65_536  # no kernel, layer or number of layers comes near: a file that asks for more is broken


def network_kind(name: str) -> str:
    """The present name of a kind of network that may have had another when a file was written."""
    return _OLD_NAMES.get(name, name)


def network_kinds() -> dict[str, str]:
    """Every kind of network with one line of help: what it is, and its settings with their defaults."""
    kinds = {}
    for name in (*_KINDS, *_plugins.names("network")):
        kind = _kind(name)
        known = ", ".join(f"{field.name}={_text(field.default)}" for field in dataclasses.fields(kind))
        kinds[name] = f"{(kind.__doc__ or '').strip().splitlines()[0]} Settings: {known}"
    return kinds


def parse_network(spec: str) -> tuple[str, dict[str, Any]]:
    """`residual:blocks=6,activation=mish` as its name and the arguments given."""
    name, _, text = spec.strip().partition(":")
    name = network_kind(name)
    fields = _fields(name)
    arguments: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in fields:
            known = ", ".join(f"{field}=..." for field in fields)
            raise NetworkSpecError(f"{part[:60]!r} is not a setting of {name}: it has {known}")
        arguments[key] = _convert(name, key, value, fields[key])
    return name, arguments


def network_spec(name: str, arguments: dict[str, Any]) -> str:
    """The spec that `parse_network` takes apart into this."""
    return f"{name}:{','.join(f'{key}={_text(value)}' for key, value in arguments.items())}".rstrip(":")


def network_settings(name: str, **arguments: Any) -> Settings:
    """The settings of the network `name`, its defaults included; NetworkSpecError if something about them is wrong."""
    name = network_kind(name)
    fields = _fields(name)
    unknown = [key for key in arguments if key not in fields]
    if unknown:
        raise NetworkSpecError(f"{name} has no setting {unknown[0]!r}: it has {', '.join(fields)}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
    for key, value in values.items():
        _check(name, key, value, fields[key])
    settings: Settings = _kind(name)(**values)
    return settings


def describe_network(
    name: str, planes: int, size: int, *, width: int | None = None, actions: int | None = None, **arguments: Any
) -> Architecture:
    """The layers of the network `name` over planes [B, planes, size, width].

    Without `width` the board is square; without `actions` they are those of Go, every point and the pass.
    """
    settings = network_settings(name, **arguments)
    width = size if width is None else width
    limits = (("planes", planes, _LARGEST), ("size", size, 256), ("width", width, 256))
    for what, number, most in (*limits, ("actions", 1 if actions is None else actions, _LARGEST)):
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            raise NetworkSpecError(f"{what} is {number!r}: it must be a whole number from 1 to {most}")
    try:
        return settings.architecture(planes, BoardShape(size, width, size * width + 1 if actions is None else actions))
    except ValueError as error:
        raise NetworkSpecError(f"{name}: {error}") from None


def _kind(name: str) -> type[Any]:
    """The settings class of a kind, of Tengen or of a plugin."""
    kind = _KINDS.get(name) or _plugins.find("network", name)
    if kind is None:
        known = ", ".join([*_KINDS, *_plugins.names("network")])
        raise NetworkSpecError(f"no network is called {str(name)[:40]!r}: choose from {known}")
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind) or not hasattr(kind, "architecture"):
        raise _plugins.PluginError(f"the network {name} is no dataclass with a method architecture: {kind!r:.80}")
    return kind


def _fields(name: str) -> dict[str, Any]:
    """The settings of a kind with their defaults, whose types are the settings' types."""
    return {field.name: field.default for field in dataclasses.fields(_kind(name))}


def _check(name: str, key: str, value: Any, default: Any) -> None:
    """That the value has the type of the default, and makes sense for it."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(default, bool):
        fine = isinstance(value, bool)
    elif isinstance(default, int):
        fine = whole and (0 if key in _MAY_BE_NONE else 1) <= value <= _LARGEST
    elif isinstance(default, float):  # every such setting is a dropout
        fine = (whole or isinstance(value, float)) and 0 <= value < 1
    elif isinstance(default, tuple):
        fine = isinstance(value, tuple) and 0 < len(value) <= 1000
        fine = fine and all(type(entry) is int and 1 <= entry <= _LARGEST for entry in value)
    else:
        fine = isinstance(value, str)
        if key == "activation" and fine and value not in ACTIVATIONS:
            raise NetworkSpecError(f"activation {value[:40]!r} is not known: choose from {', '.join(ACTIVATIONS)}")
    if not fine:
        raise NetworkSpecError(f"{name} cannot have {key}={_short(value)}: its default is {_text(default)}")


def _convert(name: str, key: str, value: str, default: Any) -> Any:
    """The text of a setting as the type of its default; several numbers are written 48-32-32."""
    try:
        if isinstance(default, bool):
            return _TRUTH[value.lower()]
        if isinstance(default, tuple):
            return tuple(int(part) for part in value.split("-"))
        return type(default)(value)
    except (ValueError, KeyError):
        raise NetworkSpecError(f"{name} cannot have {key}={_short(value)}: its default is {_text(default)}") from None


def _text(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _short(value: Any) -> str:
    """A rejected value for a message of one line."""
    return " ".join(str(value)[:40].split())
