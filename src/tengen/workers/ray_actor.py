"""The life of a worker object inside an actor of Ray."""

import os
import platform
from collections.abc import Callable, Mapping
from typing import Any

import tengen
from tengen.workers.sent_files import Contents, StoredFile, keep_contents, replace_files


class RayActor:
    """Hosts one worker. Errors of the worker come back as text, so that all others are Ray's."""

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
