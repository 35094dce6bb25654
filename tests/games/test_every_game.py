"""What every game promises: kernels and states that agree, planes, symmetries, records, keys. A new game is tested too.

`tengen.testing` holds most of it, which players' own games are held to as well: `check_game("othello")`.
"""

import pickle
from typing import Any

import pytest

from tengen import testing
from tengen.encode import encoder_names
from tengen.games import go, microchess
from tengen.games.game import AnyGame, game_names, get_game
from tengen.games.state import FIRST, NOBODY, RESIGN, SECOND, Options, other_player

GIVEN: dict[str, dict[str, Any]] = {"go": {"size": 5, "rules": "tromp-taylor", "komi": 3.5, "limit": 400}}
"""Options for short games that are counted as they stand; for all others the usual ones."""


@pytest.fixture(params=game_names())
def game(request: pytest.FixtureRequest) -> AnyGame:
    return get_game(request.param)


def options_of(game: AnyGame) -> Options:
    return game.options.of(GIVEN.get(game.name, {}))


@pytest.mark.parametrize("check", testing.GAME_CHECKS, ids=lambda check: check.__name__)
def test_every_game_keeps_its_promises(game: AnyGame, check: Any) -> None:
    check(game, options_of(game))


def test_the_planes_of_every_encoder_are_the_same_from_arrays_and_from_states(game: AnyGame) -> None:
    names = encoder_names(game.name)
    assert names, "a game needs an encoder: `Game.meanings` and `Game.encode`, or a file in encode/"
    for name in names:
        testing.check_encoder(name, **GIVEN.get(game.name, {}))


def test_equal_games_are_equal_states_also_after_pickling(game: AnyGame) -> None:
    one, two = testing.random_game(game, options_of(game), 1, 40), testing.random_game(game, options_of(game), 1, 40)
    for k, (state, twin) in enumerate(zip(one, two)):
        again = pickle.loads(pickle.dumps(state))  # noqa: S301
        assert state == twin == again and hash(state) == hash(twin) == hash(again)
        assert state.legal_moves() == again.legal_moves()
        assert str(state) == str(again)
        assert all(state != other for other in one[:k])
    assert len({*one, *two}) == len(one)
    assert one[2].play(RESIGN) == two[2].play(RESIGN) != one[2]
    assert one[0] != "a state"


def test_the_numbers_of_players_and_of_resignation_are_the_same_in_all_games() -> None:
    assert (go.BLACK, go.WHITE, go.EMPTY, go.RESIGN) == (FIRST, SECOND, NOBODY, RESIGN)
    assert (microchess.WHITE, microchess.BLACK, microchess.RESIGN) == (FIRST, SECOND, RESIGN)
    assert (other_player(FIRST), other_player(SECOND)) == (SECOND, FIRST)


@pytest.mark.parametrize("move", [-3, -99, 5000])
def test_what_is_no_move_is_refused_with_a_reason(game: AnyGame, move: int) -> None:
    state = game.new(options_of(game))
    assert state.why_illegal(move)
    with pytest.raises(ValueError, match=str(move)):
        state.play(move)
    with pytest.raises(ValueError, match=str(move)):
        state.move_name(move)
    with pytest.raises(ValueError, match="nonsense"):
        state.parse_move("nonsense")


def test_other_options_and_records_are_refused(game: AnyGame) -> None:
    with pytest.raises(ValueError, match="colour is not an option of"):
        game.options.of({"colour": "red"})
    with pytest.raises(ValueError):
        game.read(b"nonsense")
    assert game.notation(game.new(options_of(game)), RESIGN) == "resign"
