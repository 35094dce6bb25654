"""A checkpoint holds all that matters, and a damaged one says so."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tengen.learn.optimizers import build_optimizer
from tengen.learn.settings import OPTIMIZERS
from tengen.learn.trainer import load_checkpoint, save_checkpoint
from tengen.nets.network import Network, build_network
from tengen.runs.folder import FolderError


class Run:
    """A network that learns from noise, with an average of its weights."""

    def __init__(self, optimizer: str, blocks: int = 1) -> None:
        self.network: Network = build_network("residual", 3, 5, seed=1, blocks=blocks, filters=4, dropout=0.3)
        self.optimizer = build_optimizer(optimizer, self.network.parameters(), 0.01, 0.9, 1e-4)
        self.average = {name: value.clone() for name, value in self.network.state_dict().items()}

    def step(self) -> None:
        """One step; batch and dropout come from torch's own random numbers."""
        self.optimizer.zero_grad()
        planes = torch.randint(0, 2, (8, 3, 5, 5), dtype=torch.uint8)
        self.network(planes).policy.logsumexp(1).mean().backward()
        self.optimizer.step()
        for name, value in self.network.state_dict().items():
            self.average[name] = (self.average[name] * 0.9 + value * 0.1).to(value.dtype)

    def save(self, path: Path, **progress: Any) -> None:
        save_checkpoint(path, self.network, self.optimizer, self.average, progress)

    def load(self, path: Path) -> dict[str, Any]:
        return load_checkpoint(path, self.network, self.optimizer, self.average)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_what_follows_a_checkpoint_is_the_same_to_the_last_bit(optimizer: str, tmp_path: Path) -> None:
    path = tmp_path / "trainer.safetensors"
    run = Run(optimizer)
    torch.manual_seed(3)
    for _ in range(3):
        run.step()
    run.save(path, step=3, best={"loss": 1.5})
    for _ in range(3):
        run.step()
    torch.manual_seed(99)
    other = Run(optimizer)
    assert other.load(path) == {"step": 3, "best": {"loss": 1.5}}
    for _ in range(3):
        other.step()
    for mine, its in ((run.network.state_dict(), other.network.state_dict()), (run.average, other.average)):
        assert mine.keys() == its.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name].numpy(), its[name].numpy(), name)


def test_memory_order_survives(tmp_path: Path) -> None:
    """Convolutions are kept in channels_last; averages and momenta in another order would cost time at each step."""
    run = Run("sgd")
    run.step()
    run.save(tmp_path / "c")
    other = Run("sgd")
    other.load(tmp_path / "c")
    strides = {name: value.stride() for name, value in other.network.state_dict().items()}
    assert {name: value.stride() for name, value in other.average.items()} == strides
    for weight in other.network.parameters():
        assert other.optimizer.state[weight]["momentum_buffer"].stride() == weight.stride()


def test_infinity_survives_as_progress(tmp_path: Path) -> None:
    Run("sgd").save(tmp_path / "c", best={"loss": float("inf")})
    assert Run("sgd").load(tmp_path / "c") == {"best": {"loss": float("inf")}}


def test_a_damaged_or_foreign_checkpoint_is_told_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "c"
    Run("sgd").save(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[: len(whole) // 2], b"x" * 1000):
        path.write_bytes(damaged)
        with pytest.raises(FolderError, match="delete it to start again"):
            Run("sgd").load(path)
    path.write_bytes(whole)
    with pytest.raises(FolderError, match="does not fit"):
        Run("sgd", blocks=2).load(path)


def test_the_checkpoint_before_is_kept_and_named_where_the_newest_is_damaged(tmp_path: Path) -> None:
    path, before = tmp_path / "trainer.safetensors", tmp_path / "trainer-before.safetensors"
    Run("sgd").save(path, step=1)
    assert not before.exists()
    for step in (2, 3):
        Run("sgd").save(path, step=step)
        assert Run("sgd").load(before) == {"step": step - 1}
    path.write_bytes(b"x")
    with pytest.raises(FolderError, match=f"mv {before} {path}, or delete it to start again"):
        Run("sgd").load(path)
