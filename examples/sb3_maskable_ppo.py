"""Stable-Baselines3's MaskablePPO learns tic-tac-toe, or Go on a small board, against random moves.

pip install 'tengen[rl]' sb3-contrib

    python examples/sb3_maskable_ppo.py                      # 30,000 steps: wins from 60% to 85% or more
    python examples/sb3_maskable_ppo.py go size=3 komi=0.5
"""

import sys
from typing import Any

from sb3_contrib import MaskablePPO

import tengen


def train(game: str, steps: int, seed: int = 1, **options: Any) -> MaskablePPO:
    """A policy that has played so many moves."""
    env = tengen.envs.solo_env(game, **options)
    model = MaskablePPO("MlpPolicy", env, n_steps=1024, batch_size=256, learning_rate=1e-3, gamma=1.0, seed=seed)
    model.learn(steps)
    return model


def score(game: str, model: MaskablePPO | None, games: int, seed: int = 2, **options: Any) -> float:
    """The mean result of so many games, -1 to 1, by the policy or by random moves."""
    env = tengen.envs.solo_env(game, **options)
    env.action_space.seed(seed)
    total = 0.0
    for number in range(games):
        observation, info = env.reset(seed=seed + number)
        done = False
        while not done:
            if model is None:
                action = int(env.action_space.sample(mask=info["action_mask"].astype("int8")))
            else:
                action = int(model.predict(observation, action_masks=env.action_masks(), deterministic=True)[0])
            observation, reward, done, _, info = env.step(action)
            total += reward
    return total / games


def main() -> None:
    """Train, and compare with random moves."""
    game, *words = sys.argv[1:] or ["tictactoe"]
    options: dict[str, Any] = {name: float(value) for name, value in (word.split("=") for word in words)}
    if "size" in options:
        options["size"] = int(options["size"])
    print("random moves:", score(game, None, 500, **options))
    print("MaskablePPO: ", score(game, train(game, 30_000, **options), 500, **options))


if __name__ == "__main__":
    main()
