"""The numbers that a policy gives to moves: each legal move has its own, and both sides have the same."""

import itertools

import numpy as np
import pytest

from tengen.games import microchess
from tengen.games.microchess import ACTIONS
from tengen.games.microchess.notation import PIECES

from .games import random_states
from .slow_rules import strewn


def states() -> list[microchess.State]:
    rng = np.random.default_rng(30)
    return [*itertools.islice(random_states(31, 30), 1000), *(strewn(rng) for _ in range(500))]


def turned(state: microchess.State) -> microchess.State:
    """The same position with the colours exchanged and the board turned by half a circle."""
    placement, turn, castling, *_ = state.fen().split()
    rights = "".join(sorted(castling.translate(str.maketrans("Qk", "kQ"))))
    text = f"{placement[::-1].swapcase()} {'b' if turn == 'w' else 'w'} {rights} - 0 1"
    return microchess.State.from_fen(text, double_step=state.double_step)


def test_every_legal_move_has_an_action_of_its_own() -> None:
    seen: set[int] = set()
    for state in states():
        moves = state.legal_moves()
        actions = [state.action_of(move) for move in moves]
        assert len(set(actions)) == len(moves)
        assert all(0 <= action < ACTIONS for action in actions)
        assert [state.move_of(action) for action in actions] == moves
        seen.update(actions)
    assert len({action for action in seen if action >= 400}) > 20  # many promotions were among them


def test_both_sides_see_the_same() -> None:
    for state in states():
        other = turned(state)
        assert {state.action_of(move) for move in state._moves} == {other.action_of(move) for move in other._moves}


@pytest.mark.parametrize(
    ("fen", "move", "action"),
    (
        ("start", "a1a2", 0 * 20 + 4),
        ("start", "c1b3", 2 * 20 + 9),
        ("1k2/4/4/4/R2K w Q - 0 1", "d1b1", 3 * 20 + 1),
        ("k2r/p3/4/3P/3K b k - 0 1", "a5c5", 3 * 20 + 1),
        ("k3/2P1/4/4/3K w - - 0 1", "c4c5q", 14 * 20 + 18),
        ("k3/2P1/4/4/3K w - - 0 1", "c4c5n", 400 + 9 * 2 + 3 * 1 + 0),
        ("k2r/2P1/4/4/3K w - - 0 1", "c4d5b", 400 + 9 * 2 + 3 * 2 + 1),
        ("kr2/2P1/4/4/3K w - - 0 1", "c4b5r", 400 + 9 * 2 + 3 * 0 + 2),
        ("k3/4/4/p3/1R1K b - - 0 1", "a2b1r", 400 + 9 * 3 + 3 * 0 + 2),
        ("k3/4/4/p3/1R1K b - - 0 1", "a2a1q", 15 * 20 + 19),
    ),
)
def test_the_numbering(fen: str, move: str, action: int) -> None:
    state = microchess.State.new() if fen == "start" else microchess.State.from_fen(fen)
    assert state.action_of(state.parse_move(move)) == action
    assert state.move_name(state.move_of(action)) == move


@pytest.mark.parametrize("action", (-1, ACTIONS))
def test_numbers_that_are_no_actions(action: int) -> None:
    with pytest.raises(ValueError, match="is not an action"):
        microchess.State.new().move_of(action)


def test_the_pieces_have_thirteen_letters() -> None:
    assert len(PIECES) == len(set(PIECES)) == 13
