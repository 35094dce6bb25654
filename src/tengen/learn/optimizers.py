"""Optimisers and learning-rate schedules by name.

| name     | rule (g the gradient, one parameter)                                   | learning rate to try |
|----------|------------------------------------------------------------------------|----------------------|
| sgd      | v = momentum * v + g;  w -= lr * (g + momentum * v), after Nesterov    | 0.01 to 0.1          |
| adagrad  | s += g^2;  w -= lr * g / sqrt(s)                                       | 0.01                 |
| adadelta | s = rho * s + (1 - rho) * g^2, steps scaled by past steps              | 1.0                  |
| adam     | means of g and g^2, corrected for their start                          | 0.001                |
| adamw    | adam, with weight decay apart from the gradient                        | 0.001                |
| muon     | momentum whose steps are orthogonal matrices (`Muon` below)            | 0.005 to 0.02        |

Weight decay is part of g: g = gradient of the loss + decay * w, as if the loss had decay / 2 * |w|^2 in it. With adamw
and muon it is not: w -= lr * decay * w beside the step.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch
from torch import Tensor, nn

from tengen import _plugins
from tengen.learn.settings import OPTIMIZERS, SCHEDULES

DEFAULT_RATES: Final = defaultdict(
    lambda: 0.01, sgd=0.05, adagrad=0.01, adadelta=1.0, adam=0.001, adamw=0.001, muon=0.01
)
"""Where no rate is given; 0.01 for optimisers of plugins."""


class DivergedError(ValueError):
    """The loss is NaN or infinite: lower --rate."""


def build_optimizer(
    name: str, parameters: Iterable[nn.Parameter], rate: float, momentum: float, decay: float
) -> torch.optim.Optimizer:
    """The optimiser of this name. `momentum` is for sgd and muon; `decay` pulls weights towards zero, see above."""
    weights = list(parameters)
    match name:
        case "sgd":
            nesterov = momentum > 0
            return torch.optim.SGD(weights, rate, momentum=momentum, weight_decay=decay, nesterov=nesterov)
        case "adagrad":
            return torch.optim.Adagrad(weights, rate, weight_decay=decay)
        case "adadelta":
            return torch.optim.Adadelta(weights, rate, weight_decay=decay)
        case "adam":
            return torch.optim.Adam(weights, rate, weight_decay=decay)
        case "adamw":
            return torch.optim.AdamW(weights, rate, weight_decay=decay)
        case "muon":
            return Muon(weights, rate, momentum, decay)
    own = _plugins.find("optimizer", name)
    if own is not None:
        made: torch.optim.Optimizer = own(weights, rate, momentum, decay)
        return made
    raise ValueError(f"no optimizer is called {name!r}: choose from {', '.join(OPTIMIZERS)}")


def rate_at(schedule: str, progress: float, warm_up: float) -> float:
    """The factor on the learning rate when `progress` (0 to 1) of the run is done.

    It rises linearly over the first `warm_up` share of the run, then follows the schedule: constant; cosine or linear
    down to zero; step: a tenth after half of the run, a hundredth after three quarters.
    """
    if progress < warm_up:
        return (progress + 1e-3) / (warm_up + 1e-3)
    done = min(1.0, (progress - warm_up) / max(1e-9, 1.0 - warm_up))
    match schedule:
        case "constant":
            return 1.0
        case "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * done))
        case "linear":
            return 1.0 - done
        case "step":
            return 1.0 if done < 0.5 else 0.1 if done < 0.75 else 0.01
    raise ValueError(f"no schedule is called {schedule!r}: choose from {', '.join(SCHEDULES)}")


_ITERATION: Final = (3.4445, -4.7750, 2.0315)  # Jordan's: fast where singular values are small, 0.7 to 1.2 at the end
_STEPS: Final = 5
_LENGTH: Final = 0.2  # root mean square of Adam's usual steps, by their rate
_MEANS: Final = (0.9, 0.95)  # of Adam, for weights that are no matrices
_TINY: Final = 1e-8


class Muon(torch.optim.Optimizer):
    """Muon (Jordan et al. 2024) for matrices and convolutions, Adam for the rest; `decay` apart, as in AdamW.

    A gradient of a layer has a few large singular values and many small ones, so that plain momentum moves a layer in
    few directions. With the momentum m of a weight matrix [rows, columns] (a convolution: [outputs, inputs *
    kernel^2]),

        m = momentum * m + g            u = g + momentum * m         after Nesterov
        o = (u u')^(-1/2) u             all singular values become 1, by Newton and Schulz's iteration
        w -= lr * (0.2 * sqrt(max(rows, columns)) * o + decay * w)

    The factor (Liu et al. 2025) makes a step as long as one of Adam usually is, so that weights that are no matrices
    (biases, the scales of batch normalisation) can follow Adam at the same rate.
    """

    def __init__(self, weights: Iterable[nn.Parameter], lr: float, momentum: float = 0.95, decay: float = 0.0) -> None:
        super().__init__(weights, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step by the gradients."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                direction = _muon if weight.ndim >= 2 and min(weight.shape[0], weight[0].numel()) > 1 else _adam
                change = direction(weight.grad, self.state[weight], group["momentum"])
                weight.mul_(1 - group["lr"] * group["decay"]).add_(change, alpha=-group["lr"])


def orthogonal(matrix: Tensor) -> Tensor:
    """About the nearest matrix with orthonormal rows (or columns, if these are fewer): [rows, columns] for the same."""
    wide = matrix.shape[0] <= matrix.shape[1]
    x: Tensor = (matrix if wide else matrix.T) / (matrix.norm() + _TINY)
    a, b, c = _ITERATION
    for _ in range(_STEPS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x if wide else x.T


def _muon(gradient: Tensor, state: dict[str, Any], momentum: float) -> Tensor:
    if not state:
        state["mean"] = torch.zeros_like(gradient)
    mean = state["mean"].mul_(momentum).add_(gradient)
    matrix = gradient.add(mean, alpha=momentum).flatten(1)
    scale = _LENGTH * math.sqrt(max(matrix.shape))
    return orthogonal(matrix).mul_(scale).view_as(gradient)


def _adam(gradient: Tensor, state: dict[str, Any], _: float) -> Tensor:
    if not state:
        state.update(mean=torch.zeros_like(gradient), square=torch.zeros_like(gradient), step=torch.tensor(0.0))
    state["step"] += 1
    first, second = _MEANS
    mean, square, step = state["mean"], state["square"], float(state["step"])
    mean.lerp_(gradient, 1 - first)
    square.lerp_(gradient.square(), 1 - second)
    change: Tensor = (mean / (1 - first**step)) / ((square / (1 - second**step)).sqrt() + _TINY)
    return change
