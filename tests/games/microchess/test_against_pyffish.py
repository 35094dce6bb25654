"""Random games agree with Fairy-Stockfish's rules, asked through pyffish: legal moves, FEN, SAN, and how games end."""

import numpy as np
import pyffish
import pytest

from tengen.games import microchess
from tengen.games.microchess import variant_name, variants_path

from .games import random_game

pyffish.load_variant_config(variants_path().read_text())


def check_ending(state: microchess.State, start: str, moves: list[str]) -> None:
    """Their ends of a game in our order; whether repetition or the clock ended it they do not tell."""
    variant = variant_name(state.double_step)
    if not pyffish.legal_moves(variant, state.fen(), []):
        expected = {"checkmate" if state.in_check else "stalemate"}
    elif all(pyffish.has_insufficient_material(variant, state.fen(), [])):
        expected = {"insufficient material"}
    elif pyffish.is_optional_game_end(variant, start, moves)[0]:
        expected = {"fifty moves" if state.halfmove >= 100 else "threefold repetition"}
    else:
        expected = {None}
    assert {state.end_reason} == expected, state.fen()


def check_game(states: list[microchess.State]) -> None:
    variant, start = variant_name(states[0].double_step), states[0].fen()
    assert pyffish.start_fen(variant) == start
    moves = [states[0].move_name(move) for _, move in states[-1].moves]
    san = [state.move_san(move) for state, (_, move) in zip(states, states[-1].moves)]
    assert san == pyffish.get_san_moves(variant, start, moves)
    for ply, state in enumerate(states):
        theirs = sorted(pyffish.legal_moves(variant, state.fen(), []))
        if not state.is_over:
            assert theirs == sorted(map(state.move_name, state.legal_moves())), state.fen()
        if ply % 5 == 0 or state.is_over:
            assert pyffish.get_fen(variant, start, moves[:ply]) == state.fen()
            check_ending(state, start, moves[:ply])


@pytest.mark.parametrize("double_step", (False, True))
def test_random_games(double_step: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(15):
        check_game(random_game(rng, double_step=double_step))


@pytest.mark.long
@pytest.mark.parametrize("double_step", (False, True))
def test_many_random_games(double_step: bool) -> None:
    rng = np.random.default_rng(4)
    for _ in range(400):
        check_game(random_game(rng, double_step=double_step))
