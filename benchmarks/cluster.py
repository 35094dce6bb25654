"""What `tengen learn zero --cluster` costs, with a real Ray cluster of two nodes on this machine.

    python -m benchmarks.cluster play [--rounds 12]     self-play by two Ray actors beside two processes, in turn
    python -m benchmarks.cluster take-in [--cores 200]  what one driver takes in, stores and trains on

`take-in` has actors that only replay recorded games of 9x9 self-play: first at the rate of so many cores, then as fast
as they can. From the processor time that the driver needs for a position follows at how many cores it is full.
"""

import argparse
import math
import pickle
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.two_nodes import two_nodes

from tengen.learn.replay import ChunkFolder, ReplayMemory
from tengen.learn.selfplay import Played, SelfPlayRound, ZeroWorker
from tengen.learn.zero import ZeroTrainer
from tengen.learn.zero_settings import ZeroConfig
from tengen.nets.model_file import find_model
from tengen.workers.calls import Workers
from tengen.workers.local import ProcessWorkers
from tengen.workers.ray_workers import ray_cluster

MODEL = find_model("go9-selfplay")
BACKEND = "fastest"
WORKERS = 2
UNIT = 750
"""Positions of a call: a round of 12,000 has eight for each worker."""


class Replayer:
    """In place of a worker that plays: always the same games."""

    def __init__(self, played: Played, seconds: float) -> None:
        """`seconds`: how long a call takes."""
        self._played, self._seconds = played, seconds
        self._next = time.monotonic()

    def play(self, *_: Any) -> Played:
        """The games, when it is time."""
        self._next = max(self._next + self._seconds, time.monotonic())
        time.sleep(max(0.0, self._next - time.monotonic()))
        return self._played


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("what", choices=("play", "take-in"))
    options.add_argument("--rounds", type=int, default=12, help="by each kind of workers, or to take in")
    options.add_argument("--positions", type=int, default=2_000, help="of a round of play")
    options.add_argument("--cores", type=int, default=200, help="of self-play, at whose rate actors replay games")
    given = options.parse_args()
    torch.set_num_threads(1)
    config = ZeroConfig.preset_config("go9", {"window_first": 50_000, "window_most": 50_000})
    with two_nodes(__name__) as cluster:
        if given.what == "play":
            play(config, cluster.address, given.rounds, given.positions)
        else:
            take_in(config, cluster.address, given.rounds, given.cores)


def play(config: ZeroConfig, address: str, pairs: int, positions: int) -> None:
    """Rounds of self-play by processes and by Ray actors in turn, after one of each that compiles and prepares.

    Positions come when games end, which they do in waves, so rounds are compared by their simulations.
    """
    spec, settings = config.game_spec(), replace(config.self_play(), slots=64)  # fewer games: they end sooner
    pools: dict[str, Workers] = {}
    for name, hosts in (("processes", ProcessWorkers), ("Ray actors", ray_cluster(address))):
        pools[name] = hosts(WORKERS, ZeroWorker, lambda number: (spec, settings, number + 1), 0)
        pools[name].start()
    rounds: dict[str, list[tuple[int, int, float]]] = {name: [] for name in pools}
    with closing(pools["processes"]), closing(pools["Ray actors"]):
        for number in range(pairs + 1):
            for name in list(pools) if number % 2 else reversed(pools):  # so that a machine that slows down is fair
                with tempfile.TemporaryDirectory() as folder:
                    memory, chunks = ReplayMemory(spec, 2 * positions), ChunkFolder(Path(folder))
                    played = (1, positions, MODEL, 0, BACKEND, config.simulations)
                    current = SelfPlayRound(*played, pools[name], memory, chunks)
                    while not current.is_complete:
                        current.take_in(0.0, 0.2)
                rounds[name].append((current.work.simulations, current.positions, current.seconds))
            local, ray = (each[-1][0] / each[-1][2] for each in rounds.values())
            print(f"pair {number}: {local:9,.0f} and {ray:9,.0f} simulations/s, ratio {ray / local:.3f}", flush=True)
    for name, each in rounds.items():
        simulations, there, seconds = map(sum, zip(*each[1:]))
        print(f"{name:<12} {simulations / seconds:9,.0f} simulations/s, {there / seconds:9,.0f} positions/s")
    logs = [math.log((ray[0] / ray[2]) / (local[0] / local[2])) for local, ray in zip(*rounds.values())][1:]
    mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(mean - 2 * error), math.exp(mean + 2 * error)
    print(f"ratio        {math.exp(mean):9.3f} (mean of {len(logs)} pairs; 95%: {low:.3f} to {high:.3f})")


