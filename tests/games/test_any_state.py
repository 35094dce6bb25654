"""What every game's state promises (`games.state.AnyState`), checked on random games of each."""

from collections.abc import Callable

import numpy as np
import pytest

from tengen.games import go, microchess
from tengen.games.state import FIRST, NOBODY, RESIGN, SECOND, AnyState, other_player

STARTS: dict[str, Callable[[], AnyState]] = {
    "go": lambda: go.GameState.new(5, "tromp-taylor"),
    "microchess": lambda: microchess.GameState.new(),
}


def random_game(start: AnyState, seed: int, longest: int = 150) -> list[AnyState]:
    """All positions of a random game, or of its beginning."""
    rng, states = np.random.default_rng(seed), [start]
    while not states[-1].is_over and len(states) < longest:
        states.append(states[-1].play(int(rng.choice(states[-1].legal_moves()))))
    return states


def test_the_numbers_of_players_and_of_resignation_are_the_same_in_all_games() -> None:
    assert (go.BLACK, go.WHITE, go.EMPTY, go.RESIGN) == (FIRST, SECOND, NOBODY, RESIGN)
    assert (microchess.WHITE, microchess.BLACK, microchess.RESIGN) == (FIRST, SECOND, RESIGN)
    assert (other_player(FIRST), other_player(SECOND)) == (SECOND, FIRST)


@pytest.mark.parametrize("game", STARTS)
def test_a_random_game_keeps_every_promise(game: str) -> None:
    for seed in range(5):
        states = random_game(STARTS[game](), seed)
        for number, state in enumerate(states):
            assert (state.game, state.move_number) == (game, number)
            assert state.to_play == (FIRST if number % 2 == 0 else SECOND)
            assert (state.previous is None) == (state.last_move is None) == (number == 0)
            if number:
                assert state.previous is states[number - 1]
            moves = state.legal_moves()
            assert (moves == []) == state.is_over
            assert all(state.why_illegal(move) is None for move in moves)
            assert len({state.move_name(move) for move in moves}) == len(moves)
            running = not state.is_over
            assert (state.winner() is None) == (state.result() == "?") == running


@pytest.mark.parametrize("game", STARTS)
def test_resigning_ends_the_game_for_the_other_player(game: str) -> None:
    start = STARTS[game]()
    for state in (start, start.play(start.legal_moves()[0])):
        resigned = state.play(RESIGN)
        assert resigned.is_over
        assert resigned.winner() == other_player(state.to_play)
        assert resigned.legal_moves() == []
        assert state.move_name(RESIGN) == "resign"


@pytest.mark.parametrize("game", STARTS)
@pytest.mark.parametrize("move", [-3, -99, 5000])
def test_what_is_no_move_is_refused_with_a_reason(game: str, move: int) -> None:
    state = STARTS[game]()
    assert state.why_illegal(move)
    with pytest.raises(ValueError, match=str(move)):
        state.play(move)
    with pytest.raises(ValueError, match=str(move)):
        state.move_name(move)
