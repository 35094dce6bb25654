"""What all tests share: hypothesis settings and the foreign engines that serve as opponents."""

import os
import shutil

import pytest
from hypothesis import settings

# No deadline: the first example of a test may compile a kernel. In CI the examples are the same every time.
IN_CI = os.environ.get("CI") == "true"
settings.register_profile("tengen", deadline=None, print_blob=True, derandomize=IN_CI)
settings.load_profile("tengen")


@pytest.fixture(scope="session")
def gnugo() -> str:
    """The path of GNU Go; without it a test is skipped, but in CI it fails."""
    path = shutil.which("gnugo", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"]))
    if path is None:
        reason = "needs GNU Go on PATH or in /usr/games (Debian: apt install gnugo)"
        if IN_CI:
            pytest.fail(reason)
        pytest.skip(reason)
    return path
