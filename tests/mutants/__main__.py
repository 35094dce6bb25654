"""Put small faults into the files that keep or guard something, and see whether tests notice: python -m tests.mutants

Each mutant (`operators.py`) is written into a copy of `src/`, and the tests that concern its file run on the copy. The
seed decides which mutants are taken. What was found is kept in `.mutants/found.jsonl`, and the next call goes on there;
`--again` tries those again that went unnoticed. Survivors that change nothing that anybody could see are listed, with
the reason, in `equivalent.py`.
"""

import argparse
import importlib
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

import pytest

from .equivalent import EQUIVALENT
from .operators import Mutant, mutants_of

TESTS: Final[dict[str, str]] = {
    "runs/files.py": "runs/test_files.py arena/test_results.py runs/test_folder.py "
    "faults/test_io_errors.py::test_a_failed_rename_or_sync_of_a_folder_is_named faults/test_power_cuts.py",
    "runs/arrays.py": "runs/test_files.py",
    "_processes.py": "test_processes.py agents/test_gtp.py::test_a_child_of_the_engines_dies_with_it "
    "agents/test_ending.py::test_an_engine_that_hangs_ends_with_the_match[threads-15]",
    "agents/registry.py": "agents/test_registry.py web/test_inputs.py",
    "arena/results.py": "arena/test_results.py faults/test_power_cuts.py::test_a_match",
    "data/archives.py": "data/test_archives.py",
    "learn/trainer.py": "learn/test_trainer.py",
    "runs/folder.py": "runs/test_folder.py faults/test_power_cuts.py::test_checkpoints_and_metrics_of_a_run",
    "web/guard.py": "web/test_guard.py",
    "web/inputs.py": "web/test_inputs.py",
    "web/storage.py": "web/test_stored_games.py web/test_stored_studies.py web/test_clocks.py web/test_study.py "
    "web/test_play_sessions.py web/test_hostile.py",
}
"""The files that get mutants, and the tests that run for each, the quickest first."""
_ROOT: Final = Path(__file__).parents[2]
_MARK: Final = "TENGEN_MUTANT"
_LARGE: Final = (
    "numba",
    "torch",
    "hypothesis",
    "safetensors.numpy",
    "starlette.applications",
    "uvicorn",
    "websockets.sync.client",
)
"""Imported once, for all mutants."""
_MOST_MEMORY: Final = 8 << 30  # bytes of one process: a fault may ask for more and more


class Copy:
    """A copy of `src/`, always at the same place: Numba keeps what it compiled by path and time of a file."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.src = folder, folder / "src"
        shutil.rmtree(self.src, ignore_errors=True)
        shutil.copytree(_ROOT / "src", self.src, ignore=shutil.ignore_patterns("__pycache__"))

    def notice(self, file: str, source: str | None, seconds: float) -> str:
        """Run the tests of a file, with a fault or without; what noticed it, empty if nothing did."""
        path, original = self.src / "tengen" / file, _ROOT / "src" / "tengen" / file
        Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)
        if source is not None:
            path.write_text(source, encoding="utf-8")
        said, end = self.folder / "said.txt", time.monotonic() + seconds
        if (process := os.fork()) == 0:
            self._test(file, said)
        try:
            while os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                if time.monotonic() > end:
                    return "the limit of time"
                time.sleep(0.05)
        finally:
            os.kill(process, signal.SIGKILL)
            _, code = os.waitpid(process, 0)
            _end_marked()
            shutil.copy2(original, path)
        if code == 0:
            return ""
        lines = said.read_text(encoding="utf-8", errors="replace").splitlines()
        failed = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return [*lines[-1:], "no word", *failed][-1][:200]

    def _test(self, file: str, said: Path) -> NoReturn:
        """In a process of its own, which has imported all but Tengen: that takes longest."""
        os.setsid()
        state = str(self.folder / "state")
        os.environ.update({"PYTHONPATH": str(self.src), "XDG_STATE_HOME": state, _MARK: str(os.getppid())})
        sys.path.insert(0, str(self.src))
        sys.modules["__main__"] = ModuleType("__main__")  # what workers of the tests import
        with said.open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        tests = [f"tests/{name}" for name in TESTS[file].split()]
        code = 1
        try:
            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests]))
        finally:
            sys.stdout.flush()
            os._exit(code)


def _end_marked() -> None:
    """End what tests have started and left behind: all that has our mark in its environment."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{_MARK}={os.getpid()}".encode() in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


