"""Sets of boards with an order, against all their lines."""

import numpy as np
import pytest

from tengen.games.go.rules import get_rules
from tengen.solve import check_lines
from tengen.solve.check import check_entries, check_start, question_of
from tengen.solve.check_circles import NOWHERE, Steps, connected_sets
from tengen.solve.check_lines import Lines
from tengen.solve.check_order import ordered_sets
from tengen.solve.repetition import RepetitionError, check_repetition
from tengen.solve.retrograde import solve_board

from .test_check import slow_strategy


@pytest.mark.parametrize("rules", ["tromp-taylor", "aga"])
def test_no_line_repeats_stones_where_there_is_an_order(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    solution = solve_board(3, get_rules(rules))
    ordered = spoiled = 0
    for seed in range(12):
        certificate = slow_strategy(solution, 9, np.random.default_rng(seed))
        question = question_of(certificate)
        entries, starts = check_entries(certificate, question), check_start(certificate, question)
        with monkeypatch.context() as patch:
            patch.setattr(check_lines, "ordered_sets", lambda *_: set())
            lines = Lines(certificate, question, entries, starts)
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
