"""Self-play by OpenSpiel's AlphaZero in Python, one position at a time: a peer for `tengen bench zero`.

Run by that command with an interpreter that has it (pip install open_spiel jax flax optax chex orbax-checkpoint). It
gets ready, prints a line of JSON, and then answers each line on standard input, a number of seconds, by a line with
what it did in about that time.

    echo 5 | JAX_PLATFORMS=cpu python benchmarks/peers/openspiel_alphazero.py --size 5 --blocks 2 --filters 32
"""

import argparse
import importlib.metadata
import json
import os
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts
from open_spiel.python.algorithms.alpha_zero import evaluator, model_linen


def main():
    """Get ready, and measure as often as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("size", 9), ("blocks", 4), ("filters", 64), ("batch", 1), ("simulations", 32)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    game = pyspiel.load_game(f"go(board_size={options.size},komi={3.5 if options.size == 5 else 7.5})")
    with tempfile.TemporaryDirectory() as folder:
        model = model_linen.Model.build_model(
            "resnet",
            game.observation_tensor_shape(),
            game.num_distinct_actions(),
            nn_width=options.filters,
            nn_depth=options.blocks,
            weight_decay=1e-4,
            learning_rate=1e-3,
            path=folder,
        )
    bot = mcts.MCTSBot(
        game,
        1.5,
        options.simulations,
        evaluator.AlphaZeroEvaluator(game, model),
        solve=False,
        dirichlet_noise=(0.25, 0.4),
        child_selection_fn=mcts.SearchNode.puct_value,
        random_state=np.random.RandomState(1),
    )
    state = game.new_initial_state()
    state.apply_action(bot.step(state))
    print(json.dumps({"open_spiel": importlib.metadata.version("open_spiel")}), flush=True)
    for line in sys.stdin:
        began, cpu, done = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - began < float(line):
            state.apply_action(bot.step(state))
            done += options.simulations
            if state.is_terminal():
                state = game.new_initial_state()
        measured = {"simulations": done, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
        print(json.dumps(measured), flush=True)


if __name__ == "__main__":
    main()
