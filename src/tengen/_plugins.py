"""Games, encoders, networks, search rules and optimisers of a user's own, by one decorator.

A file that registers them is a plugin. It is run only where a person names it (`tengen --plugin othello.py ...`), or
installs a package with an entry point of the group `tengen.plugins`. From then on its names work wherever ours do. A
model that was made with a plugin says so in its card; loading the model never runs the plugin.
"""

import importlib.util
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from tengen._text import one_line

KINDS: Final = ("game", "encoder", "network", "rule", "optimizer")
PREFIX: Final = "tengen_plugin_"
"""What the module of a plugin file is called, before the file's name."""

Thing = TypeVar("Thing")


class PluginError(ValueError):
    """A plugin that cannot be loaded, or a name that it cannot have."""


@dataclass(frozen=True)
class _Registered:
    thing: Any
    source: str
    """The name of the file, or the package, that it comes from."""


_known: dict[str, dict[str, _Registered]] = {kind: {} for kind in KINDS}
_files: list[str] = []
_looked_for_packages = False


def register(kind: str, name: str) -> Callable[[Thing], Thing]:
    """Make a game, encoder, network, rule or optimizer known by a name: a decorator for the file of a plugin.

    | kind      | what is registered                                                         | from then on       |
    |-----------|----------------------------------------------------------------------------|--------------------|
    | game      | a subclass of `tengen.Game` (docs/add-a-game.md), or an object of it       | `--game NAME`      |
    | encoder   | a subclass of `tengen.Encoder`, made with its name, or an object of it     | `--encoder NAME`   |
    | network   | a frozen dataclass of settings with `architecture(planes, board)`          | `--network NAME`   |
    | rule      | a `tengen.SearchRule` made without arguments, such as a subclass of `Puct` | `zero:M,rule=NAME` |
    | optimizer | a function (parameters, rate, momentum, decay) -> `torch.optim.Optimizer`  | `--optimizer NAME` |

    >>> import tengen
    >>> @tengen.register("rule", "bolder")
    ... class Bolder(tengen.Puct):
    ...     def __init__(self):
    ...         super().__init__(noise=0.5)
    """
    if kind not in KINDS:
        raise PluginError(f"a {one_line(str(kind), 40)} cannot be registered: choose from {', '.join(KINDS)}")
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise PluginError(f"{one_line(repr(name), 40)} cannot be the name of a {kind}: use letters, digits, - and _")

    def keep(thing: Thing) -> Thing:
        module = str(getattr(thing, "__module__", "") or type(thing).__module__)
        _known[kind][name] = _Registered(thing, _source_of(module))
        return thing

    return keep


def find(kind: str, name: str) -> Any:
    """What is registered by this name; None if nothing is, in plugins or installed packages."""
    if name not in _known[kind]:
        _load_packages()
    found = _known[kind].get(name)
    return None if found is None else found.thing


def names(kind: str) -> tuple[str, ...]:
    """All names of a kind that plugins have registered."""
    return tuple(_known[kind])


def source_of(kind: str, name: str) -> str | None:
    """The plugin that registered a name; None for what comes with Tengen."""
    found = _known[kind].get(name)
    return None if found is None else found.source


def load_plugins(files: Sequence[str | Path]) -> None:
    """Run plugin files, each once; PluginError names the line that failed."""
    for file in files:
        path = str(Path(file).expanduser().resolve())
        if path not in _files:
            _run(Path(path))
            _files.append(path)


def plugin_files() -> tuple[str, ...]:
    """The files that have been loaded here, for processes that this one starts."""
    return tuple(_files)


def remedy(plugins: Sequence[str]) -> str:
    """What to do about something that needs these plugins; empty where none is missing."""
    loaded = {Path(file).name for file in _files} | {each.source for kind in KINDS for each in _known[kind].values()}
    missing = [name for name in plugins if name not in loaded]
    if not missing:
        return ""
    given = " ".join(f"--plugin {one_line(name, 60)}" for name in missing if name.endswith(".py"))
    return f"it needs the plugin {one_line(', '.join(missing))}: {f'add {given}' if given else 'install that package'}"


def _run(path: Path) -> None:
    name = PREFIX + "".join(letter if letter.isalnum() else "_" for letter in path.stem)
    if name in sys.modules:
        raise PluginError(f"two plugins are called {path.name}: rename one")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PluginError(f"there is no plugin {one_line(str(path))}: give the path of a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = frames[-1].lineno if frames else None
        line = error.lineno if isinstance(error, SyntaxError) else line
        place = path.name if line is None else f"{path.name}, line {line}"
        raise PluginError(f"{place}: {type(error).__name__}: {one_line(str(error))}") from error


def _load_packages() -> None:
    """Load what installed packages register, once, when a name is not known otherwise."""
    global _looked_for_packages
    if _looked_for_packages:
        return
    _looked_for_packages = True
    from importlib.metadata import entry_points

    for entry in entry_points(group="tengen.plugins"):
        try:
            entry.load()
        except Exception as error:
            raise PluginError(f"the plugin {entry.name} cannot be loaded: {one_line(str(error))}") from error


def _source_of(module: str) -> str:
    with suppress(KeyError):
        file = getattr(sys.modules[module], "__file__", None)
        if module.startswith(PREFIX) and file:
            return Path(file).name
    return module.partition(".")[0]
