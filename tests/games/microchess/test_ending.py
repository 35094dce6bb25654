"""How games end, by each rule, and what ncsoft rules make of it."""

import itertools

import numpy as np
import pytest
from numba import njit

from tengen.games import microchess
from tengen.games.microchess import BLACK, RESIGN, WHITE, IllegalMove
from tengen.games.microchess.board import allocate, set_up
from tengen.games.microchess.moves import MAX_MOVES, is_attacked, is_dead, legal_moves
from tengen.games.microchess.notation import PIECES

from .games import play_all, random_states

SHUFFLE = "c1b3 a5b4 b3c1 b4a5 "


@pytest.mark.parametrize(
    ("fen", "reason", "result"),
    (
        ("k3/1Q2/1K2/4/4 b - - 0 1", "checkmate", "1-0"),
        ("4/4/3k/1q2/3K w - - 0 1", "stalemate", "1/2-1/2"),
        ("4/4/2k1/2q1/2K1 w - - 0 1", "checkmate", "0-1"),
        ("k3/4/1Q2/1K2/4 b - - 0 1", "stalemate", "1/2-1/2"),
        ("k3/4/4/4/3K w - - 0 1", "insufficient material", "1/2-1/2"),
        ("k3/4/4/4/2NK w - - 0 1", "insufficient material", "1/2-1/2"),
        ("kb2/4/4/4/3K w - - 0 1", "insufficient material", "1/2-1/2"),
        ("k1b1/4/4/4/B1BK w - - 0 1", "insufficient material", "1/2-1/2"),
        ("kb2/4/4/4/2BK w - - 0 1", None, "?"),
        ("kn2/4/4/4/2NK w - - 0 1", None, "?"),
        ("k3/4/4/4/1NNK w - - 0 1", None, "?"),
        ("k3/4/4/3P/3K w - - 0 1", None, "?"),
        ("k3/4/r3/4/3K w - - 99 80", None, "?"),
        ("k3/4/r3/4/3K w - - 100 80", "fifty moves", "1/2-1/2"),
        ("k3/1Q2/1K2/4/4 b - - 100 80", "checkmate", "1-0"),
    ),
)
def test_ends(fen: str, reason: str | None, result: str) -> None:
    state = microchess.State.from_fen(fen)
    assert (state.end_reason, state.result()) == (reason, result)
    assert state.is_over == (reason is not None)
    assert state.winner() == {"?": None, "1-0": WHITE, "0-1": BLACK, "1/2-1/2": 0}[result]
    if state.is_over:
        assert state.legal_moves() == []
        with pytest.raises(IllegalMove, match="the game is over"):
            state.play(RESIGN)


def test_the_third_time_is_a_draw() -> None:
    state = play_all(microchess.State.new(), "a1a3 d5d3 " + "a3a2 d3d4 a2a3 d4d3 ")
    assert (state.occurrences, state.is_over) == (2, False)
    state = play_all(state, "a3a2 d3d4 a2a3")
    assert not state.is_over
    state = play_all(state, "d4d3")
    assert (state.occurrences, state.end_reason, state.winner()) == (3, "threefold repetition", 0)


def test_castling_rights_make_positions_different() -> None:
    state = play_all(microchess.State.new(), SHUFFLE * 2)  # the king's first move lost Black's right
    assert (state.occurrences, state.is_over) == (2, False)
    assert play_all(state, "c1b3").occurrences == 2
    assert play_all(state, "c1b3 a5b4").end_reason == "threefold repetition"


def test_a_capture_or_pawn_move_starts_the_clock_again() -> None:
    state = play_all(microchess.State.new(), "c1b3 a5b4 a1a3 b5d4")
    assert state.halfmove == 4
    assert play_all(state, "a3a4").halfmove == 0  # takes the pawn
    assert play_all(state, "d2d3").halfmove == 0


def test_the_fifty_moves_come_by_play_too() -> None:
    state = microchess.State.from_fen("k3/4/r3/4/3K w - - 98 80")
    assert play_all(state, "d1d2 a3b3").end_reason == "fifty moves"
    assert play_all(state, "d1d2").play(RESIGN).end_reason == "resignation"


def test_resignation() -> None:
    state = microchess.State.new().play(RESIGN)
    assert (state.winner(), state.result(), state.end_reason) == (BLACK, "0-1", "resignation")
    assert state.moves == [(WHITE, RESIGN)]
    assert state.move_number == 0
    assert play_all(microchess.State.new(), "c1b3").play(RESIGN).winner() == WHITE


