"""What the commands share: former names of options, the short help and the long one, completion."""

import dataclasses
import os
import re
import subprocess
import sys
from typing import Annotated

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from tengen.cli.main import app
from tengen.cli.options import BASIC, command_line, formerly, group
from tengen.learn.alphago import AlphaGoConfig
from tengen.learn.settings import GenerationsConfig, ReinforceConfig, SupervisedConfig, ValueConfig
from tengen.learn.zero_settings import ZeroConfig

runner = CliRunner()
CONFIGURATIONS = {
    "alphago": AlphaGoConfig,
    "generations": GenerationsConfig,
    "reinforce": ReinforceConfig,
    "supervised": SupervisedConfig,
    "sweep": SupervisedConfig,
    "value": ValueConfig,
    "zero": ZeroConfig,
}
PRESETS = {"alphago": AlphaGoConfig.presets, "generations": GenerationsConfig.presets, "zero": ZeroConfig.presets}


def test_former_names_are_read_and_not_shown() -> None:
    @formerly(batch="positions", deep="far")
    def first(words: list[str], batch: int = 1, deep: Annotated[bool, typer.Option("--deep/--no-deep")] = True) -> None:
        typer.echo(f"{words} {batch} {deep}")

    commands = group("Two.", {"first": first, "second": lambda: None})
    assert runner.invoke(commands, ["first", "a", "--batch", "3"]).output == "['a'] 3 True\n"
    assert runner.invoke(commands, ["first", "a", "--positions", "3", "--no-far"]).output == "['a'] 3 False\n"
    assert runner.invoke(commands, ["first", "--positions=4", "--", "--far"]).output == "['--far'] 4 True\n"
    shown = runner.invoke(commands, ["first", "--help"]).output
    assert "--batch" in shown and "--positions" not in shown


@pytest.mark.parametrize(
    ("command", "former"),
    [
        ("analyse", "--positions"),
        ("analysis", "--positions"),
        ("web", "--opponent --games"),
        ("match", "--json"),
        ("learn evaluate", "--json"),
        ("learn value-error", "--json"),
        ("learn zero", "--positions --warm-up --checkpoint"),
        ("learn generations", "--policy --no-policy --rate-limit"),
        ("learn reinforce", "--games --opponent"),
        ("bench zero", "--json"),
    ],
)
def test_every_former_name_stands_for_an_option_that_is_there(command: str, former: str) -> None:
    found = get_command(app)
    for word in command.split():
        found = found.commands[word]  # type: ignore[attr-defined]
    names = found.callback.former_names  # type: ignore[union-attr]
    options = {name for one in found.params for name in (*one.opts, *one.secondary_opts)}
    for name in former.split():
        assert names[name] in options and name not in options


@pytest.mark.parametrize("command", CONFIGURATIONS)
def test_the_help_has_the_basic_settings_and_help_all_the_rest(command: str) -> None:
    options = get_command(app).commands["learn"].commands[command].params  # type: ignore[attr-defined]
    panels = {one.opts[0]: getattr(one, "rich_help_panel", None) for one in options}
    basic = {name for name, panel in panels.items() if panel in (None, BASIC)}
    assert 8 <= len(basic) <= 22 and len(panels) > len(basic)
    for option, shown in (("--help", basic), ("--help-all", set(panels))):
        help = runner.invoke(app, ["learn", command, option], env={"COLUMNS": "200"}).output
        assert set(re.findall(r"^│[ *]*(--[a-z0-9-]+)", help, re.MULTILINE)) - {"--help"} == shown


@pytest.mark.parametrize("command", CONFIGURATIONS)
def test_every_setting_is_an_option_with_its_panel_help_and_default(command: str) -> None:
    found = get_command(app).commands["learn"].commands[command]  # type: ignore[attr-defined]
    options = {option.name: option for option in found.params}
    fields = {field.name: field for field in dataclasses.fields(CONFIGURATIONS[command])}
    missing = {"preset", *GenerationsConfig.unused} if command in PRESETS else set()
    missing |= {"encoder", "network", "optimizer", "batch", "start_from", "patience"} if command == "sweep" else set()
    assert fields.keys() - options.keys() <= missing
    for name in fields.keys() & options.keys() - {"preset"}:
        option, usual = options[name], fields[name].default
        assert option.help and option.rich_help_panel
        if command not in PRESETS and command != "sweep":
            assert option.required == (usual is dataclasses.MISSING)
            assert option.required or option.default == usual or usual != usual
        for preset, settings in PRESETS.get(command, {}).items():
            shown = {True: "yes", False: "no"}[settings[name]] if isinstance(usual, bool) and name in settings else None
            shown = str(settings.get(name, usual)) if shown is None else shown
            assert settings.get(name, usual) == usual or f"{preset} {shown}" in option.help


def test_a_command_line_has_the_names_of_the_options() -> None:
    config = ZeroConfig.preset_config("go5", {"positions": 7, "overlap": False})
    line = command_line("tengen", config, ZeroConfig.preset_config("go5"), out="x", cluster=None)
    assert line == "tengen --round-positions 7 --no-overlap --out x"
    line = command_line("tengen", SupervisedConfig("my data", bf16=False, min_rank=1, network="residual:blocks=1"))
    assert line == "tengen --data 'my data' --network residual:blocks=1 --no-bf16 --min-rank 1"


def test_the_shell_completes_commands_and_options() -> None:
    def complete(words: str) -> list[str]:
        environment = {**os.environ, "_TENGEN_COMPLETE": "complete_bash", "COMP_WORDS": words}
        environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
        code = "from tengen.cli.main import main; main()"
        return subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).split()

    assert complete("tengen ma") == ["match"]
    assert complete("tengen learn ze") == ["zero"]
    assert complete("tengen learn zero --simu") == ["--simulations"]
    assert "--install-completion" in runner.invoke(app, ["--help"]).output
    assert "--install-completion" not in runner.invoke(app, ["data", "--help"]).output
