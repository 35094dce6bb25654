"""The network that learns from self-play: its loss, its optimiser, its running average, its checkpoint and its export.

The loss and its coefficients are described in `zero_config.py`.
"""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tengen.encode.game_spec import GameSpec
from tengen.learn.distributed import answers, find_device
from tengen.learn.optimizers import DivergedError, build_optimizer, rate_at
from tengen.learn.replay import ReplayBatch
from tengen.learn.trainer import load_checkpoint, save_checkpoint
from tengen.learn.warm_start import start_from
from tengen.learn.zero import MACHINE_SETTINGS, ZeroConfig
from tengen.nets.model_file import ModelCard, save_model
from tengen.nets.network import Network, PolicyValueOutput, build_network
from tengen.nets.registry import parse_network

_FORBIDDEN = -1e4  # the logit of an illegal action: nothing is left of it after the softmax


class Losses(NamedTuple):
    """The parts of the loss, before they are weighted."""

    policy: Tensor
    value: Tensor
    ownership: Tensor
    score: Tensor


class ZeroTrainer:
    """A network, its optimiser and the running average of its weights."""

    def __init__(self, config: ZeroConfig, spec: GameSpec) -> None:
        self.config = config
        self.step = 0
        self.network = self._fresh(spec)
        self.averaged = self._fresh(spec)
        """The network that plays and is kept."""
        self.optimizer = build_optimizer(
            config.optimizer, self.network.parameters(), config.rate, config.momentum, config.decay
        )
        self._points = spec.batch.height * spec.batch.width
        self._ours = [value for value in self.network.state_dict().values() if value.is_floating_point()]
        self._means = [value for value in self.averaged.state_dict().values() if value.is_floating_point()]

    @property
    def rate(self) -> float:
        """The learning rate of the last step."""
        return float(self.optimizer.param_groups[0]["lr"])

    def learn(self, batch: ReplayBatch, done: float) -> NDArray[np.float32]:
        """One step of the optimiser, when this share of the run is done; float32[4], the parts of the loss."""
        config = self.config
        warm = min(1.0, (self.step + 1) / config.warm_up) if config.warm_up else 1.0
        fallen = config.rate_floor + (1.0 - config.rate_floor) * rate_at(config.schedule, min(1.0, done), 0.0)
        for group in self.optimizer.param_groups:
            group["lr"] = config.rate * warm * fallen
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        losses = self._losses(answers(self.network, batch.planes, config.bf16), batch)
        weights = (config.policy_weight, config.value_weight, config.ownership_weight, config.score_weight)
        loss = sum((weight * part for weight, part in zip(weights, losses)), torch.zeros(()))
        loss.backward()  # type: ignore[no-untyped-call]
        if config.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.clip)
        self.optimizer.step()
        self.step += 1
        self._follow()
        parts = torch.stack(losses).detach().numpy()
        if not math.isfinite(float(parts.sum())):
            raise DivergedError(
                f"the loss is NaN or infinite at step {self.step}: resume with a lower --rate than {config.rate:g}, "
                f"or with --clip"
            )
        return np.asarray(parts)

    def measure(self, batch: ReplayBatch) -> dict[str, float]:
        """The losses of the averaged network on positions it has not seen, and the entropy of the policies there."""
        self.averaged.eval()
        with torch.inference_mode():
            losses = self._losses(answers(self.averaged, batch.planes), batch)
        known = batch.policy[batch.policy.sum(axis=1) > 0]
        entropy = -(known * np.log(np.maximum(known, 1e-12))).sum(axis=1).mean() if len(known) else 0.0
        return {"policy": float(losses.policy), "value": float(losses.value), "entropy": float(entropy)}

    def save(self, path: Path, progress: dict[str, Any]) -> None:
        """Write all that is needed to go on."""
        average = self.averaged.state_dict()
        save_checkpoint(path, self.network, self.optimizer, average, progress | {"step": self.step})

    def load(self, path: Path) -> dict[str, Any]:
        """Go on from a checkpoint; returns the progress that was saved with it."""
        average: dict[str, Tensor] = {}
        progress = load_checkpoint(path, self.network, self.optimizer, average)
        self.averaged.load_state_dict(average)
        self.step = progress["step"]
        return progress

    def export(self, path: Path, planes: NDArray[np.uint8] | None, **training: Any) -> dict[str, float]:
        """Write the averaged network as a model file, calibrated for 8 bits on half of the planes: uint8[n, C, H, W].

        Returns how well the 8-bit network agrees with the exact one on the other half: top1, policy, value.
        """
        config = self.config
        recipe = {name: value for name, value in asdict(config).items() if name not in MACHINE_SETTINGS}
        about = {"encoder": config.encoder, "game": config.game, "rules": config.rules}
        card = ModelCard.of(self.averaged.eval(), **about, **training, recipe=recipe)
        if planes is None or config.backend != "int8":
            save_model(path, self.averaged, card)
            return {}
        from tengen.nets.openvino_evaluator import apart, calibrate

        known, unseen = apart(planes)
        architecture, weights = self.averaged.architecture, self.averaged.weights()
        save_model(path, self.averaged, card, ranges=calibrate(architecture, weights, known))
        return _agreement(path, unseen) if len(unseen) else {}

    def _losses(self, output: PolicyValueOutput, batch: ReplayBatch) -> Losses:
        """The parts of the loss, each a mean over the positions that have a target for it."""
        config, none = self.config, torch.zeros(())
        target = torch.from_numpy(batch.policy)
        logits = output.policy.float().masked_fill(~torch.from_numpy(batch.legal), _FORBIDDEN)
        known = target.sum().clamp(min=1.0)  # every target sums to 1
        policy = -(target * torch.log_softmax(logits, dim=1)).sum() / known
        result = torch.from_numpy((1.0 - config.blend) * batch.value + config.blend * batch.root_value)
        assert output.value is not None
        value = (output.value.float() - result).square().mean()
        ownership = score = none
        counted = torch.from_numpy(batch.counted.astype(np.float32))
        share = counted.sum().clamp(min=1.0)
        if output.ownership is not None and batch.ownership.shape[1]:
            owners = torch.from_numpy(batch.ownership).float()
            ownership = ((output.ownership.float() - owners).square().mean(dim=1) * counted).sum() / share
        if output.score is not None and batch.ownership.shape[1]:
            margin = torch.from_numpy(batch.score / self._points)
            score = ((output.score.float() - margin).square() * counted).sum() / share
        return Losses(policy, value, ownership, score)

    def _follow(self) -> None:
        """Move the running average a little towards the weights."""
        weight = 1.0 - min(self.config.average, self.step / (self.step + 9))
        with torch.no_grad():
            torch._foreach_lerp_(self._means, self._ours, weight)

    def _fresh(self, spec: GameSpec) -> Network:
        """The network as the run begins."""
        name, arguments = parse_network(self.config.network)
        planes, height, width = spec.shape
        shape = {"width": width, "actions": spec.batch.actions}
        network = build_network(name, planes, height, **shape, seed=self.config.seed, **arguments)
        if self.config.start_from:
            start_from(network, self.config.start_from)
        return network.to(find_device(self.config.device))


def _agreement(model: Path, planes: NDArray[np.uint8]) -> dict[str, float]:
    """How well the 8-bit network in a file agrees with the exact one."""
    from tengen.nets.evaluator import load_evaluator
    from tengen.nets.openvino_evaluator import agreement

    exact, rounded = (load_evaluator(model, backend)[0] for backend in ("openvino", "int8"))
    return agreement(exact, rounded, planes)
