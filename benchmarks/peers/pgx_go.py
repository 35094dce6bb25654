"""Random legal moves in many games of Go by pgx, all in one XLA program: a peer for `benchmarks/envs.py`.

Run by that script with an interpreter that has pgx (pip install pgx). It gets ready, prints a line of JSON, and then
answers each line on standard input, a number of seconds, by a line with what it did in about that time.
"""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp
from pgx.experimental import auto_reset
from pgx.go import Go


def main():
    """Get ready, and measure as often as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("size", 9), ("boards", 1024)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    game = Go(size=options.size)
    step = jax.vmap(auto_reset(game.step, game.init))

    @jax.jit
    def move(key, states):
        key, draw, reset = jax.random.split(key, 3)
        logits = jnp.where(states.legal_action_mask, 0.0, -jnp.inf)
        actions = jax.random.categorical(draw, logits, axis=-1)
        return key, step(states, actions, jax.random.split(reset, options.boards))

    key = jax.random.PRNGKey(1)
    states = jax.jit(jax.vmap(game.init))(jax.random.split(key, options.boards))
    key, states = jax.block_until_ready(move(key, states))
    print(json.dumps({"jax": jax.__version__, "planes": states.observation.shape[-1]}), flush=True)
    for line in sys.stdin:
        began, cpu, done = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - began < float(line):
            key, states = jax.block_until_ready(move(key, states))
            done += options.boards
        measured = {"moves": done, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
        print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
