"""Programs that were started end with this process, with all that they have started themselves."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tengen import _processes
from tengen._processes import _IN_BACKGROUND, end_all, end_group, exit_on_termination, remember

WITH_CHILD = """import signal, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print("ready", flush=True)
signal.pause()
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals")


@pytest.fixture
def program() -> Iterator["subprocess.Popen[bytes]"]:
    """A program in a group of its own, with a child that holds its output open too."""
    command = [sys.executable, "-c", WITH_CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        remember(process)
        try:
            yield process
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
            _processes._started.discard(process)


def is_silent(process: "subprocess.Popen[bytes]") -> bool:
    """Waits for the end of all who could write."""
    assert process.stdout is not None
    return process.stdout.read() == b""


def test_a_program_ends_with_its_children(program: "subprocess.Popen[bytes]") -> None:
    end_group(program)
    assert program.returncode == -signal.SIGKILL and is_silent(program)
    assert program not in _processes._started


def test_all_programs_end_at_once(program: "subprocess.Popen[bytes]") -> None:
    end_all()
    assert program.wait(timeout=60) == -signal.SIGKILL and is_silent(program)


def test_a_program_that_has_ended_may_be_ended(program: "subprocess.Popen[bytes]") -> None:
    end_group(program)
    end_group(program)


def test_sigterm_ends_this_process_and_all_that_it_has_started(program: "subprocess.Popen[bytes]") -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        exit_on_termination()
        with pytest.raises(SystemExit) as ended:
            signal.raise_signal(signal.SIGTERM)
        assert ended.value.code == 143 and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        assert program.wait(timeout=60) == -signal.SIGKILL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_leave_signals_alone() -> None:
    failed = list[BaseException]()

    def try_it() -> None:
        try:
            exit_on_termination()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    assert not failed


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tell")
def test_an_engine_ends_with_the_shell_that_it_was_started_by() -> None:
    ready = "exit_on_termination(); end_with_shell(); print(1, flush=True); signal.pause()"
    code = f"import signal; from tengen._processes import end_with_shell, exit_on_termination; {ready}"
    with subprocess.Popen(f"{sys.executable} -c '{code}' 2>&1; true", shell=True, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None and shell.stdout.readline() == b"1\n"
        shell.terminate()  # as KaTrain does, which then waits for the end of the output
        assert shell.stdout.read() == b""


@pytest.mark.parametrize(
    ("command", "is_in_background"),
    [("tengen gtp", False), ("tengen gtp 2>&1", False), ("a && tengen gtp", False), ("tengen gtp &>log", False),
     ("tengen gtp &", True), ("tengen gtp <in >out & wait", True)],
)  # fmt: skip
def test_commands_for_which_a_shell_does_not_wait_are_known(command: str, is_in_background: bool) -> None:
    assert (_IN_BACKGROUND.search(command) is not None) == is_in_background
