"""Self-play by mctx (Gumbel search) and pgx (Go), all in one XLA program: a peer for `tengen bench zero`.

Run by that command with an interpreter that has both (pip install mctx pgx). It gets ready, prints a line of JSON, and
then answers each line on standard input, a number of seconds, by a line with what it did in about that time.

    echo 5 | JAX_PLATFORMS=cpu python benchmarks/peers/mctx_pgx.py --size 5 --blocks 2 --filters 32

The network is Tengen's `residual` as it is when it plays, batch normalisation folded into the convolutions.
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
import mctx
from pgx.experimental import auto_reset
from pgx.go import Go

HEAD, HIDDEN = 32, 64


def new_weights(key, planes, blocks, filters):
    """Random weights of a residual network with both heads."""
    keys = iter(jax.random.split(key, 2 * blocks + 9))

    def convolution(size, inputs, outputs):
        scale = (2 / (size * size * inputs)) ** 0.5
        return scale * jax.random.normal(next(keys), (size, size, inputs, outputs)), jnp.zeros(outputs)

    def dense(inputs, outputs):
        return (2 / inputs) ** 0.5 * jax.random.normal(next(keys), (inputs, outputs)), jnp.zeros(outputs)

    return {
        "stem": convolution(3, planes, filters),
        "blocks": [(convolution(3, filters, filters), convolution(3, filters, filters)) for _ in range(blocks)],
        "policy": (convolution(1, filters, HEAD), convolution(1, HEAD, 1), dense(2 * HEAD, 1)),
        "value": (convolution(1, filters, HEAD), dense(2 * HEAD, HIDDEN), dense(HIDDEN, 1)),
    }


def network(weights, planes):
    """Planes [B, H, W, C] -> logits [B, H * W + 1] and values [B]."""

    def convolve(x, layer):
        kernel, bias = layer
        return (
            jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias
        )

    def pooled(x):
        return jnp.concatenate([x.mean(axis=(1, 2)), x.max(axis=(1, 2))], axis=1)

    x = jax.nn.relu(convolve(planes.astype(jnp.float32), weights["stem"]))
    for first, second in weights["blocks"]:
        x = jax.nn.relu(x + convolve(jax.nn.relu(convolve(x, first)), second))
    head, points, the_pass = weights["policy"]
    policy = jax.nn.relu(convolve(x, head))
    logits = [convolve(policy, points).reshape(len(x), -1), pooled(policy) @ the_pass[0] + the_pass[1]]
    head, hidden, last = weights["value"]
    value = jax.nn.relu(pooled(jax.nn.relu(convolve(x, head))) @ hidden[0] + hidden[1])
    return jnp.concatenate(logits, axis=1), jnp.tanh(value @ last[0] + last[1])[:, 0]


def self_play(game, simulations):
    """The program that plays one move in every game."""
    step = jax.vmap(game.step)

    def look_ahead(weights, key, actions, states):
        players = states.current_player
        states = step(states, actions)
        logits, values = network(weights, states.observation)
        logits = jnp.where(states.legal_action_mask, logits, jnp.finfo(logits.dtype).min)
        rewards = states.rewards[jnp.arange(len(players)), players]
        found = mctx.RecurrentFnOutput(
            reward=rewards,
            discount=jnp.where(states.terminated, 0.0, -1.0),
            prior_logits=logits,
            value=jnp.where(states.terminated, 0.0, values),
        )
        return found, states

    def move(weights, key, states):
        search_key, reset_key = jax.random.split(key)
        logits, values = network(weights, states.observation)
        root = mctx.RootFnOutput(prior_logits=logits, value=values, embedding=states)
        found = mctx.gumbel_muzero_policy(
            weights,
            search_key,
            root,
            look_ahead,
            simulations,
            invalid_actions=~states.legal_action_mask,
            max_num_considered_actions=16,
        )
        keys = jax.random.split(reset_key, len(logits))
        return jax.vmap(auto_reset(game.step, game.init))(states, found.action, keys)

    return jax.jit(move)


def main():
    """Get ready, and measure as often as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("size", 9), ("blocks", 4), ("filters", 64), ("batch", 64), ("simulations", 32)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    game = Go(size=options.size, komi=3.5 if options.size == 5 else 7.5)
    key = jax.random.PRNGKey(1)
    states = jax.jit(jax.vmap(game.init))(jax.random.split(key, options.batch))
    weights = new_weights(key, states.observation.shape[-1], options.blocks, options.filters)
    move = self_play(game, options.simulations)
    states = jax.block_until_ready(move(weights, key, states))
    versions = {"jax": jax.__version__, "mctx": mctx.__version__, "device": jax.devices()[0].platform}
    print(json.dumps(versions), flush=True)
    for line in sys.stdin:
        began, cpu, done = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - began < float(line):
            key, this = jax.random.split(key)
            states = jax.block_until_ready(move(weights, this, states))
            done += options.batch * options.simulations
        measured = {"simulations": done, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
        print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
