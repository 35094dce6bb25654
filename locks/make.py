"""Locks what this environment holds: python locks/make.py, in the .venv of `make setup` (decision 0016).

    constraints.txt     the version of every package, for every platform
    locks/base.txt      these versions with hashes, for `make play` and `make web`
    locks/dev.txt       the same for `make setup`

To renew: empty constraints.txt, `make clean setup`, then this. Pure packages are locked for every platform, others for
Linux on x86-64. torch has no hash: its build for the CPU alone comes from another place on every machine.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_ROOT: Final = Path(__file__).parents[1]
_PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
_PLATFORMS: Final = [f"manylinux_2_{minor}_x86_64" for minor in range(35, 16, -1)] + ["manylinux2014_x86_64"]
_HERE_ALONE: Final = 'sys_platform == "linux" and platform_machine == "x86_64"'
_BUILD: Final = ("hatchling", "editables")  # what builds Tengen itself
_UNHASHED: Final = {"torch"}
_HEADER: Final = "# Made by locks/make.py: do not edit.\n"


def main() -> None:
    """Write the three files."""
    base, dev = _needed(("",)), _needed(("", "dev"))
    constraints = [f"{name}=={version(name).partition('+')[0]}\n" for name in sorted(dev)]
    (_ROOT / "constraints.txt").write_text(_HEADER + "".join(constraints))
    hashes: dict[str, set[str]] = {}
    pure: dict[str, bool] = {}
    for python in _PYTHONS:
        for name, file, digest in _report(python, sorted(dev - _UNHASHED)):
            hashes.setdefault(name, set()).add(digest)
            pure[name] = pure.get(name, True) and file.endswith("-none-any.whl")
    for extra, names in (("base", base), ("dev", dev)):
        lines = [_line(name, pure[name], hashes[name]) for name in sorted(names - _UNHASHED)]
        (_ROOT / "locks" / f"{extra}.txt").write_text(_HEADER + "".join(lines))


def _needed(extras: Iterable[str]) -> set[str]:
    """Tengen's requirements and theirs, as far as they are installed here."""
    found: set[str] = set()
    waiting = [("tengen", extra) for extra in extras] + [(name, "") for name in _BUILD]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        found.add(name)
        for requirement in map(Requirement, requires(name) or ()):
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
                continue
            other = canonicalize_name(requirement.name)
            try:
                version(other)
            except PackageNotFoundError:
                continue
            new = {(other, extra) for extra in ("", *requirement.extras)} - seen
            seen |= new
            waiting.extend(new)
    return found - {"tengen"}


def _report(python: str, names: list[str]) -> Iterable[tuple[str, str, str]]:
    """Name, file and SHA-256 of the wheels that pip would install."""
    wanted = [f"{name}=={version(name)}" for name in names]
    platforms = [f"--platform={platform}" for platform in _PLATFORMS]
    words = ["--dry-run", "--quiet", "--no-deps", "--ignore-installed", "--only-binary=:all:"]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        where = [f"--python-version={python}", *platforms, f"--target={folder}", f"--report={report}"]
        subprocess.run([sys.executable, "-m", "pip", "install", *words, *where, *wanted], check=True)
        found = json.loads(report.read_bytes())["install"]
    for each in found:
        info = each["download_info"]
        file = re.split("[/#]", info["url"])[-1]
        yield canonicalize_name(each["metadata"]["name"]), file, info["archive_info"]["hashes"]["sha256"]


def _line(name: str, pure: bool, hashes: set[str]) -> str:
    marker = "" if pure else f" ; {_HERE_ALONE}"
    digests = "".join(f" \\\n    --hash=sha256:{digest}" for digest in sorted(hashes))
    return f"{name}=={version(name)}{marker}{digests}\n"


if __name__ == "__main__":
    main()
