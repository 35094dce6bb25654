"""Workers in processes of this machine."""

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final

from tengen._machine import cores
from tengen._processes import end_all, exit_on_termination
from tengen.workers.calls import Calls, Task, WorkerError

_PATIENCE: Final = 1.0  # seconds for a process to end


class LocalWorkers:
    """Worker objects in processes of this machine, one each. They sleep while they have nothing to do."""

    def __init__(
        self, count: int, make: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]], niceness: int = 0
    ) -> None:
        """`count` workers (0: one a core), the i-th is make(*arguments(i)); `make`: a class or a module's function.

        With `niceness` they step back from a core that the process which started them wants.
        """
        self._count, self._make, self._arguments, self._niceness = count or cores(), make, arguments, niceness
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._processes: list[Any] = []
        self._threads: list[threading.Thread] = []
        self._closing = False

    @property
    def count(self) -> int:
        """How many there are."""
        return self._count

    def start(self) -> None:
        """Start the processes."""
        context = multiprocessing.get_context("spawn")  # a fork would share locks of threads that it does not have
        for i in range(self._count):
            here, there = context.Pipe()
            process = context.Process(
                target=_host, args=(there, self._make, self._arguments(i), self._niceness), daemon=True
            )
            with _interrupts_held():
                process.start()
            there.close()
            thread = threading.Thread(target=self._serve, args=(process, here), daemon=True)
            thread.start()
            self._processes.append(process)
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
        """End the processes; what they have under way is lost."""
        self._closing = True
        for process in self._processes:
            process.terminate()
        for _ in self._threads:
            self._tasks.put(None)
        for process, thread in zip(self._processes, self._threads):
            process.join(_PATIENCE)
            process.kill()  # one that compiles or is in a kernel does not hear
            process.join()
            thread.join()

    def _serve(self, process: Any, connection: Connection) -> None:
        """Pass tasks to one process, in a thread of its own, so that no result waits to be fetched."""
        while (task := self._tasks.get()) is not None and not self._closing:
            if task.calls.cancelled:
                task.calls.deliver(None)
                continue
            try:
                connection.send((task.method, task.arguments))
                fine, result = connection.recv()
            except (EOFError, OSError):
                process.join(5)
                task.calls.deliver(WorkerError(_died(process.exitcode)))
                break
            task.calls.deliver(result if fine else WorkerError(result))
        connection.close()


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
    remedy = "the same command goes on, with fewer --workers if memory ran out"
    return f"a worker process has died (exit code {code}): {remedy}"


def _host(connection: Connection, make: Callable[..., Any], arguments: tuple[Any, ...], niceness: int) -> None:
    """The life of a worker process: one call after the other, until there is nobody to call."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the business of whoever started us
    exit_on_termination()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
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
