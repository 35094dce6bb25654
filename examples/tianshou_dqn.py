"""Tianshou's DQN learns tic-tac-toe against random moves; the mask of legal actions is part of its observation.

pip install 'tengen[rl]' 'tianshou>=2'

    python examples/tianshou_dqn.py
"""

from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import tengen


class WithMask(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Observations as Tianshou's policies want them: a dict of `obs` and `mask`."""

    def __init__(self, game: str) -> None:
        self.solo = tengen.envs.solo_env(game)
        super().__init__(self.solo)
        planes, actions = self.solo.observation_space, self.solo.action_space
        mask = spaces.MultiBinary(int(actions.n))
        self.observation_space = spaces.Dict({"obs": planes, "mask": mask})

    def observation(self, observation: Any) -> dict[str, Any]:
        """The planes, and which actions are legal."""
        return {"obs": observation.astype(np.float32), "mask": self.solo.action_masks()}


def train(game: str, steps: int, seed: int = 1) -> tuple[float, float]:
    """The mean result of 200 games before, and after so many moves."""
    np.random.seed(seed)
    torch.manual_seed(seed)
    env = WithMask(game)
    planes, actions = env.solo.observation_space, env.solo.action_space
    net = Net(state_shape=planes.shape, action_shape=int(actions.n), hidden_sizes=[128, 128])
    policy = DiscreteQLearningPolicy(model=net, action_space=actions, eps_training=0.2, eps_inference=0.0)
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=1.0, target_update_freq=200)
    train_envs = DummyVectorEnv([lambda: WithMask(game) for _ in range(8)])
    test_envs = DummyVectorEnv([lambda: WithMask(game) for _ in range(8)])
    train_envs.seed(seed)
    test_envs.seed(seed + 100)
    test = Collector[Any](algorithm, test_envs)
    test.reset()
    before = float(test.collect(n_episode=200).returns.mean())
    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=Collector[Any](algorithm, train_envs, VectorReplayBuffer(20_000, 8)),
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=64,
            update_step_num_gradient_steps_per_sample=0.25,
            batch_size=64,
            verbose=False,
            show_progress=False,
        )
    )
    test.reset()
    return before, float(test.collect(n_episode=200).returns.mean())


def main() -> None:
    """Train, and compare."""
    before, after = train("tictactoe", 15_000)
    print(f"before {before:.2f}, after {after:.2f}")


if __name__ == "__main__":
    main()
