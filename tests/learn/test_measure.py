"""Measures against a slow and obvious version."""

import math

import numpy as np
import pytest

from tengen.learn.evaluate import PHASES, PolicyMeasures, measure_policy, phase_name
from tengen.learn.loader import RecordBatch


def slow_measures(logits: np.ndarray, moves: np.ndarray, plies: np.ndarray) -> tuple[float, float, float, dict]:
    """Mean loss, top-1, top-5 and (positions, right) by phase; of equal logits the wrong ones come first."""
    losses, ranks = [], []
    for row, move in zip(logits.astype(np.float64), moves):
        losses.append(math.log(sum(math.exp(x) for x in row)) - row[move])
        ranks.append(sum(1 for i, x in enumerate(row) if x > row[move] or (x == row[move] and i != move)))
    phases = dict.fromkeys(PHASES, (0, 0))
    for rank, ply in zip(ranks, plies):
        for low, high in PHASES:
            if low <= ply < high:
                seen, right = phases[low, high]
                phases[low, high] = (seen + 1, right + (rank == 0))
    return float(np.mean(losses)), np.mean([r == 0 for r in ranks]), np.mean([r < 5 for r in ranks]), phases


@pytest.mark.parametrize("levels", [3, 20, 1000])
def test_measures_are_those_of_the_slow_version(levels: int) -> None:
    rng = np.random.default_rng(levels)
    logits = rng.integers(-levels, levels, (200, 26)).astype(np.float32) * 10 / levels
    moves, plies = rng.integers(0, 26, 200), rng.integers(0, 300, 200)
    planes = np.zeros((200, 1, 5, 5), np.uint8)
    winner, known, komi = rng.integers(-1, 2, 200).astype(np.int8), rng.random(200) < 0.5, np.zeros(200, np.float32)
    values = rng.uniform(-1, 1, 200).astype(np.float32)
    whole = RecordBatch(planes, moves, plies, plies, plies, winner, known, komi)
    batches = [RecordBatch(*(field[i:j] for field in whole[:8])) for i, j in ((0, 64), (64, 65), (65, 200))]
    rows = iter(range(200))

    def predict(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chosen = [next(rows) for _ in planes]
        return logits[chosen], values[chosen]

    measures = measure_policy(predict, batches)
    loss, top1, top5, phases = slow_measures(logits, moves, plies)
    assert measures.positions == 200
    assert measures.loss == pytest.approx(loss, rel=1e-5)
    assert (measures.top1, measures.top5, measures.by_phase) == (top1, top5, phases)
    errors = [(float(v) - int(z)) ** 2 for v, z, sure in zip(values, winner, known) if sure]
    assert measures.value_loss == pytest.approx(sum(errors) / len(errors), rel=1e-5)
    assert measures.as_dict()["value_loss"] == pytest.approx(measures.value_loss, abs=1e-4)


def test_a_policy_without_a_value_has_no_value_loss() -> None:
    measures = PolicyMeasures()
    measures.add(np.zeros((3, 26), np.float32), np.array([0, 7, 25]), np.array([0, 1, 2]))
    assert measures.value_loss is None
    assert "value_loss" not in measures.as_dict()


def test_a_constant_policy_is_not_right() -> None:
    measures = PolicyMeasures()
    measures.add(np.zeros((3, 26), np.float32), np.array([0, 7, 25]), np.array([0, 1, 2]))
    assert (measures.top1, measures.top5) == (0, 0)
    assert measures.loss == pytest.approx(math.log(26))


def test_large_logits_do_not_overflow() -> None:
    measures = PolicyMeasures()
    measures.add(np.array([[2e4, 0.0]], np.float32), np.array([1]), np.array([0]))
    assert measures.loss == pytest.approx(2e4)


def test_phases_without_positions_are_left_out_of_the_summary() -> None:
    measures = PolicyMeasures()
    measures.add(np.array([[1.0, 0.0]], np.float32), np.array([0]), np.array([59]))
    assert measures.as_dict()["top1_by_phase"] == {"moves 21-60": 1.0}
    assert [phase_name(phase) for phase in PHASES][-1] == "moves 181+"
    assert PolicyMeasures().as_dict()["loss"] == 0
