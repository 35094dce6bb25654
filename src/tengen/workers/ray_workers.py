"""Workers on the nodes of a Ray cluster: one actor a core, as many as the cluster has cores at the moment.

One thread of the driver has all the state; whatever happens (a call is asked for, a result is there, an actor is ready
or lost) reaches it as an event of one queue. An actor that is lost is never restarted by Ray, which would repeat its
constructor and so its seed: another one with the next number takes its place, and its call is given out again. A result
is delivered by the one actor that had the call last, so nothing comes twice.

A cluster always has a named address, because Ray without one may find what another program left behind:

    local        a cluster of this machine alone, which ends with this process
    auto         the cluster that this machine is a node of (`ray start` was called here)
    host:port    the cluster whose head is there (`ray start --head --port PORT` was called there)
"""

import os
import platform
import queue
import re
import secrets
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import tengen
from tengen._machine import cores
from tengen.workers.calls import Calls, Task, WorkerError, WorkerFactory
from tengen.workers.sent_files import Contents, SentFile, StoredFile, keep_contents, read_contents, replace_files

_LOSSES: Final = 3  # times that a call may be lost with its worker
_FAILED_STARTS: Final = 12  # in a row, after which it is not the fault of the nodes
_LOOK_SECONDS: Final = 1.0  # between two looks at the nodes of the cluster
_FIRST_SECONDS: Final = 600.0  # for the first worker: a node that is cold and busy imports and compiles for long
_FILES: Final = 16  # whose contents are held in the object store for calls to come


def ray_cluster(address: str, unit: str = "CPU") -> WorkerFactory:
    """Makes workers on the cluster at this address: one for each CPU, or GPU, that its nodes have."""
    check_address(address)
    return partial(RayWorkers, address, unit)


@dataclass
class _Worker:
    """An actor of ours."""

    number: int
    actor: Any
    node: str = ""
    """Where it is; empty until it is ready."""
    task: "_Given | None" = None
    """What it is at."""


@dataclass(frozen=True)
class _Given:
    """A call, and how often it was lost."""

    task: Task
    losses: int = 0


