"""Strategies that superko spoils, and what becomes of them."""

import random

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve.check_positions import check_entries, goal_of
from tengen.solve.extract import (
    Option,
    SolutionStrategy,
    _with,
    avoid_repetition,
    escaping_moves,
    extract,
    reversed_steps,
)
from tengen.solve.go_solver import Claim, Node
from tengen.solve.retrograde import solve_board

from .test_check import is_accepted, slow_strategy


@pytest.mark.parametrize("rules", ["aga", "tromp-taylor"])
def test_a_strategy_that_repeats_positions_is_mended(rules: str) -> None:
    """By other moves in the positions that it has."""
    solution = solve_board(3, get_rules(rules))
    tangled = slow_strategy(solution, 9, np.random.default_rng(11))
    assert not is_accepted(tangled)
    moves = tangled.moves.copy()
    free = avoid_repetition(tangled)
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
    goal = goal_of(proof)
    larger, entries = _with(more, proof, goal, check_entries(proof, goal))
    assert set(larger.keys.tolist()) == {*proof.keys.tolist(), *more}
    for found, expected in zip(entries, check_entries(larger, goal), strict=True):
        np.testing.assert_array_equal(found, expected)


OUTSIDE = 99
COMES = np.arange(100) != OUTSIDE


def test_a_circle_is_left_where_it_can_be() -> None:
    """Entry 1 can end the line, 0 can go to 1, 2 can go to 0 or round in a circle with 3, which can do nothing else."""
    region = {
        0: [Option(5, 20, [2]), Option(6, 21, [1])],
        1: [Option(7, 22, [0]), Option(8, -1, [])],
        2: [Option(9, 23, [3]), Option(1, 24, [0, OUTSIDE])],
        3: [Option(2, 25, [3])],
    }
    chosen = escaping_moves(region, {place: 10 + place for place in region}, COMES)
    assert {place: way.move for place, way in chosen.items()} == {0: 6, 1: 8, 2: 1}


def test_stones_that_stood_before_are_not_come_back_to() -> None:
    """Entries 0 and 1 have the same stones, 10. After 0 the opponent can only go to 1, and 1 back to those stones."""
    region = {0: [Option(5, 20, [1])], 1: [Option(6, 10, [OUTSIDE])]}
    assert escaping_moves(region, {0: 10, 1: 10}, COMES) == {}
    region = {0: [Option(5, 20, [1])], 1: [Option(6, 20, [OUTSIDE])]}
    assert escaping_moves(region, {0: 10, 1: 11}, COMES).keys() == {1}


def test_no_line_of_random_regions_repeats_stones() -> None:
    freed, cyclic = 0, 0
    for seed in range(400):
        rng = random.Random(seed)
        count = rng.randint(2, 12)
        boards = range(rng.randint(3, 2 * count))
        board = {place: rng.choice(boards) for place in range(count)}
        region = {place: [_random_way(rng, count, boards) for _ in range(rng.randint(1, 4))] for place in range(count)}
        chosen = escaping_moves(region, board, COMES)
        freed += len(chosen)
        cyclic += len({board[place] for place in chosen} & {way.after for way in chosen.values()}) > 0
        assert all(place in chosen for place, ways in region.items() if any(way.after < 0 for way in ways))
        for place in chosen:
            _follow(place, chosen, board, [])
    assert freed > 1000
    assert cyclic > 50  # so that there was something to avoid


def _random_way(rng: random.Random, count: int, boards: range) -> Option:
    if rng.random() < 0.1:
        return Option(0, -1, [])
    return Option(0, rng.choice(boards), rng.sample([*range(count), OUTSIDE], rng.randint(1, 2)))


def _follow(place: int, chosen: dict[int, Option], board: dict[int, int], history: list[int]) -> None:
    way = chosen[place]
    if way.after < 0:
        return
    history = [*history, board[place]]
    assert way.after not in history
    for reply in way.replies:
        if reply != OUTSIDE:
            _follow(reply, chosen, board, [*history, way.after])


def test_steps_are_turned_round() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, 4, 50)
    first = np.concatenate([[0], np.cumsum(sizes)])
    reply = rng.integers(0, 50, sizes.sum()).astype(np.int32)
    begin, before = reversed_steps(first, reply)
    steps = {(e, int(to)) for e in range(50) for to in reply[first[e] : first[e + 1]]}
    assert {(int(e), to) for to in range(50) for e in before[begin[to] : begin[to + 1]]} == steps
    assert len(before) == len(reply)
