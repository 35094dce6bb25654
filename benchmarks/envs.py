"""How many random moves a second `tengen.envs.VectorEnv` plays in Go, beside pgx in the same run.

    python -m venv peers && peers/bin/pip install pgx
    python benchmarks/envs.py --peers peers/bin/python

Both draw a legal move for every board, play it, restart games that are over and make the same 17 planes. Both run in
turn on one core, in one thread; the best of some rounds counts, per second of processor time.
"""

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

from tengen.envs import VectorEnv

PEER = Path(__file__).parent / "peers" / "pgx_go.py"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", metavar="PYTHON", required=True, help="an interpreter that has pgx")
    for name, default in (("boards", 1024), ("rounds", 3), ("seconds", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"{options.boards} boards; random moves a second of one core, observations included\n")
    print("| board | Tengen | pgx | Tengen is faster by |\n|---|---|---|---|")
    for size in (9, 19):
        env = VectorEnv("go", options.boards, size=size, encoder="zero")
        command = [options.peers, str(PEER), f"--size={size}", f"--boards={options.boards}"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
            peer.stdout.readline()
            env.reset(seed=1)
            mine, theirs = [measure(env, 1.0)], [ask(peer, 1.0)]  # compiled, and games of all ages
            for _ in range(options.rounds):
                mine.append(measure(env, options.seconds))
                theirs.append(ask(peer, options.seconds))
            peer.stdin.close()
        ratio = max(mine) / max(theirs)
        print(f"| {size}x{size} | {max(mine):,.0f} | {max(theirs):,.0f} | {ratio:.1f} |", flush=True)


def measure(env: VectorEnv, seconds: float) -> float:
    """Moves a second of processor time."""
    began, cpu, done = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - began < seconds:
        env.step(env.sample())
        done += env.boards
    return done / (time.process_time() - cpu)


def ask(peer: "subprocess.Popen[str]", seconds: float) -> float:
    """The same of the peer."""
    peer.stdin.write(f"{seconds}\n")
    peer.stdin.flush()
    answer = json.loads(peer.stdout.readline())
    return answer["moves"] / answer["cpu"]


if __name__ == "__main__":
    main()
