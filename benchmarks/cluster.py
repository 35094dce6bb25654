"""What the driver of `tengen learn zero --cluster` takes in: actors that only replay recorded games of 9x9 self-play.

    python benchmarks/cluster.py [--rounds 10] [--cluster local]

Measures one core of self-play, the bytes of a position and of a model, and the processor time that the driver needs to
take in, store and train on a position; from these follows at how many cores of self-play the driver is full.
"""

import argparse
import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tengen.learn.replay import ReplayMemory
from tengen.learn.replay_chunks import ChunkFolder
from tengen.learn.zero_config import ZeroConfig, preset_config
from tengen.learn.zero_play import RoundOrder, SelfPlayRound
from tengen.learn.zero_trainer import ZeroTrainer
from tengen.learn.zero_workers import Played, ZeroWorker
from tengen.nets.bundled import find_model
from tengen.workers.local import LocalWorkers
from tengen.workers.ray_workers import ray_hosts

UNIT = 1500
"""Positions of a call: a round of 12,000 has eight for each worker."""


class Replayer:
    """In place of a worker that plays: always the same games."""

    def __init__(self, played: Played) -> None:
        self._played = played

    def play(self, *_: Any) -> Played:
        """The games, at once."""
        return self._played


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=10, help="rounds of 12,000 positions to take in")
    options.add_argument("--cluster", default="local", help="address of a Ray cluster")
    given = options.parse_args()
    config = preset_config("go9", {"window_first": 50_000, "window_most": 50_000})
    torch.set_num_threads(1)
    model = find_model("go9-selfplay")
    worker = ZeroWorker(config.game_spec(), config.self_play(), 1)
    worker.play(str(model), 0, "fastest", 1, config.simulations)  # compiles
    played, seconds = _timed(lambda: worker.play(str(model), 0, "fastest", UNIT, config.simulations))
    count = len(played.positions.value)
    per_core = count / seconds
    print(f"self-play, one core          {per_core:10,.0f} positions/s")
    print(f"a model                      {model.stat().st_size:10,} bytes (stored in 16 bits; 32 in a run: twice that)")
    print(f"a position on its way        {len(pickle.dumps(played)) / count:10,.0f} bytes")
    for name, hosts in (("processes", LocalWorkers), (f"Ray at {given.cluster}", ray_hosts(given.cluster))):
        workers = hosts(1, Replayer, lambda _: (played,), 0)
        with tempfile.TemporaryDirectory() as folder:
            rate, cpu, stored = _take_in(config, workers, Path(folder), given.rounds, count)
        print(f"taken in from {name:<15}{rate:10,.0f} positions/s, {1e6 * cpu:,.1f} µs of processor time each")
        print(f"  full at                    {1 / cpu / per_core:10,.0f} cores of self-play")
    print(f"a position on the disk       {stored:10,.0f} bytes")
    trained = _train(config, played)
    print(f"trained on, one core         {trained:10,.0f} positions/s")
    print(
        f"  full at                    {trained / config.reuse / per_core:10,.1f} cores of self-play a core of training"
    )


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it returns, and the processor time that it takes."""
    began = time.process_time()
    return work(), time.process_time() - began


def _take_in(config: ZeroConfig, workers: Any, folder: Path, rounds: int, unit: int) -> tuple[float, float, float]:
    """Positions a second, processor seconds of this process a position, bytes of the disk a position."""
    memory = ReplayMemory(config.game_spec(), config.window_most + 2 * config.positions)
    chunks = ChunkFolder(folder)
    workers.start()
    try:
        began, cpu = time.monotonic(), time.process_time()
        for iteration in range(1, rounds + 1):
            order = RoundOrder(iteration, 8 * unit, find_model("go9-selfplay"), 0, "fastest", 1)
            current = SelfPlayRound(order, workers, memory, chunks)
            while not current.is_complete:
                current.take_in(0.0, 0.2)
            current.take_in(0.0)
        seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    finally:
        workers.close()
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
            trainer.learn(memory.draw(np.random.default_rng(step), config.batch, 0, count), 0.0)

    steps()
    return 10 * config.batch / _timed(steps)[1]


if __name__ == "__main__":
    main()
