"""Superko on hand-made strategies: positions are letters, the stones their capitals."""

import pytest

from tengen.solve.repetition import Node, RepetitionError, check_repetition


def strategy(*lines: str) -> dict[object, Node]:
    """`a! b c`: the player moves at a, to b or c; without the sign the opponent does. `=b` is a pass."""
    nodes: dict[object, Node] = {}
    for line in lines:
        name, *targets = line.split()
        steps = [(target.lstrip("="), target.startswith("=")) for target in targets]
        nodes[name.rstrip("!")] = Node(name[0].upper().encode(), name.endswith("!"), steps)
    return nodes


def test_lines_without_circles_are_accepted() -> None:
    check_repetition(strategy("a! b", "b c d", "c! e", "d! e", "e"), "a", False, True)


def test_a_move_of_the_players_that_repeats_a_position_is_refused() -> None:
    nodes = strategy("a b", "b! c", "c d", "d! a1", "a1")
    with pytest.raises(RepetitionError, match="player's move"):
        check_repetition(nodes, "a", False, True)


def test_where_the_turn_counts_the_same_stones_with_the_other_to_move_are_no_repetition() -> None:
    check_repetition(strategy("a b", "b! c", "c d", "d! a1", "a1! e", "e"), "a", True, True)


def test_a_move_of_the_opponents_that_repeats_a_position_is_illegal_and_does_no_harm() -> None:
    check_repetition(strategy("a! b", "b c e", "c! d", "d a e", "e"), "a", False, True)


def test_unless_the_opponent_has_no_other_and_may_pass_for_that() -> None:
    nodes = strategy("a! b", "b c e", "c! d", "d a", "e")
    with pytest.raises(RepetitionError, match="may pass"):
        check_repetition(nodes, "a", False, True)
    check_repetition(nodes, "a", False, False)


def test_passes_repeat_nothing() -> None:
    check_repetition(strategy("a! =a1", "a1 b", "b! c", "c =c1", "c1! d", "d"), "a", False, False)
