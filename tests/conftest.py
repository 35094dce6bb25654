"""What all tests share: hypothesis settings and the foreign engines that serve as opponents."""

import os
import shutil
import sys

import pytest
from hypothesis import settings
from tests.compiled_kernels import ALLOCATING, counting_kernels, kernel_folder

# No deadline: the first example of a test may compile a kernel. In CI the examples are the same every time.
IN_CI = os.environ.get("CI") == "true"
settings.register_profile("tengen", deadline=None, print_blob=True, derandomize=IN_CI)
settings.load_profile("tengen")


def _find(program: str, package: str, name: str) -> str:
    """The path of a program; without it a test is skipped, but in CI it fails."""
    path = shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"]))
    if path is None:
        reason = f"needs {name} on PATH or in /usr/games (Debian: apt install {package})"
        if IN_CI:
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@pytest.fixture(scope="session")
def gnugo() -> str:
    """The path of GNU Go."""
    return _find("gnugo", "gnugo", "GNU Go")


@pytest.fixture(scope="session")
def fairy_stockfish() -> str:
    """The path of Fairy-Stockfish."""
    return _find("fairy-stockfish", "fairy-stockfish", "Fairy-Stockfish")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Look at the machine code of every kernel that the tests have compiled: none may count references."""
    if hasattr(session.config, "workerinput"):
        return  # the process that hands out the tests does it once
    if counting := counting_kernels(kernel_folder()) - ALLOCATING:
        print(f"\nkernels that count references (see tengen/_kernel.py): {sorted(counting)}", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
