"""The progress of `tengen learn zero`, and the reports that it writes on the way."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tengen.runs.folder import read_metrics

_REPORT_SECONDS: Final = 300.0


@dataclass(frozen=True)
class ZeroProgress:
    """Where a run stands, for a progress bar."""

    phase: str
    """self-play, training, export or duels."""
    iteration: int
    share: float
    """How much of the phase is done, 0 to 1."""
    done: float
    """How much of the run is done, 0 to 1; 0 for a run without end."""
    seconds: float
    """The run's time, all calls counted together."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Games, positions and simulations per second of self-play; the loss and the rate of training."""
    line: Mapping[str, Any] | None = None
    """Set when a round has been completed: its line of metrics."""


OnProgress = Callable[[ZeroProgress], None]


@contextmanager
def reporting(run: Path, on_progress: OnProgress, wanted: bool) -> Iterator[OnProgress]:
    """Write reports every few minutes, and at the end, however it comes."""
    if not wanted:
        yield on_progress
        return
    from tengen.learn.zero_report import write_zero_report

    written = time.monotonic()

    def report_and_write(now: ZeroProgress) -> None:
        nonlocal written
        on_progress(now)
        if now.line is not None and time.monotonic() - written >= _REPORT_SECONDS:
            write_zero_report(run)
            written = time.monotonic()

    try:
        yield report_and_write
    finally:
        if any("generation" in line for line in read_metrics(run)):
            write_zero_report(run)
