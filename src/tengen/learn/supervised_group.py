"""Supervised learning by a group of processes: this one leads, and workers of a cluster take part.

The workers get the dataset and the checkpoint from which to go on, so they need no disk of the leader's. A group that
loses a process is given up, and a new one goes on from the last checkpoint, with as many as there are then.
"""

import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from tengen.learn.data_parallel import PATIENCE, Group
from tengen.learn.device import find_device
from tengen.learn.supervised import OWNERSHIP_FILE, SupervisedTrainer
from tengen.learn.supervised_config import SupervisedConfig
from tengen.learn.training import CHECKPOINT_FILE
from tengen.nets.bundled import find_model
from tengen.runs.folder import RunDirectory
from tengen.workers.calls import Hosts, WorkerError
from tengen.workers.ray_cluster import own_address
from tengen.workers.sent_files import SentFile

_FAILURES: Final = 3  # in a row without a step between them, after which it is not the fault of a machine


class SupervisedMember:
    """A process of the group other than the leader."""

    def __init__(self, config: SupervisedConfig, data: str, start_from: str) -> None:
        device = config.device.partition(":")[0]  # which of the leader's cards says nothing about a member's
        self._config = replace(config, data=data, start_from=start_from, device=device)

    def train(self, meet: tuple[str, int], rank: int, size: int, files: tuple[str, ...]) -> bool:
        """Take part until the leader says that it is enough: True; False if the group has lost a process.

        meet: host and port of the leader's store; files: the checkpoint to go on from, and what else its folder has.
        """
        config = self._config
        torch.set_num_threads(config.threads)
        store = TCPStore(*meet, is_master=False, wait_for_workers=False, timeout=PATIENCE)
        group = Group(store, rank, size, find_device(config.device))
        with tempfile.TemporaryDirectory() as folder, closing(group):
            for file in files:
                shutil.copy(file, folder)
            run = RunDirectory(Path(folder), asdict(config), kind="supervised")
            try:
                trainer = SupervisedTrainer(config, run, group)
                torch.manual_seed(config.seed + 1_000_003 * rank + trainer.step)  # dropout of its own
                trainer.follow()
                return True
            except RuntimeError:  # as torch calls it when a process of the group is gone
                return False
            finally:
                run.close()


def train_as_group(
    config: SupervisedConfig, run: RunDirectory, hosts: Hosts, workers: int, train: Callable[[SupervisedTrainer], Any]
) -> Any:
    """Train with `workers` processes, this one included; 0: one a core of the hosts. Returns what `train` does."""
    failures, reached = 0, -1
    while True:
        trainer = None
        try:
            with _led_group(config, run.path, hosts, workers) as group:
                trainer = SupervisedTrainer(config, run, group)
                return train(trainer)
        except RuntimeError as error:  # as torch calls it when a process of the group is gone
            step = trainer.step if trainer is not None else reached
            failures, reached = (1, step) if step > reached else (failures + 1, reached)
            if failures >= _FAILURES:
                raise WorkerError(f"the group failed {failures} times ({error}): the same command goes on") from None


def open_store(address: str) -> TCPStore:
    """Where the processes of a group meet. It listens on this address alone: a store of its own would on all."""
    listener = socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    port = listener.getsockname()[1]
    return TCPStore(
        address,
        port,
        is_master=True,
        wait_for_workers=False,
        timeout=PATIENCE,
        master_listen_fd=listener.detach(),
    )


@contextmanager
def _led_group(config: SupervisedConfig, folder: Path, hosts: Hosts, workers: int) -> Iterator[Group]:
    """A group that this process leads."""
    start = SentFile(find_model(config.start_from)) if config.start_from else ""
    arguments = config, SentFile(config.data), start
    files = tuple(SentFile(folder / name) for name in (CHECKPOINT_FILE, OWNERSHIP_FILE) if (folder / name).exists())
    with closing(hosts(max(1, workers - 1) if workers else 0, SupervisedMember, lambda _: arguments, 0)) as pool:
        pool.start()
        size = workers or max(2, pool.count)
        store = open_store(own_address())
        meet = store.host, store.port
        calls = pool.map("train", [(meet, rank, size, files) for rank in range(1, size)])
        try:
            group = Group(store, 0, size, find_device(config.device))
            try:
                yield group
            finally:
                with suppress(RuntimeError):
                    group.close()
        except RuntimeError:
            calls.collect(2.0)  # which raises the member's own error, if that is why
            raise
