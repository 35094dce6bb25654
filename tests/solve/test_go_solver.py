"""The solver against exhaustive solutions of tiny boards, and known values."""

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go.rules import get_rules
from tengen.solve.bitboard import board_points, count, safe_points
from tengen.solve.check import check
from tengen.solve.extract import TableStrategy, extract
from tengen.solve.go_solver import Claim, Solver, guaranteed, solve
from tengen.solve.retrograde import solve_board

from .slow_solver import Position, all_stones, positions, wins_with_history, won
from .test_bitboard import random_states

AREA_RULES = ["simple-go", "chinese", "aga", "tromp-taylor", "new-zealand"]


def margins_of_black(size: int, rules: str) -> tuple[int, int]:
    """What Black and White can force: Black's margin is at least the first and at most the second."""
    state = go.State.new(size, rules, komi=0.5)
    solver = Solver(size, get_rules(rules), memory=0.2)
    points = range(-size * size, size * size + 1)
    least = max(need for need in points if solver.prove(state, Claim(go.BLACK, need)))
    return least, -max(need for need in points if solver.prove(state, Claim(go.WHITE, need)))


@pytest.mark.parametrize("rules", AREA_RULES)
def test_3x3_is_nine_points_for_black(rules: str) -> None:
    assert margins_of_black(3, rules) == (9, 9)


@pytest.mark.parametrize("rules", ["simple-go", "chinese"])
def test_what_is_proven_on_2x2_is_true_with_all_of_the_history(rules: str) -> None:
    least, most = margins_of_black(2, rules)
    start = go.State.new(2, rules, komi=0.5)
    value = max(need for need in range(-4, 5) if wins_with_history(start, need))
    assert value == {"simple-go": -4, "chinese": 1}[rules]
    assert least <= value <= most


@pytest.mark.parametrize("rules", ["simple-go", "chinese", "aga"])
def test_claims_about_every_kind_of_3x3_position_are_those_of_the_whole_board(rules: str) -> None:
    """But for some that the search refutes because of a repetition along its line."""
    rng = np.random.default_rng(1)
    states = [one for one in random_states(3, get_rules(rules), 60, seed=1) if not one.is_over]
    whole, solver = solve_board(3, get_rules(rules)), Solver(3, get_rules(rules), memory=0.05)
    for need in (-3, 4):
        chosen = [states[k] for k in rng.choice(len(states), 150)]
        proven = [solver.prove(state, Claim(go.BLACK, need)) is True for state in chosen]
        truth = [guaranteed(whole, state, go.BLACK).margin >= need for state in chosen]
        assert not any(claim and not true for claim, true in zip(proven, truth))
        assert np.mean(np.array(proven) == truth) > 0.95


@pytest.mark.parametrize("rules", ["simple-go", "chinese"])
def test_claims_about_random_3x3_positions_have_proofs(rules: str) -> None:
    rng = np.random.default_rng(2)
    stones = sorted(all_stones(3))
    solver = Solver(3, get_rules(rules), memory=0.05)
    checked = 0
    for k in rng.choice(len(stones), 40):
        state, _ = as_state(Position(*stones[k], 0, int(rng.integers(2)), 0), rules)
        claim = Claim(go.BLACK, int(rng.choice([-3, 1, 4])))
        if solver.prove(state, claim):
            check(extract(TableStrategy(solver, claim), state))
            checked += 1
    assert checked > 5


@pytest.mark.parametrize(
    "rules", ["simple-go", *(pytest.param(name, marks=pytest.mark.long) for name in AREA_RULES[1:])]
)
def test_safe_points_on_3x3_are_kept_against_everything(rules: str) -> None:
    graph, board = positions(3, get_rules(rules)), board_points(3)
    claimed: dict[int, list[Position]] = {}
    for position in graph:
        a, b = (position.own, position.opp) if position.turn == 0 else (position.opp, position.own)
        safe = int(safe_points(a, b, board))
        if safe and not (position.passes and position.turn == 1 and safe & b):
            claimed.setdefault(2 * int(count(safe)) - 9, []).append(position)
    assert sum(map(len, claimed.values())) > 100
    for need, found in claimed.items():
        assert set(found) <= won(graph, need, endless=True)


def as_state(position: Position, rules: str) -> tuple[go.State, Position]:
    """The position, without ko and pass, as a state in which player 0 is Black."""
    position = Position(position.own, position.opp, 0, position.turn, 0)
    black, white = (position.own, position.opp) if position.turn == 0 else (position.opp, position.own)
    stones = [[3 * (p // 5) + p % 5 for p in range(25) if points >> p & 1] for points in (black, white)]
    return go.State.setup(3, rules, 0.5, *stones, go.WHITE if position.turn else go.BLACK), position


def test_the_winner_follows_the_komi() -> None:
    assert solve(go.State.new(3, "simple-go", komi=8.5)).winner == go.BLACK
    assert solve(go.State.new(3, "chinese", komi=9)).winner == go.EMPTY
    assert solve(go.State.new(3, "chinese", komi=9.5)).winner == go.WHITE


def test_a_search_may_be_limited() -> None:
    verdict = solve(go.State.new(4, "simple-go", komi=3.5), nodes=1000)
    assert verdict.winner is None
    assert not verdict.exhausted


@pytest.mark.long
def test_a_search_finds_that_4x4_under_area_rules_is_two_points_for_black() -> None:
    """Known since van der Werf, van den Herik and Uiterwijk (2003)."""
    state = go.State.new(4, "chinese", komi=0.5)
    solver = Solver(4, get_rules("chinese"), memory=0.4)
    found = [solver.prove(state, Claim(go.BLACK, need)) for need in (2, 3)]
    assert found == [True, False]
    assert [solver.prove(state, Claim(go.WHITE, need)) for need in (-2, -1)] == [True, False]


def test_rules_that_count_territory_are_refused() -> None:
    with pytest.raises(ValueError, match="area"):
        Solver(3, get_rules("japanese"))
