"""Networks for tests of search: one that knows nothing, and one with an opinion on everything."""

import numpy as np

from tengen.search.lockstep import Lockstep


class Uniform:
    """All actions are equally likely, all positions even."""

    architecture = None

    def __init__(self, game: Lockstep) -> None:
        self.actions = game.actions

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((len(planes), self.actions), np.float32), np.zeros(len(planes), np.float32)


class Opinionated:
    """What it says depends on the position alone, down to the last bit, and on nothing sensible; it counts batches."""

    architecture = None

    def __init__(self, game: Lockstep, seed: int = 1) -> None:
        self.actions, self.batches = game.actions, []
        points = game.planes * game.height * game.width
        self.weights = np.random.default_rng(seed).integers(-(2**20), 2**20, (points, 3))

    def evaluate(self, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.batches.append(len(planes))
        mixed = planes.reshape(len(planes), -1).astype(np.int64) @ self.weights  # exact, whatever the batch
        angles = (mixed[:, :1] * np.arange(1, self.actions + 1) + mixed[:, 1:2]) % 4096
        return np.sin(angles / 700.0).astype(np.float32), np.sin(mixed[:, 2] % 4096 / 500.0).astype(np.float32) * 0.7