def main() -> None:
    """Try mutants until so many of the sample are done."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help=f"of which files; all if not given: {', '.join(TESTS)}")
    parser.add_argument("--mutants", type=int, default=120, help="the size of the sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="try again what went unnoticed")
    parser.add_argument("--folder", type=Path, default=_ROOT / ".mutants", help="where the copy is, and what was found")
    given = parser.parse_args()
    unknown = [name for name in given.files if name not in TESTS]
    if unknown:
        parser.error(f"{unknown[0]} gets no mutants: choose from {', '.join(TESTS)}")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests send it, and in the background it is ignored
    for name in _LARGE:
        importlib.import_module(name)
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    given.folder.mkdir(parents=True, exist_ok=True)
    log, copy = given.folder / "found.jsonl", Copy(given.folder.resolve())
    found = _read(log)
    every = [mutant for file in given.files or TESTS for mutant in _mutants(file)]
    sample = sorted(every, key=lambda mutant: mutant.place(given.seed))[: given.mutants]
    left = [one for one in sample if one.name not in found or (given.again and not found[one.name]["by"])]
    limits = dict[str, float]()
    for mutant in left:
        if mutant.file not in limits:
            limits[mutant.file] = _limit(copy, mutant.file)
        begun = time.monotonic()
        by = copy.notice(mutant.file, mutant.source, limits[mutant.file])
        found[mutant.name] = {"mutant": mutant.name, "by": by, "seconds": round(time.monotonic() - begun, 1)}
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found[mutant.name]) + "\n")
        print(f"{by or 'UNNOTICED'}: {mutant.name}", flush=True)
    _report(len(every), [found[mutant.name] for mutant in sample])


def _mutants(file: str) -> list[Mutant]:
    return list(mutants_of(file, (_ROOT / "src" / "tengen" / file).read_text(encoding="utf-8")))


def _limit(copy: Copy, file: str) -> float:
    """Seconds after which a mutant of this file hangs. They must pass without a fault; kernels are compiled here."""
    begun = time.monotonic()
    if by := copy.notice(file, None, 3600):
        sys.exit(f"the tests of {file} fail without a fault: {by}")
    seconds = time.monotonic() - begun
    print(f"{file}: {seconds:.0f} s a mutant", flush=True)
    return 60 + 2 * seconds


def _read(log: Path) -> dict[str, dict[str, Any]]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return {entry["mutant"]: entry for entry in map(json.loads, lines)}


def _report(every: int, sample: list[dict[str, Any]]) -> None:
    print(f"\n{every} mutants, a sample of {len(sample)}")
    for file in TESTS:
        ours = [entry for entry in sample if entry["mutant"].startswith(f"{file} ")]
        if ours:
            print(f"  {file}: {sum(bool(entry['by']) for entry in ours)} of {len(ours)} noticed")
    missed = [entry["mutant"] for entry in sample if not entry["by"]]
    same = [name for name in missed if name in EQUIVALENT]
    for name in missed:
        print(f"{'the same' if name in EQUIVALENT else 'UNNOTICED'}: {name}")
    different, noticed = len(sample) - len(same), len(sample) - len(missed)
    print(f"{noticed} of {different} noticed ({noticed / max(1, different):.1%}); {len(same)} more change nothing")


if __name__ == "__main__":
    main()
