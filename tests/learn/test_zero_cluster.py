"""The loop on a real Ray cluster: a worker and a node are killed, a node is added, and every position counts once."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tengen.learn.replay import ChunkFolder
from tengen.learn.zero import learn_zero
from tengen.runs.folder import read_metrics
from tengen.runs.progress import RunProgress
from tengen.workers.ray_workers import ray_cluster

from ..two_nodes import TwoNodes, two_nodes
from .zero_stand_ins import toy_config


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with two_nodes(__name__) as cluster:
        yield cluster


def account(run: Path) -> list[int]:
    """The positions of each round by the metrics, after a check that the chunks hold just these."""
    chunks = ChunkFolder(run / "chunks")
    ends = [line["positions"] for line in read_metrics(run) if "generation" in line]
    assert [facts.first for facts in chunks.facts] == [0, *(facts.end for facts in chunks.facts[:-1])]
    for facts in chunks.facts:
        assert len(chunks.read(facts).value) == facts.positions
    assert ends[-1] == chunks.facts[-1].end
    assert sum(len(chunks.read_games(facts).winner) for facts in chunks.facts) == chunks.facts[-1].games
    return np.diff([0, *ends]).tolist()


@pytest.mark.long
def test_a_run_goes_on_whatever_is_killed(cluster: TwoNodes, tmp_path: Path) -> None:
    happened: list[str] = []

    def disturb(now: RunProgress) -> None:
        if now.phase != "self-play" or not 0.1 < now.share < 0.9:
            return
        if not happened:
            happened.append("worker")
            os.kill(cluster.worker(), signal.SIGKILL)
        elif happened == ["worker"] and now.number == 2:
            happened.append("node")
            cluster.kill()
        elif happened == ["worker", "node"] and now.number == 3:
            happened.append("added")
            cluster.add()

    config = toy_config(iterations=4, positions=400, workers=0, duel_every=2, window_first=4000, window_most=4000)
    last = learn_zero(config, tmp_path, disturb, hosts=ray_cluster(cluster.address), report=False)
    assert happened == ["worker", "node", "added"]
    assert last["generation"] == 4
    assert len(account(tmp_path)) == 4
    assert min(account(tmp_path)) >= 400
    models = [path.name for path in (tmp_path / "models").iterdir()]
    assert sorted(models) == [f"g{number:04d}.safetensors" for number in range(5)]


def test_a_run_may_change_between_the_cluster_and_this_machine(cluster: TwoNodes, tmp_path: Path) -> None:
    config = toy_config(iterations=1, workers=1)
    learn_zero(config, tmp_path, hosts=ray_cluster(cluster.address), report=False)
    assert learn_zero(config, tmp_path, iterations=2, report=False)["generation"] == 2
    last = learn_zero(config, tmp_path, hosts=ray_cluster(cluster.address), iterations=3, report=False)
    assert last["generation"] == 3
    assert len(account(tmp_path)) == 3
