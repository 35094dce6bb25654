"""Workers of this machine: in threads of this process, or in processes of their own."""

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

from tengen._machine import cores
from tengen._plugins import load_plugins, plugin_files
from tengen._processes import end_all, exit_on_termination
from tengen.workers.calls import Calls, Task, WorkerError, Workers

_PATIENCE: Final = 1.0  # seconds for a process to end


def this_machine(
    count: int, make: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]], niceness: int = 0
) -> Workers:
    """Workers of this machine: threads if there is only one, or if `make.in_threads` is true; else processes.

    Threads are enough for a class whose work is done by kernels, by networks or by other programs, because these
    release Python's lock.
    """
    threads = (count or cores()) == 1 or getattr(make, "in_threads", False)
    return (ThreadWorkers if threads else ProcessWorkers)(count, make, arguments, niceness)


class _Worker(Protocol):
    """One worker, as its thread here sees it."""

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """What the method returns; raises what went wrong."""
        ...

    def stop(self) -> None:
        """Begin to end the call under way."""
        ...

    def close(self) -> None:
        """Complete what `stop` began."""
        ...


class ThreadWorkers:
    """Worker objects in threads of this process, one each. They sleep while they have nothing to do.

    What a worker raises is raised again where its result is collected. When the workers are closed, calls under way
    are waited for; a worker that has a method `stop` is asked by it to end its call early.
    """

    def __init__(
        self, count: int, make: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]], niceness: int = 0
    ) -> None:
        """`count` workers (0: one per core), the i-th is make(*arguments(i)). `niceness` is for processes alone."""
        self._count, self._make, self._arguments, self._niceness = count or cores(), make, arguments, niceness
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._workers: list[_Worker] = []
        self._threads: list[threading.Thread] = []
        self._closing = False

    @property
    def count(self) -> int:
        """How many there are."""
        return self._count

    def start(self) -> None:
        """Make the workers, and a thread for each."""
        for number in range(self._count):
            worker = self._employ(self._arguments(number))
            # A daemon, so that a second Ctrl-C need not wait for a long call.
            thread = threading.Thread(target=self._serve, args=(worker,), daemon=True)
            thread.start()
            self._workers.append(worker)
            self._threads.append(thread)

    def map(self, method: str, arguments: Iterable[tuple[Any, ...]], calls: Calls | None = None) -> Calls:
        """Call a method once for each of these arguments, on whichever worker is free.

        Results come by `calls` if given, as those of earlier calls do.
        """
        given = list(arguments)
        calls = calls or Calls(0)
        calls.unfinished += len(given)
        for each in given:
            self._tasks.put(Task(method, each, calls))
        return calls

    def close(self) -> None:
        """End the workers; what they have under way is lost."""
        self._closing = True
        for worker in self._workers:
            worker.stop()
        for _ in self._threads:
            self._tasks.put(None)
        for worker, thread in zip(self._workers, self._threads):
            worker.close()
            thread.join()

    def _employ(self, arguments: tuple[Any, ...]) -> _Worker:
        return _Object(self._make(*arguments))

    def _serve(self, worker: _Worker) -> None:
        """Have calls made by one worker, in a thread of its own, so that no result waits to be fetched."""
        while (task := self._tasks.get()) is not None and not self._closing:
            result: Any = None
            if not task.calls.cancelled:
                try:
                    result = worker.call(task.method, task.arguments)
                except Exception as error:
                    result = error
            task.calls.deliver(result)


class ProcessWorkers(ThreadWorkers):
    """Worker objects in processes of this machine, one each, with a thread here that passes its calls on.

    What a worker raises comes as a WorkerError with its text. `make` is a class or a module's function. With `niceness`
    the processes step back from a core that the process which started them wants.
    """

    def _employ(self, arguments: tuple[Any, ...]) -> _Worker:
        return _Process(self._make, arguments, self._niceness)


class _Object:
    """A worker object in this process."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        return getattr(self._worker, method)(*arguments)

    def stop(self) -> None:
        if hasattr(self._worker, "stop"):
            self._worker.stop()

    def close(self) -> None:
        """Nothing is left to do."""


class _Process:
    """A worker object in another process."""

    def __init__(self, make: Callable[..., Any], arguments: tuple[Any, ...], niceness: int) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share locks of threads that it does not have
        self._connection, there = context.Pipe()
        self._process = context.Process(target=_host, args=(there, plugin_files(), niceness), daemon=True)
        with _interrupts_held():
            self._process.start()
        there.close()
        self._connection.send((make, arguments))  # after the plugins, whose classes may be among them

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        try:
            self._connection.send((method, arguments))
            fine, result = self._connection.recv()
        except (EOFError, OSError):
            self._process.join(5)
            raise WorkerError(_died(self._process.exitcode)) from None
        if not fine:
            raise WorkerError(result)
        return result

    def stop(self) -> None:
        self._process.terminate()

    def close(self) -> None:
        self._process.join(_PATIENCE)
        self._process.kill()  # one that compiles or is in a kernel does not hear
        self._process.join()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back; a process started within never hears of it, not even while it is still importing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _died(code: int | None) -> str:
    remedy = "run the same command to resume, with fewer --workers if memory ran out"
    return f"a worker process has died (exit code {code}): {remedy}"


def _host(connection: Connection, plugins: tuple[str, ...], niceness: int) -> None:
    """The life of a worker process: one call after the other, until there is nobody to call."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the business of whoever started us
    exit_on_termination()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    load_plugins(plugins)
    try:
        make, arguments = connection.recv()
    except (EOFError, OSError):
        return
    worker = None
    while True:
        try:
            method, given = connection.recv()
        except (EOFError, OSError):
            return
        try:
            if worker is None:
                worker = make(*arguments)
            answer = True, getattr(worker, method)(*given)
        except Exception as error:
            answer = False, f"{type(error).__name__}: {error}"
        try:
            connection.send(answer)
        except OSError:
            return


def _leave_with_parent() -> None:
    """End this process when the one that started it is gone, even by kill -9."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        end_all()
        os._exit(1)