@pytest.mark.parametrize(
    ("fen", "reason", "winner"),
    (
        ("k3/4/1Q2/1K2/4 b - - 0 1", "stalemate", WHITE),
        ("k3/4/4/4/2NK w - - 0 1", "insufficient material", WHITE),
        ("kb2/4/4/4/3K w - - 0 1", "insufficient material", BLACK),
        ("k3/4/4/4/3K w - - 0 1", "insufficient material", 0),
        ("kr2/p3/4/4/1Q1K w - - 0 41", "80 plies", WHITE),  # 10 against 6
        ("kr2/p3/4/3P/1R1K w - - 0 41", "80 plies", 0),
        ("knb1/4/4/3P/1R1K w - - 0 41", "80 plies", 0),  # 3 + 3 against 5 + 1
        ("knb1/4/4/4/1R1K w - - 0 41", "80 plies", BLACK),
        ("k2r/1Q2/1K2/4/4 b - - 0 41", "checkmate", WHITE),
        ("knbr/p3/4/3P/RBNK b Qk - 0 40", None, None),  # ply 79
        ("k3/4/r3/4/3K w - - 100 20", "fifty moves", BLACK),
    ),
)
def test_ncsoft_decides_draws_by_material(fen: str, reason: str | None, winner: int | None) -> None:
    state = microchess.State.from_fen(fen, rules="ncsoft")
    assert (state.end_reason, state.winner()) == (reason, winner)


def test_ncsoft_repetition_is_decided_by_material() -> None:
    state = play_all(microchess.State.new("ncsoft"), "c1b3 a5b4 b3c5 d5c5")  # knight for bishop
    assert state.material() == (1 + 3 + 5 + 4, 1 + 3 + 5 + 4)
    equal = play_all(state, "a1a2 c5c4 a2a1 c4c5 " * 2 + "a1a2")
    assert (equal.end_reason, equal.winner()) == ("threefold repetition", 0)
    ahead = play_all(state, "a1a4 b4a4 " + "b1a2 a4a5 a2b1 a5a4 " * 2)
    assert (ahead.end_reason, ahead.winner()) == ("threefold repetition", BLACK)


def test_ncsoft_games_never_pass_80_plies() -> None:
    longest = max(state.ply for state in random_states(2, 60, "ncsoft"))
    assert longest == 80


@pytest.mark.parametrize("pieces", ("Kk", "KkN", "KkB", "KkBb", "KkBB", "KkNN", "KkNn", "KkNb", "KkNB", "KkQ", "KkR"))
def test_material_is_insufficient_exactly_where_no_mate_exists(pieces: str) -> None:
    """Every placement of these pieces is looked at."""
    codes = np.array([PIECES.index(letter) for letter in pieces], np.int8)
    mates = count_mates(allocate(), codes, np.empty(MAX_MOVES, np.int16))
    assert mates[1] == 0  # none where the material was called insufficient
    assert (mates[0] > 0) == (pieces not in ("Kk", "KkN", "KkB"))


@njit
def count_mates(board, pieces, moves):  # type: ignore[no-untyped-def]
    """(mates with sufficient material, mates with insufficient material) among all placements of pieces: int8[n]."""
    mates = np.zeros(2, np.int64)
    squares = np.zeros(20, np.int8)
    for code in range(20 ** len(pieces)):
        squares[:] = 0
        rest = code
        for piece in pieces:
            squares[rest % 20] = piece
            rest //= 20
        if np.count_nonzero(squares) < len(pieces):
            continue
        for color in (1, 2):
            set_up(board, squares, color, 0, 0, 0, 0)
            if not is_attacked(board, 3 - color):
                count, in_check = legal_moves(board, moves)
                if count == 0 and in_check:
                    mates[1 if is_dead(board) else 0] += 1
    return mates


def test_the_hash_kept_up_move_by_move_is_that_of_the_position() -> None:
    seen: dict[int, str] = {}
    for state in itertools.islice(random_states(9, 60), 3000):
        fresh = microchess.State.from_fen(state.fen(), double_step=state.double_step)
        assert fresh.hash == state.hash
        position = " ".join(state.fen().split()[:3])
        assert seen.setdefault(state.hash, position) == position


def test_repetitions_are_those_of_the_whole_game() -> None:
    for state in random_states(10, 40):
        position = state.fen().split()[:3]
        before, count = state.previous, 1
        while before is not None:
            count += before.fen().split()[:3] == position
            before = before.previous
        assert state.occurrences == count
