"""Superko on hand-made strategies: positions are letters, the stones their capitals."""

from dataclasses import replace

import pytest

from tengen.games.go.rules import get_rules
from tengen.solve.repetition import Node, RepetitionError, check_repetition


def check(*lines: str, situational: bool = False, forced: bool = False, most: int = 1000) -> None:
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
    check("a! b", "b c d", "c! .", "d! z", forced=True)


def test_a_move_of_the_players_that_repeats_a_position_is_refused() -> None:
    with pytest.raises(RepetitionError, match="player's move"):
        check("a b", "b! c", "c d", "d! a1", "a1 .", forced=True)


def test_where_the_turn_counts_the_same_stones_with_the_other_to_move_are_no_repetition() -> None:
    check("a b", "b! c", "c d", "d! a1", "a1! e", "e .", situational=True, forced=True)


def test_a_move_of_the_opponents_that_repeats_a_position_is_illegal_and_does_no_harm() -> None:
    check("a! b", "b c e", "c! d", "d a e", "e! .", forced=True)


def test_unless_the_opponent_has_no_other_and_may_pass_for_that() -> None:
    circle = "a! b", "b c e", "c! d", "d a", "e! ."
    with pytest.raises(RepetitionError, match="may pass"):
        check(*circle, forced=True)
    check(*circle)


def test_passes_repeat_nothing() -> None:
    check("a! =a1", "a1 b", "b! c", "c =c1", "c1! d", "d .")


def test_too_many_lines_are_said_to_be_too_many() -> None:
    with pytest.raises(RepetitionError, match="too many"):
        check("a! b", "b c", "c! .", most=2)
