"""A configuration as a command line: one option for every field of a dataclass, with the field's help and default.

The fields carry their help beside their type: `rate: Annotated[float, "Learning rate."] = 0.1` becomes `--rate`.
"""

import dataclasses
import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

Config = TypeVar("Config")
Panels = Mapping[str, Sequence[str]]
"""Heading in the help -> the fields below it."""


def takes_config(
    config: type[Config], panels: Panels, without: Sequence[str] = (), **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a command whose first argument is a configuration: typer sees its fields as options instead.

    Fields `without` an option keep their defaults; other `defaults` than the dataclass's may be given.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command).parameters.values())[1:]
        options = [field for field in dataclasses.fields(config) if field.name not in without]  # type: ignore[arg-type]

        def run(**values: Any) -> None:
            chosen = {field.name: values.pop(field.name) for field in options}
            command(config(**chosen), **values)

        parameters = [_option(config, field, panels, defaults.get(field.name, field.default)) for field in options]
        parameters += own
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        )
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def command_line(command: str, config: Any, **others: Any) -> str:
    """The command that asks for this configuration: every option that is not at its default."""
    words = command.split()
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value != field.default:
            name = field.name.replace("_", "-")
            words += [f"--{'' if value else 'no-'}{name}"] if isinstance(value, bool) else [f"--{name}", str(value)]
    for name, value in others.items():
        words += [f"--{name}", str(value)]
    return shlex.join(words)


def _option(config: type[Any], field: "dataclasses.Field[Any]", panels: Panels, default: Any) -> inspect.Parameter:
    """The option of one field, as typer wants it."""
    hint = get_type_hints(config, include_extras=True)[field.name]
    kind, text = hint.__origin__, hint.__metadata__[0]
    panel = next((heading for heading, names in panels.items() if field.name in names), None)
    needed = default is dataclasses.MISSING
    option = typer.Option(help=text, rich_help_panel=panel, show_default=not needed and default != "")
    default = inspect.Parameter.empty if needed else default
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )
