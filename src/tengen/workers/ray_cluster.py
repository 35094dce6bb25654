"""A Ray cluster: how this process joins it.

Always by a named address, for Ray without one may find what another program left behind:

    local        a cluster of this machine alone, which ends with this process
    auto         the cluster that this machine is a node of (`ray start` was called here)
    host:port    the cluster whose head is there (`ray start --head --port PORT` was called there)
"""

import os
import re
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Final

from tengen._machine import cores
from tengen.workers.calls import WorkerError

HEALTH_CHECKS: Final = {
    "health_check_initial_delay_ms": 2000,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
}
"""Settings of a cluster's head by which a node that does not answer is given up after 12 s instead of a minute.

`deploy/head.sh` gives the same to `ray start --head`.
"""

_LOOPBACK: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""At 0, Ray stays on 127.0.0.1 where it is given that; else it takes another address of this machine for it."""
_HEAD: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}")


def check_address(address: str) -> None:
    """ValueError unless it is an address as above, and Ray is installed."""
    if address not in ("local", "auto") and not _HEAD.fullmatch(address):
        raise ValueError(f"{address[:60]!r} is no address of a cluster: give local, auto or HOST:PORT")
    if find_spec("ray") is None:
        raise ValueError("a cluster needs Ray: pip install 'tengen[cluster]'")


def own_address() -> str:
    """The address by which other nodes of the cluster reach this process; 127.0.0.1 outside of a cluster."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return "127.0.0.1"
    return str(ray.util.get_node_ip_address())


@contextmanager
def joined(address: str) -> Iterator[None]:
    """Be a driver of the cluster; of the one that this process has joined already, if it has."""
    check_address(address)
    if address.rpartition(":")[0] in ("", "localhost", "127.0.0.1") and address != "auto":
        os.environ.setdefault(_LOOPBACK, "0")  # read when Ray is imported
    if address == "local" and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        # Other users of this machine cannot use it. Read at import, too: a Ray that is there already has no token.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    import ray

    if ray.is_initialized():
        yield
        return
    own: dict[str, Any] = {}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster of our own sends nothing to anybody
        own = {"num_cpus": cores(), "_system_config": dict(HEALTH_CHECKS), "_node_ip_address": "127.0.0.1"}
        own |= {"include_dashboard": False}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False, **own)
    except Exception as error:  # of Ray's many kinds, OSError and RuntimeError among them
        first = str(error).strip().partition("\n")[0]
        raise WorkerError(f"no cluster at {address}: {first[:300]}; `ray status` shows what runs there") from None
    try:
        yield
    finally:
        ray.shutdown()
