"""All that a trainer must remember to go on exactly: weights, optimiser, averages, random numbers; no pickle.

One `.safetensors` file. Tensors lie under `network.`, `average.`, `optimizer.<parameter>.<name>` and `random`;
everything else (step, best score, ...) is JSON in the metadata. The checkpoint before it stays beside it, for the case
that the disk damages the newest one.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tengen.runs.arrays import load_arrays, save_arrays


class CheckpointError(ValueError):
    """A checkpoint that cannot be read or does not fit the run."""


def save_checkpoint(
    path: Path,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: dict[str, Tensor],
    progress: dict[str, Any],
) -> None:
    """Write everything in one step. `progress` is anything that JSON can say."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    tensors |= {f"average.{name}": value for name, value in average.items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {
            f"optimizer.{index}.{name}": torch.as_tensor(value) for name, value in state.items() if value is not None
        }
    tensors["random"] = torch.get_rng_state()
    _keep_last(path)
    arrays = {name: value.detach().cpu().numpy() for name, value in tensors.items()}
    save_arrays(path, arrays, {"progress": json.dumps(progress)})


def load_checkpoint(
    path: Path, network: nn.Module, optimizer: torch.optim.Optimizer, average: dict[str, Tensor]
) -> dict[str, Any]:
    """Put everything back as it was; returns the progress that was saved with it."""
    try:
        arrays, about = load_arrays(path)
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        progress: dict[str, Any] = json.loads(about["progress"])
        network.load_state_dict(_part(tensors, "network."))
        weights = network.state_dict()
        average.clear()
        average.update({name: _like(weights[name], value) for name, value in _part(tensors, "average.").items()})
        _load_optimizer(optimizer, _part(tensors, "optimizer."))
        torch.set_rng_state(tensors["random"])
    except (KeyError, IndexError, TypeError, RuntimeError, ValueError) as error:
        before = _last(path)
        remedy = f"go on from the checkpoint before with mv {before} {path}, or " if before.exists() else ""
        raise CheckpointError(
            f"{path} does not fit this run or is damaged ({error}): {remedy}delete it to begin anew"
        ) from None
    return progress


def _last(path: Path) -> Path:
    """Where the checkpoint before this one is kept."""
    return path.with_name(f"{path.stem}-before{path.suffix}")


def _keep_last(path: Path) -> None:
    """Give the checkpoint that is about to be replaced a second name, on disks that can."""
    with suppress(OSError):
        _last(path).unlink(missing_ok=True)
        os.link(path, _last(path))


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    full = optimizer.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = value
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    for number, values in state.items():
        state[number] = {name: _like(weights[number], value) for name, value in values.items()}
    optimizer.load_state_dict({"state": state, "param_groups": full["param_groups"]})


def _like(weight: Tensor, value: Tensor) -> Tensor:
    """The value, in the memory order of the weight if it has its shape: a file keeps no memory order."""
    return torch.empty_like(weight, dtype=value.dtype).copy_(value) if value.shape == weight.shape else value
