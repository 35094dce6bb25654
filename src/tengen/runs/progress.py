"""What a run reports while it works: to the screen, to TensorBoard, and as a page every few minutes."""

import io
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tengen.runs.files import append, make_folder

_REPORT_SECONDS: Final = 300.0


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: the event that every long computation passes to its `on_progress`."""

    phase: str = ""
    """What is done at the moment, such as self-play, training or match."""
    number: int = 0
    """Of the step, round, update or generation."""
    share: float = 0.0
    """How much of the phase is done, 0 to 1."""
    done: float = 0.0
    """How much of the run is done, 0 to 1; 0 for a run without end."""
    seconds: float = 0.0
    """The run's time, all calls counted together."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Numbers by name, such as loss, rate and positions/s."""
    line: Mapping[str, Any] | None = None
    """Set when a line of metrics has just been recorded, such as a validation or a completed round."""


OnProgress = Callable[[RunProgress], None]


def ignore_progress(now: RunProgress) -> None:
    """The `on_progress` of a caller that wants none."""


@contextmanager
def reporting(run: Path, on_progress: OnProgress, write: Callable[[Path], Any] | None) -> Iterator[OnProgress]:
    """Also write a report of the run: when it is resumed, every few minutes, and at the end, whatever ends it."""
    from tengen.runs.folder import read_metrics

    if write is None:
        yield on_progress
        return

    def write_if_begun() -> float:
        if any("step" in line for line in read_metrics(run)):
            write(run)
        return time.monotonic()

    written = write_if_begun()

    def report_and_write(now: RunProgress) -> None:
        nonlocal written
        on_progress(now)
        if now.line is not None and time.monotonic() - written >= _REPORT_SECONDS:
            written = write_if_begun()

    try:
        yield report_and_write
    finally:
        write_if_begun()


class TensorBoardLog:
    """The metrics of a run for `tensorboard --logdir runs`; on resuming, what was written for later steps is disowned.

    TensorBoard's own writer has a thread, whose failed writes end in tracebacks that name no file; so only the format
    is its own here.
    """

    def __init__(self, folder: Path, after_step: int) -> None:
        """Continue after this step."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        make_folder(folder)
        name = f"events.out.tfevents.{_next_number(folder):010}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(folder / name, "ab", buffering=0)
        start = SessionLog(status=SessionLog.START)
        self._write(
            Event(wall_time=time.time(), file_version="brain.Event:2"),
            Event(wall_time=time.time(), step=after_step + 1, session_log=start),
        )

    def record(self, metrics: Mapping[str, Any]) -> None:
        """Write every number among the metrics of one step, on the disk when this returns."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in _numbers(metrics)]
        self._write(Event(wall_time=time.time(), step=metrics["step"], summary=Summary(value=values)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, *events: Any) -> None:
        from tensorboard.summary.writer.record_writer import RecordWriter

        records = io.BytesIO()
        for event in events:
            RecordWriter(records).write(event.SerializeToString())
        append(self._file, records.getvalue())


def _next_number(folder: Path) -> int:
    """TensorBoard reads the files of a run in the order of their names; others begin these with the time of day."""
    numbers = (path.name.split(".")[3] for path in folder.glob("events.out.tfevents.*.*"))
    return 1 + max((int(number) for number in numbers if number.isdigit()), default=0)


def _numbers(metrics: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """`test_loss` becomes `test/loss`, which TensorBoard shows under the heading `test`; tables become many tags."""
    for name, value in metrics.items():
        head, _, rest = name.partition("_")
        tag = f"{head}/{rest}" if rest else f"run/{name}"
        if isinstance(value, Mapping):
            yield from ((f"{tag}/{key}", float(number)) for key, number in value.items())
        elif isinstance(value, int | float) and name != "step":
            yield tag, float(value)
