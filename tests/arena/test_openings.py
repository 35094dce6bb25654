"""Openings of matches: repeatable, and where a game asks for it fair and different from pair to pair."""

from typing import Any

import pytest

from tengen.arena.openings import Openings
from tengen.games.game import get_game


def openings(game: str, **options: Any) -> Openings:
    found = get_game(game)
    return Openings(found, found.new(found.options.of(options)))


@pytest.mark.parametrize(("game", "moves"), [("go", 2), ("microchess", 4)])
def test_an_opening_depends_on_the_seed_and_the_pair_alone(game: str, moves: int) -> None:
    in_order = [openings(game).get(moves, 1, pair) for pair in range(1, 11)]
    assert str(openings(game).get(moves, 1, 10)) == str(in_order[-1])
    assert str(openings(game).get(moves, 2, 1)) != str(in_order[0])
    assert {state.move_number for state in in_order} == {moves}


def test_the_same_seed_gives_the_openings_that_it_always_gave() -> None:
    assert [openings("go", size=9).get(2, 7, pair).moves for pair in (1, 2)] == [
        [(1, 57), (2, 50)],
        [(1, 31), (2, 30)],
    ]
    chess = openings("microchess")
    assert [chess.get(4, 7, pair).fen() for pair in (1, 2)] == [
        "1nb1/k2r/3N/3P/1B1K w - - 2 3",
        "2br/pk2/n3/3P/RBNK w Q - 4 3",
    ]


@pytest.mark.parametrize("options", [{}, {"rules": "ncsoft"}, {"double_step": False}])
def test_pairs_of_microchess_differ_and_are_not_over(options: dict[str, Any]) -> None:
    found = openings("microchess", **options)
    states = [found.get(4, 3, pair) for pair in range(1, 31)]
    assert len({state.fen() for state in states}) == 30
    assert not any(state.is_over for state in states)


def test_pairs_go_on_when_openings_run_out_and_a_match_may_begin_at_the_start() -> None:
    found = openings("microchess")
    assert {found.get(1, 1, pair).move_number for pair in range(1, 40)} == {1}
    assert found.get(0, 1, 5).move_number == 0
