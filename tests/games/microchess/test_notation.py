"""Positions, moves and games as text: what is written is read back, and what cannot be read is told in one line."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tengen.games import microchess
from tengen.games.microchess import RESIGN, START_FEN, BadFen, from_pgn, from_uci, to_pgn, to_uci
from tengen.games.microchess.notation import board_svg

from .games import game_from, play_all, random_game, random_states
from .slow_rules import strewn

choices = st.lists(st.integers(0, 59), max_size=60)
rule_sets = st.sampled_from(("standard", "ncsoft"))


def test_every_position_of_random_games_survives_fen() -> None:
    assert microchess.State.new().fen() == START_FEN
    for state in itertools.islice(random_states(20, 40), 1500):
        again = microchess.State.from_fen(state.fen(), double_step=state.double_step)
        assert again.fen() == state.fen()
        assert np.array_equal(again.squares, state.squares)
        assert (again.to_play, again.castling, again.halfmove, again.ply) == (
            state.to_play,
            state.castling,
            state.halfmove,
            state.ply,
        )


def test_strewn_positions_survive_fen() -> None:
    rng = np.random.default_rng(21)
    for _ in range(300):
        state = strewn(rng)
        assert microchess.State.from_fen(state.fen()).fen() == state.fen()


def check_fen(text: str) -> None:
    try:
        state = microchess.State.from_fen(text)
    except BadFen as error:
        assert "\n" not in str(error) and len(str(error)) < 200
    else:
        assert microchess.State.from_fen(state.fen()).fen() == state.fen()


@given(st.text(max_size=60) | st.text("KQRBNPkqrbnp12345/ w-b Qk09", max_size=60))
@example("knbr/p3/4/3P/RBNK w Qk - 0 ٣")
@example("knbr/p3/4/3P/RBNK w Qk - ² 1")
def test_any_text_is_a_position_or_is_refused_in_one_line(text: str) -> None:
    check_fen(text)


@given(st.integers(0, len(START_FEN) - 1), st.sampled_from("KQRBNPkqrbnp12345/ w-b9"))
def test_a_position_with_one_letter_changed(place: int, letter: str) -> None:
    check_fen(START_FEN[:place] + letter + START_FEN[place + 1 :])


@pytest.mark.parametrize(
    ("text", "told"),
    (
        ("", "2 to 6 fields"),
        ("knbr/p3/4/3P/RBNK", "2 to 6 fields"),
        ("knbr/p3/4/3P w", "5 ranks"),
        ("knbr/p3/4/3P/RBNKK w", "rank 1"),
        ("knbr/p5/4/3P/RBNK w", "rank 4"),
        ("knbr/p.../4/3P/RBNK w", "rank 4"),
        ("knbr/p3/4/3P/RBN1 w", "White has 0 kings"),
        ("kkbr/p3/4/3P/RBNK w", "Black has 2 kings"),
        ("kPbr/p3/4/3P/RBNK w", "pawn cannot stand"),
        ("knbr/p3/4/3P/RBNK x", "w or b"),
        ("knbr/p3/4/3P/RBNK w KQkq", "castling rights"),
        ("knbr/p3/4/3P/RBNK w QQ", "castling rights"),
        ("knbr/p3/4/R2P/1BNK w Qk", "on d1 and a1"),
        ("knbr/p3/4/3P/RBNK w Qk d3", "no en passant"),
        ("knbr/p3/4/3P/RBNK w Qk - 101 1", "from 0 to 100"),
        ("knbr/p3/4/3P/RBNK w Qk - 0 0", "from 1 to 9999"),
        ("k3/4/4/4/R2K w - - 0 1", "not to move is in check"),
    ),
)
def test_bad_positions_are_told_why(text: str, told: str) -> None:
    with pytest.raises(BadFen, match=told):
        microchess.State.from_fen(text)


def test_unknown_rules_are_told() -> None:
    with pytest.raises(ValueError, match="standard, ncsoft"):
        microchess.State.new(rules="chinese")


def test_every_legal_move_survives_uci_and_san() -> None:
    rng = np.random.default_rng(22)
    states = [*itertools.islice(random_states(23, 10), 200), *(strewn(rng) for _ in range(100))]
    for state in states:
        for move in state.legal_moves():
            assert from_uci(to_uci(move)) == move
            assert state.parse_move(state.move_name(move)) == move
            assert state.parse_move(state.move_san(move)) == move


@pytest.mark.parametrize(
    ("fen", "san", "uci"),
    (
        ("1k2/4/R3/4/R2K w - - 0 1", "R1a2", "a1a2"),
        ("1k2/4/R3/4/R2K w - - 0 1", "R3a2", "a3a2"),
        ("3k/Q3/4/4/Q1K1 w - - 0 1", "Q1a3", "a1a3"),
        ("1k2/4/4/4/R2K w Q - 0 1", "O-O-O", "d1b1"),
        ("1k2/4/4/4/R2K w Q - 0 1", "0-0", "d1b1"),
        ("k2r/p3/4/3P/3K b k - 0 1", "O-O", "a5c5"),
        ("2r1/k2P/4/4/3K w - - 0 1", "dxc5=N+", "d4c5n"),
        ("2r1/k2P/4/4/3K w - - 0 1", "d5R", "d4d5r"),
        ("start", "Nc1-b3", "c1b3"),
        ("start", "Nb3!?", "c1b3"),
        ("start", "d4", "d2d4"),
    ),
)
def test_moves_as_players_write_them(fen: str, san: str, uci: str) -> None:
    state = microchess.State.new() if fen == "start" else microchess.State.from_fen(fen)
    assert state.move_name(state.parse_move(san)) == uci


@given(st.text(max_size=8) | st.text("KQRBNabcd12345x=+#O-", max_size=7))
def test_any_text_is_a_move_or_is_refused_in_one_line(text: str) -> None:
    state = microchess.State.new()
    try:
        move = state.parse_move(text)
    except ValueError as error:
        assert "\n" not in str(error)
    else:
        assert 0 <= move < 2000


def test_an_ambiguous_move_is_refused() -> None:
    with pytest.raises(ValueError, match="R1a2 and R3a2 fits"):
        microchess.State.from_fen("1k2/4/R3/4/R2K w - - 0 1").parse_move("Ra2")


# ------------------------------------------------------------------------------------------ whole games


@given(choices, rule_sets, st.booleans(), st.booleans())
def test_games_survive_pgn(numbers: list[int], rules: str, double_step: bool, resigns: bool) -> None:
    state = game_from(numbers, rules, double_step)[-1]
    if resigns and not state.is_over:
        state = state.play(RESIGN)
    again, tags = from_pgn(to_pgn(state, {"White": 'a "quoted" \\ name', "Black": "b"}))
    assert (tags["White"], tags["Black"]) == ('a "quoted" \\ name', "b")
    assert again.moves == state.moves
    assert (again.fen(), again.rules, again.double_step) == (state.fen(), rules, double_step)
    assert (again.result(), again.end_reason) == (state.result(), state.end_reason)


def test_games_from_other_positions_survive_pgn() -> None:
    start = microchess.State.from_fen("k2r/p1p1/4/3P/R2K b Qk - 3 9", "ncsoft", double_step=False)
    state = play_all(start, "c4c3 d1b1 a5b5")
    text = to_pgn(state)
    assert "9... c3 10. O-O-O Kb5 *" in text
    assert from_pgn(text)[0].fen() == state.fen()


def test_comments_are_written_and_read_over() -> None:
    state = play_all(microchess.State.new(), "c1b3 a5b4 d2d3")
    text = to_pgn(state, comments={0: "to begin", 1: "a check} (really)", 2: "\n"})
    assert "{to begin} 1. Nb3+ {a check) (really)} 1... Kb4 2. d3 *" in " ".join(text.split())
    assert from_pgn(text)[0].moves == state.moves


def test_the_first_of_two_games_is_read_and_tags_in_comments_are_none() -> None:
    first = microchess.State.new().play(microchess.State.new().legal_moves()[0])
    second = first.play(first.legal_moves()[0])
    text = to_pgn(first, {"White": "one"}) + "\n" + to_pgn(second, {"White": "two"})
    state, tags = from_pgn(text)
    assert (state.moves, tags["White"]) == (first.moves, "one")
    _, tags = from_pgn('[White "one"]\n\n{ [White "two"] } *\n')
    assert tags["White"] == "one"


def test_pgn_of_others_is_read() -> None:
    text = '[White "x"]\n[Variant "microchessds"]\n\n{ a comment } 1.Nb3+ Kb4 $1 2. c1 ; no\n'
    with pytest.raises(ValueError, match="after 2 moves"):
        from_pgn(text)
    state, tags = from_pgn(text.replace("2. c1", "2. d4"))
    assert (state.move_number, tags["White"]) == (3, "x")
    assert from_pgn("1. c1b3 a5b4 *")[0].move_number == 2
    with pytest.raises(ValueError, match="side lines"):
        from_pgn("1. Nb3 (1. d3) Kb4")
    with pytest.raises(ValueError, match="'chess'"):
        from_pgn('[Variant "chess"]\n\n1. e4')


@given(st.text(max_size=80) | st.text('[]"{};()12.*-/ \nNBRKabcd345x', max_size=80))
def test_any_text_is_a_game_or_is_refused(text: str) -> None:
    try:
        from_pgn(text)
    except ValueError as error:
        assert "\n" not in str(error)


# --------------------------------------------------------------------------------------------- pictures


def test_the_board_as_text() -> None:
    state = play_all(microchess.State.new(), "c1b3")
    assert str(state).splitlines() == [
        "   a b c d",
        " 5 k n b r 5",
        " 4 p . . . 4",
        " 3 .(N). . 3",
        " 2 . . . P 2",
        " 1 R B . K 1",
        "   a b c d",
        "Last move: c1b3 (Nb3+). Black to play, in check.",
    ]
    assert str(state.play(RESIGN)).endswith("Result: 1-0 (resignation)")


def test_the_board_as_svg() -> None:
    from xml.etree import ElementTree

    for state in random_game(np.random.default_rng(24)):
        picture = ElementTree.fromstring(state._repr_svg_())
        figures = [text for text in picture.iter("{http://www.w3.org/2000/svg}text") if text.get("fill")]
        assert len(figures) == np.count_nonzero(state.squares)
    marked = board_svg(microchess.State.new(), heat={0: 0.5}, labels={4: "<1>"}, arrow=from_uci("c1b3"))
    assert ElementTree.fromstring(marked) is not None
