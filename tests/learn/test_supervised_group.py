"""Supervised learning by several processes: the losses of one, and it goes on with more or fewer of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tengen.learn.distributed import SingleProcess
from tengen.learn.settings import SupervisedConfig
from tengen.learn.supervised import learn_supervised
from tengen.runs.folder import read_metrics
from tengen.runs.progress import RunProgress
from tengen.workers.calls import WorkerFactory
from tengen.workers.local import ProcessWorkers

NETWORK = "residual:blocks=1,filters=8,value=yes"


def make_config(tiny: Path, **settings: Any) -> SupervisedConfig:
    """A run of 40 steps with 4 validations; the batch cannot be halved."""
    usual: dict[str, Any] = {"network": NETWORK, "size": 5, "batch": 33, "positions": 1320, "epoch": 330}
    usual |= {"validate": 256, "checkpoint": 5, "bf16": False}
    return SupervisedConfig(data=str(tiny), **(usual | settings))


def losses(run: Path) -> list[float]:
    """After each validation."""
    return [line["test_loss"] for line in read_metrics(run)]


class Stopped(Exception):
    """Stands for a power cut."""


def stop_at(step: int) -> Any:
    def on_progress(now: RunProgress) -> None:
        if now.number == step:
            raise Stopped

    return on_progress


def check_group(tiny: Path, out: Path, hosts: WorkerFactory) -> None:
    """Two processes have the losses of one; stopped, one goes on, and then three."""
    config = make_config(tiny)
    learn_supervised(config, out / "one", report=False)
    learn_supervised(config, out / "two", report=False, hosts=hosts, workers=2)
    np.testing.assert_allclose(losses(out / "two"), losses(out / "one"), atol=0.03)
    with pytest.raises(Stopped):
        learn_supervised(config, out / "both", stop_at(12), report=False, hosts=hosts, workers=2)
    with pytest.raises(Stopped):
        learn_supervised(config, out / "both", stop_at(23), report=False)
    steps: list[int] = []
    learn_supervised(config, out / "both", lambda now: steps.append(now.number), report=False, hosts=hosts, workers=2)
    assert steps == list(range(21, 41))  # from the last checkpoint
    np.testing.assert_allclose(losses(out / "both"), losses(out / "one"), atol=0.03)


def test_processes_of_this_machine(tiny: Path, tmp_path: Path) -> None:
    check_group(tiny, tmp_path, ProcessWorkers)


def test_parts_make_up_the_batch() -> None:
    for size in (1, 2, 3, 7):
        positions: list[int] = []
        for rank in range(size):
            group = SingleProcess()
            group.rank, group.size = rank, size
            first, count = group.part(33)
            positions += range(first, first + count)
        assert positions == list(range(33))


@pytest.mark.long
def test_nodes_of_a_cluster(tiny: Path, tmp_path: Path, cluster_hosts: WorkerFactory) -> None:
    check_group(tiny, tmp_path, cluster_hosts)


@pytest.fixture
def cluster_hosts() -> Iterator[WorkerFactory]:
    from tengen.workers.ray_workers import ray_cluster

    from ..two_nodes import two_nodes

    with two_nodes(__name__) as cluster:
        yield ray_cluster(cluster.address)
