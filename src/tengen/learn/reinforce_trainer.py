"""The policy that learns from the results of its games: REINFORCE (Williams 1992), as in Silver et al. 2016.

    L = mean over the learner's moves of  -(z - b) log p(a | s)  + value_weight * (z - v(s))^2  - entropy * H(p)

An update makes several steps, and after the first of them the policy p is no longer the one that drew the moves, q.
Then -(z - b) log p would push the moves of lost games ever further away, wherever that leads (in Go, to passing). So
the first term is -(z - b) p / q, which has the same gradient at p = q, and none where p / q has gone beyond 1 - trust
or 1 + trust in the wanted direction, as in proximal policy optimisation (Schulman et al. 2017). With trust 0 it is
-(z - b) log p.

z is the result for who moved, b the baseline, p the softmax over the actions that could be drawn. The network is in
evaluation mode throughout: batch normalisation keeps the statistics that it played with, so the gradient is that of
the policy that drew the moves. Positions of one game share its result, so each counts 1 / (moves of the game) in the
value's mean. The value head, if there is one, is trained along; other heads keep their weights.
"""

import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tengen.learn.distributed import answers, find_device
from tengen.learn.optimizers import DivergedError, build_optimizer
from tengen.learn.reinforce_config import MACHINE_SETTINGS, ReinforceConfig
from tengen.learn.reinforce_games import BOTH, Experience, LearnedPositions, PositionReader
from tengen.learn.trainer import load_checkpoint, save_checkpoint
from tengen.nets.model_file import ModelCard, load_network, save_model
from tengen.nets.network import PolicyValueOutput
from tengen.nets.openvino_evaluator import calibrate

_FORBIDDEN = -1e4  # the logit of an action that could not be drawn: nothing is left of it after the softmax


class Losses(NamedTuple):
    """The parts of the loss, before they are weighted."""

    policy: Tensor
    value: Tensor
    entropy: Tensor


def policy_gradient_losses(
    output: PolicyValueOutput, batch: LearnedPositions, baseline: Tensor, trust: float = 0.0, temperature: float = 1.0
) -> Losses:
    """The parts of the loss of B positions; baseline: [B]."""
    rewards = torch.from_numpy(batch.rewards)
    logits = output.policy.float() / temperature
    logs = torch.log_softmax(logits.masked_fill(~torch.from_numpy(batch.sensible), _FORBIDDEN), dim=1)
    played = logs.gather(1, torch.from_numpy(batch.actions)[:, None])[:, 0]
    gains = rewards - baseline
    if trust:
        ratios = (played - torch.from_numpy(batch.chances).log()).exp()
        policy = -torch.minimum(gains * ratios, gains * ratios.clamp(1 - trust, 1 + trust)).mean()
    else:
        policy = -(gains * played).mean()
    entropy = -(logs.exp() * logs).sum(dim=1).mean()
    if output.value is None:
        return Losses(policy, torch.zeros(()), entropy)
    shares = torch.from_numpy(1.0 / batch.lengths)
    value = (shares * (output.value.float() - rewards).square()).sum() / shares.sum()
    return Losses(policy, value, entropy)


class ReinforceTrainer:
    """A network and its optimiser."""

    def __init__(self, config: ReinforceConfig, start: Path) -> None:
        self.config = config
        self.network, self.card = load_network(start)
        self.network.to(find_device(config.device))
        weights = self.network.parameters()
        self.optimizer = build_optimizer(config.optimizer, weights, config.rate, config.momentum, 0.0)
        self.means = {1: 0.0, 2: 0.0}
        """The mean of the learner's results in the last update as the first player, and as the second."""

    def learn(
        self,
        experience: Experience,
        reader: PositionReader,
        update: int,
        on_step: Callable[[float, dict[str, float]], None] = lambda share, figures: None,
    ) -> dict[str, float]:
        """Learn from the games of an update, the first being 1; returns the means of the parts of the loss."""
        config = self.config
        self.means = mean_results(experience)
        for group in self.optimizer.param_groups:
            group["lr"] = config.rate
        rng = np.random.default_rng((config.seed, update, 3))
        sums, done = np.zeros(3), 0
        orders = [rng.permutation(len(reader)) for _ in range(config.passes)]
        parts = [part for order in orders for part in np.array_split(order, max(1, round(len(order) / config.batch)))]
        for part in parts:
            sums += len(part) * self._step(reader.read(part))
            done += len(part)
            figures = dict(zip(("policy", "value", "entropy"), (sums / done).tolist()))
            on_step(done / (config.passes * len(reader)), figures)
        return figures

    def save(self, path: Path, progress: dict[str, Any]) -> None:
        """Write all that is needed to go on."""
        save_checkpoint(path, self.network, self.optimizer, {}, progress)

    def load(self, path: Path) -> dict[str, Any]:
        """Go on from a checkpoint; returns the progress that was saved with it."""
        return load_checkpoint(path, self.network, self.optimizer, {})

    def export(self, path: Path, planes: NDArray[np.uint8] | None, **training: Any) -> None:
        """Write the network as a model file, calibrated for 8 bits on planes: uint8[n, C, H, W] if there are any."""
        recipe = {name: value for name, value in asdict(self.config).items() if name not in MACHINE_SETTINGS}
        recipe["start_from"] = Path(self.config.start_from).stem
        about = {"encoder": self.card.encoder, "game": self.card.game, "rules": self.config.rules}
        card = ModelCard.of(self.network, **about, **training, recipe=recipe)
        ranges = None if planes is None else calibrate(self.network.architecture, self.network.weights(), planes)
        save_model(path, self.network, card, ranges=ranges)

    def _step(self, batch: LearnedPositions) -> NDArray[np.float64]:
        """One step of the optimiser; float64[3], the parts of the loss."""
        config = self.config
        self.optimizer.zero_grad(set_to_none=True)
        output = answers(self.network, batch.planes, config.bf16, to_play=True)
        baseline = self._baseline(output, batch)
        losses = policy_gradient_losses(output, batch, baseline, config.trust, config.temperature)
        total = losses.policy + config.value_weight * losses.value - config.entropy * losses.entropy
        total.backward()  # type: ignore[no-untyped-call]
        if config.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.clip)
        self.optimizer.step()
        parts = torch.stack(losses).detach().double().numpy()
        if not math.isfinite(float(parts.sum())):
            raise DivergedError(f"the loss is NaN or infinite: resume with a lower --rate than {config.rate:g}")
        return np.asarray(parts)

    def _baseline(self, output: PolicyValueOutput, batch: LearnedPositions) -> Tensor:
        """[B]: what results are compared with."""
        if self.config.baseline == "value":
            assert output.value is not None
            return output.value.detach().float()
        if self.config.baseline == "mean":
            return torch.from_numpy(np.where(batch.players == 1, self.means[1], self.means[2]).astype(np.float32))
        return torch.zeros(len(batch.rewards))


def mean_results(experience: Experience) -> dict[int, float]:
    """The mean of the learner's results as the first player (1) and as the second (2); 0 where there is none."""
    found = {}
    for player in (1, 2):
        winner = experience.winner[(experience.learner == player) | (experience.learner == BOTH)]
        results = np.where(winner == 0, 0, np.where(winner == player, 1, -1))
        found[player] = float(results.mean()) if len(results) else 0.0
    return found
