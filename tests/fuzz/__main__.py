"""Fuzz every reader of foreign data, for as long as you like: python -m tests.fuzz --minutes 10

The same seed gives the same inputs, numbered from 0, and the next call goes on where the last one stopped. What makes a
reader fail is kept in tests/fuzz/found, which `make test` runs for good.
"""

import argparse
import faulthandler
import hashlib
import json
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType

from .mutation import mutate
from .targets import TARGETS

FOUND = Path(__file__).parent / "found"
_IN_A_ROW, _TURN = 500, 1.0  # inputs of a target, or seconds, after which it is the next one's turn
_SLOW = 20.0  # seconds of the processor after which an input counts as a fault
_DEAD = 600  # seconds after which the program is ended, with all its stacks


_stopped: list[bool] = []  # not empty once somebody pressed Ctrl-C


class TooSlow(Exception):
    """An input takes too long."""


def input_number(name: str, number: int, seed: int, good: list[bytes]) -> bytes:
    """The input with this number."""
    return mutate(good, TARGETS[name].tokens, random.Random(f"{seed}/{name}/{number}"))


def main() -> None:
    """Fuzz until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"which readers; all if not given: {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument(
        "--inputs", type=int, default=0, help="stop after so many of these targets, in all calls together; 0: no limit"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, default=Path(".fuzz.json"), help="where the numbers are kept")
    given = parser.parse_args()
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"{unknown[0]} is no target: choose from {', '.join(TARGETS)}")
    signal.signal(signal.SIGPROF, _too_slow)
    signal.signal(signal.SIGINT, _stop)  # between two inputs: a server that is fuzzed would take Ctrl-C as meant for it
    faults = _fuzz(given.targets or list(TARGETS), given.seed, 60 * given.minutes, given.inputs, given.state)
    sys.exit(1 if faults else 0)


def _fuzz(names: list[str], seed: int, seconds: float, most: int, state: Path) -> int:
    done = json.loads(state.read_text()) if state.is_file() else {}
    done = {name: int(done.get(name, 0)) for name in TARGETS}
    good = {name: TARGETS[name].good() for name in names}
    for name in names:
        for data in good[name]:  # compiles what is not yet compiled
            TARGETS[name].run(data)
    current, faults = state.with_suffix(".current"), 0
    if current.is_file():  # an input that ended the program the last time
        name, _, data = current.read_bytes().partition(b"\n")
        faults += _keep(name.decode(), data, "it ended the program")
        done[name.decode()] += 1
    end = time.monotonic() + seconds
    while time.monotonic() < end and not _stopped and not 0 < most <= sum(done[name] for name in names):
        for name in names:
            began = time.monotonic()
            for number in range(done[name], done[name] + _IN_A_ROW):
                data = input_number(name, number, seed, good[name])
                current.write_bytes(name.encode() + b"\n" + data)
                faults += _try(name, data)
                if time.monotonic() > min(end, began + _TURN) or _stopped:
                    break
            done[name] = number + 1
            state.write_text(json.dumps(done))
        print(
            f"\r{sum(done.values()):,} inputs, {faults} faults; {(end - time.monotonic()) / 60:.1f} minutes left ",
            end="",
        )
        sys.stdout.flush()
    current.unlink(missing_ok=True)
    print("\n" + ", ".join(f"{name} {count:,}" for name, count in done.items()))
    return faults


def _try(name: str, data: bytes) -> int:
    """Run one input; 1 if it is a fault, which is kept."""
    faulthandler.dump_traceback_later(_DEAD, exit=True)
    signal.setitimer(signal.ITIMER_PROF, _SLOW)
    try:
        TARGETS[name].run(data)
    except Exception:
        signal.setitimer(signal.ITIMER_PROF, 0)
        return _keep(name, data, traceback.format_exc(limit=-4))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    return 0


def _keep(name: str, data: bytes, why: str) -> int:
    FOUND.mkdir(exist_ok=True)
    path = FOUND / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    print(f"\n{path}\n{why}", flush=True)
    return 1


def _stop(signal_number: int, frame: FrameType | None) -> None:
    _stopped.append(True)


def _too_slow(signal_number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"more than {_SLOW:.0f} s of the processor")


if __name__ == "__main__":
    main()
