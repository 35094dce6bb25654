"""SGF: what is written reads back the same; awkward records read as meant; broken ones fail in one line."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tengen.games import go
from tengen.games.go import BLACK, PASS, RESIGN, RULES, WHITE, from_gtp, to_gtp
from tengen.games.go.sgf import MAX_MOVES, SgfError, main_line, read_record, read_sgf, rules_of, write_sgf


def played(state: go.State, *points: str) -> go.State:
    """The state after these moves, in turn."""
    for point in points:
        state = state.play(from_gtp(point, state.size))
    return state


def reason(data: bytes) -> str:
    """What is wrong with a file, in one line."""
    with pytest.raises(SgfError) as caught:
        read_sgf(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def moves(data: bytes) -> list[str]:
    """The moves of a file, as people write them."""
    state = read_sgf(data).state
    return [f"{'BW'[color - 1]} {to_gtp(move, state.size)}" for color, move in state.moves]


# ---------------------------------------------------------------------------------------- there and back


@st.composite
def games(draw: st.DrawFn) -> go.State:
    """A short random game, with set-up stones, out of turn moves and passes among it."""
    size = draw(st.integers(2, 25))
    rules = draw(st.sampled_from(list(RULES)))
    points = st.integers(0, size * size - 1)
    setup = draw(st.lists(points, unique=True, max_size=min(6, size * size // 4)))
    half = draw(st.integers(0, len(setup)))
    komi = draw(st.floats(0.5, 24.5) | st.sampled_from([3.75, 6.5, 7]))
    to_play = draw(st.sampled_from([BLACK, WHITE]))
    try:
        state = go.State.setup(size, rules, komi, setup[:half], setup[half:], to_play, draw(st.integers(0, 3)))
    except ValueError:  # a set-up stone without a liberty
        state = go.State.new(size, rules, komi)
    for move, color in draw(st.lists(st.tuples(points | st.just(PASS), st.sampled_from([None, 1, 2])), max_size=30)):
        if state.is_legal(move, color):
            state = state.play(move, color)
    return state


@settings(max_examples=60)
@given(games())
def test_a_written_game_reads_back_the_same(state: go.State) -> None:
    again = read_sgf(write_sgf(state)).state
    assert again.moves == state.moves
    assert again.setup_stones == state.setup_stones
    assert again.hash == state.hash
    assert again.to_play == state.to_play
    assert (again.size, again.rules, again.komi) == (state.size, state.rules, state.komi)
    assert (again.handicap, again.captures) == (state.handicap, state.captures)
    assert again.is_over == state.is_over


# What SGF's text cannot hold: other white space than blanks and newlines. And no lone surrogates in UTF-8.
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]) | st.just("\n"), max_size=40)


@given(TEXT, TEXT, st.dictionaries(st.integers(0, 2), TEXT))
def test_text_survives_every_bracket_and_backslash(black: str, white: str, comments: dict[int, str]) -> None:
    state = played(go.State.new(5), "C3", "B2")
    game = read_sgf(write_sgf(state, black_name=black, white_name=white, comments=comments))
    assert game.comments == {number: text for number, text in comments.items() if text}
    shown = ["".join(c if c.isprintable() else " " for c in " ".join(name.split())).strip() for name in (black, white)]
    assert [game.black_name, game.white_name] == shown


def test_the_record_of_a_game_is_readable() -> None:
    state = go.State.new(9, "japanese", 6.5, handicap=2).play(from_gtp("E5", 9)).play(PASS).play(RESIGN)
    written = write_sgf(state, black_name="A]", white_name="B", comments={0: "hi", 9: "too late"})
    assert b"AP[tengen:" in written
    assert re.sub(rb"AP\[.*?\]|\n", b"", written) == (
        b"(;FF[4]AB[gc][cg]C[hi]CA[UTF-8]GM[1]HA[2]KM[6.5]PB[A\\]]PL[W]PW[B]RE[B+R]RU[Japanese]SZ[9]"
        b";W[ee];B[]C[too late])"
    )


def test_a_resignation_is_a_result_and_no_move() -> None:
    game = read_sgf(write_sgf(played(go.State.new(9), "E5", "D4").play(RESIGN)))
    assert (game.result, game.state.move_number, game.state.is_over) == ("W+R", 2, False)


def test_an_unfinished_game_has_no_result() -> None:
    assert b"RE[" not in write_sgf(played(go.State.new(9), "E5"))
    assert b"RE[W+T]" in write_sgf(played(go.State.new(9), "E5"), result="W+T")


# ---------------------------------------------------------------------------------------- awkward records


def test_defaults_of_an_empty_record() -> None:
    game = read_sgf(b"(;)")
    assert (game.size, game.komi, game.rules, game.result, game.moves) == (19, None, None, "", ())
    assert (game.state.rules.name, game.state.komi, game.state.to_play) == ("chinese", 7.5, BLACK)


def test_only_the_first_variation_of_the_first_game_is_read() -> None:
    assert moves(b"junk (;SZ[9];B[aa](;W[bb](;B[cc])(;B[dd]))(;W[ee]))(;SZ[9];B[hh])") == [
        "B A9",
        "W B8",
        "B C7",
    ]


def test_passes_in_both_spellings() -> None:
    assert moves(b"(;SZ[19];B[tt];W[dd];B[])") == ["B pass", "W D16", "B pass"]


def test_tt_is_a_point_on_the_largest_boards() -> None:
    assert moves(b"(;SZ[21];B[tt])") == ["B U2"]


def test_moves_out_of_turn_keep_their_colours() -> None:
    assert moves(b"(;SZ[9];B[aa];B[bb];W[cc];W[dd])") == ["B A9", "B B8", "W C7", "W D6"]


def test_handicap_stones_over_lines_with_blanks_between() -> None:
    game = read_sgf(b"(;SZ[9]HA[2]AB[cc]\n\n[gg]\n;W[ee])")
    assert [to_gtp(point, 9) for point in game.black] == ["C7", "G3"]
    assert (game.handicap, game.to_play, game.state.handicap) == (2, WHITE, 2)


def test_a_rectangle_of_set_up_stones() -> None:
    assert read_record(b"(;SZ[5]AB[bb:cc]AW[ee])").black == (6, 7, 11, 12)


def test_set_up_in_several_nodes_before_the_first_move() -> None:
    record = read_record(b"(;SZ[5]AB[aa][bb];AE[aa]AW[cc];PL[W];B[ee])")
    assert (record.black, record.white, record.to_play) == ((6,), (12,), WHITE)


@pytest.mark.parametrize(
    ("root", "to_play"),
    [
        (b"", BLACK),
        (b"AB[aa]", WHITE),
        (b"AB[aa]AW[bb]", BLACK),
        (b"AB[aa]PL[B]", BLACK),
        (b"PL[white]", WHITE),
    ],
)
def test_who_is_to_play_without_a_move(root: bytes, to_play: int) -> None:
    assert read_sgf(b"(;SZ[9]" + root + b")").state.to_play == to_play


def test_long_property_names_of_old_files() -> None:
    assert moves(b"(;GaMe[1]SiZe[9];Black[aa];White[bb])") == ["B A9", "W B8"]


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        ("6.5", 6.5),
        ("0", 0),
        ("-3.5", -3.5),
        ("6,5", 6.5),
        ("7.50", 7.5),
        ("375", 7.5),
        ("3.75", 7.5),
        ("650", 6.5),
    ],
)
def test_komi(text: str, komi: float) -> None:
    assert read_record(f"(;KM[{text}])".encode()).komi == komi


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Chinese", "chinese"),
        ("japanese", "japanese"),
        ("Japanese rules", "japanese"),
        ("Korean", "japanese"),
        ("AGA", "aga"),
        ("NZ", "new-zealand"),
        ("New Zealand", "new-zealand"),
        ("Tromp/Taylor", "tromp-taylor"),
        ("simple-go", "simple-go"),
        ("Old Chinese", None),
        ("", None),
    ],
)
def test_rules(text: str, name: str | None) -> None:
    assert rules_of(text) == name


def test_rules_of_the_caller_go_before_those_of_the_record() -> None:
    suicide = b"(;SZ[5]RU[Chinese]AB[ba]AW[ab][bb][ca];B[aa])"
    assert "suicide" in reason(suicide)
    assert read_sgf(suicide, rules="tromp-taylor").state.captures == (0, 2)


def test_play_goes_on_after_two_passes() -> None:
    data = b"(;SZ[9];B[aa];W[];B[];W[bb];B[];W[];B[])"
    assert moves(data) == ["B A9", "W B8", "B pass", "W pass"]
    assert len(read_record(data).moves) == 7


def test_comments_belong_to_move_numbers() -> None:
    data = b"(;SZ[9]C[begin];B[aa]C[one\\]\nmore];C[and more];W[bb])"
    assert read_sgf(data).comments == {0: "begin", 1: "one]\nmore\nand more"}


@pytest.mark.parametrize(
    ("name", "charset", "declared"),
    [
        (
            "黑棋表]",
            "gb18030",
            "GB18030",
        ),  # in these encodings the second byte may be a bracket or a backslash
        ("表ソ", "shift_jis", "Shift_JIS"),
        ("Jürgen", "latin-1", "ISO-8859-1"),
        ("Jürgen", "utf-8", ""),
        ("Jürgen", "latin-1", ""),
        ("Jürgen", "latin-1", "UTF-8"),  # a lie
        ("Jürgen", "utf-8", "no-such-charset"),
        ("Jürgen", "utf-8", "zlib_codec"),
        ("Jürgen", "utf-16", "UTF-16"),
    ],
)
def test_encodings(name: str, charset: str, declared: str) -> None:
    escaped = name.replace("]", "\\]")
    assert read_record(f"(;CA[{declared}]PB[{escaped}])".encode(charset)).black_name == name


def test_names_hold_no_control_characters() -> None:
    assert read_record(b"(;PB[a\x1b[31m\\]b\x07])").black_name == "a [31m]b"


# ----------------------------------------------------------------------------------------- broken records


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not an SGF file: no SGF in it"),
        (b"\x89PNG\r\n\x1a\n", "not an SGF file: no SGF in it"),
        (b"(;SZ[9];B[aa]", "not an SGF file: it ends before the game does"),
        (b"(;SZ[9];B)", "not an SGF file: unexpected 'B' at byte 8"),
        (b"(;GM[3])", "the file holds another game than Go: GM[3]"),
        (b"(;SZ[1])", "SZ[1]: board size 1 is not possible: choose from 2 to 25"),
        (b"(;SZ[19:13])", "the board is 19x13: only square boards are played here"),
        (b"(;SZ[9];B[zz])", "move 1: 'zz' is not an SGF point of a 9x9 board"),
        (b"(;SZ[9];B[aa][bb])", "move 1 has 2 points: B takes one"),
        (b"(;SZ[9];B[aa];W[aa])", "move 2 (White A9): there is a stone already"),
        (b"(;SZ[9]AB[tt])", "set-up stone 'tt' is not on the board"),
        (b"(;SZ[9]AB[aa]AW[aa])", "A9 is set up twice, by AB and AW"),
        (b"(;SZ[9];B[aa];AB[bb])", "stones are set up after move 1: only a set-up before the first is read"),
        (b"(;SZ[2]AB[aa:bb])", "the game cannot begin: the set-up has stones without a liberty"),
        (b"(;KM[much])", "komi 'much' is not a number"),
        (b"(;KM[-1e999])", "the game cannot begin: komi -inf is not possible"),
        (b"(;HA[many])", "handicap 'many' is not a number of stones"),
        (b"(;SZ[9]" + b";B[];W[]" * MAX_MOVES + b")", f"the game has more than {MAX_MOVES} moves"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(data: bytes, why: str) -> None:
    assert reason(data).startswith(why)


def test_a_retaken_ko_is_named_with_its_move() -> None:
    ko = b"(;SZ[5]RU[Japanese]AB[ba][ab][bc]AW[ca][bb][db][cc];B[cb];W[bb])"
    assert reason(ko) == "move 2 (White B4): that retakes the ko at once"


@pytest.mark.parametrize("data", [b"(;" * 100_000, b"(;" * 100_000 + b")" * 100_000, b"(" * 100_000])
def test_deep_nesting_does_no_harm(data: bytes) -> None:
    try:
        assert read_sgf(data).moves == ()
    except SgfError as error:
        assert str(error).startswith("not an SGF file")


SCRAPS = st.sampled_from(
    b"( ) ; [ ] \\ : B[aa] W[] AB[aa:ii] AE[aa] PL[B] C[x] SZ[9] SZ[ KM[nan] KM[1e999] HA[2] RU[AGA] "
    b"CA[utf-16] CA[\xff] \xff\xfe".split()
)


@settings(max_examples=300)
@given(st.lists(SCRAPS | st.binary(max_size=6), max_size=20))
def test_no_junk_raises_anything_but_sgf_error(scraps: list[bytes]) -> None:
    for data in (b"".join(scraps), b"(;SZ[9]" + b"".join(scraps) + b")"):
        try:
            assert main_line(data)
            read_sgf(data)
        except SgfError as error:
            assert "\n" not in str(error)
