"""I/O errors: the n-th write, sync or rename of a command in its folder fails, once, as a disk makes it fail.

`failing.c` is preloaded into the command and its workers, so that what libraries write counts too. Not covered: files
that are written through memory maps or through C's `FILE`.
"""

import mmap
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Final

_PLAN: Final = struct.Struct("=qqq4096s4096s")
"""Done so far, which one fails, with which errno, in which folder; and what it was."""


def can_fail() -> bool:
    """Whether this machine can compile and preload."""
    return sys.platform == "linux" and shutil.which("gcc") is not None


class Plan:
    """What shall fail, in a file that the preloaded library and the test both map."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._plan = mmap.mmap(file.fileno(), _PLAN.size)

    def fail(self, folder: Path, nth: int, error: int) -> None:
        """Count from 0 again, in this folder; the n-th will fail with this errno, none if n is 0."""
        _PLAN.pack_into(self._plan, 0, 0, nth, error, os.fsencode(folder), b"")

    @property
    def done(self) -> int:
        """Writes, syncs and renames since then."""
        return int(_PLAN.unpack_from(self._plan)[0])

    @property
    def failed(self) -> str:
        """What has failed, such as `fsync metrics.jsonl`; empty: nothing."""
        return os.fsdecode(_PLAN.unpack_from(self._plan)[4].rstrip(b"\0"))


class Failing(Plan):
    """The same for processes that are started with `environment`."""

    def __init__(self, folder: Path) -> None:
        """Compiles, and keeps what it needs in this folder."""
        library, plan = folder / "failing.so", folder / "plan"
        source = Path(__file__).with_name("failing.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        plan.write_bytes(bytes(_PLAN.size))
        super().__init__(plan)
        self.environment = {**os.environ, "LD_PRELOAD": str(library), "TENGEN_FAILING": str(plan)}
