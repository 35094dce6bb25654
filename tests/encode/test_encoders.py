"""Encoders write what their slow, obvious versions write, from whatever side a board is seen."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.encode import Encoder, EncoderError, encoder_names, get_encoder
from tengen.games import go
from tengen.games.game import get_game
from tengen.games.go import BLACK, PASS, WHITE, from_gtp
from tengen.games.go.positions import allocate_positions, positions_of, replay
from tengen.games.symmetry import SYMMETRIES, transform_array, transform_move

from ..games.go.positions import choices, state_from, states_of_game
from .games import RECORDS, as_records, guided_game, mixed_states, real_states
from .slow_encoders import SLOW, UNKNOWN, scene_of

every_encoder = pytest.mark.parametrize("name", encoder_names())


def assert_as_slow(encoder: Encoder, states: list[go.State]) -> None:
    """The encoder and its slow version agree on these states, plane by plane."""
    unknown = 0
    for planes, state in zip(encoder.encode(states), states):
        expected = SLOW[encoder.name](scene_of(state))
        unknown += np.sum(expected == UNKNOWN)
        differs = np.argwhere((planes != expected) & (expected != UNKNOWN))
        told = [f"{encoder.meanings[plane]} at row {row}, column {col}" for plane, row, col in differs[:5]]
        assert not told, f"{told}\n{state}"
    assert unknown <= len(states) // 10


# ------------------------------------------------------------------------------------ the slow versions


@every_encoder
@pytest.mark.parametrize(("size", "count"), [(2, 40), (3, 80), (5, 150), (9, 120), (13, 20), (19, 12)])
def test_planes_are_those_of_the_slow_version(name: str, size: int, count: int) -> None:
    assert_as_slow(get_encoder(name), mixed_states(size, count, seed=size))


@every_encoder
@pytest.mark.skipif(not RECORDS, reason="needs archives of real games beside the project")
def test_planes_of_real_games_are_those_of_the_slow_version(name: str) -> None:
    assert_as_slow(get_encoder(name), list(real_states(24)))


@pytest.mark.long
@every_encoder
@pytest.mark.parametrize(("size", "count"), [(3, 1000), (5, 2000), (9, 1000), (19, 100)])
def test_planes_of_many_games_are_those_of_the_slow_version(name: str, size: int, count: int) -> None:
    assert_as_slow(get_encoder(name), mixed_states(size, count, seed=100 * size))


@pytest.mark.parametrize("size", [5, 6])
def test_the_komi_is_that_of_the_slow_version(size: int) -> None:
    komis = [*np.arange(-size, size, 0.5), -15.5, -15, 15, 15.5]  # a draw needs a komi that the board can give
    states = [state.with_komi(float(komi)) for state in mixed_states(size, 6, seed=1) for komi in komis]
    assert_as_slow(get_encoder("compact-komi"), states)


# ------------------------------------------------------------------------------------------ properties


@given(size=st.integers(2, 9), numbers=choices, k=st.integers(0, SYMMETRIES - 1))
@every_encoder
def test_planes_turn_with_the_board(name: str, size: int, numbers: list[int], k: int) -> None:
    states = states_of_game(size, "chinese", numbers)
    turned = [go.State.new(size, "chinese")]
    for _, move in states[-1].moves:
        turned.append(turned[-1].play(transform_move(move, k, size)))
    expected = transform_array(get_encoder(name).encode(states), k)
    assert np.array_equal(get_encoder(name).encode(turned), expected)


@every_encoder
def test_a_replayed_record_gives_the_planes_of_its_states(name: str) -> None:
    games = [guided_game(9, seed, handicap) for seed, handicap in ((1, 0), (2, 4), (3, 0))]
    records = as_records([game[-1] for game in games])
    chosen, plies = np.array([(g, ply) for g, game in enumerate(games) for ply in range(len(game) - 1)]).T.copy()
    positions = allocate_positions(9, len(chosen))
    replay(records, chosen, plies, positions)
    out = np.full((len(chosen), get_encoder(name).planes, 9, 9), 77, np.uint8)
    get_encoder(name).encode_positions(positions, out)
    expected = get_encoder(name).encode([games[g][ply] for g, ply in zip(chosen, plies)])
    assert np.array_equal(out, expected)


@every_encoder
def test_the_batch_does_not_matter_nor_the_thread(name: str) -> None:
    states = mixed_states(9, 60, seed=7)
    together = get_encoder(name).encode(states)
    with ThreadPoolExecutor(4) as threads:
        apart = list(threads.map(lambda state: get_encoder(name).encode([state])[0], states))
    assert np.array_equal(together, apart)


@pytest.mark.parametrize("name", ["oneplane", "sevenplane", "alphago"])
def test_these_planes_do_not_know_which_colour_is_black(name: str) -> None:
    for state in mixed_states(7, 40, seed=3):
        black, white = ([p for p in range(49) if state.color_at(p) == color] for color in (BLACK, WHITE))
        seen = go.State.setup(7, "chinese", None, black, white, state.to_play)
        mirrored = go.State.setup(7, "chinese", None, white, black, 3 - state.to_play)
        planes, swapped = get_encoder(name).encode([seen, mirrored])
        assert np.array_equal(planes, swapped)


@every_encoder
def test_every_plane_has_a_meaning_of_its_own(name: str) -> None:
    encoder = get_encoder(name)
    assert encoder.planes == len(encoder.meanings) == len(set(encoder.meanings))
    assert encoder.encode([go.State.new(5)]).shape == (1, encoder.planes, 5, 5)


# ---------------------------------------------------------------------------------- AlphaGo, by example

FIGHT = """
    . X O . .
    X . X O .
    . X O . .
    O . . . .
    O X . . .
