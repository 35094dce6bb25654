"""Update rules against the same rules written out with NumPy; schedules at their ends and bends."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from tengen.learn.optimizers import DEFAULT_RATES, build_optimizer, rate_at
from tengen.learn.settings import OPTIMIZERS, SCHEDULES

START = np.array([0.5, -1.5, 2.0])
RATE, MOMENTUM, DECAY = 0.1, 0.9, 0.01


def gradient(w: np.ndarray) -> np.ndarray:
    """Of w0^4 + w1^2 + 3 w2."""
    return np.array([4 * w[0] ** 3, 2 * w[1], 3.0])


def sgd() -> Iterator[np.ndarray]:
    w, v = START.copy(), np.zeros(3)
    while True:
        g = gradient(w) + DECAY * w
        v = MOMENTUM * v + g
        w = w - RATE * (g + MOMENTUM * v)
        yield w


def adagrad() -> Iterator[np.ndarray]:
    w, s = START.copy(), np.zeros(3)
    while True:
        g = gradient(w) + DECAY * w
        s = s + g**2
        w = w - RATE * g / (np.sqrt(s) + 1e-10)
        yield w


def adadelta() -> Iterator[np.ndarray]:
    w, s, d = START.copy(), np.zeros(3), np.zeros(3)
    while True:
        g = gradient(w) + DECAY * w
        s = 0.9 * s + 0.1 * g**2
        step = np.sqrt(d + 1e-6) / np.sqrt(s + 1e-6) * g
        d = 0.9 * d + 0.1 * step**2
        w = w - RATE * step
        yield w


def adam(apart: bool = False, second: float = 0.999) -> Iterator[np.ndarray]:
    w, m, s, t = START.copy(), np.zeros(3), np.zeros(3), 0
    while True:
        t += 1
        g = gradient(w) + (0 if apart else DECAY * w)
        w = w * (1 - RATE * DECAY) if apart else w
        m, s = 0.9 * m + 0.1 * g, second * s + (1 - second) * g**2
        w = w - RATE * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - second**t)) + 1e-8)
        yield w


RULES = {
    "sgd": sgd,
    "adagrad": adagrad,
    "adadelta": adadelta,
    "adam": adam,
    "adamw": lambda: adam(apart=True),
    "muon": lambda: adam(apart=True, second=0.95),  # of weights that are no matrices
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_update_rule_is_the_one_on_paper(name: str) -> None:
    weights = torch.nn.Parameter(torch.tensor(START))
    optimizer = build_optimizer(name, [weights], RATE, MOMENTUM, DECAY)
    rule = RULES[name]()
    for _ in range(6):
        weights.grad = torch.tensor(gradient(weights.detach().numpy()))
        optimizer.step()
        np.testing.assert_allclose(weights.detach().numpy(), next(rule), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 3, 3, 3)])
def test_muon_steps_by_orthogonal_matrices(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    weights = torch.nn.Parameter(torch.tensor(random.normal(size=shape)))
    optimizer = build_optimizer("muon", [weights], RATE, MOMENTUM, DECAY)
    rows, columns, mean = shape[0], int(np.prod(shape[1:])), np.zeros(shape)
    for _ in range(3):
        before, g = weights.detach().numpy().copy(), random.normal(size=shape)
        weights.grad = torch.tensor(g)
        optimizer.step()
        mean = MOMENTUM * mean + g
        step = (before * (1 - RATE * DECAY) - weights.detach().numpy()) / RATE
        found = step.reshape(rows, columns) / (0.2 * np.sqrt(max(rows, columns)))
        left, _, right = np.linalg.svd((g + MOMENTUM * mean).reshape(rows, columns), full_matrices=False)
        lengths = left.T @ found @ right.T  # the singular values, if the singular vectors are the same
        assert np.abs(lengths - np.diag(np.diag(lengths))).max() < 1e-9
        assert 0.6 < np.diag(lengths).min() and np.diag(lengths).max() < 1.3


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name not in ("adamw", "muon")])
def test_weight_decay_is_half_the_squared_weights_in_the_loss(name: str) -> None:
    found = []
    for in_optimizer, in_loss in ((DECAY, 0.0), (0.0, DECAY)):
        weights = torch.nn.Parameter(torch.tensor(START))
        optimizer = build_optimizer(name, [weights], RATE, MOMENTUM, in_optimizer)
        for _ in range(6):
            optimizer.zero_grad()
            loss = weights[0] ** 4 + weights[1] ** 2 + 3 * weights[2] + in_loss / 2 * weights.square().sum()
            loss.backward()
            optimizer.step()
        found.append(weights.detach().numpy().copy())
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_every_optimiser_has_a_usual_rate() -> None:
    assert set(DEFAULT_RATES) == set(OPTIMIZERS) == set(RULES)


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'rmsprop': choose from sgd, adagrad"):
        build_optimizer("rmsprop", [], 0.1, 0, 0)
    with pytest.raises(ValueError, match="'exponential': choose from constant, cosine"):
        rate_at("exponential", 0.5, 0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_rise_in_the_warm_up_and_never_after(schedule: str) -> None:
    shares = np.linspace(0, 1, 401)
    rates = np.array([rate_at(schedule, float(share), 0.1) for share in shares])
    assert ((rates >= 0) & (rates <= 1)).all()
    assert 0 < rates[0] < 0.02
    assert (np.diff(rates[shares < 0.1]) > 0).all()
    assert (np.diff(rates[shares >= 0.1]) <= 0).all()
    assert rates.max() == pytest.approx(1, abs=0.01)


def test_schedules_end_where_they_should() -> None:
    assert [round(rate_at(name, 1.0, 0.1), 6) for name in SCHEDULES] == [1, 0, 0, 0.01]
    assert [rate_at("step", share, 0.0) for share in (0.49, 0.51, 0.76)] == [1.0, 0.1, 0.01]
    assert rate_at("cosine", 0.5, 0.0) == rate_at("linear", 0.5, 0.0) == 0.5
    assert rate_at("cosine", 0.0, 0.0) == 1.0
