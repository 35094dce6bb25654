"""The checker against a slow one, by `go.State` and sets of points: moves, marks, ends, circles, verdicts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tengen.games import go
from tengen.games.go.board import NO_CELL
from tengen.games.go.rules import get_rules
from tengen.solve.certificate import Certificate, Statement, mark_of, position_code
from tengen.solve.check import (
    NOWHERE,
    Lines,
    Node,
    RepetitionError,
    Steps,
    check,
    check_repetition,
    check_start,
    connected_sets,
    ordered_sets,
)
from tengen.solve.check_positions import (
    KEPT,
    LOST,
    NO_POSITION,
    CertificateError,
    Goal,
    answer,
    check_entries,
    goal_of,
    least_image,
    new_work,
    replies,
)
from tengen.solve.extract import SolutionStrategy, extract
from tengen.solve.go_solver import Claim, point_of, position_of
from tengen.solve.retrograde import Solution, solve_board

from . import slow_checker
from .test_retrograde import AREA_RULES, games_with_marks


def number_of(state: go.State) -> int:
    """A position as it stands, as a number."""
    stones = sum(int(stone) * 3**point for point, stone in enumerate(state.stones.ravel()))
    mark = mark_of(state)
    return (stones * 32 + (0 if mark is None else mark + 1)) * 2 + (state.last_move == go.PASS)


def point_of_cell(cell: int, size: int) -> int:
    return go.PASS if cell == NO_CELL else (cell // (size + 1) - 1) * size + cell % (size + 1) - 1


def result(state: go.State, goal: Goal) -> int:
    """What `check_positions` should say of the position after a move."""
    if slow_checker.is_kept(state, goal.color, goal.margin):
        return KEPT
    return LOST if state.is_over else number_of(state)


@pytest.mark.parametrize("size", [3, 4, 5])
@pytest.mark.parametrize("rules", AREA_RULES)
def test_moves_marks_and_ends_are_those_of_a_slow_checker(rules: str, size: int) -> None:
    work, marks, ends = new_work(size), 0, 0
    for number, state in enumerate(games_with_marks(rules, {3: 30, 4: 16, 5: 8}[size], size)):
        color, margin = (go.BLACK, go.WHITE)[number % 2], (size, -3, size * size)[number % 3]
        goal = Goal(size, get_rules(rules).flags, color, margin)
        legal = slow_checker.replies(state)
        expected = {move: result(slow_checker.after_move(state, move), goal) for move in legal}
        count = replies(work, goal, number_of(state), state.to_play)
        moves = [point_of_cell(cell, size) for cell in work.moves[:count].tolist()]
        assert dict(zip(moves, work.reached[:count].tolist(), strict=True)) == expected, str(state)
        if state.to_play == color:
            move = moves[number % count]
            assert answer(work, goal, number_of(state), -1 if move == go.PASS else move) == expected[move]
        marks += mark_of(state) is not None
        ends += KEPT in expected.values() or LOST in expected.values()
    assert marks > 3
    assert ends > 3


@pytest.mark.parametrize("size", [3, 5])
def test_the_least_image_is_the_key_of_the_position(size: int) -> None:
    work = new_work(size)
    for state in games_with_marks("aga", 10, size):
        key, points = position_code(state)
        found, image = least_image(work, number_of(state))
        assert found == key
        np.testing.assert_array_equal(work.images[image], points)


@pytest.mark.parametrize("number", [-7, 3**9 << 6, 11 << 1, sum(3**point for point in range(9)) << 6])
def test_numbers_that_are_no_position_are_refused(number: int) -> None:
    """Negative, a tenth stone, a mark off the board, a full board without a liberty."""
    goal = Goal(3, get_rules("chinese").flags, go.BLACK, 1)
    assert replies(new_work(3), goal, number, go.BLACK) == NO_POSITION
    assert answer(new_work(3), goal, number, 0) == NO_POSITION


def test_sets_are_strongly_connected_and_steps_lead_down() -> None:
    """Held against SciPy, on random graphs."""
    rng, with_circles = np.random.default_rng(5), 0
    for _ in range(300):
        entries, boards = int(rng.integers(1, 30)), int(rng.integers(2, 40))
        board = np.sort(rng.integers(0, boards, entries)).astype(np.int32)
        after = np.where(rng.random(entries) < 0.2, NOWHERE, rng.integers(0, boards, entries)).astype(np.int32)
        sizes = np.where(after == NOWHERE, 0, rng.integers(0, 4, entries))
        first = np.concatenate([[0], np.cumsum(sizes)])
        reply = rng.integers(0, entries, first[-1]).astype(np.int32)
        found = connected_sets(Steps(board, after, first, reply), boards)
        pairs = [(board[e], after[e]) for e in range(entries) if after[e] != NOWHERE]
        pairs += [(after[e], board[to]) for e in range(entries) for to in reply[first[e] : first[e + 1]]]
        one, other = np.array(pairs or [(0, 0)]).T
        graph = coo_array((np.ones(len(one)), (one, other)), shape=(boards, boards))
        count, label = connected_components(graph, connection="strong")
        np.testing.assert_array_equal(found[:, None] == found[None, :], label[:, None] == label[None, :])
        assert np.all(found[one] >= found[other])
        with_circles += count < boards
    assert 20 < with_circles < 280


def is_accepted(certificate: Certificate, slowly: bool = False) -> bool:
    try:
        (slow_checker.check if slowly else check)(certificate)
    except CertificateError:
        return False
    return True


def slow_strategy(solution: Solution, margin: int, rng: np.random.Generator) -> Certificate:
    """A strategy for Black on 3x3 that never gives its margin away, but does not mind how long that takes."""
    start = go.State.new(3, solution.rules, 0.5)
    todo, seen, found = [start], set(), dict[int, int]()
    while todo:
        state = todo.pop()
        if slow_checker.is_kept(state, go.BLACK, margin) or (number_of(state), state.to_play) in seen:
            continue
        seen.add((number_of(state), state.to_play))
        moves = slow_checker.replies(state)
        if state.to_play == go.BLACK:
            key, points = position_code(state)
            if key not in found:
                kept = [choice for choice in solution.choices(position_of(state), True) if choice.guarantee >= margin]
                longest = max(choice.rank for choice in kept)
                move = point_of(int(rng.choice([choice.bit for choice in kept if choice.rank == longest])), 3)
                found[key] = -1 if move == go.PASS else int(np.argmax(points == move))
            moves = [go.PASS if found[key] < 0 else int(points[found[key]])]
        todo += [slow_checker.after_move(state, move) for move in moves]
    keys = np.array(sorted(found), np.int64)
    return Certificate(Statement.about(start, go.BLACK, margin), keys, np.array([found[int(k)] for k in keys], np.int8))


@pytest.mark.parametrize("rules", AREA_RULES)
def test_verdicts_on_slow_strategies_are_those_of_a_slow_checker(rules: str) -> None:
    """Some of them repeat positions; what ours accepts, the slow one must."""
    rng, solution = np.random.default_rng(11), solve_board(3, get_rules(rules))
    verdicts = []
    for margin in (1, 4, 9):
        certificate = slow_strategy(solution, margin, rng)
        verdicts.append((is_accepted(certificate), is_accepted(certificate, slowly=True)))
    assert (True, False) not in verdicts
    assert rules == "simple-go" or (False, False) in verdicts  # where passing is not allowed, all lines end


@pytest.mark.parametrize("rules", AREA_RULES)
def test_a_proof_is_accepted_and_no_slip_in_it(rules: str) -> None:
    state, claim = go.State.new(3, rules, 0.5), Claim(go.BLACK, 9)
    proof = extract(SolutionStrategy(solve_board(3, state.rules), claim), state)
    assert is_accepted(proof)
    assert is_accepted(proof, slowly=True)
    rng, refused = np.random.default_rng(2), 0
    for _ in range(60):
        moves = proof.moves.copy()
        moves[rng.integers(len(moves))] = rng.integers(-1, 9)
        slip = replace(proof, moves=moves)
        if is_accepted(slip):
            assert is_accepted(slip, slowly=True)
        else:
            refused += 1
    assert refused > 20


def test_positions_out_of_order_are_refused() -> None:
    state, claim = go.State.new(3, "chinese", 0.5), Claim(go.BLACK, 9)
    proof = extract(SolutionStrategy(solve_board(3, state.rules), claim), state)
    with pytest.raises(CertificateError, match="not in order"):
        check(replace(proof, keys=proof.keys[::-1].copy()))


@pytest.mark.parametrize("rules", ["tromp-taylor", "aga"])
def test_no_line_repeats_stones_where_there_is_an_order(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    solution = solve_board(3, get_rules(rules))
    ordered = spoiled = 0
    for seed in range(12):
        certificate = slow_strategy(solution, 9, np.random.default_rng(seed))
        goal = goal_of(certificate)
        entries, starts = check_entries(certificate, goal), check_start(certificate, goal)
        with monkeypatch.context() as patch:
            patch.setattr("tengen.solve.check.ordered_sets", lambda *_: set())
            lines = Lines(certificate, goal, entries, starts)
        is_circle = np.bincount(lines.sets) > 1
        found = ordered_sets(lines.steps, lines.sets, is_circle, np.append(entries.ends > 0, False))
        for number, doors in lines.doors().items():
            try:
                check_repetition(doors, lines.node, get_rules(rules), most=300_000)
            except RepetitionError as error:
                assert number not in found or "too many" in str(error)
                spoiled += 1
            ordered += number in found
    assert ordered > 10
    assert spoiled > 0


@pytest.mark.parametrize("may_end", [False, True])
def test_an_opponent_without_other_moves_is_looked_at(may_end: bool) -> None:
    """Entry 0 moves from board 0 to 1; the only reply brings back board 0, where entry 1 ends the line. Superko forbids
    the reply, and with forced play the opponent passes instead: unless it has another move, which ends the line."""
    steps = Steps(*(np.array(each, np.int32) for each in ([0, 0], [1, NOWHERE], [0, 1, 1], [1])))  # type: ignore[arg-type]
    sets = connected_sets(steps, 2)
    assert sets[0] == sets[1]
    found = ordered_sets(steps, sets, np.bincount(sets) > 1, np.array([may_end, True]))
    assert found == ({int(sets[0])} if may_end else set())


def follow(*lines: str, situational: bool = False, forced: bool = False, most: int = 1000) -> None:
    """Follow a strategy from its first position. `a! b c`: the player moves at a, to b or c; without the sign the
    opponent does. `=b` is a pass, `.` the end of a line. All positions are in one set, but for z."""
    nodes: dict[str, Node[str]] = {"z": Node("Z", True, None)}
    for line in lines:
        name, *targets = line.split()
        steps = [(None if target == "." else target.lstrip("="), target.startswith("=")) for target in targets]
        nodes[name.rstrip("!")] = Node(name[0].upper(), name.endswith("!"), 0, list(steps))
    rules = replace(get_rules("chinese"), ko="situational" if situational else "positional", forced_play=forced)
    check_repetition([lines[0].split()[0].rstrip("!")], lambda name: nodes[name], rules, most)


def test_lines_without_circles_are_accepted() -> None:
    follow("a! b", "b c d", "c! .", "d! z", forced=True)


def test_a_move_of_the_players_that_repeats_a_position_is_refused() -> None:
    with pytest.raises(RepetitionError, match="player's move"):
        follow("a b", "b! c", "c d", "d! a1", "a1 .", forced=True)


def test_where_the_turn_counts_the_same_stones_with_the_other_to_move_are_no_repetition() -> None:
    follow("a b", "b! c", "c d", "d! a1", "a1! e", "e .", situational=True, forced=True)


def test_a_move_of_the_opponents_that_repeats_a_position_is_illegal_and_does_no_harm() -> None:
    follow("a! b", "b c e", "c! d", "d a e", "e! .", forced=True)


def test_unless_the_opponent_has_no_other_and_may_pass_for_that() -> None:
    circle = "a! b", "b c e", "c! d", "d a", "e! ."
    with pytest.raises(RepetitionError, match="may pass"):
        follow(*circle, forced=True)
    follow(*circle)


def test_passes_repeat_nothing() -> None:
    follow("a! =a1", "a1 b", "b! c", "c =c1", "c1! d", "d .")


def test_too_many_lines_are_said_to_be_too_many() -> None:
    with pytest.raises(RepetitionError, match="too many"):
        follow("a! b", "b c", "c! .", most=2)
