"""The first inputs of every fuzzer, and all that was ever found."""

import random

import pytest

from .__main__ import FOUND, input_number
from .mutation import MOST, mutate
from .targets import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_makes_a_reader_fail(name: str) -> None:
    good = TARGETS[name].good()
    for data in good:
        TARGETS[name].run(data)
    for number in range(100):
        TARGETS[name].run(input_number(name, number, 1, good))


@pytest.mark.parametrize("name", sorted(path.name for path in FOUND.glob("*-*")))
def test_what_was_found_once_is_mended(name: str) -> None:
    TARGETS[name.partition("-")[0]].run((FOUND / name).read_bytes())


def test_inputs_are_the_same_for_the_same_number_and_mostly_different() -> None:
    good = TARGETS["sgf"].good()
    once, again = ([input_number("sgf", number, 1, good) for number in range(200)] for _ in range(2))
    assert once == again
    assert len(set(once)) > 190
    assert all(len(data) <= MOST for data in once)
    assert all(isinstance(mutate([b""], (), random.Random(number)), bytes) for number in range(200))
