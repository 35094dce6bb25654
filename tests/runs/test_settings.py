"""Settings are described once: ranges, panels, what may change, names of runs."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from tengen.runs.folder import FolderError
from tengen.runs.settings import Setting, Settings, described


@dataclass(frozen=True)
class Config(Settings):
    """A configuration."""

    kind: ClassVar[str] = "toy"
    presets: ClassVar[dict[str, dict[str, int]]] = {"quick": {"steps": 3}}

    preset: Annotated[str, Setting("The preset.")] = ""
    rate: Annotated[float, Setting("The rate.", above=0, below=1)] = 0.5
    steps: Annotated[int, Setting("The steps.", "Length", low=1)] = 10
    share: Annotated[float, Setting("The share.", "Length", low=0, high=1)] = 0.0
    rule: Annotated[str, Setting("The rule.", choices=("a", "b"))] = "a"
    threads: Annotated[int, Setting("The threads.", "Machine", free=True, machine=True)] = 1


@dataclass(frozen=True)
class Longer(Config):
    """One that has another default and another help."""

    steps: Annotated[int, "Many steps."] = 1000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 0.0}, "rate is 0.0: give more than 0, and less than 1"),
        ({"rate": 1.0}, "rate is 1.0: give more than 0, and less than 1"),
        ({"rate": float("nan")}, "rate is nan: give more than 0, and less than 1"),
        ({"steps": 0}, "steps is 0: give 1 or more"),
        ({"share": 1.5}, "share is 1.5: give 0 to 1"),
        ({"rule": "c"}, "no rule is called 'c': choose from a, b"),
    ],
)
@pytest.mark.parametrize("config", [Config, Longer])
def test_what_is_out_of_range_is_refused_with_the_remedy(
    config: type[Config], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        config(**given)
    assert str(refused.value) == message


def test_a_text_alone_changes_the_help_and_nothing_else() -> None:
    assert described(Longer)["steps"] == replace(described(Config)["steps"], help="Many steps.")
    assert list(described(Longer)) == ["preset", "rate", "steps", "share", "rule", "threads"]


def test_presets_are_changed_by_what_is_given() -> None:
    assert Config.preset_config("quick", {"rate": 0.25}) == Config("quick", rate=0.25, steps=3)
    with pytest.raises(ValueError, match="no preset is called 'slow': choose from quick"):
        Config.preset_config("slow")


def test_a_run_is_resumed_by_its_settings_and_free_ones_may_change(tmp_path: Path) -> None:
    Config(steps=5).open_run(tmp_path).close()
    assert Config.read(tmp_path, {"threads": 2}) == Config(steps=5, threads=2)
    Config(steps=5, threads=2).open_run(tmp_path).close()
    with pytest.raises(FolderError, match="steps 5 where you ask for 6"):
        Config(steps=6).open_run(tmp_path)
    (tmp_path / "config.toml").write_text('kind = "toy"\nsteps = "five"\n')
    with pytest.raises(FolderError, match="steps is 'five', and should be of type int"):
        Config.read(tmp_path)
    (tmp_path / "config.toml").write_text('kind = "zero"\n')
    with pytest.raises(FolderError, match="a run of the kind zero, not toy"):
        Config.read(tmp_path)


def test_names_and_cards_go_by_what_is_learned() -> None:
    assert Config(threads=2).digest() == Config().digest() != Config(steps=2).digest()
    assert "threads" not in Config().recipe() and "rule" not in Config().recipe("rule")
