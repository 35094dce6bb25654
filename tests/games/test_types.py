"""What an editor and a type checker know of games; `make lint` has pyright read this file too."""

from typing import assert_type

import pytest

import tengen
from tengen.games.board_game import BoardState
from tengen.games.game import AnyGame, game_names, game_of
from tengen.games.go.rules import GoOptions
from tengen.games.microchess.game import Microchess
from tengen.games.state import AnyState, IllegalMove


def test_a_game_by_its_name_has_states_and_options_of_its_own():
    state = assert_type(tengen.get_game("go").start(size=5), tengen.go.State)
    assert isinstance(state, tengen.go.State) and state.play(7).color_at(7) == tengen.go.BLACK
    assert_type(state.play(7).previous, tengen.go.State | None)
    options = assert_type(tengen.get_game("go").options.of({"size": 5}), GoOptions)
    assert options.size == 5
    assert_type(game_of(state).sensible_moves(state), list[int])
    assert isinstance(assert_type(tengen.get_game("microchess"), Microchess), Microchess)
    assert isinstance(assert_type(tengen.get_game("tictactoe").start(), BoardState), BoardState)


def test_a_game_that_is_chosen_later_has_what_all_games_have():
    for name in game_names():
        game = assert_type(tengen.get_game(name), AnyGame)
        state = assert_type(game.start(), AnyState)
        assert isinstance(state, AnyState)
        assert_type(state.play(state.legal_moves()[0]), AnyState)
        assert not hasattr(state, "__dict__"), "states are small"


def test_a_state_has_the_states_of_its_game_and_one_way_to_refuse_a_move():
    for name in game_names():
        start = tengen.get_game(name).start()
        first = start.legal_moves()[0]
        states = assert_type(start.play(first).states(), list[AnyState])
        assert states == [start, start.play(first)] and start.states() == [start]
        assert start.is_legal(first) and not start.is_legal(10_000)
        with pytest.raises(IllegalMove):
            start.play(10_000)
    assert tengen.go.IllegalMove is tengen.microchess.IllegalMove is IllegalMove


def test_stones_are_taken_off_where_there_is_territory():
    game, state = tengen.get_game("go"), tengen.get_game("go").start(size=5).play(12)
    assert game.with_dead(state, [12]) == state.with_dead([12]) != state
