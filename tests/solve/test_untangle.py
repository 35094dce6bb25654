"""Strategies that superko spoils, and what becomes of them."""

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve.check import check_entries, question_of
from tengen.solve.extract import SolutionStrategy, extract
from tengen.solve.go_solver import Claim, Node
from tengen.solve.retrograde import solve_board
from tengen.solve.untangle import _with, untangle

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


class LongestWay(SolutionStrategy):
    """Keeps its claim, but takes as long as it can."""

    def choose(self, node: Node) -> tuple[int, Node | None]:
        kept = [choice for choice in self._choices(node) if choice.guarantee >= self.claim.margin]
        return self._step(node, max(kept, key=lambda choice: choice.rank))


@pytest.mark.parametrize("rules", ["aga", "tromp-taylor"])
def test_a_strategy_is_mended_before_it_is_written(rules: str) -> None:
    state, claim = go.State.new(3, rules, 0.5), Claim(go.BLACK, 4)
    certificate = extract(LongestWay(solve_board(3, state.rules), claim), state)
    assert is_accepted(certificate)


def test_entries_that_are_added_are_seen_as_if_they_had_been_there() -> None:
    state, claim = go.State.new(3, "chinese", 0.5), Claim(go.BLACK, 9)
    solution = solve_board(3, state.rules)
    proof = extract(SolutionStrategy(solution, claim), state)
    other = slow_strategy(solution, 9, np.random.default_rng(11))
    more = {int(key): int(move) for key, move in zip(other.keys, other.moves) if proof.place(int(key)) is None}
    assert len(more) > 10
    question = question_of(proof)
    larger, entries = _with(more, proof, question, check_entries(proof, question))
    assert set(larger.keys.tolist()) == {*proof.keys.tolist(), *more}
    for found, expected in zip(entries, check_entries(larger, question), strict=True):
        np.testing.assert_array_equal(found, expected)
