"""What all tests share: hypothesis settings and the foreign engines that serve as opponents."""

import os
import shutil

import pytest
from hypothesis import settings

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
