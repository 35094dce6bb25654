"""The run directory: everything that a training run writes.

    config.toml         what was asked for; a directory belongs to one run for ever
    metrics.jsonl       one line a measurement, in order
    last.safetensors    the newest model      best.safetensors    the best by validation
    trainer.safetensors all that is needed to go on exactly from the last checkpoint
    tensorboard/        the same metrics for TensorBoard          report.html         curves and sample positions

Files are replaced in one step, so `kill -9` at any moment leaves a directory from which the same command goes on.
Metrics that were written after the last checkpoint are dropped then, for they will be measured again.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from tengen._files import (
    Setting,
    append_line,
    make_folder,
    naming,
    remove_cut_off,
    settings_as_toml,
    try_lock,
    write_atomically,
)

if TYPE_CHECKING:
    from tengen.learn.tensorboard import TensorBoardLog

CONFIG_FILE: Final = "config.toml"
METRICS_FILE: Final = "metrics.jsonl"
_KIND: Final = "kind"  # in config.toml, beside the settings
_OLD_KINDS: Final = {
    "reuse": "zero",
    "snapshot": "reinforce",
    "first_games": "generations",
    "teacher_games": "alphago",
    "records_share": "value",
    "smoothing": "supervised",
    "last_move": "positions",
    "moves": "solve",
}
"""A setting of which only runs of this kind have one: for folders that are older than `kind`."""


class RunDirectoryError(ValueError):
    """A directory that holds another run, or is in use."""


class RunDirectory:
    """An open run directory; only one process can have it open."""

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Setting],
        free: frozenset[str] = frozenset(),
        usual: Mapping[str, Setting] | None = None,
        *,
        kind: str = "",
    ) -> None:
        """Make the directory, or open it again. `free` settings may differ from those of the first call.

        `usual`: what settings are where the directory does not say, being older than they are. `kind`: what kind of
        run it is, such as "zero".
        """
        self.path = path
        make_folder(path)
        self._board: TensorBoardLog | None = None
        self._rewound_to = 0
        self._metrics: IO[bytes] = open(path / METRICS_FILE, "a+b", buffering=0)
        try:
            self._lock()
            self._check(settings, free, usual or {}, kind)
            remove_cut_off(path)
            self._keep(lambda line: True)
        except BaseException:
            self._metrics.close()
            raise

    def record(self, metrics: Mapping[str, Any]) -> None:
        """Add a line of metrics; if it has a `step`, TensorBoard gets it too."""
        append_line(self._metrics, json.dumps(metrics).encode())
        if "step" in metrics:
            if self._board is None:
                from tengen.learn.tensorboard import TensorBoardLog

                self._board = TensorBoardLog(self.path / "tensorboard", self._rewound_to)
            self._board.record(metrics)

    def metrics(self) -> list[dict[str, Any]]:
        """All lines so far, a torn last one left out."""
        return read_metrics(self.path)

    def rewind(self, step: int) -> None:
        """Drop metrics of steps after this one, and a torn last line."""
        self._rewound_to = step
        self._keep(lambda line: line.get("step", 0) <= step)

    def close(self) -> None:
        """Let go of the directory."""
        if self._board is not None:
            self._board.close()
        self._metrics.close()

    def _keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Drop all from the first line on that is not wanted, or torn."""
        self._metrics.seek(0)
        kept = 0
        for line, metrics in _parsed(self._metrics.read(), self.path):
            if not wanted(metrics):
                break
            kept += len(line)
        self._metrics.truncate(kept)  # in one step: what is kept is never out of the file
        with naming(self.path / METRICS_FILE):
            os.fsync(self._metrics.fileno())

    def _lock(self) -> None:
        if not try_lock(self._metrics):
            raise RunDirectoryError(f"the run in {self.path} is under way in another process")

    def _check(
        self, settings: Mapping[str, Setting], free: frozenset[str], usual: Mapping[str, Setting], kind: str
    ) -> None:
        path = self.path / CONFIG_FILE
        if path.exists():
            if (before := kind_of_run(self.path)) != kind and before and kind:
                raise RunDirectoryError(
                    f"{self.path} holds a run of the kind {before}, not {kind}: choose another --out, or delete it"
                )
            there = {**usual, **read_settings(self.path)}
            for name in {**settings, **there}:
                if name not in free and there.get(name) != settings.get(name):
                    raise RunDirectoryError(
                        f"{self.path} holds another run, with {name} {there.get(name)!r} where you ask for "
                        f"{settings.get(name)!r}: choose another --out, or delete that folder"
                    )
        write_atomically(path, settings_as_toml({_KIND: kind, **settings} if kind else settings).encode())


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All lines of metrics of the run in this directory, a torn last one left out; it may be under way."""
    if not (path / METRICS_FILE).exists():
        raise RunDirectoryError(f"{path} is no directory of a run: it holds no {METRICS_FILE}")
    return [metrics for _, metrics in _parsed((path / METRICS_FILE).read_bytes(), path)]


def _parsed(contents: bytes, path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The lines of a file of metrics as they are and as what they say, a torn last one left out."""
    for number, line in enumerate(contents.splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            return
        try:
            metrics = json.loads(line)
            if not isinstance(metrics, dict):
                raise ValueError("it is no table")
        except ValueError as error:
            raise RunDirectoryError(
                f"line {number} of {path / METRICS_FILE} is damaged ({error}): repair it, or delete it and all after it"
            ) from None
        yield line, metrics


def kind_of_run(path: Path) -> str:
    """What kind of run a directory holds, such as "zero"; empty if it does not say."""
    settings = _read_config(path)
    old = next((kind for name, kind in _OLD_KINDS.items() if name in settings), "")
    return str(settings.get(_KIND, old))


def read_settings(path: Path) -> dict[str, Setting]:
    """What was asked for of the run in this directory."""
    return {name: value for name, value in _read_config(path).items() if name != _KIND}


def _read_config(path: Path) -> dict[str, Setting]:
    try:
        return tomllib.loads((path / CONFIG_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunDirectoryError(f"{path} is no directory of a run: it holds no {CONFIG_FILE}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunDirectoryError(f"{path / CONFIG_FILE} cannot be read: {error}") from None
