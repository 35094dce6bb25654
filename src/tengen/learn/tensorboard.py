"""The metrics of a run for TensorBoard: `tensorboard --logdir runs`.

TensorBoard's own writer has a thread, whose failed writes end in tracebacks that name no file; so only the format is
its own here.
"""

import io
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from tengen._files import append, make_folder


class TensorBoardLog:
    """Writes numbers with their steps; on resuming, what was written for later steps is disowned."""

    def __init__(self, folder: Path, after_step: int) -> None:
        """Go on after this step."""
        make_folder(folder)
        name = f"events.out.tfevents.{_next_number(folder):010}.{socket.gethostname()}.{os.getpid()}"
        self._file = open(folder / name, "ab", buffering=0)
        first = after_step + 1
        self._write(
            Event(wall_time=time.time(), file_version="brain.Event:2"),
            Event(wall_time=time.time(), step=first, session_log=SessionLog(status=SessionLog.START)),
        )

    def record(self, metrics: Mapping[str, Any]) -> None:
        """Write every number among the metrics of one step, on the disk when this returns."""
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in _numbers(metrics)]
        self._write(Event(wall_time=time.time(), step=metrics["step"], summary=Summary(value=values)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, *events: Event) -> None:
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