class RayWorkers:
    """Worker objects on a Ray cluster; nodes that join get some, nodes that leave take theirs along."""

    def __init__(
        self,
        address: str,
        unit: str,
        count: int,
        make: Callable[..., Any],
        arguments: Callable[[int], tuple[Any, ...]],
        niceness: int = 0,
    ) -> None:
        """At most `count` workers, with 0 one for each unit (CPU or GPU) of the cluster; else as `ProcessWorkers`."""
        self._unit = unit
        self._address, self._most, self._make, self._arguments = address, count, make, arguments
        self._niceness = niceness
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._waiting: deque[_Given] = deque()
        self._workers: dict[int, _Worker] = {}
        self._idle: deque[int] = deque()
        self._next = self._failed_starts = 0
        self._count, self._looked = 1, 0.0
        self._error: WorkerError | None = None
        self._files: dict[tuple[str, int, int], tuple[StoredFile, Any]] = {}
        self._cluster = ExitStack()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._closing = False
        self._first = threading.Event()

    @property
    def count(self) -> int:
        """How many the cluster has room for."""
        return self._count

    def start(self) -> None:
        """Join the cluster and wait for the first worker; WorkerError if none comes."""
        self._cluster.enter_context(joined(self._address))
        self._thread.start()
        if not self._first.wait(_FIRST_SECONDS) or self._error is not None:
            error = self._error or WorkerError(
                f"no worker has started on the cluster at {self._address} within {_FIRST_SECONDS:.0f} s: "
                f"`ray status` shows whether it has a free {self._unit}"
            )
            self.close()
            raise error

    def map(self, method: str, arguments: Iterable[tuple[Any, ...]], calls: Calls | None = None) -> Calls:
        """Call a method once for each of these arguments, on whichever worker is free.

        Results come by `calls` if given, as those of earlier calls do.
        """
        given = list(arguments)
        calls = calls or Calls(0)
        calls.unfinished += len(given)
        tasks = [_Given(Task(method, each, calls)) for each in given]
        self._events.put(lambda: self._waiting.extend(tasks))
        return calls

    def close(self) -> None:
        """Let the workers go; what they have under way is lost."""
        self._closing = True
        self._events.put(lambda: None)
        if self._thread.is_alive():
            self._thread.join()
        for number in list(self._workers):
            self._let_go(number)
        self._files.clear()
        self._cluster.close()

    # ---- the thread ----

    def _serve(self) -> None:
        """One event after the other."""
        while not self._closing:
            try:
                self._look_around()
                self._give_out()
            except Exception as error:  # Ray raises what it likes when its head is gone, OSError among others
                self._fail(f"the cluster at {self._address} is gone ({type(error).__name__}: {error})")
            with suppress(queue.Empty):
                self._events.get(timeout=0.2 if self._waiting else _LOOK_SECONDS)()

    def _look_around(self) -> None:
        """Have as many workers as there are cores, on nodes that are alive."""
        import ray

        if time.monotonic() - self._looked < _LOOK_SECONDS or self._error is not None:
            return
        self._looked = time.monotonic()
        nodes = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        for number, worker in list(self._workers.items()):
            if worker.node and worker.node not in nodes:
                self._lose(number, "its node has left")
        room = sum(int(node["Resources"].get(self._unit, 0)) for node in nodes.values())
        self._count = max(1, min(room, self._most) if self._most else room)
        while len(self._workers) < self._count and room:
            self._add()
        spare = [worker.number for worker in self._workers.values() if not worker.node]
        for number in spare[: max(0, len(self._workers) - self._count)]:  # asked for on a node that has left meanwhile
            self._let_go(number)

    def _add(self) -> None:
        """Ask for another actor; it is used when it is ready."""
        import ray

        number = self._next
        self._next += 1
        remote = ray.remote(num_cpus=1, num_gpus=int(self._unit == "GPU"), max_restarts=0, max_task_retries=0)(RayActor)
        arguments, files = self._stored(self._arguments(number))
        actor = remote.remote(tengen.__version__, self._make, arguments, self._niceness, files)
        self._workers[number] = _Worker(number, actor)
        self._expect(actor.ready.remote(), partial(self._is_ready, number))

    def _is_ready(self, number: int, answer: "Future[Any]") -> None:
        """An actor has been made, or could not be."""
        worker = self._workers.get(number)
        if worker is None:
            return
        if answer.exception() is not None:
            self._failed_starts += 1
            self._lose(number, _words(answer.exception()))
            if self._failed_starts >= _FAILED_STARTS:
                self._fail(f"{_FAILED_STARTS} workers in a row could not start: {_words(answer.exception())}")
            return
        fine, text = answer.result()
        if not fine:
            self._fail(text)
            return
        self._failed_starts = 0
        worker.node = text
        self._idle.append(number)
        self._first.set()

    def _give_out(self) -> None:
        """Calls to those who have nothing to do."""
        while self._waiting and (self._error or self._waiting[0].task.calls.cancelled):
            self._waiting.popleft().task.calls.deliver(self._error)
        while self._waiting and self._idle:
            worker = self._workers.get(self._idle.popleft())
            if worker is None:
                continue
            given = self._waiting.popleft()
            if given.task.calls.cancelled:
                given.task.calls.deliver(None)
                self._idle.appendleft(worker.number)
                continue
            worker.task = given
            arguments, files = self._stored(given.task.arguments)
            answer = worker.actor.call.remote(given.task.method, arguments, files)
            self._expect(answer, partial(self._has_answered, worker.number))

    def _has_answered(self, number: int, answer: "Future[Any]") -> None:
        """A result is there, or an actor is lost."""
        worker = self._workers.get(number)
        if worker is None or worker.task is None:
            return
        if answer.exception() is not None:
            self._lose(number, _words(answer.exception()))
            return
        fine, result = answer.result()
        worker.task.task.calls.deliver(result if fine else WorkerError(result))
        worker.task = None
        self._idle.append(number)

    def _lose(self, number: int, why: str) -> None:
        """An actor is gone: its call is the next to be given out, unless it was lost too often."""
        given = self._workers[number].task
        self._let_go(number)
        self._looked = 0.0  # its node may have left, and others with it
        if given is None:
            return
        if given.losses < _LOSSES:
            self._waiting.appendleft(replace(given, losses=given.losses + 1))
        else:
            given.task.calls.deliver(
                WorkerError(
                    f"a call was lost {given.losses + 1} times with its worker ({why}): run the same command to resume"
                )
            )

    def _let_go(self, number: int) -> None:
        import ray

        worker = self._workers.pop(number)
        with suppress(Exception):
            ray.kill(worker.actor)

    def _fail(self, text: str) -> None:
        """Nothing works any more: this is the answer to all calls."""
        self._error = WorkerError(f"{text}: run the same command to resume, with or without --cluster")
        for worker in self._workers.values():
            if worker.task is not None:
                worker.task.task.calls.deliver(self._error)
                worker.task = None
        self._first.set()

    def _expect(self, answer: Any, then: "Callable[[Future[Any]], None]") -> None:
        """Have `then` called by the thread when an answer or an error is there."""
        answer.future().add_done_callback(lambda done: self._events.put(partial(then, done)))

    # ---- files ----

    def _stored(self, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, list[Any]]]:
        """Arguments without the paths of this machine, and for each file in them where its contents can be had."""
        files: dict[str, list[Any]] = {}

        def store(path: SentFile) -> StoredFile:
            stored, contents = self._store(path)
            files[stored.digest] = [contents]  # in a list, so that Ray fetches it only for who asks
            return stored

        return replace_files(arguments, SentFile, store), files

    def _store(self, path: SentFile) -> tuple[StoredFile, Any]:
        """A file in Ray's object store, put there once for each time it was written."""
        import ray

        facts = Path(path).stat()
        key = path, facts.st_mtime_ns, facts.st_size
        if key not in self._files:
            stored, contents = read_contents(path)
            self._files[key] = stored, ray.put(contents)
        self._files[key] = self._files.pop(key)  # behind all others
        while len(self._files) > _FILES:
            del self._files[next(iter(self._files))]
        return self._files[key]


