"""Whole boards: positions and moves against the rules, guarantees against a slow solution, and known values."""

import numpy as np
import pytest

from tengen.games import go
from tengen.games.go.rules import RuleSet, get_rules
from tengen.solve.bitboard import board_points, forbidden, safe_points
from tengen.solve.certificate import mark_of
from tengen.solve.check import check
from tengen.solve.extract import SolutionStrategy, extract
from tengen.solve.go_solver import Claim, bit_of, guaranteed, point_of, position_of
from tengen.solve.retrograde import Position, Solution, solve_board

from .slow_checker import replies
from .slow_solver import Position as SlowPosition
from .slow_solver import positions, won
from .test_bitboard import random_states

AREA_RULES = ["simple-go", "chinese", "aga", "tromp-taylor", "new-zealand"]
PLAIN = RuleSet("plain", "simple", False, "area", 0.5, removes_dead=False)  # without superko


@pytest.fixture(scope="module")
def boards() -> dict[str, Solution]:
    return {name: solve_board(3, get_rules(name)) for name in AREA_RULES}


@pytest.mark.parametrize("rules", AREA_RULES)
def test_moves_and_marks_are_those_of_the_checker(rules: str, boards: dict[str, Solution]) -> None:
    """By the rules of the game, the checker finds the same moves and remembers the same of them."""
    for state in games_with_marks(rules, 250):
        position = position_of(state)
        choices = {point_of(choice.bit, 3): choice.after for choice in boards[rules].choices(position, True)}
        assert sorted(choices) == sorted(replies(state)), str(state)
        for move, after in choices.items():
            if after is not None and state.is_legal(move):
                assert after == position_of(state.play(move)), (str(state), move)


def games_with_marks(rules: str, games: int, size: int = 3) -> list[go.State]:
    """Positions of random games, in which stones are often retaken, and passes follow on that."""
    rng = np.random.default_rng(7)
    states = []
    for _ in range(games):
        state = go.State.new(size, rules)
        while not state.is_over and state.move_number < 40 + 4 * (size * size - 9):
            states.append(state)
            mark, moves = mark_of(state), state.legal_moves()
            if mark in moves:
                state = state.play(mark)
            elif mark is not None and go.PASS in moves and rng.random() < 0.5:
                state = state.play(go.PASS)
            else:
                state = state.play(int(rng.choice([move for move in moves if move >= 0] or moves)))
    return states


def two_stones_sent(rules: str) -> go.State:
    """White has sent a second stone to A1, Black has taken both by C1, and White could retake at B1."""
    black, white = points("A2 B2 A4"), points("B1 C2 D1")
    return play(go.State.setup(4, rules, 0.5, black=black, white=white, to_play=go.WHITE), "A1 C1")


@pytest.mark.parametrize("rules", ["simple-go", "chinese", "tromp-taylor"])
def test_under_positional_superko_one_of_two_stones_is_not_returned(rules: str) -> None:
    state = two_stones_sent(rules)
    assert mark_of(state) == points("B1")[0]
    assert points("B1")[0] not in replies(state)
    assert forbidden_point(state) == points("B1")[0]


@pytest.mark.parametrize("rules", ["aga", "new-zealand"])
def test_under_situational_superko_two_stones_are_not_sent_again_after_a_pass(rules: str) -> None:
    state = play(two_stones_sent(rules), "B1")
    assert mark_of(state) == points("B1")[0]
    state = state.play(go.PASS)
    assert mark_of(state) == points("A1")[0]
    assert points("A1")[0] not in replies(state)
    assert forbidden_point(state) == points("A1")[0]


def forbidden_point(state: go.State) -> int:
    """The point that kernels forbid because of the last moves."""
    own, opp, mark, _ = position_of(state)
    return point_of(int(forbidden(mark, own, opp, board_points(4), state.rules.flags)), 4)


def points(names: str) -> list[int]:
    return [4 * (4 - int(name[1])) + "ABCD".index(name[0]) for name in names.split()]


def play(state: go.State, names: str) -> go.State:
    for point in points(names):
        state = state.play(point)
    return state


def test_guarantees_are_those_of_a_slow_solution() -> None:
    """But for safe points, which count before the game is over: these are held against endless games too."""
    graph, solution = positions(3, PLAIN), solve_board(3, PLAIN)
    board = board_points(3)
    for need in (-8, -3, 1, 4, 9):
        least, most = won(graph, need, endless=False), won(graph, need, endless=True)
        for position in graph:
            if not is_reached(solution, position):
                continue
            found = solution.guarantee(as_position(position), position.turn == 0)[0] >= need
            a, b = (position.own, position.opp) if position.turn == 0 else (position.opp, position.own)
            assert found or position not in least
            assert not found or position in most
            if not safe_points(a, b, board) and not safe_points(b, a, board):
                assert found == (position in least) or position in most


def as_position(position: SlowPosition) -> Position:
    return Position(position.own, position.opp, position.ko, position.passes)


def is_reached(solution: Solution, position: SlowPosition) -> bool:
    try:
        solution.guarantee(as_position(position), True)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("rules", AREA_RULES)
def test_no_position_comes_twice_in_a_strategy(rules: str, boards: dict[str, Solution]) -> None:
    """The claimant keeps its guarantee and lowers the rank; whatever is answered does the same or raises it."""
    solution, rng = boards[rules], np.random.default_rng(3)
    for state in random_states(3, get_rules(rules), 60, seed=5):
        if state.is_over:
            continue
        position, ours = position_of(state), True
        now = solution.guarantee(position, ours)
        while now[0] > -9 and now[1] > 0:
            choices = solution.choices(position, ours)
            best = max(choices, key=lambda choice: (choice.guarantee, -choice.rank))
            choice = best if ours else choices[int(rng.integers(len(choices)))]
            after = choice.guarantee, choice.rank
            assert after[0] > now[0] or (after[0] == now[0] and after[1] < now[1])
            if choice.after is None:
                break
            position, ours, now = choice.after, not ours, after


@pytest.mark.parametrize("rules", AREA_RULES)
def test_3x3_is_proven_for_all_komi(rules: str) -> None:
    state, claim = go.State.new(3, rules, komi=0.5), Claim(go.BLACK, 9)
    solution = solve_board(3, state.rules, claim.margin)
    assert guaranteed(solution, state, go.BLACK) == claim
    check(extract(SolutionStrategy(solution, claim), state))


def test_a_claim_that_is_not_guaranteed_has_no_certificate() -> None:
    state = go.State.new(3, "chinese")
    with pytest.raises(ValueError, match="not guaranteed"):
        extract(SolutionStrategy(solve_board(3, state.rules), Claim(go.WHITE, 1)), state.play(bit_of(0, 3)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("rules", "color", "margin"),
    [("simple-go", go.BLACK, 16)]
    + [(name, color, margin) for name in AREA_RULES[1:] for color, margin in ((go.BLACK, 2), (go.WHITE, -2))],
)
def test_4x4_is_proven_for_all_komi(rules: str, color: int, margin: int) -> None:
    """Under area rules two points for Black (van der Werf, van den Herik and Uiterwijk 2003)."""
    state, claim = go.State.new(4, rules, komi=0.5), Claim(color, margin)
    solution = solve_board(4, state.rules, margin)
    assert guaranteed(solution, state, color) == claim
    check(extract(SolutionStrategy(solution, claim), state))


def test_other_boards_are_refused() -> None:
    with pytest.raises(ValueError, match="up to 4x4"):
        solve_board(5, get_rules("chinese"))
    with pytest.raises(ValueError, match="area"):
        solve_board(3, get_rules("japanese"))
