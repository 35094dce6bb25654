"""The page, GTP and self-play side by side for an hour, which go on working and do not grow.

    python -m benchmarks.soak [--minutes 60] [--kill-every 10]

A real Chromium walks through a study under live analysis, a program plays games with `tengen gtp`, and `tengen learn
zero` learns 5x5 Go, killed (-9) every ten minutes and begun again. At the end its account is checked: every position
and every round once. Memory in megabytes.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.zero_account import zero_account

from benchmarks.web import WalkedStudy, browser, megabytes, serving
from tengen.runs.folder import read_metrics

LEARN = "learn zero --preset go5 --simulations 16 --positions 2000 --hours 0 --workers 1 --threads 1".split()


class GtpPlayer:
    """Plays random moves against `tengen gtp`, game after game."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tengen", "gtp", "--agent", "zero:go9,sims=32", "--size", "9"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.commands = self.games = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._play)
        self._thread.start()

    @property
    def megabytes(self) -> float:
        """The memory that the engine holds."""
        return megabytes(self._process.pid)

    @property
    def is_playing(self) -> bool:
        """False after an answer that should not be."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Finish the move, and quit."""
        self._stopped.set()
        self._thread.join()
        self._ask("quit")
        if self._process.wait() != 0:
            sys.exit(f"tengen gtp ended with code {self._process.returncode}")

    def _play(self) -> None:
        rng, points = random.Random(1), [f"{column}{row}" for column in "ABCDEFGHJ" for row in range(1, 10)]
        while not self._stopped.is_set():
            self._ask("clear_board")
            for _ in range(60):
                if not any(self._ask(f"play b {point}").startswith("=") for point in rng.sample(points, 20)):
                    self._ask("play b pass")
                if self._stopped.is_set() or self._ask("genmove w").lower() in ("= pass", "= resign"):
                    break
                self._ask(rng.choice(["showboard", "final_score", "kata-raw-nn 0", "undo", "list_commands"]))
            self.games += 1

    def _ask(self, command: str) -> str:
        """The answer, `= ...` or `? ...`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        lines = []
        while (line := self._process.stdout.readline()).strip():
            lines.append(line)
        if not lines or "internal error" in lines[0]:
            raise RuntimeError(f"tengen gtp answered {lines} to {command}")
        self.commands += 1
        return lines[0].strip()


class Learner:
    """A run of `tengen learn zero` that is killed now and then."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.kills = folder, 0
        self._start()

    @property
    def megabytes(self) -> float:
        """The memory that all its processes hold."""
        return sum(megabytes(pid) for pid in self._processes())

    @property
    def rounds(self) -> int:
        """How many it has finished."""
        return len(read_metrics(self._folder)) if (self._folder / "metrics.jsonl").exists() else 0

    def kill(self) -> None:
        """End it with all its workers, without a warning, and begin again."""
        self._end()
        self.kills += 1
        self._start()

    def finish(self) -> None:
        """Let it come to the end of a round, and check its account."""
        self._end()
        last = str(self.rounds + 1)
        subprocess.run(
            self._command("--iterations", last), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        zero_account(self._folder, is_long=True)

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def _command(self, *more: str) -> list[str]:
        return [sys.executable, "-m", "tengen", *LEARN, "--out", str(self._folder), *more]

    def _end(self) -> None:
        if self._process.poll() is not None:
            sys.exit(f"tengen learn zero ended by itself, with code {self._process.returncode}")
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _processes(self) -> Iterator[int]:
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if os.getpgid(int(path.name)) == self._process.pid:
                    yield int(path.name)
            except ProcessLookupError:
                continue


@contextmanager
def playing() -> Iterator[GtpPlayer]:
    """A player that quits at the end."""
    player = GtpPlayer()
    try:
        yield player
    finally:
        player.close()


def main() -> None:
    """Run all three, and print a line every few minutes."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=60)
    options.add_argument("--kill-every", type=float, default=10, help="minutes between two kills of the learner")
    given = options.parse_args()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        serving() as server,
        browser() as chromium,
        playing() as player,
    ):
        study, learner = WalkedStudy(chromium, server), Learner(Path(folder) / "run")
        print(
            "minute | heap of the page   its nodes  server | GTP games  commands  engine | zero rounds  kills  memory"
        )
        start, next_kill = time.monotonic(), given.kill_every
        while (passed := (time.monotonic() - start) / 60) <= given.minutes:
            heap, nodes = study.holds()
            print(
                f"{passed:6.1f} | {heap:16.1f}  {nodes:10,}  {server.megabytes():6.0f} | {player.games:9,}"
                f"  {player.commands:8,}  {player.megabytes:6.0f} | {learner.rounds:11,}  {learner.kills:5}"
                f"  {learner.megabytes:6.0f}",
                flush=True,
            )
            study.walk(60 * max(0.2, given.minutes / 30))
            if not player.is_playing:
                sys.exit("the game by GTP broke off: see above")
            if passed > next_kill:
                learner.kill()
                next_kill += given.kill_every
        learner.finish()
        if chromium.complaints or server.process.poll() is not None:
            sys.exit(f"the page or its server failed: {chromium.complaints}")
        print(f"all three worked to the end; {learner.rounds} rounds of learning, each position and each round once")


if __name__ == "__main__":
    main()
