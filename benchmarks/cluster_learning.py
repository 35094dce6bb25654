"""5x5 Go from nothing by `--cluster`, disturbed, beside the same run by processes of this machine, undisturbed.

    python -m benchmarks.cluster_learning [--rounds 14] [--folder FOLDER]

A real Ray cluster of two nodes with one core each. In round 4 one of its workers is killed, in round 6 a node, and in
round 8 a node is added. Then the account of positions must be exact, and the two last models play a match. The same
command goes on where it was stopped.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.zero_account import zero_account
from tests.two_nodes import TwoNodes, two_nodes

from tengen.runs.folder import read_metrics

WHAT = {4: "worker", 6: "node", 8: "added"}
"""By round."""


def main() -> None:
    """Learn twice, check the account, play."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster_learning",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--rounds", type=int, default=14)
    options.add_argument("--games", type=int, default=100, help="of the match")
    options.add_argument("--folder", type=Path, default=Path("runs/cluster-learning"))
    given = options.parse_args()
    local, cluster = given.folder / "local", given.folder / "cluster"
    settings = f"--preset go5 --iterations {given.rounds} --hours 0 --workers 2"
    with two_nodes(__name__) as nodes:
        processes = [
            _tengen("learn", "zero", *settings.split(), "--out", str(local)),
            _tengen("learn", "zero", *settings.split(), "--out", str(cluster), "--cluster", nodes.address),
        ]
        _disturb(nodes, cluster, processes)
    for name, folder in (("processes", local), ("cluster", cluster)):
        last = read_metrics(folder)[-1]
        zero_account(folder, is_long=True)
        seconds = sum(line["seconds_play"] for line in read_metrics(folder))
        print(f"{name:<10} {last['positions']:,} positions, {last['games']:,} games, account exact;", end=" ")
        print(f"policy loss {last['fresh_policy']:.3f}, value loss {last['fresh_value']:.3f}; {seconds:.0f} s of play")
    models = [f"zero:{folder / 'best.safetensors'},sims=64" for folder in (cluster, local)]
    board = f"--size 5 --komi 3.5 --games {given.games}".split()
    _tengen("match", *models, *board, "--out", str(given.folder / "match")).wait()


def _tengen(*arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "tengen", *arguments], env=os.environ | {"COLUMNS": "120"})


def _disturb(nodes: TwoNodes, run: Path, processes: "list[subprocess.Popen[bytes]]") -> None:
    """Kill and add, in the middle of rounds, until both runs have ended."""
    import ray

    happened: set[str] = set()
    while any(process.poll() is None for process in processes):
        time.sleep(1.0)
        done = len(read_metrics(run)) if run.exists() else 0
        what = WHAT.get(done + 1)
        if what is None or what in happened or processes[1].poll() is not None:
            continue
        happened.add(what)
        time.sleep(5.0)
        if what == "worker":
            ray.init(nodes.address, logging_level="error")
            os.kill(nodes.worker(), signal.SIGKILL)
            ray.shutdown()
        elif what == "node":
            nodes.kill()
        else:
            nodes.add()
        print(f"round {done + 1}: {what}", flush=True)
    if any(process.returncode for process in processes):
        sys.exit("a run has failed")


if __name__ == "__main__":
    main()
