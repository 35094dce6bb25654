"""The option of every command whose work a Ray cluster can do."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tengen.workers.calls import Hosts

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Let a Ray cluster do the work: local, auto (the one that this machine is a node of) or HOST:PORT; "
        "see docs/cluster.md. This machine alone if not given.",
        show_default=False,
        rich_help_panel="Machine",
    ),
]


def hosts_at(cluster: str | None) -> "Hosts":
    """Who makes workers: the cluster at this address, or this machine."""
    from tengen.workers.local import LocalWorkers

    return cluster_hosts(cluster) or LocalWorkers


def cluster_hosts(cluster: str | None, device: str = "cpu") -> "Hosts | None":
    """Who makes workers on the cluster at this address, one for each device of this kind; None without a cluster."""
    from tengen.workers.ray_workers import ray_hosts

    return None if cluster is None else ray_hosts(cluster, "CPU" if device == "cpu" else "GPU")


def as_option(cluster: str | None) -> dict[str, str]:
    """For `command_line`: the option as it was given."""
    return {} if cluster is None else {"cluster": cluster}
