"""A campaign against one command: it is run again and again, killed on the way, resumed, and its result compared.

The tally is kept in a file as it grows, so a campaign that is stopped goes on with the next run. The same seed gives
the same moments, as far as a busy machine can keep to them.
"""

import json
import random
import shutil
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tengen.runs.files import write_atomically

from .commands import COMMANDS, Command, Result
from .inputs import Inputs
from .killing import Fault, Host, Moment

_MOST_KILLS = 12  # of one run: then it may come to its end


class Tally:
    """How many kills each command has survived, on the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counts: dict[str, dict[str, int]] = json.loads(path.read_bytes()) if path.exists() else {}

    def of(self, name: str) -> dict[str, int]:
        """Runs, kills and faults of a command so far."""
        return {"runs": 0, "kills": 0, "faults": 0} | self._counts.get(name, {})

    def add(self, name: str, kills: int, faults: int) -> None:
        """Count one more run."""
        before = self.of(name)
        self._counts[name] = {
            "runs": before["runs"] + 1,
            "kills": before["kills"] + kills,
            "faults": before["faults"] + faults,
        }
        write_atomically(self._path, (json.dumps(self._counts, indent=1) + "\n").encode())


class Campaign:
    """Kills of one command."""

    def __init__(self, name: str, host: Host, inputs: Inputs, folder: Path, seed: int) -> None:
        """Works in `folder`; runs the command once without disturbing it, to know what it should find."""
        self._name, self._host, self._folder, self._seed = name, host, folder, seed
        self._command: Command = COMMANDS[name]
        self._arguments = self._command.arguments(inputs)
        undisturbed = folder / "undisturbed"
        shutil.rmtree(undisturbed, ignore_errors=True)
        self._pace = host.run(self._arguments, undisturbed)
        self._expected = found(self._command, undisturbed)

    def run(self, number: int, most: int = _MOST_KILLS) -> int:
        """Run the command once, killed at most so many times; returns how often it was. Fault if it shows."""
        rng = random.Random(f"{self._seed}/{self._name}/{number}")
        folder = self._folder / f"run-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        done: tuple[int, ...] = ()
        for kills in range(most + 1):
            moment = Moment.draw(rng, self._pace) if kills < most else None
            attempt = self._host.run(self._arguments, folder, moment)
            if attempt.code == 0:
                break
            now = self._command.done(folder)
            if any(fewer < before for before, fewer in zip(done, now)):
                raise Fault(f"{folder}: {done} of the work was done, and after kill {kills + 1} it is {now}")
            done = now
        compare(folder, self._expected, found(self._command, folder))
        shutil.rmtree(folder)
        return kills


def conduct(name: str, kills: int, folder: Path, tally: Tally, seed: int, report: Callable[[str], None]) -> int:
    """Kill a command until the tally has so many kills; returns the number of faults, each of which is reported."""
    faults = 0
    with Host() as host:
        campaign = Campaign(name, host, Inputs(folder / "inputs"), folder / name, seed)
        while tally.of(name)["kills"] < kills:
            number = tally.of(name)["runs"]
            try:
                tally.add(name, campaign.run(number), 0)
            except (Fault, ValueError, KeyError, OSError) as error:
                faults += 1
                tally.add(name, 0, 1)
                report(f"{name}, run {number}: {error}")
            report(f"{name}: {tally.of(name)}")
    return faults


_NAMED_BY_CHANCE = ("*tensorboard/*", "chunks/*", "table-*.npy")
"""Files whose names say the time or how long games are, and tables that are not saved if nothing is left to search."""


def found(command: Command, folder: Path) -> Result:
    """The result of a finished run, with the names of all its files but those that chance decides."""
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    names: Any = sorted(str(path) for path in paths if not any(fnmatch(str(path), each) for each in _NAMED_BY_CHANCE))
    return {"files": names} | command.result(folder)


def compare(folder: Path, expected: Result, now: Result) -> None:
    """Fault if a folder holds something else than expected."""
    for name in expected.keys() | now.keys():
        if expected.get(name) != now.get(name):
            raise Fault(f"{folder}: {name} is {now.get(name)!s:.1500}\nundisturbed: {expected.get(name)!s:.1500}")
