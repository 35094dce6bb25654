"""Kill every long-running command again and again: python -m tests.faults --kills 100

The next call goes on where the last one stopped. Folders of runs that showed a fault are kept. With --power-cuts 1000
they go on from so many folders that a power cut may have left instead (`cutting.py`).
"""

import argparse
import sys
from pathlib import Path

from .campaign import Tally, conduct
from .commands import COMMANDS
from .cutting import cut_power


def main() -> None:
    """Bring every command to its number of kills."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("commands", nargs="*", help=f"which commands; all if not given: {', '.join(COMMANDS)}")
    parser.add_argument("--kills", type=int, default=100, help="of each command, in all calls together")
    parser.add_argument("--power-cuts", type=int, default=0, help="images of each command instead of kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--folder", type=Path, default=Path(".faults"), help="where the commands work, and the tally is"
    )
    given = parser.parse_args()
    unknown = [name for name in given.commands if name not in COMMANDS]
    if unknown:
        parser.error(f"{unknown[0]} is no command: choose from {', '.join(COMMANDS)}")
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tally, faults = Tally(folder / "tally.json"), 0
    for name in given.commands or COMMANDS:
        if given.power_cuts:
            faults += cut_power(name, given.power_cuts, folder / f"power-{name}", given.seed, _report)
        else:
            faults += conduct(name, given.kills, folder, tally, given.seed, _report)
    sys.exit(1 if faults else 0)


def _report(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
