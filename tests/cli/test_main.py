"""The command line's frame: version, help, and mistakes told in one line."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from tengen import __version__
from tengen.cli.main import ErrorsInOneLine, app, tengen

runner = CliRunner()


def failing_app(error: BaseException) -> typer.Typer:
    """Tengen's frame around a single command that raises `error`."""
    frame = typer.Typer(cls=ErrorsInOneLine, pretty_exceptions_enable=False)
    frame.callback()(tengen)

    @frame.command()
    def fail() -> None:
        raise error

    return frame


class EngineDied(RuntimeError):
    """Stands for the errors that Tengen defines, such as AgentError."""


EngineDied.__module__ = "tengen.agents.agent"


def test_version() -> None:
    assert runner.invoke(app, ["--version"]).output == f"tengen {__version__}\n"


def test_warm_up_gets_agents_ready() -> None:
    shown = runner.invoke(app, ["warm-up", "--agent", "zero:go5,sims=2", "--agent", "mcts:playouts=2"])
    assert shown.exit_code == 0, shown.output
    assert shown.stderr.count(" is ready, ") == 2


def test_no_arguments_show_the_help_with_examples() -> None:
    output = runner.invoke(app, []).output
    assert "Usage:" in output
    assert "Examples" in output


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            ValueError("size 1 is too small:\n  choose 2 to 25"),
            "tengen: size 1 is too small: choose 2 to 25\n",
        ),
        (
            FileNotFoundError(2, "No such file or directory", "a.sgf"),
            "tengen: a.sgf: No such file or directory\n",
        ),
        (EngineDied("gnugo left"), "tengen: gnugo left\n"),
        (ValueError(), "tengen: ValueError\n"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(error: Exception, line: str) -> None:
    result = runner.invoke(failing_app(error), ["fail"])
    assert (result.exit_code, result.stderr, result.stdout) == (2, line, "")


def test_debug_lets_the_traceback_through() -> None:
    result = runner.invoke(failing_app(ValueError("bad")), ["--debug", "fail"])
    assert isinstance(result.exception, ValueError)


def test_a_bug_keeps_its_traceback() -> None:
    result = runner.invoke(failing_app(KeyError("bug")), ["fail"])
    assert isinstance(result.exception, KeyError)


def test_an_interrupt_is_quiet_and_exits_130() -> None:
    result = runner.invoke(failing_app(KeyboardInterrupt()), ["fail"])
    assert (result.exit_code, result.output) == (130, "")


def test_a_closed_pipe_is_quiet() -> None:
    code = "import sys; sys.argv = ['tengen', '--help']; from tengen.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""


def test_the_command_line_starts_without_the_engine() -> None:
    """`tengen --help` must not wait for numba: commands import it when they run."""
    code = "import sys, tengen.cli.main; sys.exit(' '.join({'numba', 'numpy', 'sgfmill'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stderr.strip() == ""


def test_agents_lists_every_kind_with_its_settings() -> None:
    result = CliRunner().invoke(app, ["agents"])
    assert result.exit_code == 0
    for word in ("random", "alphabeta", "playouts", "fast-policy", "gtp", "go19"):
        assert word in result.output