def _words(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


# ------------------------------------------------------------------------- joining a cluster

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


# ---------------------------------------------------------------------------------- in the cluster


class RayActor:
    """An actor with one worker. Errors of the worker come back as text, so that all others are Ray's."""

    def __init__(
        self,
        version: str,
        make: Callable[..., Any],
        arguments: tuple[Any, ...],
        niceness: int,
        files: Mapping[str, list[Any]],
    ) -> None:
        """The worker will be make(*arguments); `files` as in `call`."""
        self._version, self._make, self._arguments, self._files = version, make, arguments, files
        self._worker: Any = None
        if niceness and hasattr(os, "nice"):
            os.nice(niceness)

    def ready(self) -> tuple[bool, str]:
        """Make the worker: True and the node it is on, or False and what is wrong."""
        if tengen.__version__ != self._version:
            there = f"{platform.node()} has tengen {tengen.__version__}, not {self._version}"
            return False, f"{there}: install the same version on all nodes"
        try:
            self._worker = self._make(*_with_paths(self._arguments, self._files))
        except Exception as error:
            return False, f"{type(error).__name__}: {error}"
        import ray

        return True, ray.get_runtime_context().get_node_id()

    def call(self, method: str, arguments: tuple[Any, ...], files: Mapping[str, list[Any]]) -> tuple[bool, Any]:
        """True and what the method returns, or False and what it raised.

        files: for the digest of each `StoredFile` in the arguments, a list of the one reference to its contents.
        """
        given = _with_paths(arguments, files)
        try:
            return True, getattr(self._worker, method)(*given)
        except Exception as error:
            return False, f"{type(error).__name__}: {error}"


def _with_paths(arguments: tuple[Any, ...], files: Mapping[str, list[Any]]) -> tuple[Any, ...]:
    """The arguments with paths of this machine."""
    import ray

    def fetch(stored: StoredFile) -> str:
        def contents() -> Contents:
            found: Contents = ray.get(files[stored.digest][0])
            return found

        return str(keep_contents(stored, contents))

    given: tuple[Any, ...] = replace_files(arguments, StoredFile, fetch)
    return given
