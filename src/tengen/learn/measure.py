"""How well a network predicts the moves of games (loss, top-1, top-5, top-1 by phase), and their results."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tengen.learn.loader import RecordBatch

PHASES: Final = ((0, 20), (20, 60), (60, 120), (120, 180), (180, 10_000))
Predict = Callable[[NDArray[np.uint8]], tuple[NDArray[np.float32], NDArray[np.float32] | None]]
"""planes uint8[B, C, N, N] -> logits float32[B, N * N + 1], values float32[B] or None: as `Evaluator.evaluate`"""


@dataclass
class PolicyMeasures:
    """Sums over positions; the properties are means."""

    positions: int = 0
    loss_sum: float = 0.0
    first: int = 0
    first_five: int = 0
    by_phase: dict[tuple[int, int], tuple[int, int]] = field(default_factory=lambda: dict.fromkeys(PHASES, (0, 0)))
    """For each phase, (positions, right at first guess)."""
    results: int = 0
    """Positions of games with a known result, if there is a value."""
    error_sum: float = 0.0
    """Of the squares of the errors of the value there."""

    @property
    def loss(self) -> float:
        """Mean cross-entropy in nats."""
        return self.loss_sum / max(1, self.positions)

    @property
    def top1(self) -> float:
        """Share of positions where the most likely move was played."""
        return self.first / max(1, self.positions)

    @property
    def top5(self) -> float:
        """Share of positions where one of the five most likely moves was played."""
        return self.first_five / max(1, self.positions)

    @property
    def value_loss(self) -> float | None:
        """Mean squared error of the value, of results that are 1, 0 or -1; None if none was measured."""
        return self.error_sum / self.results if self.results else None

    def add_batch(self, logits: NDArray[np.float32], values: NDArray[np.float32] | None, batch: RecordBatch) -> None:
        """Count what a network answered to a batch."""
        self.add(logits, batch.moves, batch.plies)
        if values is not None:
            self.results += int(batch.known.sum())
            self.error_sum += float(np.square(values - batch.winner)[batch.known].sum())

    def add(self, logits: NDArray[np.float32], moves: NDArray[np.int64], plies: NDArray[np.int64]) -> None:
        """Count a batch; logits: float32[B, A], moves: int64[B], plies: int64[B]."""
        played = logits[np.arange(len(moves)), moves]
        largest = logits.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(logits - largest).sum(axis=1)) + largest[:, 0]
        # Ties count against the policy: a constant network is right for one move, not for all.
        rank = (logits >= played[:, None]).sum(axis=1) - 1
        self.positions += len(moves)
        self.loss_sum += float((log_sum - played).sum())
        self.first += int((rank == 0).sum())
        self.first_five += int((rank < 5).sum())
        for low, high in PHASES:
            inside = (plies >= low) & (plies < high)
            seen, right = self.by_phase[low, high]
            self.by_phase[low, high] = seen + int(inside.sum()), right + int((inside & (rank == 0)).sum())

    def as_dict(self) -> dict[str, Any]:
        """For JSON and model cards."""
        phases = {phase_name(phase): round(right / seen, 4) for phase, (seen, right) in self.by_phase.items() if seen}
        means = {"loss": round(self.loss, 4), "top1": round(self.top1, 4), "top5": round(self.top5, 4)}
        value = {} if self.value_loss is None else {"value_loss": round(self.value_loss, 4)}
        return {"positions": self.positions, **means, **value, "top1_by_phase": phases}


def phase_name(phase: tuple[int, int]) -> str:
    """`moves 21-60`, `moves 181+`."""
    low, high = phase
    return f"moves {low + 1}-{high}" if high < 10_000 else f"moves {low + 1}+"


def measure_policy(predict: Predict, batches: Iterable[RecordBatch]) -> PolicyMeasures:
    """The measures of a network over batches."""
    measures = PolicyMeasures()
    for batch in batches:
        measures.add_batch(*predict(batch.planes), batch)
    return measures
