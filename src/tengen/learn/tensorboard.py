"""The metrics of a run for TensorBoard: `tensorboard --logdir runs`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter


class TensorBoardLog:
    """Writes numbers with their steps; on resuming, what was written for later steps is disowned."""

    def __init__(self, folder: Path, after_step: int) -> None:
        """Go on after this step."""
        self._writer = SummaryWriter(folder, purge_step=after_step + 1)

    def record(self, metrics: Mapping[str, Any]) -> None:
        """Write every number among the metrics of one step, on the disk at once."""
        for tag, value in _numbers(metrics):
            self._writer.add_scalar(tag, value, metrics["step"])
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def _numbers(metrics: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """`test_loss` becomes `test/loss`, which TensorBoard shows under the heading `test`; tables become many tags."""
    for name, value in metrics.items():
        head, _, rest = name.partition("_")
        tag = f"{head}/{rest}" if rest else f"run/{name}"
        if isinstance(value, Mapping):
            yield from ((f"{tag}/{key}", float(number)) for key, number in value.items())
        elif isinstance(value, int | float) and name != "step":
            yield tag, float(value)
