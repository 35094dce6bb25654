"""A real Ray cluster of two nodes with one core each, on this machine and bound to 127.0.0.1."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # else Ray takes the address of the machine for 127.0.0.1
ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster  # noqa: E402

from tengen.workers.calls import Calls  # noqa: E402
from tengen.workers.ray_workers import HEALTH_CHECKS  # noqa: E402

SECONDS = 90.0  # for which a test waits for what must come
_NODE = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 80 * 2**20}


class TwoNodes:
    """The cluster: its head, which stays, and another node, which may be killed and added again."""

    def __init__(self) -> None:
        head = _NODE | {"include_dashboard": False, "_system_config": dict(HEALTH_CHECKS)}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address: str = self._cluster.address
        self._other: Any = None
        self.add()

    def add(self) -> None:
        """Have the other node."""
        if self._other is None:
            self._other = self._cluster.add_node(**_NODE)

    def kill(self) -> None:
        """Kill the other node and all on it."""
        self._cluster.remove_node(self._other, allow_graceful=False)
        self._other = None

    def worker(self) -> int:
        """The process of one of the actors."""
        alive = [actor for actor in ray._private.state.actors().values() if actor["State"] == "ALIVE"]
        return int(alive[0]["Pid"])

    def close(self) -> None:
        """End everything."""
        ray.shutdown()
        self._cluster.shutdown()


@contextmanager
def two_nodes(module: str) -> Iterator[TwoNodes]:
    """The cluster, to whose actors the classes of a test module are sent by value: they cannot import it."""
    ray.cloudpickle.register_pickle_by_value(sys.modules[module])
    cluster = TwoNodes()
    yield cluster
    cluster.close()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for something that must come."""
    ends = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < ends, "it has not come"
        time.sleep(0.05)


def everything(calls: Calls) -> list[Any]:
    """The results of all calls."""
    results: list[Any] = []
    ends = time.monotonic() + SECONDS
    while calls.unfinished:
        results += calls.collect(0.5)
        assert time.monotonic() < ends, f"{calls.unfinished} calls are still unfinished"
    return results
