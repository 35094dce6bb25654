"""The planes of Microchess against a slow, obvious version that reads them off the FEN."""

import itertools

import numpy as np
import pytest

from tengen.encode.encoder import EncoderError, encoder_names, get_encoder
from tengen.encode.game_spec import GameSpec
from tengen.encode.microchess import HALFMOVE_MARKS, PLY_MARKS
from tengen.games import microchess
from tengen.games.microchess import WHITE
from tengen.games.microchess.board import MicrochessOptions, allocate

from ..games.microchess.games import play_all, random_states
from ..games.microchess.slow_rules import strewn


def slow_planes(name: str, state: microchess.State) -> np.ndarray:
    placement, turn, castling, _, halfmove, _ = state.fen().split()
    for digit in "1234":
        placement = placement.replace(digit, "." * int(digit))
    board = np.array([list(row) for row in placement.split("/")])
    turns_view = turn == "b" and name != "microchess-lecture-fixed"
    board = board[::-1, ::-1] if turns_view else board
    letters, rights = ("pnbrqkPNBRQK", "kQ") if turns_view else ("PNBRQKpnbrqk", "Qk")
    facts = [right in castling for right in rights]
    if name == "microchess-lecture-fixed":
        facts.append(turn == "w")
    elif name != "microchess-lecture":
        facts.append(state.occurrences > 1)
        facts += [int(halfmove) >= mark for mark in HALFMOVE_MARKS]
    if name == "microchess-ncsoft":
        facts += [state.ply >= mark for mark in PLY_MARKS]
    planes = [board == letter for letter in letters] + [np.full((5, 4), fact) for fact in facts]
    return np.stack(planes).astype(np.uint8)


@pytest.mark.parametrize("name", encoder_names("microchess"))
def test_planes_are_those_of_the_slow_version(name: str) -> None:
    rng = np.random.default_rng(40)
    states = [*itertools.islice(random_states(41, 40, "ncsoft"), 1200), *(strewn(rng) for _ in range(100))]
    states.append(microchess.State.from_fen("1k2/4/4/4/R2K w Q - 95 70"))
    planes = get_encoder(name).encode(states)
    assert planes.shape == (len(states), get_encoder(name).planes, 5, 4)
    for state, shown in zip(states, planes):
        assert np.array_equal(shown, slow_planes(name, state)), state.fen()
    assert planes.any(axis=(0, 2, 3)).all()  # every plane shows something somewhere


def test_planes_have_meanings() -> None:
    planes = {name: get_encoder(name).planes for name in encoder_names("microchess")}
    assert planes["microchess"] == 21 and planes["microchess-ncsoft"] == 31
    assert planes["microchess-lecture"] == 14 and planes["microchess-lecture-fixed"] == 15


def test_old_names_are_understood() -> None:
    for old, name in (("microchess-seed", "microchess-lecture"), ("microchess-seed-fixed", "microchess-lecture-fixed")):
        assert get_encoder(old) is get_encoder(name)
        assert old not in encoder_names("microchess")


def test_both_sides_see_the_start_alike() -> None:
    encoder = get_encoder("microchess")
    white, black = encoder.encode([microchess.State.new(), microchess.State.from_fen("knbr/p3/4/3P/RBNK b Qk - 0 1")])
    assert np.array_equal(white, black)
    assert microchess.State.new().to_play == WHITE
    assert white[0, 3, 3] == 1 and white[0].sum() == 1  # the own pawn, one row from the bottom, on the right


def test_a_position_that_was_there_before() -> None:
    state = play_all(microchess.State.new(), "c1b3 a5b4 b3c1 b4a5 c1b3 a5b4")
    assert get_encoder("microchess").encode([state])[0, 14].all()


def test_arrays_that_do_not_fit_are_refused() -> None:
    encoder, boards = get_encoder("microchess"), allocate(2)
    for out in (
        np.empty((1, 21, 5, 4), np.uint8),
        np.empty((2, 20, 5, 4), np.uint8),
        np.empty((2, 21, 5, 4), np.float32),
        np.empty((2, 21, 4, 5), np.uint8).transpose(0, 1, 3, 2),
    ):
        with pytest.raises(EncoderError, match="microchess writes 2 positions"):
            encoder.encode_games(boards, 2, out)


def test_an_encoder_of_another_game_is_refused() -> None:
    with pytest.raises(EncoderError, match="the encoder zero is of go, not of microchess"):
        GameSpec(MicrochessOptions(), "zero")
    with pytest.raises(EncoderError, match=r"choose from .*microchess"):
        get_encoder("nonsense")


def test_games_side_by_side_look_like_their_states() -> None:
    spec = GameSpec(MicrochessOptions(), "microchess")
    states = list(itertools.islice(random_states(42, 8), 60))
    games = spec.batch.allocate(len(states))
    for i, state in enumerate(states):
        spec.batch.load(games, i, state)
    planes = np.full((len(states) + 2, *spec.shape), 7, np.uint8)
    spec.encoder.encode_games(games, len(states), planes)
    assert np.array_equal(planes[: len(states)], spec.encoder.encode(states))
    assert (planes[len(states) :] == 7).all()
