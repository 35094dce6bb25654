"""Optimisers and learning-rate schedules by name.

| name     | rule (g the gradient, one parameter)                                   | learning rate to try |
|----------|------------------------------------------------------------------------|----------------------|
| sgd      | v = momentum * v + g;  w -= lr * (g + momentum * v), after Nesterov    | 0.01 to 0.1          |
| adagrad  | s += g^2;  w -= lr * g / sqrt(s)                                       | 0.01                 |
| adadelta | s = rho * s + (1 - rho) * g^2, steps scaled by past steps              | 1.0                  |
| adam     | means of g and g^2, corrected for their start                          | 0.001                |
| adamw    | adam, with weight decay apart from the gradient                        | 0.001                |
| muon     | momentum whose steps are orthogonal matrices (`muon.py`)               | 0.005 to 0.02        |

Weight decay is part of g: g = gradient of the loss + decay * w, as if the loss had decay / 2 * |w|^2 in it. With adamw
and muon it is not: w -= lr * decay * w beside the step.
"""

import math
from collections.abc import Iterable
from typing import Final

import torch
from torch import nn

from tengen.learn.muon import Muon
from tengen.learn.training_config import OPTIMIZERS, SCHEDULES

DEFAULT_RATES: Final = {"sgd": 0.05, "adagrad": 0.01, "adadelta": 1.0, "adam": 0.001, "adamw": 0.001, "muon": 0.01}


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
