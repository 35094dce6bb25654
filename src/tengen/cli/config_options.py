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
        options = _in_order([field for field in dataclasses.fields(config) if field.name not in without], panels)  # type: ignore[arg-type]

        def run(**values: Any) -> None:
            chosen = {field.name: values.pop(field.name) for field in options}
            command(config(**chosen), **values)

        parameters = [_option(config, field, panels, defaults.get(field.name, field.default)) for field in options]
        return _with_signature(run, command, parameters + own)

    return decorate


def takes_settings(
    config: type[Any], panels: Panels, note: Callable[[str], str], without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a command whose first argument is a dict of settings: those of a configuration that were given.

    For a configuration whose defaults depend on something else; `note` says in an option's help what they are.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command).parameters.values())[1:]
        fields = _in_order([field for field in dataclasses.fields(config) if field.name not in without], panels)

        def run(**values: Any) -> None:
            chosen = {field.name: values.pop(field.name) for field in fields}
            command({name: value for name, value in chosen.items() if value is not None}, **values)

        parameters = [_optional(_option(config, field, panels, None), note(field.name)) for field in fields] + own
        return _with_signature(run, command, parameters)

    return decorate


def preset_note(config: type[Any], presets: Mapping[str, Mapping[str, Any]]) -> Callable[[str], str]:
    """A note for `takes_settings`: the values of a setting that is not given, the usual one and those of presets."""
    usual = {field.name: field.default for field in dataclasses.fields(config)}

    def note(name: str) -> str:
        special = [
            f"{preset} {_text(of[name])}" for preset, of in presets.items() if of.get(name, usual[name]) != usual[name]
        ]
        return f"\\[{'; '.join([_text(usual[name]) or 'none', *special])}]"

    return note


def command_line(command: str, config: Any, base: Any = None, **others: Any) -> str:
    """The command that asks for this configuration: every option that is not at its default, or as in `base`.

    Options that must be given come first.
    """
    words = command.split()
    for field in sorted(dataclasses.fields(config), key=lambda field: field.default is not dataclasses.MISSING):
        value = getattr(config, field.name)
        if value != (field.default if base is None else getattr(base, field.name)):
            name = field.name.replace("_", "-")
            words += [f"--{'' if value else 'no-'}{name}"] if isinstance(value, bool) else [f"--{name}", str(value)]
    for name, value in others.items():
        words += [f"--{name}", str(value)]
    return shlex.join(words)


def _text(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _with_signature(
    run: Callable[..., None], command: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """`run`, as typer should see it."""
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _in_order(fields: "Sequence[dataclasses.Field[Any]]", panels: Panels) -> "list[dataclasses.Field[Any]]":
    """The fields in the order of the panels."""
    order = [name for names in panels.values() for name in names]
    return sorted(fields, key=lambda field: order.index(field.name) if field.name in order else len(order))


def _optional(option: inspect.Parameter, note: str) -> inspect.Parameter:
    """The same option, which may be left out, with a note behind its help."""
    kind, info = option.annotation.__origin__, option.annotation.__metadata__[0]
    info.help, info.show_default = f"{info.help} {note}".strip(), False
    return option.replace(default=None, annotation=Annotated[kind | None, info])


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
