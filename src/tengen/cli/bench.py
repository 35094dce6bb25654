"""`tengen bench`: the commands of `benchmarks/`, which are in a checkout and not in the installed package."""

import importlib
import sys
from pathlib import Path
from typing import Any

import typer

_CHECKOUT = Path(__file__).parents[3]


def _commands() -> Any:
    """The group of `benchmarks/commands.py`, or without a checkout one that says what is missing."""
    if (_CHECKOUT / "benchmarks" / "commands.py").is_file():
        sys.path.append(str(_CHECKOUT))
        return importlib.import_module("benchmarks.commands").bench
    missing = typer.Typer(add_completion=False)

    @missing.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
    def refuse() -> None:
        """Measure speed, in a checkout of Tengen."""
        raise ValueError("benchmarks need a checkout: clone Tengen's repository and run `make bench` there")

    return missing


bench = _commands()