def take_in(config: ZeroConfig, address: str, rounds: int, cores: int) -> None:
    """What the driver does for a position: receive it, store it, train on it."""
    worker = ZeroWorker(config.game_spec(), config.self_play(), 1)
    worker.play(str(MODEL), 0, BACKEND, 1, config.simulations)  # compiles
    played, seconds = _timed(lambda: worker.play(str(MODEL), 0, BACKEND, UNIT, config.simulations))
    count = len(played.positions.value)
    share = config.full_share  # positions come in waves, as games end: so they are reckoned from the simulations
    simulations = share * config.simulations + (1 - share) * config.fast_simulations
    per_core, size = played.work.simulations / simulations / seconds, len(pickle.dumps(played)) / count
    print(f"self-play, one core          {per_core:10,.1f} positions/s")
    print(f"a model                      {MODEL.stat().st_size:10,} bytes (stored in 16 bits; 32 in a run: twice that)")
    print(f"a position on its way        {size:10,.0f} bytes", flush=True)
    pace = WORKERS * count / (cores * per_core)
    hosts = ray_cluster(address)
    for name, call_seconds in ((f"{cores} cores", pace), ("all they can", 0.0)):
        workers = hosts(WORKERS, Replayer, lambda _, each=call_seconds: (played, each), 0)
        with tempfile.TemporaryDirectory() as folder, closing(workers):
            rate, cpu, stored = _store(config, workers, Path(folder), rounds, count)
        print(f"actors replay {name:<15}{rate:10,.0f} positions/s taken in and stored, {rate * size / 1e6:.2f} MB/s,")
        print(f"  {'':<27}{1e6 * cpu:10,.1f} µs of the driver's time each, {rate * cpu:.0%} of a core", flush=True)
    print(f"  full at                    {1 / cpu / per_core:10,.0f} cores of self-play")
    print(f"a position on the disk       {stored:10,.0f} bytes")
    trained = _train(config, played)
    print(f"trained on, one core         {trained:10,.0f} positions/s")
    print(f"  full at                    {trained / config.reuse / per_core:10,.1f} cores of self-play for each")


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the processor time that it takes."""
    began = time.process_time()
    return work(), time.process_time() - began


def _store(config: ZeroConfig, workers: Workers, folder: Path, rounds: int, unit: int) -> tuple[float, float, float]:
    """Positions a second, processor seconds of this process a position, bytes of the disk a position."""
    memory = ReplayMemory(config.game_spec(), config.window_most + 2 * config.positions)
    chunks = ChunkFolder(folder)
    workers.start()
    began, cpu = time.monotonic(), time.process_time()
    for iteration in range(1, rounds + 1):
        current = SelfPlayRound(iteration, 8 * WORKERS * unit, MODEL, 0, BACKEND, 1, workers, memory, chunks)
        while not current.is_complete:
            current.take_in(0.0, 0.2)
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    positions = chunks.facts[-1].end
    stored = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / positions
    return positions / seconds, cpu / positions, stored


def _train(config: ZeroConfig, played: Played) -> float:
    """Positions that one core trains on in a second of its time."""
    memory = ReplayMemory(config.game_spec(), 4 * UNIT)
    memory.add(played.positions, 0)
    trainer = ZeroTrainer(config, config.game_spec())
    count = len(played.positions.value)

    def steps() -> None:
        for step in range(10):
            trainer.learn_at(memory.draw(np.random.default_rng(step), config.batch, 0, count), 0.0)

    steps()
    return 10 * config.batch / _timed(steps)[1]


if __name__ == "__main__":
    main()
