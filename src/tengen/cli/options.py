"""What commands share: how a command is declared, and the options that several of them take.

Old names of options are read for ever (`formerly`). A configuration becomes one option for every field of its
dataclass, with the help and the panel of its `Setting` and its default: `rate: Annotated[float, Setting("Learning
rate.")] = 0.1` becomes `--rate`. `--help` shows the first panel, BASIC, and `--help-all` every one.
"""

import dataclasses
import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from tengen.runs.settings import BASIC as BASIC
from tengen.runs.settings import described

if TYPE_CHECKING:
    from tengen.games.game import AnyGame, Game
    from tengen.workers.calls import WorkerFactory

Config = TypeVar("Config")
Function = TypeVar("Function", bound=Callable[..., Any])
Panels = Mapping[str, Sequence[str]]
"""Heading in the help -> the fields below it, where the settings of a configuration do not name it themselves."""
Names = Mapping[str, str]
"""Field -> option, where the name of the field says something else in another command."""
_NONE: Mapping[str, Any] = {}


# ------------------------------------------------------------------------------------------- commands


class Command(TyperCommand):
    """A command that reads former names of its options, and may keep rarely used ones for `--help-all`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names: Mapping[str, str] = getattr(self.callback, "former_names", {})
        args = load_named_plugins(args)
        end = args.index("--") if "--" in args else len(args)
        words = [word.partition("=") for word in args[:end]]
        renamed = [names.get(name, name) + equals + value for name, equals, value in words]
        return super().parse_args(ctx, renamed + args[end:])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        rare = []
        if any(option.name == "help_all" for option in self.params) and _HELP_ALL not in ctx.meta:
            rare = [one for one in self.params if getattr(one, "rich_help_panel", None) not in (None, BASIC)]
        for option in rare:
            option.hidden = True  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
        for option in rare:
            option.hidden = False  # type: ignore[attr-defined]


def load_named_plugins(args: Sequence[str]) -> list[str]:
    """Load the plugins that `--plugin FILE` names, wherever it stands; returns the other words."""
    end = list(args).index("--") if "--" in args else len(args)
    kept, words = list[str](), iter(args[:end])
    for word in words:
        name, equals, file = word.partition("=")
        if name != "--plugin":
            kept.append(word)
            continue
        file = file if equals else next(words, "")
        if not file:
            raise ValueError("--plugin needs a file: --plugin othello.py")
        from tengen._plugins import load_plugins

        load_plugins([file])
    return [*kept, *args[end:]]


_HELP_ALL = "tengen.help_all"


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[_HELP_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


def formerly(**names: str) -> Callable[[Function], Function]:
    """A decorator for a command whose options had other names: `formerly(batch="positions")`."""

    def decorate(command: Function) -> Function:
        renamed = {_dashed(old): _dashed(new) for new, old in names.items()}
        renamed |= {_negated(old): _negated(new) for old, new in renamed.items()}
        command.former_names = renamed  # type: ignore[attr-defined]
        return command

    return decorate


def group(text: str, commands: Mapping[str, Callable[..., None]], **settings: Any) -> typer.Typer:
    """A group of commands by name, in the order of its help."""
    made = typer.Typer(no_args_is_help=True, add_completion=False, help=text, **settings)
    for name, command in commands.items():
        made.command(name, cls=Command)(command)
    return made


def default_group(text: str, commands: Mapping[str, Callable[..., None]]) -> typer.Typer:
    """A group whose first command need not be named: `tengen tournament SPEC SPEC` is `tengen tournament agents`."""
    default = next(iter(commands))

    class Group(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            named = bool(args) and args[0] in self.commands
            return super().parse_args(ctx, args if named else [default, *args])

    return group(text, commands, cls=Group)


def _dashed(name: str) -> str:
    return "--" + name.replace("_", "-")


def _negated(option: str, really: bool = True) -> str:
    return option.replace("--", "--no-", 1) if really else option


# ---------------------------------------------------------------------------------------------- games

DEFAULT_GAME = "go"
GAMES = "go, microchess or tictactoe"

GameName = Annotated[
    str | None,
    typer.Option("--game", help=f"The game: {GAMES}; if not given, the one that an agent's model learned, or go."),
]
Size = Annotated[int | None, typer.Option(help="Go: board size, 2 to 25; 9 if not given, 5 for simple-go.")]
Rules = Annotated[
    str | None,
    typer.Option(
        help="Go: chinese, japanese, aga, new-zealand, tromp-taylor or simple-go; chinese if not given. "
        "Microchess: standard or ncsoft; standard if not given."
    ),
]
Komi = Annotated[
    float | None,
    typer.Option(help="Go: White's points for moving second; the rule set's if not given, 0.5 with handicap."),
]
Handicap = Annotated[
    int | None, typer.Option(help="Go: stones that Black has on the board before White begins, 2 to 9.")
]
DoubleStep = Annotated[
    bool | None,
    typer.Option(
        "--double-step/--no-double-step", help="Microchess: may a pawn step two squares at first? It may if not given."
    ),
]
OtherOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="Another option of the game; may be repeated."),
]


def given_options(others: Sequence[str] | None, **given: Any) -> dict[str, Any]:
    """The options that were given on the command line; `others` as NAME=VALUE."""
    values = {name: value for name, value in given.items() if value is not None}
    for text in others or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--option {text[:40]} is not possible: write NAME=VALUE")
        values[name.strip().replace("-", "_")] = value.strip()
    return values


def choose_game(name: str | None, specs: Sequence[str]) -> "AnyGame":
    """The game of this name; without one, the game of the first agent that has a model, or Go."""
    from tengen.agents.registry import model_card
    from tengen.games.game import get_game

    if name is None:
        name = next((card.game for spec in specs if (card := model_card(spec)) is not None), DEFAULT_GAME)
    return get_game(name)


def choose_options(game: "Game[Any, Any]", given: Mapping[str, Any], specs: Sequence[str]) -> Any:
    """The options of a game: as given, else as the model of the first agent that has one was trained, else defaults."""
    from tengen.agents.registry import model_card
    from tengen.agents.training_conditions import suited_options

    cards = [card for spec in specs if (card := model_card(spec)) is not None and card.game == game.name]
    suited = suited_options(cards[0]) if cards else {}
    if given.get("handicap"):
        suited.pop("komi", None)  # handicap games have a komi of their own
    return game.options.of({**suited, **given})


# -------------------------------------------------------------------------------- matches and machines

OpeningMoves = Annotated[
    int | None,
    typer.Option(help="Random moves that each pair of games begins with; 2 in Go and 4 in Microchess if not given."),
]
MaxMoves = Annotated[
    int | None,
    typer.Option(
        help="End a game after so many moves. Go: it is scored; 4 x size x size, at least 200, if not given. "
        "Microchess: it is a draw; 400 if not given."
    ),
]
Seconds = Annotated[
    float | None, typer.Option(help="Ask all agents to think no longer per move; no clock if not given.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", "-w", help="Games under way at once; one per CPU if not given, with --cluster one per core of it."
    ),
]

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Let a Ray cluster do the work: local, auto (the one that this machine is a node of) or HOST:PORT; "
        "see docs/cluster.md. This machine alone if not given.",
        rich_help_panel="Machine",
    ),
]


def hosts_at(cluster: str | None) -> "WorkerFactory":
    """Who makes workers: the cluster at this address, or this machine."""
    from tengen.workers.local import ProcessWorkers

    return cluster_hosts(cluster) or ProcessWorkers


def worker_factory(cluster: str | None) -> "WorkerFactory":
    """The workers of the cluster at this address, or those of this machine."""
    from tengen.workers.local import this_machine

    return cluster_hosts(cluster) or this_machine


def cluster_hosts(cluster: str | None, device: str = "cpu") -> "WorkerFactory | None":
    """Who makes workers on the cluster at this address, one for each device of this kind; None without a cluster."""
    from tengen._plugins import plugin_files
    from tengen.workers.ray_workers import ray_cluster

    if cluster is not None and plugin_files():
        raise ValueError("plugins are not sent to other machines: leave --cluster or --plugin out")
    return None if cluster is None else ray_cluster(cluster, "CPU" if device == "cpu" else "GPU")


JsonFile = Annotated[
    Path | None, typer.Option("--json-file", metavar="FILE", help="Also write the result to this file.")
]
"""For commands that are `formerly(json_file="json")`; `--json` is a flag elsewhere, which prints JSON."""


# -------------------------------------------------------------------------------------- configurations


def takes_config(
    config: type[Config], panels: Panels = _NONE, without: Sequence[str] = (), names: Names = _NONE, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a command whose first argument is a configuration: typer sees its fields as options instead.

    Fields `without` an option keep their defaults; other `defaults` than the dataclass's may be given. `names`: the
    options whose names are not those of the fields, which are read as former names.
    """
    panels, names = _described(config, panels, names)
    fields = _in_order(config, panels, without)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(help_all: bool, **values: Any) -> None:
            command(config(**{field.name: values.pop(field.name) for field in fields}), **values)

        usual = [defaults.get(field.name, field.default) for field in fields]
        options = [_option(config, field, panels, default, names) for field, default in zip(fields, usual)]
        return formerly(**_former(names))(_with_options(run, command, options))

    return decorate


