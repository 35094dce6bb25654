"""Settings of a run, each described once: its help, its panel, its range, and whether it may change on resuming.

    @dataclass(frozen=True)
    class MyConfig(Settings):
        kind = "mine"
        rate: Annotated[float, Setting("Learning rate.", low=0)] = 0.1

From this the command line makes `--rate`, the configuration refuses -1, and the run directory lets nobody resume the
run with another rate. Nothing heavy is imported here, because the command line reads it.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self, get_type_hints

from tengen import _plugins
from tengen.runs.files import SettingValue
from tengen.runs.folder import CONFIG_FILE, FolderError, RunDirectory, kind_of_run, read_settings

BASIC: Final = "Basic settings"
"""The panel that `--help` shows of a command with many settings; the others are in `--help-all`."""


@dataclass(frozen=True)
class Setting:
    """What there is to know about one setting of a configuration."""

    help: str
    panel: str = BASIC
    """Its heading in the help."""
    low: float | None = None
    """The least possible number."""
    above: float | None = None
    """All possible numbers are greater."""
    high: float | None = None
    """The greatest possible number."""
    below: float | None = None
    """All possible numbers are smaller."""
    choices: tuple[str, ...] = ()
    """The possible words; empty: any."""
    plugins: str = ""
    """The kind of thing that plugins may register more words of."""
    free: bool | None = None
    """Whether it may change when a run is resumed; None: as `Settings.usually_free`."""
    machine: bool = False
    """Whether it says where and with what the work is done, not what is learned; it is not on a model's card."""
    option: str = ""
    """Name of its option, if that is not the name of the field, which is then read as a former name."""

    def check(self, name: str, value: Any) -> None:
        """ValueError unless a value is possible."""
        unknown = bool(self.choices) and value not in self.choices
        if unknown and not (self.plugins and _plugins.find(self.plugins, str(value))):
            raise ValueError(f"no {name} is called {str(value)[:40]!r}: choose from {', '.join(self.choices)}")
        possible = (
            (self.low is None or value >= self.low)
            and (self.above is None or value > self.above)
            and (self.high is None or value <= self.high)
            and (self.below is None or value < self.below)
        )
        if not possible:
            raise ValueError(f"{name} is {value}: give {self.range}")

    @property
    def range(self) -> str:
        """The possible numbers in words."""
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        least = f"{self.low:g} or more" if self.low is not None else ""
        least = f"more than {self.above:g}" if self.above is not None else least
        most = f"{self.high:g} at most" if self.high is not None else ""
        most = f"less than {self.below:g}" if self.below is not None else most
        return ", and ".join(part for part in (least, most) if part)


@dataclass(frozen=True)
class Settings:
    """A configuration: a frozen dataclass whose fields are annotated with a `Setting` each."""

    kind: ClassVar[str] = ""
    """The kind of the runs, such as "zero"; in the config.toml of each."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Settings by the name of a preset, where they differ from the defaults."""
    usually_free: ClassVar[bool] = False
    """Whether settings may change when a run is resumed, unless they say otherwise themselves."""

    def __post_init__(self) -> None:
        for name, setting in described(type(self)).items():
            setting.check(name, getattr(self, name))

    @classmethod
    def preset_config(cls, preset: str, given: Mapping[str, Any] | None = None) -> Self:
        """The configuration of a preset, except for what is given."""
        if preset not in cls.presets:
            raise ValueError(f"no preset is called {preset[:40]!r}: choose from {', '.join(cls.presets)}")
        return cls(**{**cls.presets[preset], "preset": preset, **(given or {})})

    @classmethod
    def read(cls, run: Path, given: Mapping[str, Any] | None = None) -> Self:
        """The configuration of the run in this directory, except for what is given."""
        there = read_settings(run)
        if (kind := kind_of_run(run)) != cls.kind:
            raise FolderError(f"{run / CONFIG_FILE} is of a run of the kind {kind or 'unknown'}, not {cls.kind}")
        known: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            if field.name in there:
                value, usual = there[field.name], type(field.default)
                right = type(value) is usual or (usual is float and type(value) is int)
                if field.default is not dataclasses.MISSING and not right:
                    raise FolderError(
                        f"{run / CONFIG_FILE}: {field.name} is {value!r}, and should be of type {usual.__name__}"
                    )
                known[field.name] = value
        return cls(**{**known, **(given or {})})

    @classmethod
    def usual(cls) -> dict[str, SettingValue]:
        """The defaults, which hold for settings that the directory of an older run does not have."""
        fields = dataclasses.fields(cls)
        return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}

    @classmethod
    def free(cls) -> frozenset[str]:
        """The settings that may change when a run is resumed."""
        own = {name: setting.free for name, setting in described(cls).items()}
        return frozenset(name for name, free in own.items() if (cls.usually_free if free is None else free))

    @classmethod
    def of_machine(cls) -> frozenset[str]:
        """The settings that say how the work is done, not what is learned."""
        return frozenset(name for name, setting in described(cls).items() if setting.machine)

    def open_run(self, out: Path) -> RunDirectory:
        """Make the directory of this run, or open it to resume it; FolderError if it is that of another run."""
        return RunDirectory(out, asdict(self), self.free(), self.usual(), kind=self.kind)

    def recipe(self, *without: str) -> dict[str, Any]:
        """The settings that a model's card names: those that say what was learned, but for some."""
        others = self.of_machine() | set(without)
        return {name: value for name, value in asdict(self).items() if name not in others}

    def digest(self) -> str:
        """Eight characters that are the same for runs with the same fixed settings."""
        free = self.free()
        fixed = {name: value for name, value in asdict(self).items() if name not in free}
        return hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()[:8]


def described(config: type[Any]) -> dict[str, Setting]:
    """The settings of a configuration, in the order of its fields.

    A subclass that annotates a field with a text alone gives a setting of its base another help.
    """
    if config not in _DESCRIBED:
        found: dict[str, Setting] = {}
        for base in reversed(config.__mro__[:-1]):
            own = getattr(base, "__annotations__", {}).keys() & {field.name for field in dataclasses.fields(config)}
            hints = get_type_hints(base, include_extras=True) if own else {}
            for name in own:
                for about in getattr(hints[name], "__metadata__", ()):
                    if isinstance(about, str):
                        about = dataclasses.replace(found[name], help=about) if name in found else Setting(about)
                    if isinstance(about, Setting):
                        found[name] = about
        _DESCRIBED[config] = {field.name: found[field.name] for field in dataclasses.fields(config)}
    return _DESCRIBED[config]


_DESCRIBED: Final[dict[type[Any], dict[str, Setting]]] = {}  # reading the annotations takes a while
