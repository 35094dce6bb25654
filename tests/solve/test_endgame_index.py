"""The numbering of endgame positions: every one has a place, no two share it, and symmetric ones do."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tengen.solve.endgame_index import Material, all_materials, catalogue_of, layout_of, locate_board, place, rank_of

MATERIALS = all_materials()
CATALOGUE = catalogue_of(MATERIALS)


def locate(squares: np.ndarray, to_play: int, castling: int = 0) -> tuple[int, int]:
    work = np.zeros((2, 3), np.int64)
    table, index = locate_board(squares, to_play, castling, work[0], work[1], CATALOGUE)
    return int(table), int(index)


@st.composite
def boards(draw: st.DrawFn) -> np.ndarray:
    """Two kings and up to three other pieces, pawns where they may stand."""
    places = draw(st.lists(st.integers(0, 19), min_size=2, max_size=5, unique=True))
    squares = np.zeros(20, np.int8)
    squares[places[0]], squares[places[1]] = 6, 12
    for square in places[2:]:
        squares[square] = draw(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 10, 11] if 4 <= square < 16 else [3, 4, 5, 8]))
    return squares


def turned(squares: np.ndarray) -> np.ndarray:
    """The board turned by half a circle, the colours swapped."""
    return np.where(squares == 0, 0, np.where(squares > 6, squares - 6, squares + 6))[::-1].astype(np.int8)


def test_there_are_as_many_materials_as_combinatorics_says() -> None:
    sides = [sum(1 for _ in itertools.combinations_with_replacement("QRBNP", n)) for n in range(4)]
    five = sides[3] * sides[0] + sides[2] * sides[1]  # both colours of each: one table
    four = sides[2] + sides[1] * (sides[1] + 1) // 2
    assert len([m for m in MATERIALS if m.rights == 0]) == 1 + sides[1] + four + five
    # One rook stands at home, up to two others of ten kinds anywhere; or two rooks and one other, colours swapped.
    assert len([m for m in MATERIALS if m.rights == 1]) == 1 + 10 + 55
    assert len([m for m in MATERIALS if m.rights == 3]) == 1 + 5


def test_whatever_a_move_leads_to_is_solved_before() -> None:
    for number, material in enumerate(MATERIALS):
        assert set(material.successors()) <= set(MATERIALS[:number]), material.name


@pytest.mark.parametrize(
    "name", ["KK", "KQK", "KPKP", "KRRKR", "KBPPK", "KPPPK", "KNNNK", "KQRKN", "KRRKP-Q", "KRBKR-Qk"]
)
def test_index_and_squares_are_inverse(name: str) -> None:
    layout = layout_of(Material.parse(name))
    squares = np.zeros(5, np.int64)
    for index in range(0, layout.counts[1], 1 if layout.counts[1] < 50_000 else 37):
        place(index, squares, layout.group, layout.radix, layout.counts[2])
        assert rank_of(*squares, layout.group, layout.radix, layout.counts[2]) == index


@given(boards(), st.integers(1, 2))
def test_symmetric_positions_share_a_place(squares: np.ndarray, to_play: int) -> None:
    here = locate(squares, to_play)
    left_right = squares.reshape(5, 4)[:, ::-1].reshape(20).copy()
    assert locate(left_right, to_play) == here
    if MATERIALS[here[0]].white != MATERIALS[here[0]].black:  # of KRKR both colours are stored
        assert locate(turned(squares), 3 - to_play) == here
    kings_on_the_middle_rank = np.isin(squares[8:12], (6, 12)).sum() == 2  # they do not tell up from down
    if not np.isin(squares, (1, 7)).any() and not kings_on_the_middle_rank:
        assert locate(squares.reshape(5, 4)[::-1].reshape(20).copy(), to_play) == here


@given(boards(), st.integers(1, 2))
def test_only_kings_side_by_side_have_no_place(squares: np.ndarray, to_play: int) -> None:
    (white,), (black,) = np.flatnonzero(squares == 6), np.flatnonzero(squares == 12)
    touch = max(abs(white % 4 - black % 4), abs(white // 4 - black // 4)) <= 1
    table, index = locate(squares, to_play)
    assert (table < 0) == touch
    if not touch:
        assert 0 <= index < 2 * layout_of(MATERIALS[table]).counts[1]


def test_six_pieces_and_pawns_on_the_last_rank_have_no_place() -> None:
    squares = np.zeros(20, np.int8)
    squares[[0, 19]] = 6, 12
    squares[2] = 1
    assert locate(squares, 1) == (-1, -1)
    squares[2] = 0
    squares[[5, 6, 7, 8]] = 5
    assert locate(squares, 1) == (-1, -1)


@pytest.mark.parametrize("name", ["KR", "QKK", "KXK", "KQQKQQ", "KQK-Q", "KRK-q", "krk", ""])
def test_nonsense_is_no_material(name: str) -> None:
    with pytest.raises(ValueError, match=r"like KRPKN|kings included|needs a rook"):
        Material.parse(name)


def test_materials_read_and_write_their_names() -> None:
    assert all(Material.parse(material.name) == material for material in MATERIALS)
    assert Material.parse("KPRKN") == Material("RP", "N")
    assert Material.parse("KNKPR-k").turned.name == "KRPKN-Q"
