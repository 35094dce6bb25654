"""Training on another device than the processor, and by several processes.

The other device is `meta`, whose tensors have shapes and no numbers. An operation that mixes devices fails there as it
would on a graphics card, of which there is none to test with. What comes back to the processor is zeros.
"""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tengen.learn import distributed
from tengen.learn.distributed import find_device
from tengen.learn.reinforce import learn_reinforce
from tengen.learn.supervised import learn_supervised, open_store
from tengen.learn.zero import learn_zero
from tengen.runs.folder import read_metrics

from .zero_stand_ins import toy_config

pytestmark = pytest.mark.filterwarnings("ignore:for .*copying from a non-meta parameter")


class _Fetch(torch.autograd.Function):
    """From `meta` to the processor, and gradients the other way."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        return torch.zeros(value.shape, dtype=value.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.to("meta")


@pytest.fixture(autouse=True)
def with_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if `meta` were a card."""
    fetch: Any = _Fetch.apply
    there = Tensor.cpu
    monkeypatch.setattr(Tensor, "cpu", lambda self: fetch(self) if self.is_meta else there(self))
    count = distributed._count
    monkeypatch.setattr(distributed, "_count", lambda kind: 1 if kind == "meta" else count(kind))


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_records(tiny: Path, tmp_path: Path, optimizer: str) -> None:
    network = "residual:blocks=1,filters=4,value=yes,ownership=yes"
    settings: dict[str, Any] = {"size": 5, "network": network, "batch": 16, "epoch": 64, "validate": 32}
    settings |= {"optimizer": optimizer, "average": 0.9, "device": "meta", "report": False}
    learn_supervised(str(tiny), tmp_path, positions=64, hours=1.0, **settings)
    weight = torch.empty(1, device="meta")
    with pytest.raises(RuntimeError, match="meta"):
        weight + torch.zeros(2)  # so this test can fail
    assert [line["step"] for line in read_metrics(tmp_path)] == [4]


def test_self_play(tmp_path: Path) -> None:
    config = toy_config(iterations=1, workers=1, device="meta")
    assert learn_zero(config, tmp_path, report=False)["generation"] == 1
    assert learn_zero(config, tmp_path, iterations=2, report=False)["generation"] == 2  # goes on from a checkpoint


def test_policy_gradient(tmp_path: Path) -> None:
    games: dict[str, Any] = {"games": 8, "updates": 1, "measure": 1, "match_games": 8, "workers": 1, "threads": 1}
    learn_reinforce("go5", tmp_path, device="meta", **games)
    assert read_metrics(tmp_path)


def test_only_devices_that_are_there(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_device("cpu").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_device("cuda:1").index == 1
    with pytest.raises(ValueError, match="finds no device cuda:2 here"):
        learn_supervised(str(tiny), tmp_path / "run", size=5, device="cuda:2")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x", "cuda:-1", "xla", "mps:7"])
def test_rubbish(name: str) -> None:
    with pytest.raises(ValueError, match="no device"):
        find_device(name)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_the_store_listens_on_its_own_address_alone() -> None:
    store = open_store("127.0.0.1")
    store.set("a", "1")
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    listening = [line.split() for table in tables for line in table.splitlines()]
    places = [each[1].split(":") for each in listening if each[3] == "0A"]
    assert [host for host, port in places if int(port, 16) == store.port] == ["0100007F"]
