"""A step of `learn zero` beside bare PyTorch, on one core: `python -m benchmarks.training`.

The network of the preset go9 and one batch of random positions, in turn, positions per second of processor time. *Bare*
is forward, a loss of policy and value, backward and SGD, and nothing else. What a real run adds to it: ownership and
score, masked policies, the running average of the weights, and positions from the replay memory (not measured here).
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from tengen.encode.game_spec import GameSpec
from tengen.learn.distributed import multiplies_bfloat
from tengen.learn.replay import ReplayBatch
from tengen.learn.zero import ZeroTrainer
from tengen.learn.zero_settings import ZeroConfig


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Measure a training step beside bare PyTorch.")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=4, help="steps of each measure")
    parser.add_argument("--rounds", type=int, default=3, help="how often each measure is taken; the best counts")
    parser.add_argument("--compile", action="store_true", help="also torch.compile, which needs a C++ compiler")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    bf16 = multiplies_bfloat("cpu")
    measures: dict[str, Callable[[], object]] = {
        "Tengen, floats": _ours(given.batch, bf16=False),
        "bare, floats": _bare(given.batch, torch.contiguous_format),
        "bare, floats, channels_last": _bare(given.batch, torch.channels_last),
        "bare, forward alone": _bare(given.batch, torch.channels_last, backward=False),
    }
    if bf16:
        measures["Tengen, bfloat16"] = _ours(given.batch, bf16=True)
        measures["bare, bfloat16, channels_last"] = _bare(given.batch, torch.channels_last, bf16=True)
    if given.compile:
        measures["bare, floats, torch.compile"] = _bare(given.batch, torch.channels_last, compiled=True)
    best = dict.fromkeys(measures, 0.0)
    for _ in range(given.rounds):
        for name, step in measures.items():
            step()
            start = time.process_time()
            for _ in range(given.steps):
                step()
            best[name] = max(best[name], given.steps * given.batch / (time.process_time() - start))
    for name, rate in best.items():
        print(f"{name:32} {rate:8,.0f} positions/s   {rate / best['bare, floats, channels_last']:5.2f}")


def _trainer(bf16: bool) -> tuple[ZeroTrainer, GameSpec]:
    config = ZeroConfig.preset_config("go9", {"bf16": bf16})
    spec = config.game_spec()
    return ZeroTrainer(config, spec), spec


def _ours(batch: int, bf16: bool) -> Callable[[], object]:
    trainer, spec = _trainer(bf16)
    rng, points, actions = np.random.default_rng(1), spec.batch.height * spec.batch.width, spec.batch.actions
    policy = rng.random((batch, actions), np.float32)
    positions = ReplayBatch(
        rng.integers(0, 2, (batch, *spec.shape), np.uint8),
        policy / policy.sum(axis=1, keepdims=True),
        np.ones((batch, actions), np.bool_),
        rng.choice([-1.0, 1.0], batch).astype(np.float32),
        rng.uniform(-1, 1, batch).astype(np.float32),
        rng.integers(-1, 2, (batch, points), np.int8),
        rng.normal(0, 10, batch).astype(np.float32),
        np.ones(batch, np.bool_),
    )
    return lambda: trainer.learn_at(positions, 0.0)


def _bare(
    batch: int, order: torch.memory_format, *, bf16: bool = False, backward: bool = True, compiled: bool = False
) -> Callable[[], object]:
    trainer, spec = _trainer(False)
    network: Any = trainer.network.to(memory_format=order)  # type: ignore[call-overload]
    if compiled:
        network = torch.compile(network)
    optimizer = torch.optim.SGD(trainer.network.parameters(), 0.01, momentum=0.9)
    planes = torch.randint(0, 2, (batch, *spec.shape), dtype=torch.uint8)
    moves = torch.randint(0, spec.batch.actions, (batch,))

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16), torch.set_grad_enabled(backward):
            output = network(planes)
        if backward:
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(output.policy.float(), moves) + output.value.float().square().mean()
            loss.backward()
            optimizer.step()

    return step


if __name__ == "__main__":
    main()
