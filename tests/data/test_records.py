"""Records into compact games: the facts as played, one reason for whatever is none, and never anything else."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tengen.data import records
from tengen.data.archives import MAX_RECORD_BYTES
from tengen.data.records import RecordedGame, Rejected, komi_of, rank_of, read_game, result_of, year_of
from tengen.games.go import BLACK, PASS, WHITE, to_gtp
from tengen.games.go.positions import WHITE_BIT, encode_move
from tengen.games.go.sgf import MAX_MOVES, read_record, write_sgf

from .packed_games import random_game


def game(data: bytes) -> RecordedGame:
    """The game of a record that has one."""
    found = read_game(data)
    assert isinstance(found, RecordedGame), found
    return found


def reason(data: bytes) -> str:
    """Why a record has no game."""
    found = read_game(data)
    assert isinstance(found, Rejected), found
    return found.reason


def moves(data: bytes) -> str:
    """The moves of a record, as people write them."""
    found = game(data)
    return " ".join(shown(code, found.size) for code in found.moves.tolist())


def setup(data: bytes) -> str:
    """The set-up stones of a record, as people write them."""
    found = game(data)
    return " ".join(shown(code, found.size) for code in found.setup.tolist())


def shown(code: int, size: int) -> str:
    point = code & ~WHITE_BIT
    return ("W:" if code & WHITE_BIT else "B:") + to_gtp(PASS if point == size * size else point, size)


# ------------------------------------------------------------------------------------------ facts as played


@pytest.mark.parametrize("handicap", [0, 2, 9])
def test_a_written_game_reads_back_move_by_move(handicap: int) -> None:
    state = random_game(3, 19, 150, handicap)
    found = game(write_sgf(state, result="W+12.50"))
    assert found.moves.tolist() == [encode_move(color, move, 19) for color, move in state.moves]
    assert found.setup.tolist() == sorted(state.setup_stones[0])
    assert (found.size, found.komi, found.rules, found.handicap) == (19, 6.5, "japanese", handicap)
    assert (found.winner, found.margin, found.result) == (WHITE, 12.5, "W+12.50")


def test_passes_are_kept_however_they_are_written() -> None:
    assert moves(b"(;SZ[9];B[];W[tt];B[aa];W[ ])") == "B:pass W:pass B:A9 W:pass"
    assert moves(b"(;;B[tt])") == "B:pass"
    assert moves(b"(;SZ[21];B[tt];W[])") == "B:U2 W:pass"


def test_colours_are_kept_as_played() -> None:
    assert moves(b"(;SZ[9];W[aa];W[bb];B[cc];B[dd])") == "W:A9 W:B8 B:C7 B:D6"


def test_the_main_line_is_the_first_variation_at_every_fork() -> None:
    assert moves(b"(;SZ[9];B[aa](;W[bb](;B[cc])(;B[dd]))(;W[ee]))") == "B:A9 W:B8 B:C7"


def test_of_several_games_in_a_file_the_first_is_read() -> None:
    assert moves(b"(;SZ[9];B[aa])(;SZ[9];B[bb])") == "B:A9"


def test_setup_stones_of_every_kind() -> None:
    assert setup(b"(;SZ[9]AB[aa]\n\n[bb] [cc]AW[ii];B[dd])") == "B:A9 B:B8 B:C7 W:J1"
    assert setup(b"(;SZ[9]AB[aa:bb]AE[ab];W[dd])") == "B:A9 B:B9 B:B8"
    assert setup(b"(;SZ[9];AB[aa];PL[W];AW[];W[dd])") == "B:A9"


def test_long_names_of_old_files_are_understood() -> None:
    data = b"(;GaMe[1]SiZe[9]AddBlack[cc]KoMi[5.5]WhiteRank[3d];White[aa];Black[bb])"
    assert (moves(data), setup(data)) == ("W:A9 B:B8", "B:C7")
    assert (game(data).komi, game(data).white_rank) == (5.5, 3)


def test_brackets_and_parentheses_in_comments_are_text() -> None:
    assert moves(b"(;SZ[9]C[a \\] ;B[zz\\] ) (;];B[aa]C[)];W[bb])") == "B:A9 W:B8"


def test_text_in_other_encodings_does_not_disturb() -> None:
    comment = "表表".encode("shift_jis")  # whose second bytes are backslashes
    assert moves(b"(;SZ[9]CA[Shift_JIS]C[" + comment + b"];B[aa])") == "B:A9"
    assert moves("(;SZ[9]C[囲碁];B[aa])".encode("utf-16")) == "B:A9"
    assert game("(;BR[9段]WR[P8段];B[aa])".encode()).white_rank == 18


def test_a_missing_size_is_19_and_square_pairs_are_squares() -> None:
    assert game(b"(;B[ss])").size == 19
    assert game(b"(;SZ[13:13];B[mm])").size == 13


def test_suicide_and_a_ko_retaken_are_facts() -> None:
    assert moves(b"(;SZ[9]AW[ab][ba];B[aa];W[ii];B[aa])") == "B:A9 W:J1 B:A9"  # a single stone, twice
    retaken = b"(;SZ[9]AB[ba][ab][bc]AW[ca][db][cc][bb];B[cb];W[bb])"
    assert moves(retaken) == "B:C8 W:B8"


def test_facts_that_make_no_sense_are_unknown_but_the_game_counts() -> None:
    found = game(b"(;SZ[9]KM[much]HA[some]RU[ours]RE[who knows]DT[long ago]BR[strong]WR[];B[aa])")
    assert math.isnan(found.komi) and math.isnan(found.margin)
    assert (found.handicap, found.rules, found.winner, found.year) == (0, "", 0, 0)
    assert (found.black_rank, found.white_rank) == (0, 0)


def test_black_stones_without_a_word_are_a_handicap() -> None:
    assert game(b"(;AB[dd][pp];W[dp])").handicap == 2
    assert game(b"(;AB[dd][pp]AW[aa];W[dp])").handicap == 0
    assert game(b"(;HA[3];B[dp])").handicap == 3


def test_the_digest_tells_games_apart_by_what_happened_on_the_board() -> None:
    base = game(b"(;SZ[9]PB[a];B[aa];W[bb])").digest
    assert base == game(b"(;SZ[9]KM[7];B[aa]C[good]BL[3];W[bb])").digest
    others = [b"(;B[aa];W[bb])", b"(;SZ[9];B[aa])", b"(;SZ[9];B[aa];B[bb])", b"(;SZ[9]AB[ii];B[aa];W[bb])"]
    assert len({base, *(game(data).digest for data in others)}) == 5


@pytest.mark.parametrize(
    ("text", "rank"),
    [("7d", 7), ("6d?", 6), ("12k", -12), ("9p", 19), ("9 dan pro", 19), ("P9段", 19), ("9段", 9), ("P3", 13),
     ("1k*", -1), ("18級", -18), ("6d ama", 6), ("9p, Kisei", 19), ("45k", -30), ("10d", 9), ("", 0), ("?", 0),
     ("2500", 0), ("0d", 0)],
)  # fmt: skip
def test_ranks(text: str, rank: int) -> None:
    assert rank_of(text) == rank


@pytest.mark.parametrize(
    ("text", "winner", "margin"),
    [("B+3.5", BLACK, 3.5), ("W+12.50", WHITE, 12.5), ("b+0,5", BLACK, 0.5), ("W+Resign", WHITE, None),
     ("B+T", BLACK, None), ("W+Forfeit", WHITE, None), ("B+", BLACK, None), ("0", 0, 0.0), ("Draw", 0, 0.0),
     ("Void", 0, None), ("", 0, None), ("B+99999999999999999999999999999999999999999", BLACK, None)],
)  # fmt: skip
def test_results(text: str, winner: int, margin: float | None) -> None:
    assert result_of(text)[0] == winner
    assert result_of(text)[1] == margin or (margin is None and math.isnan(result_of(text)[1]))


def test_years_and_komi() -> None:
    dates = ["2016-05-10", "Published 1 May 1933", "1846-09-11,12", "05/10/2016", "12345", ""]
    assert [year_of(date) for date in dates] == [2016, 1933, 1846, 2016, 0, 0]
    assert [komi_of(text) for text in ("6.5", "6,5", "-9.50", "375", "3.75", "0")] == [6.5, 6.5, -9.5, 7.5, 7.5, 0]
    assert all(math.isnan(komi_of(text)) for text in ("", "x", "nan", "inf", "1e9"))


# ---------------------------------------------------------------------------------------- what is no game


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", records.UNREADABLE),
        (b"hello", records.UNREADABLE),
        (b"(;SZ[9];B[aa]?;W[bb])", records.UNREADABLE),
        (b"(;SZ[9];B[aa][bb])", records.UNREADABLE),
        (b"(;SZ[9];B[aa];W[bb]", records.TRUNCATED),
        (b"(;SZ[9];B[aa];W[b", records.TRUNCATED),
        (b"(;SZ[9];B[aa];W", records.TRUNCATED),
        (b"(;SZ[9];B[aa]C[said \\", records.TRUNCATED),
        (b"(;GM[2]SZ[8];B[aa])", records.NOT_GO),
        (b"(;SZ[9])", records.NO_MOVES),
        (b"(;SZ[9]AB[aa])", records.NO_MOVES),
        (b"(;SZ[26];B[aa])", records.SIZE_UNSUPPORTED),
        (b"(;SZ[1];B[aa])", records.SIZE_UNSUPPORTED),
        (b"(;SZ[-9];B[aa])", records.SIZE_UNSUPPORTED),
        (b"(;SZ[" + b"9" * 5000 + b"];B[aa])", records.SIZE_UNSUPPORTED),
        (b"(;SZ[9:13];B[aa])", records.NOT_SQUARE),
        (b"(;SZ[9]AB[zz];B[aa])", records.BAD_SETUP),
        (b"(;SZ[9]AB[tt];B[aa])", records.BAD_SETUP),
        (b"(;SZ[9]AB[aa]AW[aa];B[bb])", records.BAD_SETUP),
        (b"(;SZ[9]AB[cc:aa];B[dd])", records.BAD_SETUP),
        (b"(;SZ[2]AB[aa:bb];W[aa])", records.BAD_SETUP),
        (b"(;SZ[9];B[aa];AW[bb];B[cc])", records.LATE_SETUP),
        (b"(;SZ[9];B[aa];W[aa])", records.ILLEGAL_MOVE),
        (b"(;SZ[9]AB[aa];W[aa])", records.ILLEGAL_MOVE),
        (b"(;SZ[9];B[jj])", records.ILLEGAL_MOVE),
        (b"(;SZ[9];B[a])", records.ILLEGAL_MOVE),
        (b"(;" + b"B[]" * (MAX_MOVES + 1) + b")", records.TOO_LONG),
    ],
)
def test_what_is_no_game_has_a_reason(data: bytes, why: str) -> None:
    assert reason(data) == why


def test_no_nesting_is_too_deep() -> None:
    deep = 100_000
    assert moves(b"(;SZ[9];B[aa]" + b"(;C[x]" * deep + b"(;W[bb]" + b")" * deep) == "B:A9 W:B8"
    assert reason(b"(;" + b"(" * deep) == records.TRUNCATED


@pytest.mark.parametrize("filling", [b"a", b"\\]", b"\\", b"(;B[", b";", b"\n"])
def test_no_comment_is_too_large(filling: bytes) -> None:
    text = (filling * MAX_RECORD_BYTES)[: MAX_RECORD_BYTES - 40]
    text = text if not text.endswith(b"\\") or filling != b"\\" else text[: len(text) // 2 * 2]
    assert moves(b"(;SZ[9]C[" + text + b"];B[aa])") == "B:A9"


@pytest.mark.parametrize(
    "filling", [b"AB[aa]", b"[", b"A", b"AB[aa:ss]", b"(", b"A[", b"C[]", b"CA[x]", b"\\", b"]", b"((;"]
)
def test_no_flood_of_syntax_hangs_the_reader(filling: bytes) -> None:
    assert isinstance(read_game(b"(;" + filling * (900_000 // len(filling))), Rejected)


@settings(max_examples=300)
@given(st.binary(max_size=300) | st.text(alphabet="();[]\\:BWABESZtgm19 ax\n", max_size=300).map(str.encode))
def test_junk_is_a_game_or_a_reason(junk: bytes) -> None:
    for data in (junk, b"(;" + junk, b"(;SZ[5];B[aa];W[bb]" + junk + b")"):
        assert isinstance(read_game(data), RecordedGame | Rejected)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from("BW"), st.integers(0, 9)), min_size=1, max_size=40))
def test_the_kernel_agrees_with_an_obvious_replay(played: list[tuple[str, int]]) -> None:
    """On 3x3, where stones die often: occupied points are found exactly where a slow replay finds them."""
    data = (
        "(;SZ[3]" + "".join(f";{color}[{'' if p == 9 else 'abc'[p % 3] + 'abc'[p // 3]}]" for color, p in played) + ")"
    )
    stones: dict[int, str] = {}
    legal = True
    for color, point in played:
        if point == 9:
            continue
        if point in stones:
            legal = False
            break
        stones[point] = color
        for victims in ("W" if color == "B" else "B", color):
            dead = [p for p, c in stones.items() if c == victims and not liberties(stones, p)]
            for p in dead:
                del stones[p]
    found = read_game(data.encode())
    assert isinstance(found, RecordedGame) == legal
    assert legal or (isinstance(found, Rejected) and found.reason == records.ILLEGAL_MOVE)


def liberties(stones: dict[int, str], point: int) -> set[int]:
    """The liberties of a string on a 3x3 board."""
    string, free, todo = {point}, set(), [point]
    while todo:
        row, col = divmod(todo.pop(), 3)
        for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
            if 0 <= r < 3 and 0 <= c < 3:
                p = r * 3 + c
                if p not in stones:
                    free.add(p)
                elif stones[p] == stones[point] and p not in string:
                    string.add(p)
                    todo.append(p)
    return free


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([5, 9, 19]))
def test_both_readers_agree(seed: int, size: int) -> None:
    data = write_sgf(random_game(seed, size, 60))
    agree(data, game(data))


def agree(data: bytes, found: RecordedGame) -> None:
    """The lean reader found what the full one finds."""
    full = read_record(data)
    assert found.size == full.size
    assert found.moves.tolist() == [encode_move(color, move, full.size) for color, move in full.moves]
    assert found.setup.tolist() == sorted(
        [*full.black, *(point | WHITE_BIT for point in full.white)],
    )


AWKWARD = {
    "a byte order mark": b"\xef\xbb\xbf(;GM[1]SZ[9];B[aa];W[bb])",
    "words before the record": b"Hello (a letter):\r\n\r\n(;GM[1]SZ[9];B[aa];W[bb])",
    "old Mac line ends": b"(;GM[1]\rSZ[9]\r;B[aa]\r;W[bb])",
    "spaces everywhere": b" ( ; GM [1] SZ [9] ; B [aa] ; W [bb] ) ",
    "no size and no game": b"(;B[pd];W[dp];B[pp])",
    "a pass as tt": b"(;SZ[19];B[pd];W[tt];B[])",
    "compressed lists of points": b"(;SZ[9]AB[aa:bc][ii]AW[gg:hh];W[ee])",
    "a board set up, White to move": b"(;SZ[9]AB[aa][cc]AW[bb]AE[dd]PL[W];W[ee])",
    "brackets and backslashes in a comment": b"(;SZ[9]C[a \\] b \\\\];B[aa]C[(;W[bb\\]\\)];W[bb])",
    "variations": b"(;SZ[9];B[aa](;W[bb](;B[cc])(;B[dd]))(;W[ee]))",
    "two games in a file": b"(;SZ[9];B[aa];W[bb])(;SZ[9];B[cc])",
    "text of another encoding": "(;SZ[9]CA[EUC-KR]PB[\uc774\ucc3d\ud638];B[aa];W[bb])".encode("euc-kr"),
    "two moves of one colour": b"(;SZ[9]HA[2]AB[cg][gc];W[ee];W[cc];B[dd])",
    "properties nobody knows": b"(;SZ[9]XX[1][2]KGSDE[x];B[aa]BL[30.5]OB[5];W[bb]WL[29])",
}


@pytest.mark.parametrize("data", AWKWARD.values(), ids=AWKWARD)
def test_awkward_records_of_other_programs_read_as_the_full_reader_reads_them(data: bytes) -> None:
    agree(data, game(data))


def test_moves_are_stored_as_kernels_want_them() -> None:
    found = game(b"(;SZ[9];B[aa];W[])")
    assert found.moves.dtype == found.setup.dtype == np.uint16
    assert found.moves.tolist() == [0, 81 | WHITE_BIT]