"""


KO = """
    . . . . . . .
    . . X O . . .
    . X . X O . .
    . . X O . . .
    . . . . . . .
    . . . . . . .
    . . . . . . .
"""


def planes_at(diagram: str, vertex: str, to_play: int = BLACK) -> set[str]:
    """What AlphaGo's planes say of a point."""
    state, encoder = state_from(diagram, to_play=to_play), get_encoder("alphago")
    planes = encoder.encode([state])[0].reshape(encoder.planes, -1)
    said = planes[:, from_gtp(vertex, state.size)]
    return {meaning for meaning, value in zip(encoder.meanings, said) if value} - {"ones"}


def test_a_stone_tells_its_colour_age_and_liberties() -> None:
    oldest = "stones played 8 or more turns ago"
    assert planes_at(FIGHT, "A1") == {"enemy stones", oldest, "stones with 2 liberties"}
    assert planes_at(FIGHT, "B1", WHITE) == {"enemy stones", oldest, "stones with 2 liberties"}
    assert planes_at(FIGHT, "C4") == {"own stones", oldest, "stones with 1 liberties"}


def test_a_ko_capture_is_a_capture_and_a_self_atari() -> None:
    assert planes_at(KO, "C5", WHITE) == {
        "empty points",
        "moves that capture 1 stones",
        "moves that put 1 own stones in atari",
        "moves that leave their string 1 liberties",
        "moves that fill no own eye",
    }


def test_the_ko_may_not_be_retaken() -> None:
    state = state_from(KO, to_play=WHITE).play(from_gtp("C5", 7))
    encoder = get_encoder("alphago")
    retake = encoder.encode([state])[0, :, 2, 3]
    assert [meaning for meaning, value in zip(encoder.meanings, retake) if value] == ["empty points", "ones"]


def test_filling_an_eye_is_a_move_but_not_a_sensible_one() -> None:
    diagram = """
        . X . . .
        X X . . .
        . . . . .
        . . . O O
        . . . O .
    """
    assert planes_at(diagram, "A5") == {"empty points", "moves that leave their string 4 liberties"}
    assert planes_at(diagram, "E1") == {"empty points"}  # suicide
    assert "moves that fill no own eye" in planes_at(diagram, "C3")


def test_the_last_eight_moves_have_planes_of_their_own() -> None:
    state, encoder = go.State.new(5), get_encoder("alphago")
    points = [0, 2, 4, 10, 12, PASS, 14, 20, 22, 24]
    for point in points:
        state = state.play(point)
    ages = encoder.encode([state])[0, 4:12].reshape(8, -1)
    assert ages.sum() == 9
    for turns, point in enumerate(reversed(points), start=1):
        assert point == PASS or ages[min(turns, 8) - 1, point] == 1


# ---------------------------------------------------------------------------------------------- errors


def test_an_unknown_encoder_is_refused_with_the_names_of_the_others() -> None:
    with pytest.raises(EncoderError, match=r"no encoder 'betago': choose from oneplane, .*zero"):
        get_encoder("betago")


def test_states_of_several_sizes_or_none_are_refused() -> None:
    with pytest.raises(EncoderError, match=r"sizes \[5, 9\]"):
        get_encoder("simple").encode([go.State.new(5), go.State.new(9)])
    with pytest.raises(EncoderError, match="no state"):
        get_encoder("simple").encode([])


def test_positions_of_another_game_are_refused() -> None:
    starts = {game: get_game(game).start() for game in ("go", "microchess", "tictactoe")}
    for name in ("zero", "microchess", "tictactoe"):
        encoder = get_encoder(name)
        for game, start in starts.items():
            if game != encoder.game:
                with pytest.raises(EncoderError, match=f"the encoder {name} shows positions of {encoder.game} only"):
                    encoder.encode([start])


@pytest.mark.parametrize(
    "out",
    [
        np.empty((1, 11, 9, 9), np.uint8),
        np.empty((2, 7, 9, 9), np.uint8),
        np.empty((2, 11, 9, 8), np.uint8),
        np.empty((2, 11, 9, 9), np.int8),
        np.empty((2, 11, 9, 18), np.uint8)[..., ::2],
    ],
    ids=["batch", "planes", "size", "type", "order"],
)
def test_arrays_that_do_not_fit_are_refused(out: np.ndarray) -> None:
    positions = positions_of([go.State.new(9), go.State.new(9)])
    with pytest.raises(EncoderError, match=r"simple writes 2 positions to .*\(2, 11, 9, 9\)"):
        get_encoder("simple").encode_positions(positions, out)
