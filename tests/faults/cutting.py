"""Power cuts of whole commands: each is recorded as it runs here, and resumed from what a power cut may leave of it.

It works with one worker, a thread, so that all that it does to the disk is seen. Images that hold the same files count
each, and are gone on from once.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest.mock import patch

from .campaign import compare, found
from .commands import COMMANDS
from .inputs import Inputs
from .killing import Fault, Host
from .power import Recording, images, recorded

_REPORT_EVERY = 10


def cut_power(name: str, count: int, folder: Path, seed: int, report: Callable[[str], None]) -> int:
    """Go on from so many images of a command; returns the number of faults, each of which is reported."""
    command, undisturbed, image = COMMANDS[name], folder / "undisturbed", folder / "image"
    shutil.rmtree(folder, ignore_errors=True)
    undisturbed.mkdir(parents=True)
    arguments = command.arguments(Inputs(folder / "inputs"))
    if "--workers" in arguments:
        arguments[arguments.index("--workers") + 1] = "1"
    recording = record(arguments, undisturbed)
    expected, seen, faults, number = found(command, undisturbed), set[bytes](), 0, 0
    with Host() as host:
        for number, (_, moment) in enumerate(images(recording, image, count, seed), 1):
            before = digest(image)
            if before not in seen:
                seen.add(before)
                try:
                    host.run(arguments, image)
                    compare(image, expected, found(command, image))
                except (Fault, ValueError, KeyError, OSError) as error:
                    faults += 1
                    report(f"{name}, image {number}, moment {moment.number}, {moment.what}: {error}")
            if number % _REPORT_EVERY == 0 or number == count:
                moments = len(recording.moments)
                report(f"{name}: {number} images of {moments} moments, {len(seen)} differ, {faults} faults")
    return faults


def record(arguments: Sequence[str], folder: Path) -> Recording:
    """Run a command in this process and in this folder; Fault if it fails."""
    from tengen.cli.main import main

    log = folder.with_suffix(".log")
    with log.open("w") as said, redirect_stdout(said), redirect_stderr(said), chdir(folder):
        with patch.object(sys, "argv", ["tengen", *arguments]), recorded(folder) as recording:
            with suppress(SystemExit):
                main()
    if "Traceback" in log.read_text() or "tengen: " in log.read_text():
        raise Fault(log.read_text()[-2000:])
    return recording


def digest(folder: Path) -> bytes:
    """What tells folders with different files apart."""
    hasher = hashlib.sha256()
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            hasher.update(f"{path.relative_to(folder)} {path.stat().st_size} ".encode() + path.read_bytes())
        hasher.update(f"{place} {len(names)}".encode())
    return hasher.digest()
