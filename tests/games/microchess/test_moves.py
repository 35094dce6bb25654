"""Legal moves, checked against a slow, obvious generator on strewn pieces, and by example."""

import numpy as np
import pytest

from tengen.games import microchess
from tengen.games.microchess import BLACK, WHITE, IllegalMove
from tengen.games.microchess.board import allocate, board_at, copy_board

from .games import play_all
from .slow_rules import slow_legal_moves, strewn


def test_strewn_pieces_move_as_the_slow_rules_say() -> None:
    rng = np.random.default_rng(1)
    kinds = set()
    for _ in range(1500):
        state = strewn(rng)
        legal = slow_legal_moves(state)
        assert sorted(map(state.move_name, state._moves)) == sorted(legal), state.fen()
        kinds |= {
            ("check", state.in_check),
            ("promotes", any(len(move) == 5 for move in legal)),
            ("moves", bool(legal)),
        }
        kinds.add(("castles", "d1b1" in legal and state.piece_at(3) == 6))
    assert len(kinds) == 8  # each thing was seen and was seen missing


@pytest.mark.parametrize(
    ("fen", "castling", "allowed"),
    (
        ("1k2/4/4/4/R2K w Q - 0 1", "d1b1", True),
        ("1k2/4/4/4/R2K w - - 0 1", "d1b1", False),  # the right is gone
        ("1k2/4/4/4/RN1K w Q - 0 1", "d1b1", False),  # a piece between
        ("1k2/4/4/4/R1nK w Q - 0 1", "d1b1", False),  # an enemy between
        ("1k1r/4/4/4/R2K w Q - 0 1", "d1b1", False),  # in check
        ("1kr1/4/4/4/R2K w Q - 0 1", "d1b1", False),  # through check
        ("1rk1/4/4/4/R2K w Q - 0 1", "d1b1", False),  # into check
        ("r2k/4/4/4/R2K w Q - 0 1", "d1b1", True),  # only the rook is attacked
        ("k2r/4/4/4/2K1 b k - 0 1", "a5c5", True),
        ("k2r/4/4/1R2/2K1 b k - 0 1", "a5c5", False),  # through check
    ),
)
def test_castling(fen: str, castling: str, allowed: bool) -> None:
    state = microchess.State.from_fen(fen)
    assert state.is_legal(state.parse_move(castling)) == allowed


def test_castling_moves_the_rook_too() -> None:
    state = play_all(microchess.State.from_fen("k2r/p1p1/4/3P/R2K w Qk - 3 9"), "d1b1 a5c5")
    assert state.fen() == "1rk1/p1p1/4/3P/1KR1 w - - 5 10"


def test_rights_to_castle_go_with_king_and_rook() -> None:
    assert play_all(microchess.State.new(), "a1a3 a5b4").castling == 0
    assert play_all(microchess.State.new(), "c1b3 a5b4").castling == 1
    assert play_all(microchess.State.new(), "a1a2 b5d4 a2a1").castling == 2  # coming home does not bring it back
    assert play_all(microchess.State.from_fen("k2r/3p/4/1b2/R2K b Qk - 0 1"), "b2a3").castling == 3
    assert play_all(microchess.State.from_fen("k2r/3p/4/1b2/R2K b Qk - 0 1"), "b2a1").castling == 2  # the rook is taken


def test_promotion_to_each_piece_also_when_capturing() -> None:
    state = microchess.State.from_fen("k1r1/3P/4/4/3K w - - 0 1")
    names = {state.move_name(move) for move in state.legal_moves()}
    assert {f"d4{target}{piece}" for target in ("d5", "c5") for piece in "nbrq"} <= names
    assert play_all(state, "d4c5n").fen() == "k1N1/4/4/4/3K b - - 0 1"
    assert play_all(state, "dxc5=Q").fen() == "k1Q1/4/4/4/3K b - - 0 1"


def test_the_double_step_is_a_switch() -> None:
    with_it, without = microchess.State.new(), microchess.State.new(double_step=False)
    move = with_it.parse_move("d2d4")
    assert with_it.is_legal(move) and not without.is_legal(move)
    assert not microchess.State.from_fen("k3/4/4/3P/3K w - - 0 1", double_step=False).is_legal(move)
    assert not microchess.State.from_fen("k3/4/3n/3P/3K w - - 0 1").is_legal(move)  # something in the way
    black = microchess.State.from_fen("k3/1p2/4/4/3K b - - 0 1")
    assert black.is_legal(black.parse_move("b4b2"))


@pytest.mark.parametrize(
    ("fen", "move", "reason"),
    (
        ("start", "b2b3", "nothing on b2"),
        ("start", "a5b4", "Black's, and White is to move"),
        ("start", "d1c1", "piece of White's stands on c1"),
        ("start", "c1c3", "knight on c1 does not go to c3"),
        ("start", "d1b1", "piece of White's stands on b1"),
        ("start", "d2d3q", "only a pawn that reaches the last rank"),
        ("k3/3P/4/4/3K w - - 0 1", "d4d5", "add n, b, r or q"),
        ("1k1r/4/4/4/R2K w Q - 0 1", "d1b1", "castling needs"),
        ("1k1r/4/4/4/R2K w Q - 0 1", "a1a2", "leaves the king in check"),
        ("1k1r/4/4/3N/R2K w Q - 0 1", "d2b3", "puts the player's own king in check"),
        ("k3/1r2/4/4/R2K b Q - 0 1", "a5b5", None),
        ("k3/4/4/r3/R2K b Q - 0 1", "a2b2", "puts the player's own king in check"),
        ("k3/4/2Q1/4/3K b - - 0 1", "a5b4", "leaves the king in check"),
    ),
)
def test_refused_moves_are_told_why(fen: str, move: str, reason: str | None) -> None:
    state = microchess.State.new() if fen == "start" else microchess.State.from_fen(fen)
    told = state.why_illegal(state.parse_move(move))
    if reason is None:
        assert told is None
    else:
        assert told is not None and reason in told
        with pytest.raises(IllegalMove, match=move):
            state.play(state.parse_move(move))


@pytest.mark.parametrize("move", (-1, 2000, 99999, -400))
def test_numbers_that_are_no_moves(move: int) -> None:
    state = microchess.State.new()
    assert "not a number of a move" in str(state.why_illegal(move))
    with pytest.raises(IllegalMove):
        state.play(move)
    with pytest.raises(ValueError):
        state.move_name(move)


def test_a_board_can_be_copied_among_many() -> None:
    boards, state = allocate(3), play_all(microchess.State.new(), "c1b3 a5b4")
    copy_board(state.board, board_at(boards, 1))
    assert np.array_equal(boards.squares[1], state.squares)
    assert boards.info[1].tolist() == state.board.info.tolist()


def test_black_and_white_see_the_same_start() -> None:
    state = microchess.State.new()
    turned = [piece and (piece + 5) % 12 + 1 for piece in state.squares.tolist()[::-1]]
    assert turned == state.squares.tolist()
    assert (state.to_play, state.play(state.legal_moves()[0]).to_play) == (WHITE, BLACK)
