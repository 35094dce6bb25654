"""The display of commands: a bar on a terminal, lines elsewhere, and how to resume after Ctrl-C."""

import io
from pathlib import Path

import pytest
import typer
from numba import njit
from numba.core import event
from rich.console import Console
from rich.text import Text

from tengen.cli.progress import Progress, say_when_compiling


def test_a_terminal_shows_text_share_and_what_is_above() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Progress(console) as progress:
        progress.update("thinking")
        progress.update("playing", 0.25, Text("the table"))
        progress.say("a line [1/2]")
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(words in shown for words in ("playing", "25%", "the table", "a line [1/2]"))


def test_elsewhere_there_are_only_lines() -> None:
    console = Console(file=io.StringIO(), width=20)
    with Progress(console) as progress:
        progress.update("playing", 0.5)
        progress.update("playing", 0.1)
        progress.say("a line that is longer than the console")
    assert console.file.getvalue() == "a line that is longer than the console\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("command", "how"), [("tengen go", "    tengen go\n"), ("", "Run the same command to resume.")]
)
def test_ctrl_c_ends_a_run_with_130_and_says_how_to_resume_it(command: str, how: str) -> None:
    console = Console(file=io.StringIO(), width=80)
    with pytest.raises(typer.Exit) as stop, Progress(console) as progress, progress.resumable(Path("run"), command):
        raise KeyboardInterrupt
    assert stop.value.exit_code == 130
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "everything is saved in run" in shown and how in shown


def test_engines_report_once_that_they_compile(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listeners = []
    with monkeypatch.context() as patched:
        patched.setattr(event, "register", lambda kind, listener: listeners.append((kind, listener)))
        say_when_compiling()
    ((kind, listener),) = listeners
    with event.install_listener(kind, listener):
        assert capsys.readouterr().err == ""
        assert njit(lambda x: x + 1)(1) + njit(lambda x: x + 2)(1) == 5
    assert capsys.readouterr().err.count("compiling kernels") == 1
