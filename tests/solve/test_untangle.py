"""Strategies that superko spoils, and what becomes of them."""

import numpy as np
import pytest

from tengen.games.go.rules import get_rules
from tengen.solve.retrograde import solve_board
from tengen.solve.untangle import untangle

from .test_check import is_accepted, slow_strategy


@pytest.mark.parametrize("rules", ["aga", "tromp-taylor"])
def test_a_strategy_that_repeats_positions_is_mended(rules: str) -> None:
    """By other moves in the positions that it has."""
    solution = solve_board(3, get_rules(rules))
    tangled = slow_strategy(solution, 9, np.random.default_rng(11))
    assert not is_accepted(tangled)
    moves = tangled.moves.copy()
    free = untangle(tangled)
    np.testing.assert_array_equal(tangled.moves, moves)
    assert set(free.keys.tolist()) < set(tangled.keys.tolist())
    assert is_accepted(free)
    assert is_accepted(free, slowly=True)
