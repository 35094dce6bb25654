"""Folders of long computations, which can be killed at any moment and resumed.

A run directory is everything that a training run writes:

    config.toml         what was asked for; a directory belongs to one run for ever
    metrics.jsonl       one line a measurement, in order
    last.safetensors    the newest model      best.safetensors    the best by validation
    trainer.safetensors all that is needed to resume exactly from the last checkpoint
    tensorboard/        the same metrics for TensorBoard          report.html         curves and sample positions

Files are replaced in one step, so `kill -9` at any moment leaves a directory that the same command resumes. Metrics
that were written after the last checkpoint are dropped then, because they will be measured again.
"""

import json
import os
import signal
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Final, Generic, TypeVar

from tengen.runs.files import (
    SettingValue,
    append_line,
    make_folder,
    naming,
    remove_cut_off,
    settings_as_toml,
    try_lock,
    write_atomically,
)

if TYPE_CHECKING:
    from tengen.runs.progress import TensorBoardLog

CONFIG_FILE: Final = "config.toml"
METRICS_FILE: Final = "metrics.jsonl"
CHECKPOINT_FILE: Final = "trainer.safetensors"
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

Line = TypeVar("Line")


class FolderError(ValueError):
    """A folder of a run that holds something else, is in use, or has a file that is damaged or missing."""


class LineFile(Generic[Line]):
    """A file to which lines are added: each is on the disk when `append` returns, whole or not at all.

    `kill -9` or a power cut may leave a torn last line, which is dropped when the file is opened again. Only one
    process can have it open.
    """

    def __init__(self, path: Path, parse: Callable[[bytes], Line], *, in_use: str, remedy: str) -> None:
        """Open or make it. `parse`: ValueError if a line is damaged. `in_use`, `remedy`: what errors report."""
        self.path, self._parse, self._remedy = path, parse, remedy
        self._file: IO[bytes] = open(path, "a+b", buffering=0)
        try:
            if not try_lock(self._file):
                raise FolderError(in_use)
        except BaseException:
            self._file.close()
            raise

    def lines(self) -> list[Line]:
        """What all lines say, a torn last one left out; FolderError if one is damaged."""
        return [line for _, line in parsed_lines(self.path, self._parse, self._remedy)]

    def append(self, line: bytes) -> None:
        """Add a line, given without its end."""
        append_line(self._file, line)

    def keep(self, wanted: Callable[[Line], bool] = lambda line: True) -> None:
        """Drop all from the first line on that is not wanted, or torn."""
        kept = 0
        for text, line in parsed_lines(self.path, self._parse, self._remedy):
            if not wanted(line):
                break
            kept += len(text)
        self._file.truncate(kept)  # in one step: what is kept is never out of the file
        with naming(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def parsed_lines(path: Path, parse: Callable[[bytes], Line], remedy: str) -> Iterator[tuple[bytes, Line]]:
    """The lines of a file as they are and as what they say, a torn last one left out; it may be growing."""
    lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            return
        try:
            yield line, parse(line)
        except ValueError as error:
            raise FolderError(f"line {number} of {path} is damaged ({error}): {remedy}") from None


class RunDirectory:
    """An open run directory; only one process can have it open."""

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, SettingValue],
        free: frozenset[str] = frozenset(),
        usual: Mapping[str, SettingValue] | None = None,
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
        in_use = f"the run in {path} is under way in another process"
        self._metrics = LineFile(path / METRICS_FILE, _parse_metrics, in_use=in_use, remedy=_REMEDY)
        try:
            self._check(settings, free, usual or {}, kind)
            remove_cut_off(path)
            self._metrics.keep()
        except BaseException:
            self._metrics.close()
            raise

    def record(self, metrics: Mapping[str, Any]) -> None:
        """Add a line of metrics; if it has a `step`, TensorBoard gets it too."""
        self._metrics.append(json.dumps(metrics).encode())
        if "step" in metrics:
            if self._board is None:
                from tengen.runs.progress import TensorBoardLog

                self._board = TensorBoardLog(self.path / "tensorboard", self._rewound_to)
            self._board.record(metrics)

    def metrics(self) -> list[dict[str, Any]]:
        """All lines so far, a torn last one left out."""
        return read_metrics(self.path)

    def rewind(self, step: int) -> None:
        """Drop metrics of steps after this one, and a torn last line."""
        self._rewound_to = step
        self._metrics.keep(lambda line: line.get("step", 0) <= step)

    def close(self) -> None:
        """Let go of the directory."""
        if self._board is not None:
            self._board.close()
        self._metrics.close()

    def _check(
        self, settings: Mapping[str, SettingValue], free: frozenset[str], usual: Mapping[str, SettingValue], kind: str
    ) -> None:
        path = self.path / CONFIG_FILE
        if path.exists():
            if (before := kind_of_run(self.path)) != kind and before and kind:
                raise FolderError(
                    f"{self.path} holds a run of the kind {before}, not {kind}: choose another --out, or delete it"
                )
            compare_settings({**usual, **read_settings(self.path)}, settings, f"{self.path} holds another run", free)
        write_atomically(path, settings_as_toml({_KIND: kind, **settings} if kind else settings).encode())


_REMEDY: Final = "repair it, or delete it and all after it"


def _parse_metrics(line: bytes) -> dict[str, Any]:
    metrics = json.loads(line)
    if not isinstance(metrics, dict):
        raise ValueError("it is no table")
    return metrics


def compare_settings(
    there: Mapping[str, Any], asked: Mapping[str, SettingValue], other: str, free: frozenset[str] = frozenset()
) -> None:
    """FolderError if settings of a folder differ from those asked for, except for `free` ones.

    `other`: how the error begins, such as "runs/go5 holds another run".
    """
    for name in {**asked, **there}:
        if name not in free and there.get(name) != asked.get(name):
            raise FolderError(
                f"{other}, with {name} {there.get(name)!r} where you ask for {asked.get(name)!r}: "
                "choose another --out, or delete that folder"
            )


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All lines of metrics of the run in this directory, a torn last one left out; it may be under way."""
    if not (path / METRICS_FILE).exists():
        raise FolderError(f"{path} is no directory of a run: it holds no {METRICS_FILE}")
    return [metrics for _, metrics in parsed_lines(path / METRICS_FILE, _parse_metrics, _REMEDY)]


def kind_of_run(path: Path) -> str:
    """What kind of run a directory holds, such as "zero"; empty if it does not say."""
    settings = _read_config(path)
    old = next((kind for name, kind in _OLD_KINDS.items() if name in settings), "")
    return str(settings.get(_KIND, old))


def read_settings(path: Path) -> dict[str, SettingValue]:
    """What was asked for of the run in this directory."""
    return {name: value for name, value in _read_config(path).items() if name != _KIND}


def _read_config(path: Path) -> dict[str, SettingValue]:
    try:
        return tomllib.loads((path / CONFIG_FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FolderError(f"{path} is no directory of a run: it holds no {CONFIG_FILE}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FolderError(f"{path / CONFIG_FILE} cannot be read: {error}") from None


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C (or SIGTERM) is only noted, so that what is saved between two steps is whole.

    The function given returns whether it came. A second one kills. Signals belong to the main thread; in any other
    nothing is changed, and the function always returns False.
    """
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (signal.SIG_IGN, None):  # ignored on purpose, as under nohup
                before[number] = signal.signal(number, note)
    try:
        yield lambda: came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