def takes_settings(
    config: type[Any],
    panels: Panels = _NONE,
    presets: Mapping[str, Mapping[str, Any]] = _NONE,
    without: Sequence[str] = (),
    names: Names = _NONE,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator for a command whose first argument is a dict of settings: those of a configuration that were given.

    For a configuration whose defaults depend on a preset: the help of an option has its usual value, and those of the
    presets where they differ.
    """
    panels, names = _described(config, panels, names)
    presets = presets or config.presets
    fields = _in_order(config, panels, without)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(help_all: bool, **values: Any) -> None:
            given = {field.name: values.pop(field.name) for field in fields}
            command({name: value for name, value in given.items() if value is not None}, **values)

        options = []
        for field in fields:
            option = _option(config, field, panels, None, names)
            kind, info = option.annotation.__origin__, option.annotation.__metadata__[0]
            info.help, info.show_default = f"{info.help} {_values(field, presets)}", False
            options.append(option.replace(annotation=Annotated[kind | None, info]))
        return formerly(**_former(names))(_with_options(run, command, options))

    return decorate


def run_option(usual: str) -> Any:
    """The option that names the directory of a run."""
    return typer.Option("--out", "-o", help=f"Directory of the run; {usual} if not given.")


def preset_option(presets: Mapping[str, Any]) -> Any:
    """The option that names a preset."""
    return typer.Option("--preset", "-p", help=f"What to learn: {', '.join(presets)}.")


def command_line(command: str, config: Any, base: Any = None, names: Names = _NONE, **others: Any) -> str:
    """The command that asks for this configuration: every option that is not at its default, or as in `base`.

    Options that must be given come first, `others` last unless they are None.
    """
    words = command.split()
    names = _described(type(config), _NONE, names)[1]
    for field in sorted(dataclasses.fields(config), key=lambda field: field.default is not dataclasses.MISSING):
        value = getattr(config, field.name)
        if value != (field.default if base is None else getattr(base, field.name)):
            name = _dashed(names.get(field.name, field.name))
            words += [_negated(name, not value)] if isinstance(value, bool) else [name, str(value)]
    for name, value in others.items():
        words += [] if value is None else [_dashed(name), str(value)]
    return shlex.join(words)


def _text(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _former(names: Names) -> dict[str, str]:
    return {option: field for field, option in names.items()}


def _values(field: "dataclasses.Field[Any]", presets: Mapping[str, Mapping[str, Any]]) -> str:
    """What a setting is that is not given."""
    special = [
        f"{preset} {_text(of[field.name])}"
        for preset, of in presets.items()
        if of.get(field.name, field.default) != field.default
    ]
    return f"\\[{'; '.join([_text(field.default) or 'none', *special])}]"


def _with_options(
    run: Callable[..., None], command: Callable[..., None], options: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """`run`, as typer should see it: with these options and then those of the command itself."""
    own = list(inspect.signature(command).parameters.values())[1:]
    more = sum(option.annotation.__metadata__[0].rich_help_panel != BASIC for option in options)
    shown = typer.Option("--help-all", callback=_show_all, is_eager=True, help=f"Show {more} more settings and exit.")
    kind = inspect.Parameter.KEYWORD_ONLY
    every = inspect.Parameter("help_all", kind, default=False, annotation=Annotated[bool, shown])
    parameters = [parameter.replace(kind=kind) for parameter in (*options, *own, every)]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _described(config: type[Any], panels: Panels, names: Names) -> tuple[Panels, Names]:
    """Panels and names as given, or as the settings of the configuration say.

    BASIC is the first panel. In each, settings that must be given come first, then those that the class itself names in
    its order, then those that it inherits.
    """
    needed = [field.name for field in dataclasses.fields(config) if field.default is dataclasses.MISSING]
    order = list(dict.fromkeys([*needed, *config.__annotations__, *described(config)]))
    found: dict[str, list[str]] = {BASIC: []}
    for name in sorted(described(config), key=order.index):
        found.setdefault(described(config)[name].panel, []).append(name)
    own = {name: setting.option for name, setting in described(config).items() if setting.option}
    return panels or found, names or own


def _in_order(config: type[Any], panels: Panels, without: Sequence[str]) -> "list[dataclasses.Field[Any]]":
    """The fields that are options, in the order of the panels."""
    order = [name for names in panels.values() for name in names]
    fields = [field for field in dataclasses.fields(config) if field.name not in without]
    return sorted(fields, key=lambda field: order.index(field.name) if field.name in order else len(order))


def _option(
    config: type[Any], field: "dataclasses.Field[Any]", panels: Panels, default: Any, names: Names
) -> inspect.Parameter:
    """The option of one field, as typer wants it."""
    kind, text = get_type_hints(config)[field.name], described(config)[field.name].help
    panel = next((heading for heading, names in panels.items() if field.name in names), None)
    needed = default is dataclasses.MISSING
    name = _dashed(names.get(field.name, field.name))
    name = f"{name}/{_negated(name)}" if kind is bool else name
    option = typer.Option(name, help=text, rich_help_panel=panel, show_default=not needed and default != "")
    default = inspect.Parameter.empty if needed else default
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )
